"""Each rule of the append decision is what finds in the audit."""

import pytest

from model_tests.audit.partition import audit_batches
from model_tests.unit.audit.written import data, log_of, marker
from reference.log.batch import RecordBatch


@pytest.mark.parametrize(
    ("guard", "batches"),
    [
        ("duplicate", [data(0), data(0)]),
        ("successor", [data(0), data(2)]),
        ("epoch_reset", [data(0), data(2, epoch=1)]),
        ("stale_coordinator", [marker(coordinator=5), marker(coordinator=4)]),
    ],
)
def test_the_decisions_guard_is_what_finds(guard: str, batches: list[RecordBatch]) -> None:
    """The audit restates no rule: without the guard of the decision it does not name that guard."""
    log = log_of(*batches)

    assert [finding.guard for finding in audit_batches(log).findings] == [guard]
    assert guard not in {finding.guard for finding in audit_batches(log, without=frozenset({guard})).findings}


def test_without_its_guard_a_falling_epoch_is_still_seen_to_fall() -> None:
    """`fence.epoch_monotone` looks at the state after, not at the guard."""
    log = log_of(data(0, epoch=1), data(0), data(1, epoch=1))
    dropped = frozenset({"stale_epoch", "stale_epoch_of_transaction", "epoch_reset"})

    assert [finding.rule.id for finding in audit_batches(log, without=dropped).findings] == ["fence.epoch_monotone"]
