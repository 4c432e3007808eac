"""Some planted defects as parameters of a test: the others are left to the deep profile, and to `make verify`."""

from collections.abc import Sequence

from model_tests.mutants.defects.planted import Planted
from model_tests.mutants.part import chosen_of
from model_tests.unit.by_default import by_default


def few(planted: Sequence[Planted], count: int) -> list[object]:
    """Every defect by its name; so many of them run by default, the same every time.

    Args:
        planted: the defects.
        count: how many run by default.
    """
    return by_default({each.name: each for each in planted}, [each.name for each in chosen_of(planted, count)])
