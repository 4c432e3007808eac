"""`eos replay`: one trace judged step by step, shrunk and drawn."""
