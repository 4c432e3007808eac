"""Compares the replicas of a partition: which has another history, from where on, and leader epochs that never were."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from model_tests.audit.controller_log_history import PartitionLeaders
from model_tests.audit.findings import Finding
from model_tests.audit.losses import Loss
from model_tests.audit.replica import ReplicaSummary
from model_tests.audit.replicas_difference import ReplicaDifference, first_difference
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_derived import EPOCHS
from model_tests.logs.locations import located
from spec import rules
from spec.evidence import Layer, evidences
from spec.vocabulary import ABSENT, Api

Run = tuple[int, int, int]
"""Batches of one leader epoch: the epoch, their first offset, their number."""


@dataclass(frozen=True, slots=True)
class Copy:
    """One replica among the logs that are given.

    Attributes:
        log: its number.
        node: the broker's id; -1 where its directory does not have it.
        batches: number of its batches.
        losses: what unclean elections may have taken from it.
        informed: its broker's own copy of the controller's log is given, which has every leader that it followed.
        of_quorum: it is the controller's log, which is committed by Raft and has no checkpoint of its high watermark.
    """

    log: int
    path: str
    node: int
    batches: int
    replica: ReplicaSummary
    losses: tuple[Loss, ...] = ()
    of_quorum: bool = False
    informed: bool = False

    @property
    def label(self) -> str:
        """The broker, or else its directory."""
        return f"broker {self.node}" if self.node != ABSENT else located(self.path).resolve().parent.name


@dataclass(frozen=True, slots=True)
class ComparedReplicas:
    """The replicas of a partition, compared with each other.

    Attributes:
        batches: those that were compared.
        found: findings, each with the number of the log it is in.
    """

    batches: int = 0
    found: tuple[tuple[int, Finding], ...] = ()


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two replicas that differ, by their places among the copies.

    Attributes:
        end: the offset below which they were compared.
        certain: both must agree up to there.
    """

    left: int
    right: int
    first: ReplicaDifference
    end: int
    certain: bool

    def other(self, number: int) -> int:
        """The one that it is compared with."""
        return self.left ^ self.right ^ number


def compare(copies: Sequence[Copy], history: PartitionLeaders | None) -> ComparedReplicas:
    """All replicas of a partition below the high watermarks that both of a pair know, and the leader epochs of each."""
    pairs = []
    for left, right in combinations(range(len(copies)), 2):
        end, certain = _compared_up_to(copies[left], copies[right])
        first = _differ(copies[left], copies[right], end)
        if first is not None:
            pairs.append(_Pair(left, right, first, end, certain))
    odd: list[list[Finding]] = []
    for number, copy in enumerate(copies):
        differs_at = {pair.first.offset for pair in pairs if number in (pair.left, pair.right)}
        known = {finding for own in odd for finding in own}
        complete = copy.informed and copy.replica.stopped
        own = history if history is not None and history.is_of(copy.replica.topic_id) else None
        shown = _judge_epochs(copy.replica, own, differs_at, complete=complete)
        odd.append([one for one in shown if one not in known])
    found = [(copy.log, finding) for copy, own in zip(copies, odd, strict=True) for finding in own]
    leader = history.leader if history is not None else ABSENT
    suspects = [frozenset(finding.offset for finding in own) for own in odd]
    batches = sum(copy.batches for copy in copies[1:])
    short = _short(copies, history) if history is not None else ()
    return ComparedReplicas(batches, (*found, *_blamed(copies, pairs, leader, suspects), *short))


@evidences(rules.REPL_HW_BOUNDS, Layer.AUDIT)
def _short(copies: Sequence[Copy], history: PartitionLeaders) -> Iterator[tuple[int, Finding]]:
    """A replica that was in sync when its broker stopped has everything below any broker's high watermark."""
    own = [copy for copy in copies if history.is_of(copy.replica.topic_id)]
    if not own:
        return
    furthest = max(own, key=lambda copy: copy.replica.committed)
    committed = furthest.replica.committed
    newest = max((epoch for epoch, _, _ in furthest.replica.epochs), default=ABSENT)
    for copy in own:
        end = copy.replica.log_end
        if copy.node not in history.in_sync or not copy.replica.stopped or end >= committed:
            continue
        message = (
            f"the log ends at offset {end}, though this replica was in sync, and {furthest.label} knows that "
            f"everything below offset {committed} is committed"
        )
        loss = next((loss for loss in copy.losses if loss.epoch > newest and loss.offset <= end), None)
        severity = Severity.VIOLATION if loss is None else Severity.KNOWN
        if loss is not None:
            has = f"which {furthest.label} still has in leader epoch {furthest.replica.epoch_at(loss.offset)}"
            message += f"; {loss.election} lost records at offsets {loss.offset} to {committed - 1}, {has}"
        yield copy.log, Finding(rules.REPL_HW_BOUNDS, severity, end, ABSENT, ABSENT, message)


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


