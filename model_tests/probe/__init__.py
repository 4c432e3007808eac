"""A live broker judged by the specification: `eos conform --bootstrap-server`."""
