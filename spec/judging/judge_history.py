"""Rules of client histories: acknowledged, visible and committed records must agree with each other.

Each rule compares one client event with the event before it on a key, and with a value from the latest event on that
key that has one. Keys and orders belong to `model_tests.judging.history_links`; no rule reads a broker's state.
"""

from dataclasses import dataclass
from enum import IntEnum, unique
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate, same
from spec.evidence import Layer, evidences
from spec.judging.judge import RuleCheck
from spec.vocabulary import ABSENT, NO_OFFSET, ControlType

NO_NAME: Final = 0
"""The number of the empty name; all other names have numbers of their own."""

READ_UNCOMMITTED: Final = 0
READ_COMMITTED: Final = 1
"""Kafka's numbers of the isolation levels (IsolationLevel)."""


@unique
class EventKind(IntEnum):
    """What a row of a client, or of the node that answers a reader, reports."""

    SENT = 0  # an application handed a batch over
    ACKNOWLEDGED = 1  # the application got the acknowledgement of the batch
    TAKEN = 2  # a reader took a batch
    ANSWERED = 3  # a node answered a reader
    LISTED = 4  # an aborted transaction that the answer lists
    IDENTIFIED = 5  # an application got its producer id and epoch
    BEGUN = 6  # it began a transaction
    ENDING = 7  # it called commit or abort
    ENDED = 8  # the call returned success
    RESUMED = 9  # a reader got the offset that its group has committed
    HANDLED = 10  # a node handled a request of one of a client's transactions
    FAILED = 11  # the producer gave up on a batch: it will not be written again
    INITIATING = 12  # an application asked for its producer id and epoch
    FOUND = 13  # a group's coordinator returned, or received, an offset of a group
    MOVED = 14  # a consumer committed an offset of its group outside of transactions


@unique
class Course(IntEnum):
    """An application's knowledge of one of its transactions; the higher, the more is decided."""

    BEGUN = 0
    ABORT_REQUESTED = 1
    COMMIT_REQUESTED = 2
    ABORT_REPORTED = 3
    COMMIT_REPORTED = 4


@dataclass(frozen=True, slots=True)
class ClientEvent:
    """One event; fields that do not apply are absent, and names are numbers.

    Attributes:
        event: which (`EventKind`), absent where there is none.
        step: its place in the trace.
        client: the client that saw it.
        name: the transactional id.
        writer: the client that made the batch or committed the offset; with `first_record`, the batch's own name.
        offset: the requested one, or the one that a group has committed.
        known_offset: of a group, that its coordinator found as committed.
        batch_count: of an answer; absent, too, where its batches are not recorded.
        aborted_count: of an answer, aborted transactions that it lists; of one of these, how many follow it.
        last_stable: last stable offset of the node that lists an aborted transaction.
    """

    event: Term = ABSENT
    step: Term = ABSENT
    client: Term = NO_NAME
    name: Term = NO_NAME
    writer: Term = NO_NAME
    transaction: Term = ABSENT
    first_record: Term = ABSENT
    acks: Term = ABSENT
    producer_id: Term = ABSENT
    producer_epoch: Term = ABSENT
    transactional: Term = False
    control: Term = False
    committed: Term = False
    delivered: Term = False
    isolation: Term = ABSENT
    batch_count: Term = ABSENT
    aborted_count: Term = ABSENT
    record_count: Term = ABSENT
    offset: Term = NO_OFFSET
    known_offset: Term = NO_OFFSET
    first_offset: Term = NO_OFFSET
    last_offset: Term = NO_OFFSET
    last_stable: Term = NO_OFFSET
    error: Term = ABSENT


def _is(reported: ClientEvent, *events: EventKind) -> Term:
    return any_of(*(reported.event == event.value for event in events))


def _is_visible_or_hidden(reported: ClientEvent) -> Term:
    """A read_committed reader fetched data of a transaction, and delivered or filtered it."""
    taken = all_of(_is(reported, EventKind.TAKEN), reported.isolation == READ_COMMITTED, reported.transactional)
    return all_of(taken, negate(reported.control))


# --- the log of a partition, by offset ------------------------------------------------------------------------


