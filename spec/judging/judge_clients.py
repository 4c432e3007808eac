"""What clients wrote down of their records and transactions: which of it breaks a promise.

Each decision takes a flat record of a history: a value, an offset, a record that was sent or given, two that follow
each other, a transaction. It judges one of each, or columns of them. To gather the records is the audit's part. Places
are the offsets at which something is known to lie, numbered, so that neighbours are one apart. Unknown is -1.
"""

from dataclasses import dataclass
from enum import IntEnum, unique

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.evidence import Layer, evidences
from spec.vocabulary import ABSENT


@unique
class ClientVerdict(IntEnum):
    """What a decision says."""

    HOLDS = 0
    VIOLATED = 1
    LEGAL = 2  # Kafka does not promise that it does not happen
    UNDECIDED = 3  # what would decide is not in the history


@unique
class ClientAnswer(IntEnum):
    """The answer that a client got in the end."""

    COMMITTED = 0
    UNKNOWN = 1
    ABORTED = 2
    NO_TRANSACTION = 3  # records were acknowledged outside of any


@unique
class ReaderAssignment(IntEnum):
    """How a reader came to the partitions that it reads."""

    UNKNOWN = 0
    ASSIGN = 1  # it chose them: they stay its own
    SUBSCRIBE = 2  # its group chose for it, and may choose anew between two polls
    TRACKED = 3  # likewise, and the history has each time that it did


@unique
class RecordFate(IntEnum):
    """What became of an acknowledged record by the log of its partition."""

    VISIBLE = 0
    COMMITTED = 1  # and behind an open transaction: not visible yet
    ABORTED = 2
    OPEN = 3
    LOST = 4  # the offset is not in the log, or has a marker
    REMOVED = 5  # by retention, by the cleaner, or unreadable: nothing is known


def _verdict(breaks: Term, proven: Term, otherwise: ClientVerdict) -> Term:
    """Violated where it is proven that something breaks a promise, and else what that is otherwise."""
    return choose(breaks, choose(proven, ClientVerdict.VIOLATED.value, otherwise.value), ClientVerdict.HOLDS.value)


# --- values and offsets -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KnownSpan:
    """The first and the last place of one value of a partition, or the first and the last value of one place.

    Attributes:
        sent_once: some client is known to have sent the value, and no other to the partition with it.
    """

    first: Term
    last: Term
    sent_once: Term = True


@evidences(rules.SEQ_EXACTLY_ONCE, Layer.AUDIT)
def judge_value(value: KnownSpan) -> Term:
    """A value that was sent once lies at one place."""
    return _verdict(value.first < value.last, value.sent_once, ClientVerdict.UNDECIDED)


@evidences(rules.REPL_COMMITTED_SURVIVES, Layer.AUDIT)
def judge_place(place: KnownSpan) -> Term:
    """A place has one value."""
    return _verdict(place.first < place.last, True, ClientVerdict.UNDECIDED)


@dataclass(frozen=True, slots=True)
class AcknowledgedOffset:
    """The offset at which a record was acknowledged, and what readers were given there.

    Attributes:
        taken: some record was given at that offset.
        read: the record was given somewhere.
        confirmed: it was given there.
    """

    taken: Term
    read: Term
    confirmed: Term


@evidences(rules.REPL_COMMITTED_SURVIVES, Layer.AUDIT)
def judge_acknowledged(acknowledged: AcknowledgedOffset) -> Term:
    """A record that was read was read where it was acknowledged, if anything was read there."""
    elsewhere = all_of(acknowledged.taken, acknowledged.read, negate(acknowledged.confirmed))
    return _verdict(elsewhere, True, ClientVerdict.UNDECIDED)


# --- records that were sent -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WrittenRecord:
    """A record that a client sent, and how far readers came in its partition.

    Attributes:
        answer: to its operation (`ClientAnswer`).
        placed: it is known to be in the log, at the place that was acknowledged.
        seen: a reader that succeeded was given it.
        handed: a reader was given it, whatever became of the reader.
        place: where it lies.
        begun: the first place that a reader is known to have read from.
        furthest: the last place that a reader was given.
        alone: the last place that a reader outside of the group was given.
        left_out: the group passed over it after an abort.
        whole: nothing is missing in the history.
    """

    answer: Term
    placed: Term
    seen: Term
    handed: Term
    place: Term
    begun: Term
    furthest: Term
    alone: Term
    left_out: Term
    whole: Term


def is_passed_by(record: WrittenRecord) -> Term:
    """It is in the log, a reader was given one behind it, and none that succeeded was given it.

    A group that passed over it after an abort was not to be given it: what is behind it shows nothing.
    """
    reached = record.place <= choose(record.left_out, record.alone, record.furthest)
    return all_of(record.placed, negate(record.seen), reached)


def is_lost(record: WrittenRecord) -> Term:
    """Readers were before and behind it, and none was given it."""
    return all_of(is_passed_by(record), negate(record.handed), record.place >= record.begun)


@evidences(rules.REPL_COMMITTED_SURVIVES, Layer.AUDIT)
def judge_passed(record: WrittenRecord) -> Term:
    """An acknowledged record is given to those who read past it."""
    return _verdict(is_passed_by(record), all_of(is_lost(record), record.whole), ClientVerdict.UNDECIDED)


