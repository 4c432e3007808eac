"""Records inside a batch of version 2, and what control records mean (DefaultRecord, EndTransactionMarker)."""

import struct
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from reference.log import varint
from spec.vocabulary import ControlType, CoordinatorEpoch

Header = tuple[bytes, bytes | None]

MARKER_VALUE: Final = struct.Struct(">hi")  # version, coordinator epoch
CONTROL_KEY: Final = struct.Struct(">hh")  # version, type
CONTROL_TYPES: Final = {int(control_type): control_type for control_type in ControlType}

_ATTRIBUTES: Final = tuple(bytes((attributes,)) for attributes in range(256))

SMALL: Final = 256
"""Bytes of a body that is decoded once only."""


class MalformedRecords(ValueError):
    """The body of a batch does not hold the records that its header declares."""


class Record(NamedTuple):
    """One record; offset and timestamp are deltas to the batch's base."""

    offset_delta: int
    timestamp_delta: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    attributes: int = 0


class EndTransactionMarker(NamedTuple):
    """What a control record says about a transaction: its outcome, and which coordinator says so."""

    control_type: ControlType
    coordinator_epoch: CoordinatorEpoch


def encode_records(records: Iterable[Record]) -> bytes:
    """The body of an uncompressed batch."""
    body: list[bytes] = []
    for record in records:
        encoded = _encode(record)
        body += (varint.encoded(len(encoded)), encoded)
    return b"".join(body)


def decode_records(body: bytes, count: int) -> tuple[Record, ...]:
    """The `count` records of an uncompressed body.

    Raises:
        MalformedRecords: the body is shorter or longer than its records, or a count is negative.
    """
    return _decode_small(body, count) if len(body) <= SMALL else _decode_all(body, count)


@lru_cache(maxsize=4096)  # markers, and the records of coordinators at every election, come again and again
def _decode_small(body: bytes, count: int) -> tuple[Record, ...]:
    return _decode_all(body, count)


def _decode_all(body: bytes, count: int) -> tuple[Record, ...]:
    if count < 0:
        raise MalformedRecords(f"a count of {count} records")
    records, position = [], 0
    try:
        for _ in range(count):
            record, position = _decode(body, position)
            records.append(record)
    except (varint.MalformedVarint, IndexError) as damage:
        raise MalformedRecords(f"record {len(records)} of {count}: {damage}") from damage
    if position != len(body):
        raise MalformedRecords(f"{len(body) - position} bytes follow the last of {count} records")
    return tuple(records)


def control_key(control_type: ControlType) -> bytes:
    """Key of a control record."""
    return CONTROL_KEY.pack(0, control_type)


def control_type_of(key: bytes | None) -> ControlType:
    """Type in a control record's key; a higher key version is read as the highest known one.

    Raises:
        MalformedRecords: there is no key, or it is shorter than version and type, two bytes each.
    """
    if key is None or len(key) < CONTROL_KEY.size:
        raise MalformedRecords("a control record has a key of four bytes")
    return CONTROL_TYPES.get(CONTROL_KEY.unpack_from(key)[1], ControlType.UNKNOWN)


def marker_record(marker: EndTransactionMarker) -> Record:
    """The one record of a transaction marker."""
    return Record(0, 0, control_key(marker.control_type), MARKER_VALUE.pack(0, marker.coordinator_epoch))


def marker_of(record: Record) -> EndTransactionMarker:
    """The transaction marker in a control record; a higher value version is read as version 0.

    Raises:
        MalformedRecords: key or value is missing or too short.
    """
    if record.value is None or len(record.value) < MARKER_VALUE.size:
        raise MalformedRecords("a transaction marker has a value of six bytes")
    _, coordinator_epoch = MARKER_VALUE.unpack_from(record.value)
    return EndTransactionMarker(control_type_of(record.key), CoordinatorEpoch(coordinator_epoch))


def _encode(record: Record) -> bytes:
    offset_delta, timestamp_delta, key, value, headers, attributes = record
    encoded = [
        _ATTRIBUTES[attributes & 0xFF],
        varint.encoded(timestamp_delta),
        varint.encoded(offset_delta),
        *_sized(key),
        *_sized(value),
        varint.encoded(len(headers)),
    ]
    for header, content in headers:
        encoded += (*_sized(header), *_sized(content))
    return b"".join(encoded)


def _decode(body: bytes, position: int) -> tuple[Record, int]:
    length, start = varint.read(body, position)
    attributes = body[start]
    timestamp_delta, position = varint.read(body, start + 1)
    offset_delta, position = varint.read(body, position)
    key, position = _read_bytes(body, position)
    value, position = _read_bytes(body, position)
    headers, position = _read_headers(body, position)
    if position != start + length:
        raise MalformedRecords(f"a record of {length} bytes ends after {position - start}")
    return Record(offset_delta, timestamp_delta, key, value, headers, attributes), position


def _read_headers(body: bytes, position: int) -> tuple[tuple[Header, ...], int]:
    count, position = varint.read(body, position)
    if count < 0:
        raise MalformedRecords(f"a count of {count} record headers")
    headers: list[Header] = []
    for _ in range(count):
        key, position = _read_bytes(body, position)
        value, position = _read_bytes(body, position)
        if key is None:
            raise MalformedRecords("a record header has no key")
        headers.append((key, value))
    return tuple(headers), position


def _sized(value: bytes | None) -> tuple[bytes, bytes]:
    """Length and bytes; the length of nothing is -1."""
    return (varint.encoded(-1), b"") if value is None else (varint.encoded(len(value)), value)


def _read_bytes(body: bytes, position: int) -> tuple[bytes | None, int]:
    length, position = varint.read(body, position)
    if length < 0:
        return None, position
    if position + length > len(body):
        raise MalformedRecords(f"{length} bytes at {position} reach past the end of the body")
    return body[position : position + length], position + length
