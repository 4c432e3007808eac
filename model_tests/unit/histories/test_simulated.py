"""Histories of the simulator: none of its true traces breaks a promise, and defects of its brokers show as classes."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import pytest

from model_tests.histories.anomalies import AnomalyKind
from model_tests.histories.severity import Severity
from model_tests.judging.histories import Histories
from model_tests.mutants.defects.planted import Planted
from model_tests.mutants.reference import OF_TRANSACTIONS
from model_tests.simulate.simulate import WORKLOADS, trace_of
from model_tests.unit.histories.from_trace import as_edn
from model_tests.unit.support.audited_histories import found, judged
from reference.errors import Impossible

SEEDS: Final = range(2, 202, len(WORKLOADS))

DEFECTS: Final[Mapping[str, set[AnomalyKind]]] = {
    "an abort is decided as a commit": {AnomalyKind.ABORTED_READ},
    "an abort is sent as a commit": {AnomalyKind.ABORTED_READ},
    "a commit is decided as an abort": {AnomalyKind.LOST_WRITE, AnomalyKind.POLL_SKIP},
    "commits get ABORT markers": {AnomalyKind.LOST_WRITE, AnomalyKind.POLL_SKIP},
    "one partition gets the opposite outcome": {AnomalyKind.ABORTED_READ, AnomalyKind.TORN},
    "aborted records are delivered": {AnomalyKind.ABORTED_READ},
    "every broker gets the first block of producer ids": {AnomalyKind.LOST_WRITE},
}
"""Mutants that a client can see, and what it sees."""


def violations(seed: int) -> set[AnomalyKind]:
    """Classes that a trace violates."""
    counted = found(judged(as_edn(trace_of(seed))))
    return {kind for kind, counts in counted.items() if Severity.VIOLATION in counts}


def test_true_traces_break_no_promise() -> None:
    """Where no fault excuses it; retries, fencing, aborts and lagging readers included."""
    judged_records, wrong = 0, {}
    for seed in SEEDS:
        rows, histories = trace_of(seed), Histories()
        for row in rows:
            histories.add(row)
        if not histories.faults:
            reported = judged(as_edn(rows))
            judged_records += reported.records
            assert not reported.damage
            wrong[seed] = {kind for kind, counts in found(reported).items() if Severity.VIOLATION in counts}

    assert {seed: kinds for seed, kinds in wrong.items() if kinds} == {}
    assert judged_records > 500


def mutant(name: str) -> Planted:
    """The mutant of a name."""
    return next(planted for planted in OF_TRANSACTIONS if planted.name == name)


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_shows_as_its_classes(name: str) -> None:
    """In one of the traces that the broken reference makes."""
    seen: set[AnomalyKind] = set()
    with mutant(name).in_place():
        for seed in SEEDS:
            with suppress(Impossible):  # the reference may notice what it cannot explain
                seen |= violations(seed)
            if seen >= DEFECTS[name]:
                break

    assert seen >= DEFECTS[name]
