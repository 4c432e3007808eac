"""Rules over recorded steps: a step is compared with its decision, its client and its history."""
