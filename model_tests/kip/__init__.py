"""`eos kip FILE`: a proposed change of the protocol, from its facts to the states that it opens and closes."""
