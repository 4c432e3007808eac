"""Some planted defects as parameters of a test: the others are left to the deep profile, and to `make verify`."""

from collections.abc import Sequence

import pytest
from _pytest.mark.structures import ParameterSet

from model_tests.mutants.part import chosen_of
from model_tests.mutants.planted import Planted


def few(planted: Sequence[Planted], count: int) -> list[ParameterSet]:
    """Every defect by its name; so many of them run by default, the same every time.

    Args:
        planted: the defects.
        count: how many run by default.
    """
    chosen = chosen_of(planted, count)
    return [pytest.param(each, id=each.name, marks=[] if each in chosen else [pytest.mark.slow]) for each in planted]
