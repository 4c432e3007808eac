"""Keys and values of `__transaction_state`, as bytes: version 0, and the flexible version 1."""

import struct
from dataclasses import dataclass
from typing import Final

from model_tests.logs.kafka_log_fields import FieldReader, MalformedBytes, UnknownSchema
from spec.vocabulary import ABSENT, TransactionState

_KEY: Final = struct.Struct(">hh")  # version, length of the transactional id
_IDENTITY: Final = struct.Struct(">qhib")  # producer id, producer epoch, timeout, state
_TIMES: Final = struct.Struct(">qq")  # last update, start of the transaction
_TAGS: Final = {
    0: ("previous_producer_id", struct.Struct(">q")),
    1: ("next_producer_id", struct.Struct(">q")),
    2: ("client_version", struct.Struct(">h")),
}
_MAX_STATE: Final = TransactionState.PREPARE_EPOCH_FENCE.value

UNPRINTED: Final = 0x7FFF
"""Version of a key that stands for a record of a dump that no decoder printed."""

Partition = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True, slots=True)
class StateValue:
    """The state of a transactional id in one record.

    Attributes:
        version: of the record's format.
        timeout: in milliseconds, as the two times.
        partitions: those in the transaction; none in an id without one.
        client_version: transaction version of the request that made the transition; 0 in format 0, which has none.
    """

    version: int
    producer_id: int
    producer_epoch: int
    timeout: int
    state: int
    partitions: frozenset[Partition]
    update_time: int
    start_time: int
    previous_producer_id: int = ABSENT
    next_producer_id: int = ABSENT
    client_version: int = 0


def read_key(content: bytes | None) -> str:
    """The transactional id that a record is about.

    Raises:
        Unknown: the key has another version than 0.
        Malformed: the bytes are no key.
    """
    if content is None:
        raise MalformedBytes("no key")
    try:
        version, length = _KEY.unpack_from(content)
        if version == UNPRINTED:
            raise UnknownSchema("a dump without --transaction-log-decoder")
        if version != 0:
            raise UnknownSchema(f"key of version {version}, expected 0")
        if length < 0 or len(content) != _KEY.size + length:
            raise MalformedBytes(f"an id of {length} bytes in a key of {len(content)}")
        return content[_KEY.size :].decode()
    except struct.error as error:
        raise MalformedBytes(f"{len(content)} bytes are no key") from error
    except UnicodeDecodeError as error:
        raise MalformedBytes(f"not a key: {error}") from error


def read_value(content: bytes) -> StateValue:
    """The state that a record gives its id.

    Raises:
        Unknown: the value has a version above 1, or a state that is not known.
        Malformed: the bytes are no value.
    """
    try:
        return _read_value(FieldReader(content))
    except struct.error as error:
        raise MalformedBytes(f"{len(content)} bytes, into which a field does not fit") from error
    except UnicodeDecodeError as error:
        raise MalformedBytes(f"not a value: {error}") from error


def _read_value(source: FieldReader) -> StateValue:
    version = source.int16()
    if version not in (0, 1):
        raise UnknownSchema(f"value of version {version}, expected 0 or 1")
    flexible = version == 1
    producer_id, epoch, timeout, state = source.fields(_IDENTITY)
    if not 0 <= state <= _MAX_STATE:
        raise UnknownSchema(f"state {state}, expected 0 to {_MAX_STATE}")
    partitions = _partitions(source, flexible=flexible)
    update_time, start_time = source.fields(_TIMES)
    tags = _tags(source) if flexible else {}
    if source.left:
        raise MalformedBytes(f"{source.left} bytes after the last field")
    return StateValue(version, producer_id, epoch, timeout, state, partitions, update_time, start_time, **tags)


def _partitions(source: FieldReader, *, flexible: bool) -> frozenset[Partition]:
    found: set[Partition] = set()
    for _ in range(max(source.length(flexible=flexible, wide=True), 0)):
        topic = source.text(flexible=flexible)
        count = source.length(flexible=flexible, wide=True)
        if 4 * count > source.left:
            raise MalformedBytes(f"{count} partitions of {topic} in {source.left} bytes")
        found |= {(topic, source.int32()) for _ in range(max(count, 0))}
        if flexible:
            _tags(source)
    return frozenset(found)


def _tags(source: FieldReader) -> dict[str, int]:
    """The tagged fields that are known; others are skipped."""
    found: dict[str, int] = {}
    for tag, field in source.tags().items():
        if tag in _TAGS:
            name, layout = _TAGS[tag]
            (found[name],) = layout.unpack(field.raw(field.left))
    return found
