"""Answers and states of a recorded step: a table of the fields of each, by which it is checked and written.

A recorded answer is held to its form before anything is compared with it: what is missing or of another type would be
compared as if the broker had said so.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from model_tests.conform.answers import (
    Added,
    Answer,
    AppendAnswer,
    EndTxnAnswer,
    FetchedOffsetAnswer,
    Initialized,
    ListedTransaction,
    MarkersWritten,
    MarkerWritten,
    ObservableState,
    OffsetsAdded,
    OffsetsCommitted,
    OffsetsFetched,
    ProduceAnswer,
    RecordedFetchAnswer,
    RecordedJoin,
    SeenBatch,
    SeenGroup,
    SeenOffset,
    SeenPartition,
    SeenProducer,
    SeenTransaction,
    Silence,
    TransactionsListed,
)
from model_tests.conform.field_tables import (
    PRODUCER,
    Field,
    Name,
    ObjectForm,
    by_name,
    fitting,
    is_producer,
    objects,
    where,
)
from model_tests.conform.fields import Json, SessionFields
from model_tests.conform.requests import SEVERAL, Named
from spec.vocabulary import Api, ErrorCode

OPEN: Final = "open"
"""First offset of an open transaction on an offsets partition, where only that there is one is recorded."""

OFFSETS_TOPIC: Final = "__consumer_offsets"

NO_SUCH_ID: Final = {"error": ErrorCode.TRANSACTIONAL_ID_NOT_FOUND.name}
"""What DescribeTransactions says of an id that the coordinator does not know."""

BUMPS_SINCE: Final = 5
"""First version of EndTxn whose answer has an identity."""


def _is_integer(value: object) -> bool:
    return type(value) is int


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_list(value: object, *kinds: Any) -> bool:
    """A list of things of one kind, or of tuples of these kinds."""
    if not isinstance(value, list):
        return False
    if len(kinds) == 1:
        return all(kinds[0](each) for each in value)
    return all(
        isinstance(each, list)
        and len(each) == len(kinds)
        and all(fits(part) for fits, part in zip(kinds, each, strict=True))
        for each in value
    )


INTEGER: Final = fitting(_is_integer, "an integer")
TEXT: Final = fitting(_is_text, "a string")
FLAG: Final = fitting(lambda value: isinstance(value, bool), "true or false")
TEXTS: Final = fitting(lambda value: _is_list(value, _is_text), "a list of strings")
SORTED: Final = fitting(lambda value: _is_list(value, _is_text), "a list of strings", lambda values, *_: sorted(values))
ERROR_NAME: Final = fitting(_is_text, "a string", lambda error, *_: error.name)
ERROR_CODE: Final = fitting(_is_integer, "an integer", lambda error, *_: error.value)
MEMBER: Final = fitting(_is_text, "a string", lambda member, name, _: name(member))
APPEND_TIME: Final = fitting(
    lambda value: value in ("set", -1), "'set' or -1", lambda is_reported, *_: "set" if is_reported else -1
)
START: Final = fitting(lambda value: _is_integer(value) or value == OPEN, "an offset, or 'open'")
STABLE: Final = fitting(
    lambda value: _is_integer(value) or _is_text(value),
    "an offset or an error",
    lambda fetched, *_: fetched.offset if fetched.error is ErrorCode.NONE else fetched.error.name,
)
ERRORS: Final = fitting(
    lambda value: isinstance(value, dict) and all(_is_text(each) for each in value.values()),
    "errors by partition",
    lambda errors, *_: {partition: error.name for partition, error in errors.items()},
)
ABORTED: Final = fitting(
    lambda value: value is None or _is_list(value, is_producer, _is_integer),
    "null, or a list of producer ids and offsets",
    lambda aborted, name, _: None if aborted is None else [[name(producer), first] for producer, first in aborted],
)
DELIVERED: Final = fitting(
    lambda value: _is_list(value, _is_integer, _is_text),
    "a list of offsets and values",
    lambda delivered, *_: [[offset, value] for offset, value in delivered],
)

_ERROR: Final = (Field("error", ERROR_NAME), Field("error_code", ERROR_CODE, attribute="error"))
_IDENTITY: Final = (Field("producer_id", PRODUCER), Field("producer_epoch", INTEGER))
_RANGE: Final = (Field("hw", INTEGER), Field("lso", INTEGER))
_LOG_START: Final = Field("log_start_offset", INTEGER)
_ERRORS: Final = Field("partitions", ERRORS, attribute="errors")

APPENDED: Final = ObjectForm(
    AppendAnswer,
    (
        *_ERROR,
        Field("base_offset", INTEGER),
        Field("log_append_time", APPEND_TIME, attribute="append_time_reported"),
        _LOG_START,
    ),
)
BATCH: Final = ObjectForm(
    SeenBatch,
    (
        *_IDENTITY,
        Field("base_offset", INTEGER),
        Field("last_offset", INTEGER),
        Field("base_sequence", INTEGER),
        Field("transactional", FLAG),
        Field("control", FLAG),
        Field("marker", TEXT, when=where("control", True)),
        Field("coordinator_epoch", INTEGER, when=where("control", True)),
        Field("values", TEXTS, when=where("control", False)),
    ),
)
OFFSET: Final = ObjectForm(FetchedOffsetAnswer, (*_ERROR, Field("committed_offset", INTEGER, attribute="offset")))
WRITTEN: Final = ObjectForm(MarkerWritten, (Field("producer_id", PRODUCER), _ERRORS))
LISTED: Final = ObjectForm(
    ListedTransaction, (Field("transactional_id", TEXT), Field("producer_id", PRODUCER), Field("state", TEXT))
)

RESPONSES: Final[Mapping[str, ObjectForm]] = MappingProxyType(
    {
        Api.PRODUCE: APPENDED,
        SEVERAL: ObjectForm(ProduceAnswer, (Field("partitions", by_name(APPENDED)),)),
        Api.FETCH: ObjectForm(
            RecordedFetchAnswer,
            (
                *_RANGE,
                _LOG_START,
                Field("aborted", ABORTED),
                Field("batches", objects(BATCH)),
                Field("delivered", DELIVERED),
            ),
        ),
        Api.INIT_PRODUCER_ID: ObjectForm(Initialized, _IDENTITY),
        Api.ADD_PARTITIONS_TO_TXN: ObjectForm(Added, (_ERRORS,)),
        Api.ADD_OFFSETS_TO_TXN: ObjectForm(OffsetsAdded, ()),
        Api.END_TXN: ObjectForm(EndTxnAnswer, tuple(replace(field, since=BUMPS_SINCE) for field in _IDENTITY)),
        Api.WRITE_TXN_MARKERS: ObjectForm(MarkersWritten, (Field("markers", objects(WRITTEN)),)),
        Api.LIST_TRANSACTIONS: ObjectForm(
            TransactionsListed,
            (
                Field("transactions", objects(LISTED)),
                Field("unknown_state_filters", TEXTS, attribute="unknown_states"),
            ),
        ),
        Api.TXN_OFFSET_COMMIT: ObjectForm(OffsetsCommitted, (_ERRORS,)),
        Api.OFFSET_COMMIT: ObjectForm(OffsetsCommitted, (_ERRORS,)),
        Api.OFFSET_FETCH: ObjectForm(OffsetsFetched, (Field("partitions", by_name(OFFSET)),)),
        "_BumpEpochs": ObjectForm(Initialized, _IDENTITY),
        "_JoinSync": ObjectForm(RecordedJoin, (Field("member", MEMBER), Field("generation", INTEGER))),
    }
)
"""The fields of the answer to each request, beside its error."""

ERROR: Final = ObjectForm(ErrorCode, (Field("error", TEXT), Field("error_code", INTEGER)))
"""The error of an answer; what a recorder did has its name only."""

FORM_OF: Final[Mapping[type, ObjectForm]] = MappingProxyType(
    {form.record: form for form in RESPONSES.values() if isinstance(form.record, type)}
)
"""The fields of each answer."""

SEEN_PRODUCER: Final = ObjectForm(
    SeenProducer,
    (
        *_IDENTITY,
        Field("last_sequence", INTEGER),
        Field("coordinator_epoch", INTEGER),
        Field("current_txn_start_offset", START),
    ),
)
SEEN_PARTITION: Final = ObjectForm(SeenPartition, _RANGE)
SEEN_TRANSACTION: Final = ObjectForm(
    SeenTransaction,
    (
        Field("state", TEXT),
        *_IDENTITY,
        Field("timeout", INTEGER),
        Field("started", FLAG),
        Field("partitions", SORTED),
    ),
)
SEEN_OFFSET: Final = ObjectForm(SeenOffset, (Field("committed", INTEGER), Field("stable", STABLE)))

NO_OFFSET: Final = SeenOffset(-1, FetchedOffsetAnswer(ErrorCode.NONE))
"""What a group has of a partition without a committed offset."""


def check_response(api: str, version: int, response: SessionFields) -> None:
    """Hold the answer to a request to its form.

    Args:
        api: the request.
        version: of it.
        response: as recorded.

    Raises:
        MalformedSession: a field is missing or of another type.
    """
    if api in RESPONSES:
        ERROR.check(response)
        RESPONSES[api].check(response, version)
    else:
        TEXT.read(response, "error", version)


def check_after(after: SessionFields, *, whole: bool = True) -> None:
    """Hold the state after a step to its form.

    Args:
        after: as recorded.
        whole: producers and offsets have to be in it; else any part may be missing.

    Raises:
        MalformedSession: a field is missing or of another type.
    """
    if whole or "producers" in after.values:
        producers = after.within("producers")
        for partition in producers.values:
            objects(SEEN_PRODUCER).read(producers, partition, 0)
    if whole or "offsets" in after.values:
        by_name(SEEN_PARTITION).read(after, "offsets", 0)
    if "transactions" in after.values:
        transactions = after.within("transactions")
        for name in transactions.values:
            transaction = transactions.within(name)
            if "error" in transaction.values:
                TEXT.read(transaction, "error", 0)
            else:
                SEEN_TRANSACTION.check(transaction)
    if "groups" in after.values:
        check_groups(after.within("groups"))


def check_groups(groups: SessionFields) -> None:
    """Hold what was seen of groups to its form.

    Raises:
        MalformedSession: a field is missing or of another type.
    """
    for group in groups.values:
        by_name(SEEN_OFFSET).read(groups, group, 0)


def as_recorded(answer: Answer, recorded: Json, name: Name) -> Json | None:
    """The answer in the words of a recording; None if there is none.

    Args:
        answer: of a side.
        recorded: what the broker answered, for what another run might have ordered otherwise.
        name: the symbol of an id.
    """
    version = 0
    match answer:
        case Silence():
            return None
        case ProduceAnswer(several=False):
            return APPENDED.write(next(iter(answer.partitions.values())), name)
        case EndTxnAnswer():
            version = BUMPS_SINCE if "producer_id" in recorded or answer.producer_id >= 0 else 0
        case TransactionsListed():
            answer = _in_the_order_of(answer, recorded)
    error = _first(_errors(answer), recorded)
    return {"error": error.name, "error_code": error.value, **FORM_OF[type(answer)].write(answer, name, version)}


def ids_in(answer: Answer, seen: ObservableState) -> Iterator[int]:
    """Producer ids that an answer hands out and the state then shows, in the order in which they are met."""
    if isinstance(answer, Initialized | EndTxnAnswer):
        yield answer.producer_id
    yield from (seen.transactions[transactional_id].producer_id for transactional_id in sorted(seen.transactions))


def state_as_recorded(seen: ObservableState, recorded: Json, name: Name) -> Json:
    """The state in the words of a recording, whose transactional ids are all asked about."""
    request = dict.fromkeys((*recorded.get("transactions", ()), *seen.transactions))
    on_partitions = {partition: _producers(view, name) for partition, view in seen.partitions.items()}
    return {
        "producers": {**on_partitions, **_offsets_producers(seen, recorded.get("producers", {}), name)},
        "offsets": {partition: SEEN_PARTITION.write(view, name) for partition, view in seen.partitions.items()},
        "transactions": {
            each: SEEN_TRANSACTION.write(seen.transactions[each], name) if each in seen.transactions else NO_SUCH_ID
            for each in request
        },
        "groups": {
            group: _group(seen.groups.get(group), reported, name)
            for group, reported in recorded.get("groups", {}).items()
        },
    }


def _errors(answer: Any) -> Iterable[ErrorCode]:
    """The error of an answer, or that of each of its parts."""
    match answer:
        case ProduceAnswer():
            return [part.error for part in answer.partitions.values()]
        case MarkersWritten():
            return [error for marker in answer.markers for error in marker.errors.values()]
        case Added(whole=whole) if whole is not ErrorCode.NONE:
            return [whole]
        case Added() | OffsetsCommitted():
            return answer.errors.values()
    return [answer.error]


def _first(errors: Iterable[ErrorCode], recorded: Json) -> ErrorCode:
    """The error over all parts: the first one, in an order that the wire does not fix."""
    wrong = [error for error in errors if error is not ErrorCode.NONE]
    first = wrong[0] if wrong else ErrorCode.NONE
    return next((error for error in wrong if error.name == recorded.get("error")), first)


def _in_the_order_of(answer: TransactionsListed, recorded: Json) -> TransactionsListed:
    order = [listed.get("transactional_id") for listed in recorded.get("transactions", ())]
    known = sorted(
        answer.transactions,
        key=lambda t: order.index(t.transactional_id) if t.transactional_id in order else len(order),
    )
    return replace(answer, transactions=tuple(known))


def _producers(view: SeenPartition | SeenGroup, name: Name) -> dict[Named, Any]:
    return {name(producer.producer_id): SEEN_PRODUCER.write(producer, name) for producer in view.producers}


def _offsets_producers(seen: ObservableState, recorded: Json, name: Name) -> dict[str, Any]:
    """The producers on each offsets partition that the recording shows, and on any other that has some."""
    shown = {f"{OFFSETS_TOPIC}[{group}]": _producers(view, name) for group, view in seen.groups.items()}
    for producers in shown.values():
        for producer in producers.values():
            producer["current_txn_start_offset"] = OPEN if producer["current_txn_start_offset"] >= 0 else -1
    requested: dict[str, Any] = {partition: {} for partition in recorded if partition.startswith(f"{OFFSETS_TOPIC}[")}
    return {**requested, **{partition: found for partition, found in shown.items() if found or partition in requested}}


def _group(group: SeenGroup | None, recorded: Json, name: Name) -> dict[str, Any]:
    """The offsets of a group: those that the recording asked about, and any other that it has."""
    offsets = {} if group is None else group.offsets
    request = dict.fromkeys((*recorded, *offsets))
    return {partition: SEEN_OFFSET.write(offsets.get(partition, NO_OFFSET), name) for partition in request}