@evidences(rules.TXN_CLIENT_VERDICT, Layer.AUDIT)
def judge_unseen(record: WrittenRecord) -> Term:
    """An acknowledged record is read in the end; whether readers came so far is not known."""
    committed = record.answer == ClientAnswer.COMMITTED.value
    explained = any_of(record.seen, is_passed_by(record), record.left_out)
    return _verdict(all_of(committed, negate(explained)), False, ClientVerdict.UNDECIDED)


# --- records that were given ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GivenRecord:
    """A record that a reader was given.

    Attributes:
        read_committed: its reader was to see committed records only.
        taken: its reader succeeded.
        aborted: a client that sent it got a failure.
        spared: another that sent it did not.
        own: the operation that was given it has sent it.
    """

    read_committed: Term
    taken: Term = False
    aborted: Term = False
    spared: Term = False
    own: Term = False


@evidences(rules.TXN_CLIENT_VERDICT, Layer.AUDIT)
def judge_given(record: GivenRecord) -> Term:
    """A record that is known to be aborted is given to no reader."""
    gone = all_of(record.aborted, negate(record.spared))
    return _verdict(all_of(record.taken, gone), record.read_committed, ClientVerdict.LEGAL)


@evidences(rules.LSO_READ_COMMITTED, Layer.AUDIT)
def judge_own(record: GivenRecord) -> Term:
    """A transaction is given no record of its own, as it has not committed it."""
    return _verdict(record.own, record.read_committed, ClientVerdict.LEGAL)


# --- records that follow each other -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NextRecord:
    """Two records of a partition that one process sent, or was given, one after the other.

    Attributes:
        distance: how many places the second lies behind the first.
        assignment: how the process came to the partition (`ReaderAssignment`); -1 where one operation has both.
        resumed: it continues right behind what an operation was given that did not succeed.
        whole: nothing is missing between them.
    """

    distance: Term
    assignment: Term = ABSENT
    resumed: Term = False
    whole: Term = True


@evidences(rules.SEQ_ORDER, Layer.AUDIT)
def judge_sent_back(sent: NextRecord) -> Term:
    """What a process sends later lies behind."""
    return _verdict(sent.distance < 1, True, ClientVerdict.LEGAL)


@evidences(rules.SEQ_ORDER, Layer.AUDIT)
def judge_sent_apart(sent: NextRecord) -> Term:
    """Records of others may lie between two that one operation sends."""
    return _verdict(sent.distance > 1, False, ClientVerdict.LEGAL)


@evidences(rules.LSO_READ_COMMITTED, Layer.AUDIT)
def judge_read_back(read: NextRecord) -> Term:
    """A reader is given no record at or before the last one that it was given."""
    return _as_assigned(read.distance < 1, read)


@evidences(rules.LSO_READ_COMMITTED, Layer.AUDIT)
def judge_read_past(read: NextRecord) -> Term:
    """A reader is given every record between two that it is given."""
    found = _as_assigned(read.distance > 1, read)
    explained = all_of(read.resumed, found == ClientVerdict.VIOLATED.value)
    return choose(explained, ClientVerdict.LEGAL.value, found)


def _as_assigned(breaks: Term, read: NextRecord) -> Term:
    """A group may give a partition to another member between two polls, and take it back."""
    known = all_of(read.whole, negate(read.assignment == ReaderAssignment.UNKNOWN.value))
    by_group = all_of(breaks, read.assignment == ReaderAssignment.SUBSCRIBE.value)
    return choose(by_group, ClientVerdict.LEGAL.value, _verdict(breaks, known, ClientVerdict.UNDECIDED))


# --- transactions -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReportedTransaction:
    """An operation with the records that it sent.

    Attributes:
        atomic: they are in one transaction.
        took_effect: it succeeded, or its outcome is unknown and one of them was read.
        seen: a record was given to a reader.
        lost: a record is lost, that is known to be in the log.
        aborted_seen: a record that is known to be aborted was given to a reader.
        unseen: a record was given to no reader.
        consumes: it read for a group, too.
        read_committed: readers were to see committed records only.
        whole: nothing is missing in the history.
    """

    atomic: Term
    took_effect: Term
    seen: Term
    lost: Term
    aborted_seen: Term
    unseen: Term
    consumes: Term
    read_committed: Term
    whole: Term


@evidences(rules.TXN_ATOMIC, Layer.AUDIT)
def judge_torn(transaction: ReportedTransaction) -> Term:
    """Readers are given all records of a transaction, or none."""
    of_committed = all_of(transaction.seen, transaction.lost)
    of_aborted = all_of(transaction.aborted_seen, transaction.unseen)
    proven = choose(transaction.took_effect, transaction.whole, transaction.read_committed)
    doubt = choose(transaction.took_effect, ClientVerdict.UNDECIDED.value, ClientVerdict.LEGAL.value)
    found = choose(proven, ClientVerdict.VIOLATED.value, doubt)
    torn = all_of(transaction.atomic, any_of(of_committed, of_aborted))
    return choose(torn, found, ClientVerdict.HOLDS.value)


