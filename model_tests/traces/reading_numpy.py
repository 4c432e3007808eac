"""The NumPy reading: a decision on arrays judges a whole table of steps at once, one element a step."""

import numpy as np

from spec.algebra import Reading, register

register(np.ndarray, Reading(np.logical_and, np.logical_or, np.logical_not, np.where))