@evidences(rules.SEQ_EXACTLY_ONCE, Layer.TRACE)
def acknowledged_place(reported: ClientEvent, previous: ClientEvent, _latest: Term) -> RuleCheck:
    """The offset that an acknowledgement names holds that batch and no other."""
    acknowledged = any_of(_is(reported, EventKind.ACKNOWLEDGED), _is(previous, EventKind.ACKNOWLEDGED))
    return RuleCheck(
        rules.SEQ_EXACTLY_ONCE, all_of(previous.event >= 0, acknowledged), _do_not_clash(reported, previous)
    )


@evidences(rules.REPL_COMMITTED_SURVIVES, Layer.TRACE)
def read_place(reported: ClientEvent, previous: ClientEvent, _latest: Term) -> RuleCheck:
    """Every reader of an offset finds the same batch there, and none that overlaps it."""
    both = all_of(_is(reported, EventKind.TAKEN), _is(previous, EventKind.TAKEN))
    return RuleCheck(rules.REPL_COMMITTED_SURVIVES, both, _do_not_clash(reported, previous))


def _do_not_clash(reported: ClientEvent, previous: ClientEvent) -> Term:
    """Two events, the lower offset first, name the same batch at the same offset, or disjoint ranges of offsets."""
    same_batch = all_of(
        previous.first_offset == reported.first_offset,
        previous.last_offset == reported.last_offset,
        previous.writer == reported.writer,
        previous.first_record == reported.first_record,
    )
    return any_of(same_batch, previous.last_offset < reported.first_offset)


# --- one batch ------------------------------------------------------------------------------------------------


@evidences(rules.SEQ_EXACTLY_ONCE, Layer.TRACE)
def one_place(reported: ClientEvent, previous: ClientEvent, acknowledged_at: Term) -> RuleCheck:
    """A batch that was acknowledged to an idempotent producer is read at one offset only.

    Args:
        reported: a batch that a reader fetched; the acknowledgements come first.
        previous: the event before it.
        acknowledged_at: one more than the offset in the acknowledgement, 0 if it names none; absent without one.
    """
    at_stake = all_of(_is(reported, EventKind.TAKEN), reported.producer_id >= 0, acknowledged_at >= 0)
    as_reported = any_of(acknowledged_at == 0, acknowledged_at == reported.first_offset + 1)
    as_read = any_of(negate(_is(previous, EventKind.TAKEN)), previous.first_offset == reported.first_offset)
    return RuleCheck(rules.SEQ_EXACTLY_ONCE, at_stake, all_of(as_reported, as_read))


@evidences(rules.TXN_ONE_OUTCOME, Layer.TRACE)
def one_outcome(reported: ClientEvent, previous: ClientEvent, _latest: Term) -> RuleCheck:
    """A batch that is visible to one reader is visible to every later one, and a filtered one stays filtered."""
    at_stake = all_of(_is_visible_or_hidden(reported), _is_visible_or_hidden(previous))
    unlike = all_of(
        previous.first_offset == reported.first_offset, negate(same(previous.delivered, reported.delivered))
    )
    return RuleCheck(rules.TXN_ONE_OUTCOME, at_stake, negate(unlike))


@evidences(rules.SEQ_EXACTLY_ONCE, Layer.TRACE)
def reported_once(reported: ClientEvent, previous: ClientEvent, answered: Term) -> RuleCheck:
    """A batch is sent before its result is reported, and the application gets one result for it.

    Args:
        reported: an event of the batch, in the order of the trace.
        previous: the event before it.
        answered: the step in which its application got the result, absent before.
    """
    answers = _is(reported, EventKind.ACKNOWLEDGED, EventKind.FAILED)
    first_time = all_of(previous.event >= 0, answered == ABSENT)
    return RuleCheck(
        rules.SEQ_EXACTLY_ONCE,
        any_of(answers, _is(reported, EventKind.SENT)),
        choose(answers, first_time, previous.event == ABSENT),
    )


# --- what one application sends and calls, in its own order ---------------------------------------------------


@evidences(rules.SEQ_ORDER, Layer.TRACE)
def numbered_on(reported: ClientEvent, _previous: ClientEvent, following: Term) -> RuleCheck:
    """An application numbers its records in the order in which it sends them; the log's order must agree with that.

    Args:
        reported: a batch that is sent.
        following: the number after that of the last record before, absent before the first.
    """
    at_stake = all_of(_is(reported, EventKind.SENT), following >= 0)
    return RuleCheck(rules.SEQ_ORDER, at_stake, reported.first_record == following)


