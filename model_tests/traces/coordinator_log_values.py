"""Keys and values of `__transaction_state`, as bytes: version 0, and the flexible version 1."""

import struct
from dataclasses import dataclass
from typing import Final

from spec.vocabulary import ABSENT, TransactionState

_KEY: Final = struct.Struct(">hh")  # version, length of the transactional id
_VERSION: Final = struct.Struct(">h")
_IDENTITY: Final = struct.Struct(">qhib")  # producer id, producer epoch, timeout, state
_TIMES: Final = struct.Struct(">qq")  # last update, start of the transaction
_INT: Final = struct.Struct(">i")
_TAGS: Final = {0: ("previous_producer_id", ">q"), 1: ("next_producer_id", ">q"), 2: ("client_version", ">h")}
_MAX_STATE: Final = TransactionState.DEAD.value


class Unknown(Exception):
    """A key or value of a version that is not known: skipped, as a coordinator does when it loads."""


class Malformed(Exception):
    """Bytes that do not have the form of a key or value."""


Partition = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True, slots=True)
class StateValue:
    """What one record says of a transactional id.

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


class _Bytes:
    """Reads one field after the other."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    @property
    def left(self) -> int:
        return len(self._content) - self._at

    def fields(self, layout: struct.Struct) -> tuple[int, ...]:
        values = layout.unpack_from(self._content, self._at)
        self._at += layout.size
        return values

    def raw(self, length: int) -> bytes:
        if length < 0 or length > self.left:
            raise Malformed(f"a field of {length} bytes, {self.left} are left")
        self._at += length
        return self._content[self._at - length : self._at]

    def unsigned(self) -> int:
        value = 0
        for place in range(5):
            byte = self.raw(1)[0]
            value |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                return value
        raise Malformed("a varint of more than five bytes")

    def length(self, *, flexible: bool, wide: bool) -> int:
        """Length of a string or, where it is wide, of an array; -1 for null."""
        if flexible:
            return self.unsigned() - 1
        return self.fields(_INT if wide else _VERSION)[0]

    def text(self, *, flexible: bool) -> str:
        return self.raw(self.length(flexible=flexible, wide=False)).decode()


def read_key(content: bytes | None) -> str:
    """The transactional id that a record is about.

    Raises:
        Unknown: the key has another version than 0.
        Malformed: the bytes are no key.
    """
    if content is None:
        raise Malformed("no key")
    try:
        version, length = _KEY.unpack_from(content)
        if version != 0:
            raise Unknown(f"key of version {version}, expected 0")
        if length < 0 or len(content) != _KEY.size + length:
            raise Malformed(f"an id of {length} bytes in a key of {len(content)}")
        return content[_KEY.size :].decode()
    except (struct.error, UnicodeDecodeError) as error:
        raise Malformed(f"not a key: {error}") from error


def read_value(content: bytes) -> StateValue:
    """The state that a record gives its id.

    Raises:
        Unknown: the value has a version above 1, or a state that is not known.
        Malformed: the bytes are no value.
    """
    try:
        return _read_value(_Bytes(content))
    except (struct.error, UnicodeDecodeError) as error:
        raise Malformed(f"not a value: {error}") from error


def _read_value(source: _Bytes) -> StateValue:
    (version,) = source.fields(_VERSION)
    if version not in (0, 1):
        raise Unknown(f"value of version {version}, expected 0 or 1")
    flexible = version == 1
    producer_id, epoch, timeout, state = source.fields(_IDENTITY)
    if not 0 <= state <= _MAX_STATE:
        raise Unknown(f"state {state}, expected 0 to {_MAX_STATE}")
    partitions = _partitions(source, flexible=flexible)
    update_time, start_time = source.fields(_TIMES)
    tags = _tags(source) if flexible else {}
    if source.left:
        raise Malformed(f"{source.left} bytes after the last field")
    return StateValue(version, producer_id, epoch, timeout, state, partitions, update_time, start_time, **tags)


def _partitions(source: _Bytes, *, flexible: bool) -> frozenset[Partition]:
    found: set[Partition] = set()
    for _ in range(max(source.length(flexible=flexible, wide=True), 0)):
        topic = source.text(flexible=flexible)
        count = source.length(flexible=flexible, wide=True)
        if count * _INT.size > source.left:
            raise Malformed(f"{count} partitions of {topic} in {source.left} bytes")
        found |= {(topic, source.fields(_INT)[0]) for _ in range(max(count, 0))}
        if flexible:
            _tags(source)
    return frozenset(found)


def _tags(source: _Bytes) -> dict[str, int]:
    """The tagged fields that are known; others are skipped."""
    found: dict[str, int] = {}
    for _ in range(source.unsigned()):
        tag = source.unsigned()
        content = source.raw(source.unsigned())
        if tag in _TAGS:
            name, layout = _TAGS[tag]
            (found[name],) = struct.unpack(layout, content)
    return found
