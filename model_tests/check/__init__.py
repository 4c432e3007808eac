"""`eos check`: traces judged on Spark."""
