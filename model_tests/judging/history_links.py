"""History rules about client events, as keys, orders and marks: on each key one look back serves every rule.

A client event belongs to several keys: the place of its batch in the log, the batch, its transaction, the reader. The
events of a key are sorted as the rule needs them, not as they came; each sees the one before it, and the latest mark.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Final

from model_tests.judging.inferred_faults import OF_TRANSACTIONS
from model_tests.traces.schema import STEP_BITS
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.judging import judge_history as history
from spec.judging.judge import RuleCheck
from spec.judging.judge_history import NO_NAME, ClientEvent, Course, EventKind
from spec.rules import Rule
from spec.vocabulary import ABSENT, MAX_EPOCH, Api, ErrorCode

HISTORY: Final = "history"

ANSWERED: Final = "ConsumerFetch"
RESUMED: Final = "ClientFetchOffsets"

EVENT_KINDS: Final[Mapping[str, EventKind]] = MappingProxyType(
    {
        "ClientSend": EventKind.SENT,
        "ClientAcknowledged": EventKind.ACKNOWLEDGED,
        "ClientSendFailed": EventKind.FAILED,
        "ClientFetched": EventKind.TAKEN,
        ANSWERED: EventKind.ANSWERED,
        "ConsumerFetchAborted": EventKind.LISTED,
        "ClientInitTransactions": EventKind.INITIATING,
        "ClientInitTransactionsAnswered": EventKind.IDENTIFIED,
        "ClientBeginTransaction": EventKind.BEGUN,
        "ClientEndTransaction": EventKind.ENDING,
        "ClientEndTransactionAnswered": EventKind.ENDED,
        RESUMED: EventKind.RESUMED,
        **dict.fromkeys(OF_TRANSACTIONS, EventKind.HANDLED),
        Api.OFFSET_FETCH: EventKind.FOUND,
        Api.TXN_OFFSET_COMMIT: EventKind.FOUND,
        "ClientCommitOffsets": EventKind.MOVED,
    }
)
"""The client event of a row, by its api."""

_FIELDS: Final = tuple(field.name for field in fields(ClientEvent))

COLUMN_OF: Final = MappingProxyType(
    {name: name for name in _FIELDS if name != "event"}
    | {"name": "transactional_id", "last_stable": "before_last_stable", "known_offset": "before_committed_offset"}
)
"""The column of each field of a client event but `event` itself, which follows from the api."""

NAMES: Final = frozenset(("client", "name", "writer"))
"""Fields that hold names, as numbers."""

SESSION: Final = "resets"
"""How often any reader of the trace has begun anew: between two such moments each reads without a break."""

_MOST_TRANSACTIONS: Final = 2**STEP_BITS
"""More than any client has in a trace."""

Of = Callable[[str], Term]
"""The value of a column of a row, by its name; of `event`, too."""


def begins_anew(of: Of) -> Term:
    """A reader goes to another place than behind what it took."""
    return any_of(of("api") == RESUMED, all_of(of("api") == ANSWERED, negate(of("error") == ErrorCode.NONE.value)))


@dataclass(frozen=True, slots=True)
class HistoryLink:
    """One history rule.

    Attributes:
        check: of a client event, the one before it, and the latest mark; absent where there is none.
    """

    name: str
    rule: Rule
    check: Callable[[ClientEvent, ClientEvent, Term], RuleCheck]

    @property
    def statement(self) -> str:
        """What it allows, in a sentence."""
        return str(self.check.__doc__).splitlines()[0]


@dataclass(frozen=True, slots=True)
class HistoryChain:
    """The client events on one kind of key, and the rules between them.

    Attributes:
        events: that may be on such a key.
        members: which of them are.
        texts: the part of the key that is text; a function where it is not the same column for all.
        numbers: columns of the key that hold integers.
        at: by what the client events of a key are sorted; those alike, by step.
        mark: what a client event leaves to all that follow it: whether it does, and a number that is not negative.
        in_session: only events between which no reader began anew are of one key.
    """

    links: tuple[HistoryLink, ...]
    events: frozenset[EventKind]
    members: Callable[[Of], Term]
    texts: tuple[str | Callable[[Of], Term], ...]
    numbers: tuple[str, ...]
    at: Callable[[Of], Term]
    mark: Callable[[Of], tuple[Term, Term]] = lambda _: (False, 0)
    in_session: bool = False


def _is(of: Of, *events: EventKind) -> Term:
    return any_of(*(of("event") == event.value for event in events))


def _is_placed(of: Of) -> Term:
    """A batch that a reader took, or that was acknowledged with all replicas in sync."""
    acknowledged = all_of(_is(of, EventKind.ACKNOWLEDGED), of("acks") == ABSENT)
    return any_of(acknowledged, _is(of, EventKind.TAKEN))


def _course(of: Of) -> Term:
    ended = choose(of("committed"), Course.COMMIT_REPORTED.value, Course.ABORT_REPORTED.value)
    request = choose(of("committed"), Course.COMMIT_REQUESTED.value, Course.ABORT_REQUESTED.value)
    return choose(_is(of, EventKind.ENDED), ended, choose(_is(of, EventKind.ENDING), request, Course.BEGUN.value))


def _whose(of: Of) -> Term:
    """The application: of its own calls the client, of what was read who made it."""
    return choose(_is(of, EventKind.TAKEN, EventKind.RESUMED), of("writer"), of("client"))


def _at_in_transaction(of: Of) -> Term:
    return choose(_is(of, EventKind.RESUMED), 6, choose(_is(of, EventKind.TAKEN), 5, _course(of)))


def _seen_in_transaction(of: Of) -> Term:
    seen = any_of(_is(of, EventKind.RESUMED), of("isolation") == history.READ_COMMITTED)
    return choose(_is(of, EventKind.TAKEN, EventKind.RESUMED), all_of(seen, negate(of("writer") == "")), _counts(of))


def _counts(of: Of) -> Term:
    """Of answers only those without an error say that something is so."""
    return any_of(negate(_is(of, EventKind.ENDED, EventKind.IDENTIFIED)), of("error") == ErrorCode.NONE.value)


def _links(*checks: Callable[[ClientEvent, ClientEvent, Term], RuleCheck]) -> tuple[HistoryLink, ...]:
    return tuple(
        HistoryLink(check.__name__, check(ClientEvent(), ClientEvent(), ABSENT).rule, check) for check in checks
    )


def _not_yet_lower(of: Of) -> Term:
    """The highest offset first."""
    return 0 - of("first_offset")


def _has_identity(of: Of) -> Term:
    known = all_of(of("producer_id") >= 0, of("producer_epoch") >= 0, of("producer_epoch") <= MAX_EPOCH)
    return all_of(known, of("transaction") < _MOST_TRANSACTIONS)


def _at_of_producer(of: Of) -> Term:
    """The highest epoch first; of one epoch by transaction, what was read before what was asked; the identity last."""
    part = choose(_is(of, EventKind.TAKEN), 0, choose(_is(of, EventKind.ENDING), 1, 2))
    within = choose(_is(of, EventKind.IDENTIFIED), 4 * _MOST_TRANSACTIONS, 4 * of("transaction") + part)
    return within - 8 * _MOST_TRANSACTIONS * of("producer_epoch")


def _end_of_answer(of: Of) -> tuple[Term, Term]:
    """The offset after the last batch of an answer, 0 of one without any."""
    empty = any_of(of("batch_count") == 0, negate(of("error") == ErrorCode.NONE.value))
    says = all_of(_is(of, EventKind.ANSWERED), any_of(empty, of("last_offset") >= 0))
    return says, choose(empty, 0, of("last_offset") + 1)


def _of_committed_reader(of: Of) -> Term:
    return all_of(negate(of("client") == ""), of("isolation") == history.READ_COMMITTED)


def _is_decided_offset(of: Of) -> Term:
    """An offset of a group that a client got as committed, or that no transaction may change."""
    reported = any_of(_is(of, EventKind.MOVED), all_of(_is(of, EventKind.ENDED), of("committed")))
    found = all_of(_is(of, EventKind.FOUND), negate(of("offset_pending")))
    return all_of(of("error") == ErrorCode.NONE.value, any_of(all_of(reported, of("offset") >= 0), found))


def _has_effect(of: Of) -> Term:
    """A request has changed a log, or what a coordinator knows."""
    moved = (of(f"before_{name}") == of(f"after_{name}") for name in ("txn_state", "txn_partitions"))
    return any_of(of("appended"), negate(all_of(*moved)))


_OF_CALLS: Final = frozenset((EventKind.BEGUN, EventKind.SENT, EventKind.ENDING, EventKind.ENDED))
"""What an application does in a transaction, and the answers that it gets."""

PLACE, BATCH, TRANSACTION, READER, DECIDED, SENT_TO, IDENTITY, CALLS, HANDED_OVER, NUMBERED, COURSE = range(21, 32)
ANSWER, LISTED, IDENTIFYING, GROUP_OFFSET = range(32, 36)

HISTORY_CHAINS: Final[Mapping[int, HistoryChain]] = MappingProxyType(
    {
        PLACE: HistoryChain(
            _links(history.acknowledged_place, history.read_place),
            frozenset((EventKind.ACKNOWLEDGED, EventKind.TAKEN)),
            lambda of: all_of(_is_placed(of), of("first_offset") >= 0),
            ("topic",),
            ("partition",),
            at=lambda of: of("first_offset"),
        ),
        BATCH: HistoryChain(
            _links(history.one_place, history.one_outcome),
            frozenset((EventKind.ACKNOWLEDGED, EventKind.TAKEN)),
            lambda of: all_of(_is_placed(of), negate(of("writer") == "")),
            ("topic", "writer"),
            ("partition", "first_record"),
            at=lambda of: choose(_is(of, EventKind.ACKNOWLEDGED), ABSENT, of("isolation")),
            mark=lambda of: (_is(of, EventKind.ACKNOWLEDGED), of("first_offset") + 1),
        ),
        TRANSACTION: HistoryChain(
            _links(
                history.all_or_nothing,
                history.as_reported_to_client,
                history.outcome_matches_client,
                history.offsets_with_outputs,
            ),
            frozenset((EventKind.BEGUN, EventKind.ENDING, EventKind.ENDED, EventKind.TAKEN, EventKind.RESUMED)),
            lambda of: all_of(of("transaction") >= 0, _seen_in_transaction(of)),
            (_whose,),
            ("transaction",),
            at=_at_in_transaction,
            mark=lambda of: (_is(of, EventKind.BEGUN, EventKind.ENDING, EventKind.ENDED), _course(of)),
        ),
        READER: HistoryChain(
            _links(history.reads_on, history.reads_all),
            frozenset((EventKind.ANSWERED, EventKind.TAKEN, EventKind.RESUMED)),
            lambda of: negate(of("client") == ""),
            ("client", "topic"),
            ("partition",),
            at=lambda of: of("step"),
            mark=_end_of_answer,
        ),
        DECIDED: HistoryChain(
            _links(history.visible_as_decided, history.aborted_is_listed, history.marked_between),
            frozenset((EventKind.TAKEN, EventKind.LISTED)),
            lambda of: negate(of("client") == ""),
            ("client", "topic"),
            ("partition", "producer_id"),
            at=_not_yet_lower,
            mark=lambda of: (all_of(_is(of, EventKind.TAKEN), of("control")), of("control_type")),
            in_session=True,
        ),
        SENT_TO: HistoryChain(
            _links(history.in_order_sent),
            frozenset((EventKind.TAKEN,)),
            lambda of: negate(of("writer") == ""),
            ("topic", "writer"),
            ("partition",),
            at=lambda of: of("first_offset"),
        ),
        IDENTITY: HistoryChain(
            _links(history.of_one_name, history.no_zombie_commits),
            frozenset((EventKind.SENT, EventKind.TAKEN, EventKind.IDENTIFIED, EventKind.ENDING)),
            lambda of: all_of(_has_identity(of), _counts(of)),
            (),
            ("producer_id",),
            at=_at_of_producer,
            mark=lambda of: (_is(of, EventKind.IDENTIFIED), of("step")),
        ),
        CALLS: HistoryChain(
            _links(history.acts_on_its_own, history.in_the_begun),
            _OF_CALLS | {EventKind.HANDLED},
            lambda of: all_of(of("transaction") >= 0, any_of(_is(of, *_OF_CALLS), _has_effect(of))),
            ("client",),
            (),
            at=lambda of: of("step"),
            mark=lambda of: (_is(of, EventKind.BEGUN), of("transaction")),
        ),
        HANDED_OVER: HistoryChain(
            _links(history.reported_once),
            frozenset((EventKind.SENT, EventKind.ACKNOWLEDGED, EventKind.FAILED, EventKind.TAKEN)),
            lambda of: negate(of("writer") == ""),
            ("topic", "writer"),
            ("partition", "first_record"),
            at=lambda of: of("step"),
            mark=lambda of: (_is(of, EventKind.ACKNOWLEDGED, EventKind.FAILED), of("step")),
        ),
        NUMBERED: HistoryChain(
            _links(history.numbered_on),
            frozenset((EventKind.SENT,)),
            lambda of: all_of(of("first_record") >= 0, of("record_count") >= 0),
            ("client",),
            (),
            at=lambda of: of("step"),
            mark=lambda of: (True, of("first_record") + of("record_count")),
        ),
        COURSE: HistoryChain(
            _links(history.in_its_course),
            _OF_CALLS,
            lambda of: of("transaction") >= 0,
            ("client",),
            ("transaction",),
            at=lambda of: of("step"),
        ),
        ANSWER: HistoryChain(
            _links(history.listed_in_full, history.withheld_is_listed),
            frozenset((EventKind.ANSWERED, EventKind.LISTED, EventKind.TAKEN)),
            _of_committed_reader,
            ("client", "topic"),
            ("partition",),
            at=lambda of: of("step"),
            mark=lambda of: (all_of(_is(of, EventKind.ANSWERED), of("aborted_count") >= 0), of("aborted_count")),
        ),
        LISTED: HistoryChain(
            _links(history.withheld_is_in_range),
            frozenset((EventKind.LISTED, EventKind.TAKEN)),
            _of_committed_reader,
            ("client", "topic"),
            ("partition", "producer_id"),
            at=lambda of: of("first_offset"),
            mark=lambda of: (_is(of, EventKind.LISTED), 1),
            in_session=True,
        ),
        IDENTIFYING: HistoryChain(
            _links(history.identified_first),
            frozenset((EventKind.INITIATING, EventKind.IDENTIFIED, EventKind.BEGUN)),
            lambda of: negate(of("client") == ""),
            ("client",),
            (),
            at=lambda of: of("step"),
        ),
        GROUP_OFFSET: HistoryChain(
            _links(history.offsets_stay),
            frozenset((EventKind.ENDED, EventKind.MOVED, EventKind.FOUND)),
            lambda of: all_of(negate(of("group") == ""), _is_decided_offset(of)),
            ("group", "topic"),
            ("partition",),
            at=lambda of: of("step"),
            mark=lambda of: (negate(_is(of, EventKind.FOUND)), of("offset")),
        ),
    }
)
"""Every chain by its number."""


def reported_of(scalar: Of) -> ClientEvent:
    """The client event whose fields have the values that `scalar` gives for their names."""
    return ClientEvent(**{name: scalar(name) for name in _FIELDS})


def check_of_history(link: HistoryLink, scalar: Of) -> RuleCheck:
    """What a link compares a client event with: its fields, those of the one before with `previous_`, and `latest`."""
    return link.check(reported_of(scalar), reported_of(lambda name: scalar(f"previous_{name}")), scalar("latest"))


def number_of(names: dict[str, int], name: Any) -> int:
    """The number of a name, given out as names come."""
    return names.setdefault(name, len(names) + 1) if name else NO_NAME
