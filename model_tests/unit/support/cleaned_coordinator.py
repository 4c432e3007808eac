"""Transactional ids of a coordinator's log that was compacted."""

A, B, C = ("a", 0), ("b", 0), ("c", 0)
