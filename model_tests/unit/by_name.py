"""Names as parameters of a test, most of which are left to the deep profile."""

from collections.abc import Iterable

import pytest
from _pytest.mark.structures import ParameterSet


def by_name(names: Iterable[str], *by_default: str) -> list[ParameterSet]:
    """Each name as a parameter; those that do not run by default are slow.

    Args:
        names: all of them.
        by_default: those that run by default.

    Raises:
        ValueError: what is to run by default is not among them.
    """
    known = list(names)
    if missing := set(by_default) - set(known):
        raise ValueError(f"there is no {', '.join(sorted(missing))}")
    return [pytest.param(name, id=name, marks=[] if name in by_default else [pytest.mark.slow]) for name in known]
