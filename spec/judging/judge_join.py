"""The transactions of a coordinator's log, joined with the logs of their partitions: which rules these break.

Each decision takes flat records of the join: a transaction, a marker, data that a marker ends, a registered partition
without a marker. It judges one of each, or columns of them. To gather the records is the audit's part.
"""

from dataclasses import dataclass
from enum import IntEnum, unique
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.evidence import Layer, evidences
from spec.judging.judge import RuleCheck
from spec.vocabulary import ABSENT, ControlType

FARTHEST_CLOCKS_MS: Final = 60_000
"""By how much the clocks of brokers and clients differ at most."""

LONGEST_APPEND_MS: Final = 10_000
"""So long a leader may take from the time that it gives a marker until that is in its log."""


@dataclass(frozen=True, slots=True)
class CoordinatorOutcome:
    """A transaction by the log of its coordinator; what is not known is -1, times are of the coordinator's clock.

    Attributes:
        producer_epoch: while it was open.
        marker_epoch: of its Prepare record, and so of its markers.
        outcome: type of its markers; -1 while it is open.
        coordinator_epoch: of the coordinator that decided the outcome.
        completed: all its markers are written.
        prepared_ms: when the outcome was durable, in milliseconds.
        completed_ms: when all markers were written, in milliseconds.
    """

    producer_epoch: Term = ABSENT
    marker_epoch: Term = ABSENT
    outcome: Term = ABSENT
    coordinator_epoch: Term = ABSENT
    completed: Term = False
    prepared_ms: Term = ABSENT
    completed_ms: Term = ABSENT


@dataclass(frozen=True, slots=True)
class PartitionMarker:
    """A marker by the log of its partition.

    Attributes:
        timestamp: of its leader's clock, in milliseconds.
        again: an earlier marker of the partition ended its transaction.
        has_data: it ends data.
        data_epoch: the largest epoch of the data that it ends, -1 without any.
        ends_own_epoch: some of the data that it ends has just its epoch.
        latest_ms: the latest time of a marker that the same leader wrote before it, -1 without any.
    """

    producer_epoch: Term
    outcome: Term
    coordinator_epoch: Term = ABSENT
    timestamp: Term = ABSENT
    again: Term = False
    has_data: Term = False
    data_epoch: Term = ABSENT
    ends_own_epoch: Term = False
    latest_ms: Term = ABSENT


# --- which transaction a marker is of ---------------------------------------------------------------------------


def is_of(transaction: CoordinatorOutcome, marker: PartitionMarker) -> Term:
    """The marker has the epoch of the transaction's Prepare record."""
    return marker.producer_epoch == transaction.marker_epoch


def has_outcome_of(transaction: CoordinatorOutcome, marker: PartitionMarker) -> Term:
    """The marker says what the Prepare record says."""
    return marker.outcome == transaction.outcome


def is_during(transaction: CoordinatorOutcome, marker: PartitionMarker, clocks_ms: Term = 0) -> Term:
    """The marker was written after the outcome was durable and before the transaction was complete.

    Args:
        transaction: by its coordinator.
        marker: of any transaction.
        clocks_ms: by how much the clocks of the two leaders may differ, in milliseconds.
    """
    begun = all_of(transaction.outcome >= 0, marker.timestamp >= transaction.prepared_ms - clocks_ms)
    in_time = marker.timestamp <= transaction.completed_ms + clocks_ms
    return all_of(begun, any_of(negate(transaction.completed), in_time))


def agrees(transaction: CoordinatorOutcome, marker: PartitionMarker, clocks_ms: Term = 0) -> Term:
    """The marker has epoch, outcome and time of the transaction.

    Args:
        transaction: by its coordinator.
        marker: of any transaction.
        clocks_ms: by how much the clocks of the two leaders may differ, in milliseconds.
    """
    own = all_of(is_of(transaction, marker), has_outcome_of(transaction, marker))
    return all_of(own, is_during(transaction, marker, clocks_ms))


# --- the outcome, over all partitions of a transaction ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MarkerCounts:
    """How many of a transaction's first markers say the decided outcome, and how many the other one.

    Attributes:
        agreeing: say the decided outcome.
        agreeing_offsets: those of them that are in `__consumer_offsets`.
        other: say the other outcome.
        other_offsets: those of them that are in `__consumer_offsets`.
    """

    agreeing: Term
    agreeing_offsets: Term
    other: Term
    other_offsets: Term


