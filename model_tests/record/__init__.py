"""`eos record`: a proxy between clients and brokers that records requests and answers."""
