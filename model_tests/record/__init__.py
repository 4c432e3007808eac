"""`eos record`: a proxy between clients and brokers that writes down what was asked and answered."""