@evidences(rules.TXN_ONE_OUTCOME, Layer.AUDIT)
@evidences(rules.TXN_ATOMIC, Layer.AUDIT)
@evidences(rules.OFFSETS_ATOMIC, Layer.AUDIT)
def judge_outcomes(counts: MarkerCounts) -> tuple[RuleCheck, ...]:
    """All partitions of a transaction have the outcome that its coordinator decided.

    Where they disagree, the outputs may have one outcome and the consumed offsets the other.
    """
    differ = all_of(counts.other > 0, counts.agreeing > 0)
    offsets_alone = all_of(counts.other_offsets == counts.other, counts.agreeing_offsets == 0)
    outputs_alone = all_of(counts.other_offsets == 0, counts.agreeing_offsets == counts.agreeing)
    apart = any_of(offsets_alone, outputs_alone)
    return (
        RuleCheck(rules.TXN_ONE_OUTCOME, counts.agreeing == 0, counts.other == 0),
        RuleCheck(rules.OFFSETS_ATOMIC, apart, negate(differ)),
        RuleCheck(rules.TXN_ATOMIC, negate(apart), negate(differ)),
    )


# --- one marker -------------------------------------------------------------------------------------------------


@evidences(rules.TXN_MARKER_ONCE, Layer.AUDIT)
@evidences(rules.FENCE_COORDINATOR_EPOCH, Layer.AUDIT)
def judge_marker(transaction: CoordinatorOutcome, marker: PartitionMarker) -> tuple[RuleCheck, ...]:
    """A marker has the epoch of its transaction, and is written by the coordinator that decided, or a later one.

    Where the data that it ends has its wrong epoch, too, the data is judged.
    """
    of_data = all_of(marker.ends_own_epoch, negate(marker.producer_epoch == transaction.producer_epoch))
    explained = all_of(transaction.producer_epoch >= 0, of_data)
    own = is_of(transaction, marker)
    return (
        RuleCheck(rules.TXN_MARKER_ONCE, negate(explained), own),
        RuleCheck(rules.FENCE_COORDINATOR_EPOCH, own, marker.coordinator_epoch >= transaction.coordinator_epoch),
    )


def may_be_by_hand(transaction: CoordinatorOutcome, marker: PartitionMarker) -> Term:
    """A marker of the open epoch that aborts what was aborted: an operator may have written it."""
    aborts = all_of(marker.outcome == ControlType.ABORT.value, has_outcome_of(transaction, marker))
    return all_of(aborts, marker.producer_epoch == transaction.producer_epoch)


@evidences(rules.TXN_MARKER_ONCE, Layer.AUDIT)
@evidences(rules.TXN_REGISTERED_BEFORE_DATA, Layer.AUDIT)
@evidences(rules.TXN_ONE_OUTCOME, Layer.AUDIT)
def judge_repeated(transaction: CoordinatorOutcome, marker: PartitionMarker) -> tuple[RuleCheck, ...]:
    """A further marker of a completed transaction ends no data, and says the same outcome once more."""
    repeated = all_of(marker.again, transaction.completed)
    of_later = marker.data_epoch > marker.producer_epoch
    empty = negate(marker.has_data)
    return (
        RuleCheck(rules.TXN_MARKER_ONCE, repeated, negate(of_later)),
        RuleCheck(rules.TXN_REGISTERED_BEFORE_DATA, all_of(repeated, negate(of_later)), empty),
        RuleCheck(rules.TXN_ONE_OUTCOME, all_of(repeated, empty), has_outcome_of(transaction, marker)),
    )


def is_undecided_repeat(transaction: CoordinatorOutcome, marker: PartitionMarker) -> Term:
    """A further marker is not the same once more, and it is not known whether the transaction was complete."""
    other = any_of(marker.has_data, negate(has_outcome_of(transaction, marker)))
    return all_of(marker.again, negate(transaction.completed), other)


@evidences(rules.TXN_MARKER_ONCE, Layer.AUDIT)
def judge_copy(transaction: CoordinatorOutcome, marker: PartitionMarker) -> RuleCheck:
    """A further marker that changes nothing has a time that its leader can have given it."""
    same = all_of(marker.again, negate(marker.has_data), has_outcome_of(transaction, marker))
    in_time = marker.latest_ms <= marker.timestamp + LONGEST_APPEND_MS
    return RuleCheck(rules.TXN_MARKER_ONCE, all_of(same, marker.latest_ms >= 0), in_time)


# --- data that a marker ends ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EndedData:
    """Data of one epoch that the first marker of a transaction ends.

    Attributes:
        hidden: between the data and the marker another marker may have been lost.
        owned: another transaction, which has no marker here, has it.
    """

    producer_epoch: Term
    hidden: Term = False
    owned: Term = False


