"""Judgements of the steps of a trace, from their columns."""
