"""Markers and data in the log of a partition that belong to no transaction of a coordinator's log.

The records are flat, as those of `judge_join`: each decision judges one of them, or columns.
"""

from dataclasses import dataclass
from enum import IntEnum, unique

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.evidence import Layer, evidences
from spec.judging.judge import RuleCheck
from spec.protocol.coordinator import BUMPING
from spec.vocabulary import ABSENT, ControlType

# --- markers of a producer id whose transactions are known ------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OrphanMarker:
    """A marker without a transaction, and what the coordinator's log has around its time.

    Attributes:
        timestamp: in milliseconds.
        has_data: it ends data.
        offsets: it is in a partition of `__consumer_offsets`.
        hidden: between its data and it another marker may have been lost.
        has_transactions: the coordinator's log has some of its producer id.
        whole: every record that was ever appended to that log is there.
        known_until_ms: the time until which that log is complete, in milliseconds.
        later_unread: newer records of the id may be missing there.
        during: a transaction of its epoch was to be ended at its time.
        during_completed: and was complete afterwards.
        may_be_unknown: the record of its transaction may be missing in that log.
        misplaced: by all but its place it is the marker of a transaction.
        owned: the data that it ends is of a transaction that was open.
        copied: it may be an earlier transaction's marker once more.
    """

    outcome: Term
    timestamp: Term = ABSENT
    has_data: Term = False
    offsets: Term = False
    hidden: Term = False
    has_transactions: Term = False
    whole: Term = False
    known_until_ms: Term = ABSENT
    later_unread: Term = False
    during: Term = False
    during_completed: Term = False
    may_be_unknown: Term = False
    misplaced: Term = False
    owned: Term = False
    copied: Term = False


@unique
class OrphanKind(IntEnum):
    """What a marker without a transaction is."""

    UNDECIDED = 0
    OF_NO_TRANSACTION = 1  # of a producer id that never had a transaction
    MISPLACED = 2  # of a transaction, away from its place
    FOREIGN = 3  # it ended the data of an open transaction
    UNREQUESTED = 4  # no transaction with this partition was to be ended


def orphan_kind(marker: OrphanMarker) -> Term:
    """The kind of the marker, by its number in `OrphanKind`."""
    never = all_of(negate(marker.has_transactions), marker.whole, negate(_is_later(marker)))
    cut = any_of(marker.later_unread, _is_later(marker))
    ended = all_of(marker.during, marker.during_completed)
    unknown = all_of(any_of(cut, marker.may_be_unknown), negate(ended))
    commits = marker.outcome == ControlType.COMMIT.value
    foreign = all_of(marker.owned, any_of(marker.during, marker.copied, commits))
    requested = choose(foreign, OrphanKind.FOREIGN.value, OrphanKind.UNREQUESTED.value)
    placed = choose(marker.misplaced, OrphanKind.MISPLACED.value, requested)
    known = choose(unknown, OrphanKind.UNDECIDED.value, placed)
    return choose(marker.hidden, OrphanKind.UNDECIDED.value, choose(never, OrphanKind.OF_NO_TRANSACTION.value, known))


def _is_later(marker: OrphanMarker) -> Term:
    """The marker was written after the coordinator's log was copied."""
    return marker.timestamp > marker.known_until_ms


def is_by_hand(marker: OrphanMarker) -> Term:
    """An operator may have aborted by hand: the coordinator's log shows nothing of that."""
    return all_of(marker.outcome == ControlType.ABORT.value, negate(marker.during))


@evidences(rules.TXN_MARKER_ONCE, Layer.AUDIT)
@evidences(rules.TXN_REGISTERED_BEFORE_DATA, Layer.AUDIT)
@evidences(rules.OFFSETS_ATOMIC, Layer.AUDIT)
def judge_orphan_marker(marker: OrphanMarker) -> tuple[RuleCheck, ...]:
    """A marker follows from a decision of its coordinator; the data that it ends was registered.

    Consumed offsets that a marker ends without their transaction become visible without the outputs.
    """
    kind = orphan_kind(marker)
    unrequested = kind == OrphanKind.UNREQUESTED.value
    of_data = all_of(marker.has_data, any_of(kind == OrphanKind.OF_NO_TRANSACTION.value, unrequested))
    apart = all_of(unrequested, marker.offsets, negate(is_by_hand(marker)))
    explained = kind == OrphanKind.UNDECIDED.value
    return (
        RuleCheck(rules.OFFSETS_ATOMIC, all_of(of_data, apart), explained),
        RuleCheck(rules.TXN_REGISTERED_BEFORE_DATA, all_of(of_data, negate(apart)), explained),
        RuleCheck(rules.TXN_MARKER_ONCE, negate(of_data), explained),
    )


# --- data without a marker --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OrphanData:
    """Data without a marker, of no transaction that a coordinator's log has.

    Attributes:
        first_ms: the time of its first record, in milliseconds.
        offsets: it is in a partition of `__consumer_offsets`.
        end_lost: the end of the log is missing, or another replica has more.
        later_unread: newer records of its id may be missing in the coordinator's log.
        newest_in_doubt: the newest transaction of its producer id is in doubt, and not complete.
        known_until_ms: the time of the newest record of the coordinators' logs, in milliseconds.
        copied_earlier: its transaction may be missing there, and its marker may be younger than this copy of the log.
    """

    first_ms: Term
    offsets: Term = False
    end_lost: Term = False
    later_unread: Term = False
    newest_in_doubt: Term = False
    known_until_ms: Term = ABSENT
    copied_earlier: Term = False


@unique
class OrphanDoubt(IntEnum):
    """What may explain data without a marker."""

    NONE = 0
    REGISTERED_LATER = 1  # after the coordinators' logs were copied
    MARKED_LATER = 2  # after this log was copied
    UNKNOWN = 3  # what would show it is not there