@evidences(rules.TXN_REGISTERED_BEFORE_DATA, Layer.AUDIT)
@evidences(rules.FENCE_STALE_EPOCH, Layer.AUDIT)
def judge_ended_data(transaction: CoordinatorOutcome, data: EndedData) -> tuple[RuleCheck, ...]:
    """The data has the epoch of its transaction: a later one is not registered, an earlier one is fenced."""
    known = all_of(transaction.producer_epoch >= 0, negate(data.hidden), negate(data.owned))
    return (
        RuleCheck(rules.TXN_REGISTERED_BEFORE_DATA, known, data.producer_epoch <= transaction.producer_epoch),
        RuleCheck(rules.FENCE_STALE_EPOCH, known, data.producer_epoch >= transaction.producer_epoch),
    )


# --- a registered partition without a marker --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UnmarkedPartition:
    """A partition that a transaction registered, and in which no marker of it is found.

    Attributes:
        offsets: it is a partition of `__consumer_offsets`.
        marked: how many other partitions have their marker.
        first: the producer has no marker before in this log.
        last: it has none behind.
        has_data: data is there that must be the transaction's.
        by_time: only the timestamps of that data, which clients may set as they like, say that it is.
        begun_later: the log begins behind offset 0, or has nothing from before the end of the transaction.
        end_lost: the end of the log is missing.
        behind: another replica has more.
        unreadable: between its neighbours are bytes that cannot be read.
        cleaned: the log cleaner was there.
        gone: batches are missing there that nothing can have removed.
        led: it is known who led the partition.
        leader_changed: another leader wrote from there on.
        copied_later: the log goes on, or was copied, after the transaction was complete.
    """

    offsets: Term = False
    marked: Term = 0
    first: Term = False
    last: Term = False
    has_data: Term = False
    by_time: Term = False
    begun_later: Term = False
    end_lost: Term = False
    behind: Term = False
    unreadable: Term = False
    cleaned: Term = False
    gone: Term = False
    led: Term = False
    leader_changed: Term = False
    copied_later: Term = False


@unique
class Excuse(IntEnum):
    """What may have removed a marker, or may have kept it from the copy at hand."""

    NONE = 0
    UNREADABLE = 1
    END_LOST = 2
    BEHIND = 3
    BEGUN_LATER = 4
    CLEANED = 5
    MAY_BE_CLEANED = 6
    LEADER_CHANGED = 7
    COPIED_EARLIER = 8


def excuse(partition: UnmarkedPartition) -> Term:
    """The first excuse that applies, by its number in `Excuse`.

    Data that is there shows that its marker was not cleaned: the cleaner takes no marker before the data that it ends.
    """
    late = choose(partition.copied_later, Excuse.NONE.value, Excuse.COPIED_EARLIER.value)
    changed = all_of(negate(partition.led), partition.leader_changed)
    elected = choose(changed, Excuse.LEADER_CHANGED.value, late)
    offsets_alone = all_of(partition.offsets, negate(partition.has_data))
    gone = choose(partition.gone, choose(offsets_alone, Excuse.MAY_BE_CLEANED.value, late), elected)
    cleaned = choose(partition.cleaned, Excuse.CLEANED.value, gone)
    begun = choose(all_of(partition.first, partition.begun_later), Excuse.BEGUN_LATER.value, cleaned)
    there = choose(all_of(partition.has_data, negate(partition.by_time)), late, begun)
    behind = choose(all_of(partition.last, partition.behind), Excuse.BEHIND.value, there)
    ended = choose(all_of(partition.last, partition.end_lost), Excuse.END_LOST.value, behind)
    return choose(partition.unreadable, Excuse.UNREADABLE.value, ended)


@evidences(rules.TXN_MARKER_ONCE, Layer.AUDIT)
@evidences(rules.OFFSETS_ATOMIC, Layer.AUDIT)
def judge_unmarked(transaction: CoordinatorOutcome, partition: UnmarkedPartition) -> tuple[RuleCheck, ...]:
    """A completed transaction has a marker in each partition that it registered, if nothing can have removed it.

    Where others have their COMMIT and the offsets have none, the outputs are visible without them.
    """
    owed = all_of(transaction.completed, excuse(partition) == Excuse.NONE.value)
    commits = transaction.outcome == ControlType.COMMIT.value
    apart = all_of(partition.offsets, partition.marked > 0, commits)
    return (
        RuleCheck(rules.OFFSETS_ATOMIC, apart, negate(owed)),
        RuleCheck(rules.TXN_MARKER_ONCE, negate(apart), negate(owed)),
    )


def is_undecided_gap(transaction: CoordinatorOutcome, partition: UnmarkedPartition) -> Term:
    """A marker is missing, and something may have removed it."""
    return all_of(transaction.completed, negate(excuse(partition) == Excuse.NONE.value))
