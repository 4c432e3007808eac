"""Bad traces: for every rule that traces are held against one that breaks it, and its true twin beside it."""
