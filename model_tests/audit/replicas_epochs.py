"""The leader epochs of a log: they never fall, and the controller's log has a leader in each of them."""

from collections.abc import Collection, Iterator, Sequence

from model_tests.audit.controller_log_history import PartitionLeaders
from model_tests.audit.findings import Finding
from model_tests.audit.replica import ReplicaSummary
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_derived import EPOCHS
from spec import rules
from spec.evidence import Layer, evidences
from spec.vocabulary import ABSENT, Api

Run = tuple[int, int, int]
"""Batches of one leader epoch: the epoch, their first offset, their number."""


@evidences(rules.REPL_PREFIX_AGREEMENT, Layer.AUDIT)
def judge_epochs(
    replica: ReplicaSummary,
    history: PartitionLeaders | None,
    differs_at: Collection[int] = (),
    *,
    complete: bool = False,
) -> Iterator[Finding]:
    """Leader epochs never fall along a log, and each of them had a leader.

    Args:
        replica: the log.
        history: of its partition, by the controller's log.
        differs_at: offsets at which other replicas have something else.
        complete: no leader epoch of the log can be newer than the controller's log.
    """
    runs = replica.epochs
    for number in range(1, len(runs)):
        if runs[number][0] < runs[number - 1][0]:
            wrong, other = _odd_one(runs, number, differs_at)
            entry = f"leader epoch {other[0]} at offset {other[1]}"
            message = f"a batch of leader epoch {wrong[0]} beside {entry}: epochs never fall"
            yield _epoch_finding(wrong[1], message)
            break
    if history is None:
        return
    with_batches = {epoch: f"a batch of leader epoch {epoch}" for epoch, _, _ in runs}
    for epoch, offset in sorted({(epoch, offset) for epoch, offset, _ in runs} | set(replica.noted)):
        if _nobody_led(epoch, history, complete=complete):
            what = with_batches.get(epoch, f"{EPOCHS} has leader epoch {epoch} from offset {offset}")
            yield _epoch_finding(offset, f"{what}, in which the controller's log has no leader")
            break


def _nobody_led(epoch: int, history: PartitionLeaders, *, complete: bool) -> bool:
    """The controller's log has no leader in an epoch, and reaches so far."""
    led = history.led(epoch)
    return led is False or (led is None and complete and epoch > history.leaderships[-1].epoch)


def _odd_one(runs: Sequence[Run], number: int, differs_at: Collection[int]) -> tuple[Run, Run]:
    """Of two runs whose epochs fall, the one that others contradict, or without which they do not; and the other."""
    before, after = runs[number - 1], runs[number]
    if before[1] in differs_at or after[1] in differs_at:
        return (before, after) if before[1] in differs_at else (after, before)
    without_before = number == 1 or runs[number - 2][0] <= after[0]
    without_after = number + 1 == len(runs) or before[0] <= runs[number + 1][0]
    raised = without_before and (not without_after or before[2] < after[2])
    return (before, after) if raised else (after, before)


def _epoch_finding(offset: int, message: str) -> Finding:
    return Finding(rules.REPL_PREFIX_AGREEMENT, Severity.VIOLATION, offset, ABSENT, ABSENT, message, step=Api.PRODUCE)
