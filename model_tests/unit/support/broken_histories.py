"""Histories that break a rule."""

from collections.abc import Iterable, Mapping
from typing import Any

from model_tests.judging.histories import Histories


def broken(rows: Iterable[Mapping[str, Any]]) -> tuple[set[str], int]:
    """The history rules' checks that do not hold in a trace, and how many were at stake."""
    histories = Histories()
    for row in rows:
        histories.add(row)
    at_stake = [(name, check.holds) for each in histories.judged() for name, check in each.checks() if check.at_stake]
    return {name for name, holds in at_stake if not holds}, len(at_stake)
