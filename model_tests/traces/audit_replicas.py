"""The replicas of a partition held against each other, and their leader epochs against the controller's log."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from model_tests.traces.audit_findings import Finding, Loss, Severity
from model_tests.traces.audit_replica import Replica
from model_tests.traces.audit_replicas_difference import Difference, first_difference
from model_tests.traces.controller_log_history import PartitionHistory
from spec import rules
from spec.evidence import Layer, evidences
from spec.vocabulary import ABSENT


@dataclass(frozen=True, slots=True)
class Copy:
    """One replica among the logs that are given.

    Attributes:
        log: its number.
        node: the broker's id; -1 where its directory does not say.
        batches: how many it has.
        losses: what unclean elections may have taken from it.
        of_quorum: it is the controller's log, which is committed by Raft and has no checkpoint of its high watermark.
    """

    log: int
    path: str
    node: int
    batches: int
    replica: Replica
    losses: tuple[Loss, ...] = ()
    of_quorum: bool = False

    @property
    def label(self) -> str:
        """The broker, or else its directory."""
        return f"broker {self.node}" if self.node != ABSENT else Path(self.path).resolve().parent.name


@dataclass(frozen=True, slots=True)
class Compared:
    """The replicas of a partition, held against each other.

    Attributes:
        up_to: the offset below which all were compared.
        batches: those that were compared.
        found: findings, each with the number of the log it is in.
    """

    up_to: int = 0
    batches: int = 0
    found: tuple[tuple[int, Finding], ...] = ()


def compare(copies: Sequence[Copy], leader: int) -> Compared:
    """All replicas of a partition below the high watermarks that both of a pair know; `leader` led last."""
    pairs: dict[tuple[int, int], tuple[Difference, int, bool]] = {}
    ends = []
    for ours, theirs in combinations(range(len(copies)), 2):
        end, certain = _compared_up_to(copies[ours], copies[theirs])
        ends.append(end)
        found = _differ(copies[ours], copies[theirs], end)
        if found is not None:
            pairs[(ours, theirs)] = (found, end, certain)
    if not ends:
        return Compared()
    return Compared(min(ends), sum(one.batches for one in copies[1:]), tuple(_blamed(copies, pairs, leader)))


def _compared_up_to(left: Copy, right: Copy) -> tuple[int, bool]:
    """The lower high watermark; without both checkpoints the lower end, where a difference decides nothing.

    Two logs of a Raft quorum that have the same epoch at an offset are the same up to there.
    """
    one, other = left.replica, right.replica
    end = min(one.log_end, other.log_end)
    if left.of_quorum:
        return end, one.epoch_at(end - 1) == other.epoch_at(end - 1)
    if ABSENT in (one.high_watermark, other.high_watermark):
        return end, False
    return min(one.committed, other.committed), True


def _differ(left: Copy, right: Copy, end: int) -> Difference | None:
    if left.replica.topic_id != right.replica.topic_id and left.replica.topic_id and right.replica.topic_id:
        return None  # one of them is left of a topic that was deleted and made anew
    return first_difference(left.replica, right.replica, (left.path, right.path), end)


@evidences(rules.REPL_PREFIX_AGREEMENT, Layer.AUDIT)
def _blamed(
    copies: Sequence[Copy], pairs: dict[tuple[int, int], tuple[Difference, int, bool]], leader: int
) -> Iterator[tuple[int, Finding]]:
    """A finding for each replica that most others contradict; where there is no majority, the one that did not lead."""
    while pairs:
        times = [sum(number in pair for pair in pairs) for number in range(len(copies))]
        number = max(range(len(copies)), key=lambda one: (times[one], copies[one].node != leader, one))
        own = {pair: found for pair, found in pairs.items() if number in pair}
        pair, (first, end, certain) = min(own.items(), key=lambda item: item[1][0].offset)
        loss = _between(first, (*copies[pair[0]].losses, *copies[pair[1]].losses))
        labels = [copies[one ^ other ^ number].label for one, other in own]
        yield copies[number].log, _finding(first, pair[0] == number, labels, end, loss, certain=certain)
        pairs = {pair: found for pair, found in pairs.items() if number not in pair}


def _between(first: Difference, losses: Sequence[Loss]) -> Loss | None:
    """The unclean election before which one of the two replicas ends, and after which the other goes on."""
    earlier, later = sorted(first.epochs)
    return next((loss for loss in losses if ABSENT < earlier < loss.epoch <= later), None)


def _finding(
    first: Difference, is_left: bool, others: Sequence[str], end: int, loss: Loss | None, *, certain: bool
) -> Finding:
    here, there = (first.left, first.right) if is_left else (first.right, first.left)
    message = f"this replica has {here} where {' and '.join(others)} have {there}"
    if certain:
        message += f", below offset {end}, up to which both are committed: their histories differ from here on"
    else:
        message += "; which of it is committed nothing here says"
    severity = Severity.VIOLATION if certain else Severity.UNDECIDED
    if certain and loss is not None:
        message += f"; {loss.election} came between"
        severity = Severity.KNOWN
    return Finding(rules.REPL_PREFIX_AGREEMENT, severity, first.offset, ABSENT, ABSENT, message, step="Fetch")


@evidences(rules.REPL_PREFIX_AGREEMENT, Layer.AUDIT)
def judge_epochs(copy: Copy, history: PartitionHistory | None) -> Iterator[Finding]:
    """Leader epochs never fall along a log, and in each of them somebody led."""
    runs = copy.replica.epochs
    for number in range(1, len(runs)):
        if runs[number][0] < runs[number - 1][0]:
            wrong, other = _odd_one(runs, number)
            message = f"leader epoch {wrong[0]} beside leader epoch {other[0]} at offset {other[1]}: epochs never fall"
            yield _epoch_finding(wrong[1], message)
            break
    if history is None:
        return
    for epoch, offset, _ in runs:
        led = history.led(epoch)
        beyond = epoch > history.leaderships[-1].epoch and copy.replica.stopped
        if led is False or (led is None and beyond):
            yield _epoch_finding(offset, f"leader epoch {epoch}, in which the controller's log has no leader")
            break


def _odd_one(runs: Sequence[tuple[int, int, int]], number: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Of two runs whose epochs fall, the one without which they do not, or the shorter; and the other."""
    before, after = runs[number - 1], runs[number]
    without_before = number == 1 or runs[number - 2][0] <= after[0]
    without_after = number + 1 == len(runs) or before[0] <= runs[number + 1][0]
    raised = without_before and (not without_after or before[2] < after[2])
    return (before, after) if raised else (after, before)


def _epoch_finding(offset: int, message: str) -> Finding:
    return Finding(
        rules.REPL_PREFIX_AGREEMENT, Severity.VIOLATION, offset, ABSENT, ABSENT, f"a batch of {message}", step="Produce"
    )


def merged(own: Sequence[Finding], found: Sequence[Finding]) -> list[Finding]:
    """The findings of one log with those of replication; what shows at the same offset is one finding."""
    held = list(own)
    for finding in found:
        same = next((place for place, one in enumerate(held) if _is_same_place(one, finding)), None)
        if same is None:
            held.append(finding)
        else:
            held[same] = _with_message(held[same], finding)
    return sorted(held, key=lambda one: (one.offset, one.rule.id))


def _is_same_place(one: Finding, finding: Finding) -> bool:
    return one.offset == finding.offset and one.severity is Severity.VIOLATION is finding.severity


def _with_message(one: Finding, finding: Finding) -> Finding:
    return replace(one, message=f"{one.message}; {finding.message}")