def orphan_doubt(data: OrphanData) -> Term:
    """The doubt, by its number in `OrphanDoubt`."""
    unknown = any_of(data.end_lost, data.later_unread, data.newest_in_doubt)
    later = choose(data.first_ms > data.known_until_ms, OrphanDoubt.REGISTERED_LATER.value, OrphanDoubt.NONE.value)
    copied = choose(data.copied_earlier, OrphanDoubt.MARKED_LATER.value, later)
    return choose(unknown, OrphanDoubt.UNKNOWN.value, copied)


@evidences(rules.TXN_REGISTERED_BEFORE_DATA, Layer.AUDIT)
@evidences(rules.OFFSETS_ATOMIC, Layer.AUDIT)
def judge_orphan_data(data: OrphanData) -> tuple[RuleCheck, ...]:
    """Transactional data has a transaction that registered its partition, which will end it."""
    doubted = negate(orphan_doubt(data) == OrphanDoubt.NONE.value)
    return (
        RuleCheck(rules.OFFSETS_ATOMIC, data.offsets, doubted),
        RuleCheck(rules.TXN_REGISTERED_BEFORE_DATA, negate(data.offsets), doubted),
    )


# --- what markers say without a coordinator's record ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RaisedEpoch:
    """The markers of one epoch of a producer id.

    Attributes:
        raised: data of a lower epoch shows that the epoch was raised for these markers, and so for one transaction.
        commits: how many say COMMIT.
        aborts: how many say ABORT.
    """

    raised: Term
    commits: Term
    aborts: Term


@evidences(rules.TXN_ATOMIC, Layer.AUDIT)
def judge_raised_epoch(markers: RaisedEpoch) -> RuleCheck:
    """Markers of an epoch that was raised for one transaction have one outcome."""
    return RuleCheck(rules.TXN_ATOMIC, markers.raised, any_of(markers.commits == 0, markers.aborts == 0))


@evidences(rules.TXN_ONE_OUTCOME, Layer.AUDIT)
def judge_against_complete(outcome: Term, completed: Term, hidden: Term) -> RuleCheck:
    """A marker of an epoch that was raised for one transaction says what that transaction's Complete record says.

    Args:
        outcome: of the marker.
        completed: outcome of the Complete record, -1 without one of this epoch.
        hidden: between the marker and its data another marker may have been lost.
    """
    at_stake = all_of(completed >= 0, negate(hidden))
    return RuleCheck(rules.TXN_ONE_OUTCOME, at_stake, outcome == completed)


@unique
class MixedKind(IntEnum):
    """What data of two epochs before one marker shows."""

    UNMARKED = 0  # the marker of the earlier data is missing
    EARLIER_UNREGISTERED = 1  # the earlier data's transaction does not have the partition, and owes no marker
    LATER_UNREGISTERED = 2  # the later data's transaction was not to be ended


def mixed_kind(last: Term, marker: Term, version: Term = ABSENT, registered: Term = True) -> Term:
    """What the data shows, by its number in `MixedKind`.

    Version 2 raises the epoch for each transaction. Only there the transaction of an epoch is the data's for certain.

    Args:
        last: epoch of the last data that the marker ends.
        marker: epoch of the marker.
        version: transaction version of the transaction with the first data's epoch, -1 where none is known.
        registered: that transaction has the partition.
    """
    earlier_unregistered = all_of(version >= BUMPING, negate(registered))
    of_earlier = choose(earlier_unregistered, MixedKind.EARLIER_UNREGISTERED.value, MixedKind.UNMARKED.value)
    return choose(marker > last, of_earlier, MixedKind.LATER_UNREGISTERED.value)


@evidences(rules.TXN_MARKER_ONCE, Layer.AUDIT)
@evidences(rules.TXN_REGISTERED_BEFORE_DATA, Layer.AUDIT)
def judge_mixed_epochs(
    first: Term, last: Term, marker: Term, hidden: Term, version: Term = ABSENT, registered: Term = True
) -> tuple[RuleCheck, ...]:
    """Data before one marker has one epoch: else a marker is missing in between, or data is unregistered.

    Args:
        first: epoch of the first data that the marker ends.
        last: epoch of the last.
        marker: epoch of the marker.
        hidden: another marker may have been lost in between.
        version: transaction version of the transaction with the first data's epoch, -1 where none is known.
        registered: that transaction has the partition.
    """
    one_epoch = negate(all_of(first < last, negate(hidden)))
    unmarked = mixed_kind(last, marker, version, registered) == MixedKind.UNMARKED.value
    return (
        RuleCheck(rules.TXN_MARKER_ONCE, unmarked, one_epoch),
        RuleCheck(rules.TXN_REGISTERED_BEFORE_DATA, negate(unmarked), one_epoch),
    )


# --- the coordinators that the controller's log has -------------------------------------------------------------


@evidences(rules.FENCE_COORDINATOR_EPOCH, Layer.AUDIT)
def judge_coordinator_epoch(epoch: Term, led: Term, newest: Term, at_ms: Term, known_ms: Term) -> RuleCheck:
    """A marker's coordinator epoch is one under which its coordinator's partition had a leader.

    Args:
        epoch: coordinator epoch of the marker.
        led: 1 where the epoch had a leader, 0 where it had none, -1 where the controller's log does not have it.
        newest: the newest leader epoch that the controller's log has.
        at_ms: the marker's time, in milliseconds.
        known_ms: the time of the newest record of the controller's log.
    """
    known = any_of(led >= 0, all_of(epoch > newest, at_ms <= known_ms))
    return RuleCheck(rules.FENCE_COORDINATOR_EPOCH, known, led == 1)
