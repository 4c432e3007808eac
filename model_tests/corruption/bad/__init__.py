"""Bad traces: for every rule that traces are checked by, one that breaks it, and its true twin beside it."""
