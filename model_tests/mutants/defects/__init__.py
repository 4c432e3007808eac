"""Defects planted in the reference."""
