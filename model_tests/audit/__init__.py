"""`eos audit`: logs of real brokers judged, each partition on its own, then joined."""
