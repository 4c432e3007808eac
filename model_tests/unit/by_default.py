"""Parameters of a test, most of which are left to the deep profile."""

from collections.abc import Collection, Mapping

import pytest


def by_default(named: Mapping[str, object], chosen: Collection[str]) -> list[object]:
    """Each value as a parameter under its name; what is not chosen is slow.

    Args:
        named: all values.
        chosen: names of those that run by default.

    Raises:
        ValueError: a chosen name is not among them.
    """
    if missing := set(chosen) - named.keys():
        raise ValueError(f"there is no {', '.join(sorted(missing))}")
    slow = pytest.mark.slow
    return [pytest.param(value, id=name, marks=[] if name in chosen else [slow]) for name, value in named.items()]
