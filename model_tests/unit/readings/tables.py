"""One table of random steps, judged by one reading at a time."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from model_tests.check.samples import Table, decided, outcome, random_steps, undecided
from model_tests.verify.effort import effort_from_environment
from model_tests.verify.results import RunEffort
from spec.protocol.append import append
from spec.protocol.records import flatten
from spec.versions import PROFILES, Profile

RECORDS: Final = 100_000 if effort_from_environment() is RunEffort.DEEP else 20_000
SEED: Final = 20_250_711


def by_profile(count: int = RECORDS) -> Iterator[tuple[Profile, Table]]:
    """The steps of every profile."""
    table = random_steps(count, SEED)
    for name, profile in PROFILES.items():
        mine = table["profile"] == name
        yield profile, {column: values[mine] for column, values in table.items()}


def with_numpy(table: Table, profile: Profile) -> Table:
    """Branch, reply and entry after of every step, as NumPy computes them."""
    decision = decided(table, profile)
    count = len(table["profile"])
    return {"branch": np.broadcast_to(decision.branch, count)} | outcome(decision, count)


def with_python(table: Table, profile: Profile) -> Table:
    """The same, one step at a time."""
    answers = [_answer(row, profile) for row in rows(table)]
    return {name: np.array([answer[name] for answer in answers]) for name in answers[0]}


def rows(table: Table) -> Iterator[dict[str, Any]]:
    """The steps as Python values."""
    return (dict(zip(table, values, strict=True)) for values in zip(*(table[c].tolist() for c in table), strict=True))


def _answer(row: dict[str, Any], profile: Profile) -> dict[str, Any]:
    entry, request, verification = undecided(row.__getitem__)
    decision = append(entry, request, profile, verification)
    after = {f"after_{name}": value for name, value in flatten(decision.entry)}
    return {"branch": decision.branch, **dict(flatten(decision.reply)), **after}


def differing(left: Table, right: Table) -> list[str]:
    """Names of the columns in which two tables differ anywhere."""
    return [name for name in left if not np.array_equal(left[name], right[name])]
