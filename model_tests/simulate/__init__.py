"""`eos simulate`: randomized traces of the reference."""