def _differ(left: Copy, right: Copy, end: int) -> ReplicaDifference | None:
    if left.replica.topic_id != right.replica.topic_id and left.replica.topic_id and right.replica.topic_id:
        return None  # one of them is left of a topic that was deleted and made anew
    return first_difference(left.replica, right.replica, (left.path, right.path), end)


@evidences(rules.REPL_PREFIX_AGREEMENT, Layer.AUDIT)
def _blamed(
    copies: Sequence[Copy], pairs: list[_Pair], leader: int, suspects: Sequence[frozenset[int]]
) -> Iterator[tuple[int, Finding]]:
    """A finding for each replica that most others contradict.

    Where there is no majority it is the one whose own leader epochs are at odds there, among themselves or with its
    checkpoint, else the one that did not lead.
    """

    def blame(number: int) -> tuple[int, bool, bool, int]:
        own = [pair for pair in pairs if number in (pair.left, pair.right)]
        odd = any(pair.first.offset in suspects[number] or _denies_itself(copies, pair, number) for pair in own)
        return len(own), odd, copies[number].node != leader, number

    while pairs:
        number = max(range(len(copies)), key=blame)
        own = [pair for pair in pairs if number in (pair.left, pair.right)]
        first = min(own, key=lambda pair: pair.first.offset)
        loss = _between(first.first, (*copies[first.left].losses, *copies[first.right].losses))
        labels = [copies[pair.other(number)].label for pair in own]
        undecided = len(copies) == 2 and not blame(number)[1]
        yield copies[number].log, _finding(first, first.left == number, labels, loss, undecided=undecided)
        pairs = [pair for pair in pairs if number not in (pair.left, pair.right)]


def _denies_itself(copies: Sequence[Copy], pair: _Pair, number: int) -> bool:
    """The batch at which two replicas differ has not the leader epoch of the replica's own checkpoint."""
    epoch = pair.first.epochs[0 if number == pair.left else 1]
    noted = copies[number].replica.noted_at(pair.first.offset)
    return ABSENT not in (epoch, noted) and epoch != noted


def _between(first: ReplicaDifference, losses: Sequence[Loss]) -> Loss | None:
    """The election before which one of the two replicas has what differs, and after which the other has it.

    The elected replica has another history only from the offset on at which it continued.
    """
    earlier, later = sorted(first.epochs)
    return next(
        (loss for loss in losses if ABSENT < earlier < loss.epoch <= later and loss.offset <= first.offset), None
    )


def _finding(pair: _Pair, is_left: bool, others: Sequence[str], loss: Loss | None, *, undecided: bool) -> Finding:
    first = pair.first
    here, there = (first.left, first.right) if is_left else (first.right, first.left)
    message = f"this replica has {here} where {' and '.join(others)} have {there}"
    if pair.certain:
        message += f", below offset {pair.end}, up to which both are committed: their histories differ from here on"
    elif first.same_leader:
        message += f": the leader of epoch {first.epochs[0]} wrote one of them only, if both are of one cluster"
    else:
        message += "; nothing here shows which of it is committed"
    if undecided:
        message += "; of two replicas the one that led last is taken to be right"
    suspicion = Severity.SUSPICIOUS if first.same_leader else Severity.UNDECIDED
    severity = Severity.VIOLATION if pair.certain else suspicion
    if pair.certain and loss is not None:
        message += f"; {loss.election} lost records from offset {loss.offset} on, which one of the two still has"
        severity = Severity.KNOWN
    return Finding(rules.REPL_PREFIX_AGREEMENT, severity, first.offset, ABSENT, ABSENT, message, step=Api.FETCH)


def merged(own: Sequence[Finding], found: Sequence[Finding]) -> list[Finding]:
    """The findings of one log with those of replication; what shows at the same offset is one finding."""
    held = list(own)
    for finding in found:
        same = next((place for place, one in enumerate(held) if _is_same_place(one, finding)), None)
        if same is None:
            held.append(finding)
        else:
            held[same] = _as_cause(held[same], finding)
    return sorted(held, key=lambda one: (one.offset, one.rule.id))


def _is_same_place(one: Finding, finding: Finding) -> bool:
    both_sure = one.severity is Severity.VIOLATION is finding.severity
    return one.offset == finding.offset and (both_sure or one.rule is finding.rule)


def _as_cause(one: Finding, finding: Finding) -> Finding:
    """The one as the cause of the other, as grave as the graver of both."""
    severity = Severity.VIOLATION if Severity.VIOLATION in (one.severity, finding.severity) else one.severity
    return replace(one.causes([finding]), severity=severity)


# --- the leader epochs of one replica ---


@evidences(rules.REPL_PREFIX_AGREEMENT, Layer.AUDIT)
def _judge_epochs(
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
