"""Readings of decisions: formulas, Java, NumPy arrays, Spark columns."""
