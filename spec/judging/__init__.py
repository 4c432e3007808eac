"""Rules over recorded steps: a step is held against its decision, its client and its history."""