@evidences(rules.OFFSETS_ATOMIC, Layer.AUDIT)
def judge_outputs(transaction: ReportedTransaction) -> Term:
    """The outputs of a transaction that consumes for a group are committed with its offsets."""
    return _verdict(all_of(transaction.consumes, transaction.lost), transaction.whole, ClientVerdict.UNDECIDED)


# --- what a group consumed --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GroupPlace:
    """A place of a partition, and what a group was given there.

    Attributes:
        begun: an operation of the group was given it, or one before it.
        taken: an operation of the group that succeeded was given it.
        followed: one that succeeded was given a place behind it.
    """

    begun: Term
    taken: Term
    followed: Term


def is_passed_over(place: GroupPlace) -> Term:
    """The group read on behind it, and no operation of it that succeeded was given it."""
    return all_of(place.begun, negate(place.taken), place.followed)


@evidences(rules.OFFSETS_ATOMIC, Layer.AUDIT)
def judge_passed_over(aborted: Term, whole: Term) -> Term:
    """What a transaction consumed that is aborted is given to its group again, if the client winds its consumer back.

    Args:
        aborted: of neighbouring places that the group passed over, an aborted transaction with outputs was given one.
        whole: nothing is missing in the history.
    """
    doubt = choose(whole, ClientVerdict.LEGAL.value, ClientVerdict.UNDECIDED.value)
    return choose(aborted, doubt, ClientVerdict.HOLDS.value)


@dataclass(frozen=True, slots=True)
class ConsumedNext:
    """Two records that committed transactions of a group consumed, in the order of places.

    Attributes:
        distance: how many places the second lies behind the first.
        together: one transaction consumed both.
    """

    distance: Term
    together: Term


@evidences(rules.OFFSETS_ATOMIC, Layer.AUDIT)
def judge_consumed(consumed: ConsumedNext) -> Term:
    """One committed transaction of a group consumes a record; two may, where a commit does not name the generation."""
    again = all_of(consumed.distance == 0, negate(consumed.together))
    return _verdict(again, False, ClientVerdict.LEGAL)


# --- answers, compared with logs --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AnsweredRecords:
    """Acknowledged records of one transaction, or of none, by what became of them in the log of a partition.

    Attributes:
        answer: to the transaction (`ClientAnswer`).
        fate: of the records (`RecordFate`).
        hangs: that they hang there is a finding already.
        foreign: their producer id is known not to be the transactional id's.
    """

    answer: Term
    fate: Term
    hangs: Term = False
    foreign: Term = False


def _has_fate(records: AnsweredRecords, *fates: RecordFate) -> Term:
    return any_of(*(records.fate == fate.value for fate in fates))


@evidences(rules.TXN_CLIENT_VERDICT, Layer.AUDIT)
@evidences(rules.SEQ_EXACTLY_ONCE, Layer.AUDIT)
def judge_answer(records: AnsweredRecords) -> Term:
    """What was answered as committed is in the log and not aborted; what was answered as aborted is not committed.

    Outside of transactions it is not known whether the producer waited for all replicas.
    """
    gone = _has_fate(records, RecordFate.ABORTED, RecordFate.LOST)
    hangs = all_of(_has_fate(records, RecordFate.OPEN), negate(records.hangs))
    there = _has_fate(records, RecordFate.VISIBLE, RecordFate.COMMITTED)
    outside = records.answer == ClientAnswer.NO_TRANSACTION.value
    breaks = any_of(
        all_of(records.answer == ClientAnswer.COMMITTED.value, any_of(gone, hangs)),
        all_of(records.answer == ClientAnswer.ABORTED.value, there),
        all_of(outside, gone),
    )
    return _verdict(breaks, negate(outside), ClientVerdict.LEGAL)


@evidences(rules.TXN_CLIENT_VERDICT, Layer.AUDIT)
def judge_owner(records: AnsweredRecords) -> Term:
    """Acknowledged offsets have records of the transactional id that they were acknowledged to."""
    return _verdict(records.foreign, True, ClientVerdict.UNDECIDED)


@evidences(rules.TXN_ATOMIC, Layer.AUDIT)
def judge_fates(aborted: Term, committed: Term) -> Term:
    """Records of a transaction are all committed, or all aborted, whatever was answered.

    Args:
        aborted: some are aborted, in any partition.
        committed: some are committed.
    """
    return _verdict(all_of(aborted, committed), True, ClientVerdict.UNDECIDED)


@dataclass(frozen=True, slots=True)
class AcknowledgedNext:
    """Two acknowledged offsets of a partition that follow each other.

    Attributes:
        distance: how far the second is behind the first.
        certain: both are of transactions, whose producers wait for all replicas.
    """

    distance: Term
    certain: Term


@evidences(rules.SEQ_EXACTLY_ONCE, Layer.AUDIT)
def judge_acknowledged_next(acknowledged: AcknowledgedNext) -> Term:
    """An offset is acknowledged for one record; one whose producer does not wait for all replicas may be lost."""
    return _verdict(acknowledged.distance < 1, acknowledged.certain, ClientVerdict.LEGAL)
