"""Schedulers that drive the reference at random from a tape."""