@evidences(rules.TXN_NO_CROSSTALK, Layer.TRACE)
def in_the_begun(reported: ClientEvent, _previous: ClientEvent, begun: Term) -> RuleCheck:
    """What an application sends and calls belongs to the transaction that it has begun, one after the other.

    Args:
        reported: the event.
        begun: its newest transaction, absent before the first.
    """
    acts = _is(reported, EventKind.SENT, EventKind.ENDING, EventKind.ENDED)
    begins = _is(reported, EventKind.BEGUN)
    at_stake = all_of(any_of(acts, begins), begun >= 0)
    return RuleCheck(rules.TXN_NO_CROSSTALK, at_stake, reported.transaction == choose(begins, begun + 1, begun))


@evidences(rules.TXN_CLIENT_VERDICT, Layer.TRACE)
def in_its_course(reported: ClientEvent, previous: ClientEvent, _latest: Term) -> RuleCheck:
    """A transaction begins once, has one identity, and ends when its end is answered with the requested outcome."""
    at_stake = _is(reported, EventKind.BEGUN, EventKind.SENT, EventKind.ENDING, EventKind.ENDED)
    as_requested = all_of(_is(previous, EventKind.ENDING), same(previous.committed, reported.committed))
    open_ = all_of(_is(previous, EventKind.BEGUN, EventKind.SENT), _is_of_one_identity(reported, previous))
    failed = all_of(_is(previous, EventKind.ENDED), negate(previous.error == 0))
    holds = choose(
        _is(reported, EventKind.BEGUN),
        previous.event == ABSENT,
        choose(
            _is(reported, EventKind.ENDED),
            as_requested,
            choose(_is(reported, EventKind.SENT), open_, any_of(open_, failed)),
        ),
    )
    return RuleCheck(rules.TXN_CLIENT_VERDICT, at_stake, holds)


@evidences(rules.TXN_CLIENT_VERDICT, Layer.TRACE)
def identified_first(reported: ClientEvent, previous: ClientEvent, _latest: Term) -> RuleCheck:
    """A call to initTransactions is answered once, and before a transaction is begun, which has that identity."""
    answered = _is(previous, EventKind.INITIATING)
    identified = all_of(
        _is(previous, EventKind.IDENTIFIED), previous.error == 0, _is_of_one_identity(reported, previous)
    )
    known = any_of(_is(previous, EventKind.BEGUN), identified)
    begins = all_of(_is(reported, EventKind.BEGUN), previous.event >= 0)
    at_stake = any_of(begins, _is(reported, EventKind.IDENTIFIED))
    return RuleCheck(rules.TXN_CLIENT_VERDICT, at_stake, choose(_is(reported, EventKind.IDENTIFIED), answered, known))


def _is_of_one_identity(reported: ClientEvent, previous: ClientEvent) -> Term:
    """Producer id and epoch are the same, as far as the events have them."""
    unreported = any_of(reported.producer_id < 0, previous.producer_id < 0)
    alike = all_of(reported.producer_id == previous.producer_id, reported.producer_epoch == previous.producer_epoch)
    return any_of(unreported, alike)


# --- one transaction of one application -----------------------------------------------------------------------


@evidences(rules.TXN_ATOMIC, Layer.TRACE)
def all_or_nothing(reported: ClientEvent, previous: ClientEvent, _latest: Term) -> RuleCheck:
    """All of a transaction's records are visible, or none is."""
    at_stake = all_of(_is_visible_or_hidden(reported), _is_visible_or_hidden(previous))
    return RuleCheck(rules.TXN_ATOMIC, at_stake, same(previous.delivered, reported.delivered))


@evidences(rules.TXN_CLIENT_VERDICT, Layer.TRACE)
def as_reported_to_client(reported: ClientEvent, _previous: ClientEvent, course: Term) -> RuleCheck:
    """After commit returned OK the transaction's records are visible; after abort returned OK none is."""
    at_stake = all_of(_is_visible_or_hidden(reported), course >= Course.ABORT_REPORTED.value)
    return RuleCheck(
        rules.TXN_CLIENT_VERDICT, at_stake, same(reported.delivered, course == Course.COMMIT_REPORTED.value)
    )


