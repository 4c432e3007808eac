"""Answers and states of a recorded step, held to the documented form before anything is compared with them.

What is missing or of another type would be compared as if the broker had said so.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from model_tests.conform.fields import SessionFields

Fits: TypeAlias = Callable[[object], bool]
"""Whether a value is of a kind."""


class FieldKind(NamedTuple):
    """What a field may be, and how that is said in a message."""

    fits: Fits
    wanted: str


def _is_id(value: object) -> bool:
    named = isinstance(value, str) and value.startswith("pid") and value[3:].isdecimal()
    return named or (type(value) is int and value == -1)


def _is_pair(value: object, first: Fits, second: Fits) -> bool:
    return isinstance(value, list) and len(value) == 2 and first(value[0]) and second(value[1])


def _is_integer(value: object) -> bool:
    return type(value) is int


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_list_of(value: object, fits: Fits) -> bool:
    return isinstance(value, list) and all(fits(each) for each in value)


INTEGER: Final = FieldKind(_is_integer, "an integer")
TEXT: Final = FieldKind(_is_text, "a string")
FLAG: Final = FieldKind(lambda value: isinstance(value, bool), "true or false")
TEXTS: Final = FieldKind(lambda value: _is_list_of(value, _is_text), "a list of strings")
OBJECTS: Final = FieldKind(lambda value: _is_list_of(value, lambda each: isinstance(each, dict)), "a list of objects")
PRODUCER: Final = FieldKind(_is_id, "a symbol as pid0, or -1")
APPEND_TIME: Final = FieldKind(lambda value: value in ("set", -1), "'set' or -1")
START: Final = FieldKind(lambda value: _is_integer(value) or value == "open", "an offset, or 'open'")
STABLE: Final = FieldKind(lambda value: _is_integer(value) or _is_text(value), "an offset or an error")
NAMES: Final = FieldKind(
    lambda value: isinstance(value, dict) and all(_is_text(each) for each in value.values()), "errors by partition"
)
ABORTED: Final = FieldKind(
    lambda value: value is None or _is_list_of(value, lambda each: _is_pair(each, _is_id, _is_integer)),
    "null, or a list of producer ids and offsets",
)
DELIVERED: Final = FieldKind(
    lambda value: _is_list_of(value, lambda each: _is_pair(each, _is_integer, _is_text)), "a list of offsets and values"
)

Shape: TypeAlias = Mapping[str, FieldKind]
"""The fields that an object has to have."""

_ERROR: Final[Shape] = {"error": TEXT, "error_code": INTEGER}
_APPENDED: Final[Shape] = {
    **_ERROR,
    "base_offset": INTEGER,
    "log_append_time": APPEND_TIME,
    "log_start_offset": INTEGER,
}
_OFFSET: Final[Shape] = {**_ERROR, "committed_offset": INTEGER}
_IDENTITY: Final[Shape] = {"producer_id": PRODUCER, "producer_epoch": INTEGER}
_BY_PARTITION: Final[Shape] = {**_ERROR, "partitions": NAMES}
_RANGE: Final[Shape] = {"hw": INTEGER, "lso": INTEGER}

RESPONSES: Final[Mapping[str, Shape]] = MappingProxyType(
    {
        "Produce": _APPENDED,
        "Fetch": {
            **_ERROR,
            **_RANGE,
            "log_start_offset": INTEGER,
            "aborted": ABORTED,
            "batches": OBJECTS,
            "delivered": DELIVERED,
        },
        "InitProducerId": {**_ERROR, **_IDENTITY},
        "AddPartitionsToTxn": _BY_PARTITION,
        "AddOffsetsToTxn": _ERROR,
        "WriteTxnMarkers": {**_ERROR, "markers": OBJECTS},
        "ListTransactions": {**_ERROR, "transactions": OBJECTS, "unknown_state_filters": TEXTS},
        "TxnOffsetCommit": _BY_PARTITION,
        "OffsetCommit": _BY_PARTITION,
        "_JoinSync": {**_ERROR, "member": TEXT, "generation": INTEGER},
    }
)
"""The answer to each request, as far as it depends on neither version nor partition."""

BUMPS_SINCE: Final = 5
"""First version of EndTxn whose answer has an identity."""

_PARTS: Final[Mapping[str, Shape]] = {"ProduceMulti": _APPENDED, "OffsetFetch": _OFFSET}
_BATCH: Final[Shape] = {
    **_IDENTITY,
    "base_offset": INTEGER,
    "last_offset": INTEGER,
    "base_sequence": INTEGER,
    "transactional": FLAG,
    "control": FLAG,
}
_MARKER: Final[Shape] = {"marker": TEXT, "coordinator_epoch": INTEGER}
_VALUES: Final[Shape] = {"values": TEXTS}
_LISTED: Final[Shape] = {"transactional_id": TEXT, "producer_id": PRODUCER, "state": TEXT}
_WRITTEN: Final[Shape] = {"producer_id": PRODUCER, "partitions": NAMES}
_SEEN_PRODUCER: Final[Shape] = {
    **_IDENTITY,
    "last_sequence": INTEGER,
    "coordinator_epoch": INTEGER,
    "current_txn_start_offset": START,
}
_TRANSACTION: Final[Shape] = {**_IDENTITY, "state": TEXT, "timeout": INTEGER, "started": FLAG, "partitions": TEXTS}
_SEEN_OFFSET: Final[Shape] = {"committed": INTEGER, "stable": STABLE}


def check_response(api: str, version: int, response: SessionFields) -> None:
    """Hold the answer to a request to its form.

    Args:
        api: the request.
        version: of it.
        response: as recorded.

    Raises:
        Malformed: a field is missing or of another type.
    """
    _check(response, RESPONSES.get(api, {"error": TEXT}))
    if api == "EndTxn":
        _check(response, {**_ERROR, **(_IDENTITY if version >= BUMPS_SINCE else {})})
    elif api in _PARTS:
        _check(response, _ERROR)
        _check_each(response.within("partitions"), _PARTS[api])
    elif api == "Fetch":
        for batch in _objects(response, "batches"):
            _check(batch, _BATCH)
            _check(batch, _MARKER if batch.values["control"] else _VALUES)
    elif api == "WriteTxnMarkers":
        for marker in _objects(response, "markers"):
            _check(marker, _WRITTEN)
    elif api == "ListTransactions":
        for listed in _objects(response, "transactions"):
            _check(listed, _LISTED)


def check_after(after: SessionFields, *, whole: bool = True) -> None:
    """Hold the state after a step to its form.

    Args:
        after: as recorded.
        whole: producers and offsets have to be in it; else any part may be missing.

    Raises:
        Malformed: a field is missing or of another type.
    """
    if whole or "producers" in after.values:
        producers = after.within("producers")
        for partition in producers.values:
            for producer in _objects(producers, partition):
                _check(producer, _SEEN_PRODUCER)
    if whole or "offsets" in after.values:
        _check_each(after.within("offsets"), _RANGE)
    if "transactions" in after.values:
        transactions = after.within("transactions")
        for name in transactions.values:
            transaction = transactions.within(name)
            _check(transaction, {"error": TEXT} if "error" in transaction.values else _TRANSACTION)
    if "groups" in after.values:
        check_groups(after.within("groups"))


def check_groups(groups: SessionFields) -> None:
    """Hold what was seen of groups to its form.

    Raises:
        Malformed: a field is missing or of another type.
    """
    for group in groups.values:
        _check_each(groups.within(group), _SEEN_OFFSET)


def _check(found: SessionFields, shape: Shape) -> None:
    for name, kind in shape.items():
        if name not in found.values or not kind.fits(found.values[name]):
            raise found.wrong(name, kind.wanted)


def _check_each(found: SessionFields, shape: Shape) -> None:
    for name in found.values:
        _check(found.within(name), shape)


def _objects(found: SessionFields, name: str) -> list[SessionFields]:
    """The objects of a list, which may be empty."""
    values = found.values_of(name)
    return [SessionFields.of(f"{found.place} {name} {number}", value) for number, value in enumerate(values)]