@evidences(rules.TXN_NO_CROSSTALK, Layer.TRACE)
def outcome_matches_client(reported: ClientEvent, _previous: ClientEvent, course: Term) -> RuleCheck:
    """Records become visible only if the commit of their transaction was called, and are not lost if it was."""
    commits = any_of(course == Course.COMMIT_REQUESTED.value, course == Course.COMMIT_REPORTED.value)
    at_stake = all_of(_is_visible_or_hidden(reported), course >= 0)
    holds = choose(reported.delivered, commits, negate(course == Course.COMMIT_REPORTED.value))
    return RuleCheck(rules.TXN_NO_CROSSTALK, at_stake, holds)


@evidences(rules.TXN_NO_CROSSTALK, Layer.TRACE)
def acts_on_its_own(reported: ClientEvent, _previous: ClientEvent, begun: Term) -> RuleCheck:
    """A request of a transaction takes effect only after its client has begun it and before it begins the next.

    Args:
        reported: a request that took effect.
        begun: the client's newest transaction, absent before the first.
    """
    return RuleCheck(
        rules.TXN_NO_CROSSTALK, all_of(_is(reported, EventKind.HANDLED), begun >= 0), reported.transaction == begun
    )


@evidences(rules.OFFSETS_ATOMIC, Layer.TRACE)
def offsets_with_outputs(reported: ClientEvent, previous: ClientEvent, course: Term) -> RuleCheck:
    """A group resumes from a transaction's offset only if its commit was called, and its outputs are visible."""
    at_stake = all_of(_is(reported, EventKind.RESUMED), reported.error == 0, course >= 0)
    commits = any_of(course == Course.COMMIT_REQUESTED.value, course == Course.COMMIT_REPORTED.value)
    with_outputs = implies(_is_visible_or_hidden(previous), previous.delivered)
    return RuleCheck(rules.OFFSETS_ATOMIC, at_stake, all_of(commits, with_outputs))


@evidences(rules.OFFSETS_ATOMIC, Layer.TRACE)
def offsets_stay(reported: ClientEvent, _previous: ClientEvent, committed: Term) -> RuleCheck:
    """A coordinator returns no lower offset of a group than one whose commit was acknowledged to an application.

    Args:
        reported: the offset returned, where no transaction is undecided.
        committed: the latest offset before that whose commit, or transaction's commit, was acknowledged to a client.
    """
    at_stake = all_of(_is(reported, EventKind.FOUND), committed >= 0)
    return RuleCheck(rules.OFFSETS_ATOMIC, at_stake, reported.known_offset >= committed)


# --- what one reader fetched, in its own order ----------------------------------------------------------------


@evidences(rules.LSO_READ_COMMITTED, Layer.TRACE)
def reads_on(reported: ClientEvent, previous: ClientEvent, answered_end: Term) -> RuleCheck:
    """A reader continues right behind its last offset, or at its group's committed offset: no repeats, no gaps.

    The batches of one answer follow each other without a gap, from its first to its last; the first holds the requested
    offset.

    Args:
        reported: a batch that it fetches, or an answer.
        previous: the batch or answer before.
        answered_end: the offset after the latest answer before, 0 if that is empty; absent where it is not recorded.
    """
    at_stake, holds = _position_continues(reported, previous, answered_end)
    return RuleCheck(rules.LSO_READ_COMMITTED, all_of(reported.isolation == READ_COMMITTED, at_stake), holds)


@evidences(rules.SEQ_EXACTLY_ONCE, Layer.TRACE)
def reads_all(reported: ClientEvent, previous: ClientEvent, answered_end: Term) -> RuleCheck:
    """The same of a read_uncommitted reader: every record of the log is read once."""
    at_stake, holds = _position_continues(reported, previous, answered_end)
    return RuleCheck(rules.SEQ_EXACTLY_ONCE, all_of(reported.isolation == READ_UNCOMMITTED, at_stake), holds)


def _position_continues(reported: ClientEvent, previous: ClientEvent, answered_end: Term) -> tuple[Term, Term]:
    """Whether the reader's position matters, and whether it is as it should be."""
    took = _is(previous, EventKind.TAKEN)
    resumed = all_of(_is(previous, EventKind.RESUMED), previous.error == 0, previous.offset >= 0)
    answered = all_of(_is(previous, EventKind.ANSWERED), previous.error == 0, previous.batch_count >= 0)
    asks = all_of(_is(reported, EventKind.ANSWERED), any_of(took, resumed, answered))
    begins = all_of(_is(reported, EventKind.TAKEN), _is(previous, EventKind.ANSWERED))
    holds = choose(
        _is(reported, EventKind.ANSWERED),
        _asks_behind(reported, previous, answered_end),
        _takes(reported, previous, answered_end),
    )
    return any_of(asks, begins, all_of(_is(reported, EventKind.TAKEN), took)), holds


def _asks_behind(reported: ClientEvent, previous: ClientEvent, answered_end: Term) -> Term:
    """A reader that fetches again has taken the whole answer before, and fetches from the offset behind it."""
    took = _is(previous, EventKind.TAKEN)
    took_all = any_of(answered_end <= 0, answered_end == previous.last_offset + 1)
    nothing = any_of(_is(previous, EventKind.RESUMED), previous.batch_count == 0)
    behind = reported.offset == choose(took, previous.last_offset + 1, previous.offset)
    return all_of(behind, choose(took, took_all, nothing))


def _takes(reported: ClientEvent, previous: ClientEvent, answered_end: Term) -> Term:
    """A batch is the next of the answer; the first batch is the first one of the answer."""
    follows = reported.first_offset == previous.last_offset + 1
    holds_asked = all_of(reported.first_offset <= reported.offset, reported.offset <= reported.last_offset)
    is_first = any_of(previous.first_offset < 0, reported.first_offset == previous.first_offset)
    in_answer = any_of(answered_end < 0, reported.last_offset < answered_end)
    return all_of(choose(_is(previous, EventKind.TAKEN), follows, all_of(holds_asked, is_first)), in_answer)


@evidences(rules.LSO_ABORTED_INDEX, Layer.TRACE)
def listed_in_full(reported: ClientEvent, previous: ClientEvent, _latest: Term) -> RuleCheck:
    """An answer to a reader lists as many aborted transactions as it counts, before the next batch or request."""
    left = choose(_is(previous, EventKind.ANSWERED, EventKind.LISTED), previous.aborted_count, 0)
    known = all_of(previous.event >= 0, left >= 0)
    is_listed = _is(reported, EventKind.LISTED)
    at_stake = all_of(known, any_of(negate(is_listed), reported.aborted_count >= 0))
    return RuleCheck(
        rules.LSO_ABORTED_INDEX, at_stake, choose(is_listed, reported.aborted_count == left - 1, left == 0)
    )


@evidences(rules.LSO_ABORTED_INDEX, Layer.TRACE)
def withheld_is_listed(reported: ClientEvent, _previous: ClientEvent, listed: Term) -> RuleCheck:
    """A transactional batch that is filtered is in the list of aborted transactions of its answer.

    Args:
        reported: a batch that a read_committed reader fetched.
        listed: how many aborted transactions the latest answer lists, absent where that is not recorded.
    """
    withheld = all_of(_is_visible_or_hidden(reported), negate(reported.delivered))
    return RuleCheck(rules.LSO_ABORTED_INDEX, all_of(withheld, listed >= 0), listed > 0)


@evidences(rules.LSO_ABORTED_INDEX, Layer.TRACE)
def withheld_is_in_range(reported: ClientEvent, previous: ClientEvent, listed: Term) -> RuleCheck:
    """A filtered batch lies in a listed range: not right behind a marker of its producer.

    Args:
        reported: a batch of a transaction.
        previous: the producer's batch before it, or the beginning of a listed range; by offset.
        listed: 1 where a range of the producer was listed that begins before; absent without any.
    """
    withheld = all_of(_is_visible_or_hidden(reported), negate(reported.delivered))
    behind_marker = all_of(_is(previous, EventKind.TAKEN), previous.control)
    return RuleCheck(rules.LSO_ABORTED_INDEX, all_of(withheld, listed >= 0), negate(behind_marker))


# --- one producer on a partition, as one reader read on without a break; the last offset first ----------------


@evidences(rules.LSO_READ_COMMITTED, Layer.TRACE)
def visible_as_decided(reported: ClientEvent, _previous: ClientEvent, marker: Term) -> RuleCheck:
    """A read_committed reader gets non-transactional records, and those of transactions whose next marker commits.

    Args:
        reported: a batch that a reader fetched.
        marker: type of the next control batch of the producer, absent if none was read.
    """
    data = all_of(_is(reported, EventKind.TAKEN), reported.isolation == READ_COMMITTED, negate(reported.control))
    at_stake = all_of(data, any_of(negate(reported.transactional), marker >= 0))
    visible = any_of(negate(reported.transactional), marker == ControlType.COMMIT.value)
    return RuleCheck(rules.LSO_READ_COMMITTED, at_stake, same(reported.delivered, visible))


@evidences(rules.LSO_ABORTED_INDEX, Layer.TRACE)
def aborted_is_listed(reported: ClientEvent, _previous: ClientEvent, marker: Term) -> RuleCheck:
    """A transaction that an ABORT ends is in the list of aborted transactions, and so is filtered; and the reverse.

    A list may go beyond the last stable offset, and so beyond the replicated log; that part may still be lost.
    """
    hidden = all_of(_is_visible_or_hidden(reported), marker == ControlType.ABORT.value)
    listed = all_of(_is(reported, EventKind.LISTED), marker >= 0, reported.first_offset < reported.last_stable)
    holds = choose(_is(reported, EventKind.LISTED), marker == ControlType.ABORT.value, negate(reported.delivered))
    return RuleCheck(rules.LSO_ABORTED_INDEX, any_of(hidden, listed), holds)


@evidences(rules.TXN_MARKER_ONCE, Layer.TRACE)
def marked_between(reported: ClientEvent, following: ClientEvent, _marker: Term) -> RuleCheck:
    """Between the records of two transactions of a producer there is a marker."""
    both = all_of(_is_visible_or_hidden(reported), _is_visible_or_hidden(following), negate(reported.writer == NO_NAME))
    one = all_of(reported.writer == following.writer, reported.transaction == following.transaction)
    return RuleCheck(rules.TXN_MARKER_ONCE, both, one)


# --- what one application wrote to a partition, by offset -----------------------------------------------------


@evidences(rules.SEQ_ORDER, Layer.TRACE)
def in_order_sent(reported: ClientEvent, previous: ClientEvent, _latest: Term) -> RuleCheck:
    """A higher offset holds a later record of an idempotent producer."""
    at_stake = all_of(_is(reported, EventKind.TAKEN), _is(previous, EventKind.TAKEN), reported.producer_id >= 0)
    again = previous.first_offset == reported.first_offset
    return RuleCheck(rules.SEQ_ORDER, at_stake, any_of(again, previous.first_record < reported.first_record))


# --- one producer id, the highest epoch first -----------------------------------------------------------------


@evidences(rules.IDS_UNIQUE, Layer.TRACE)
def of_one_name(reported: ClientEvent, previous: ClientEvent, _latest: Term) -> RuleCheck:
    """A producer id belongs to one transactional id, or to one application without."""
    named = any_of(negate(reported.name == NO_NAME), negate(previous.name == NO_NAME))
    holds = choose(named, reported.name == previous.name, reported.client == previous.client)
    both = negate(any_of(_is(reported, EventKind.TAKEN), _is(previous, EventKind.TAKEN)))
    return RuleCheck(rules.IDS_UNIQUE, all_of(previous.event >= 0, both), holds)


@evidences(rules.FENCE_ZOMBIE_CANNOT_COMMIT, Layer.TRACE)
def no_zombie_commits(call: ClientEvent, taken: ClientEvent, newer_since: Term) -> RuleCheck:
    """A commit that was called after a client got a newer epoch never becomes visible.

    Args:
        call: an application asks to commit.
        taken: a batch of the same transaction that a reader fetched, if one did.
        newer_since: the step in which a client got the next higher epoch of the producer id, absent if none did.
    """
    of_call = all_of(taken.writer == call.client, taken.transaction == call.transaction)
    asks = all_of(_is(call, EventKind.ENDING), call.committed, newer_since >= 0)
    at_stake = all_of(asks, _is_visible_or_hidden(taken), of_call)
    return RuleCheck(
        rules.FENCE_ZOMBIE_CANNOT_COMMIT, at_stake, any_of(negate(taken.delivered), call.step < newer_since)
    )
