"""Control records: their type, and the coordinator epoch of a transaction marker."""

import struct
from typing import Final

from model_tests.logs.kafka_log_batches import HEADER_SIZE
from spec.vocabulary import ABSENT, ControlType

_KEY: Final = struct.Struct(">hh")  # version, type
_VALUE: Final = struct.Struct(">hi")  # version, coordinator epoch
_PRODUCER_ID: Final = struct.Struct(">q")
_PRODUCER_ID_AT: Final = 43  # where a batch has its producer id, in bytes from its beginning
_LONGEST_VARINT: Final = 10  # bytes of a varint of 64 bits, at most


class Unreadable(Exception):
    """A control batch whose record does not have the form of one, or is nothing that a producer has."""


def read_control(batch: bytes) -> tuple[int, int]:
    """Type and coordinator epoch of a control batch's first record; -1 where it has none.

    Raises:
        Unreadable: the record does not have the form of a control record, or is a producer's and no marker.
    """
    try:
        key, value = _key_and_value(batch)
        kind = _KEY.unpack_from(key)[1]
        is_marker = kind in (ControlType.ABORT, ControlType.COMMIT)
        if not is_marker and _PRODUCER_ID.unpack_from(batch, _PRODUCER_ID_AT)[0] >= 0:
            raise Unreadable
        return kind, _VALUE.unpack_from(value)[1] if is_marker else ABSENT
    except (struct.error, IndexError) as error:
        raise Unreadable from error


def _key_and_value(batch: bytes) -> tuple[bytes, bytes]:
    _, position = varint(batch, HEADER_SIZE)  # length of the record
    position += 1  # attributes
    _, position = varint(batch, position)  # timestamp delta
    _, position = varint(batch, position)  # offset delta
    key, position = _bytes(batch, position)
    value, _ = _bytes(batch, position)
    return key, value


def _bytes(batch: bytes, position: int) -> tuple[bytes, int]:
    length, position = varint(batch, position)
    length = max(length, 0)
    return batch[position : position + length], position + length


def varint(batch: bytes, position: int) -> tuple[int, int]:
    """A zigzag varint, and where it ends.

    Raises:
        Unreadable: it has more than ten bytes.
        IndexError: the batch ends inside it.
    """
    value = 0
    for place in range(_LONGEST_VARINT):
        byte = batch[position + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position + place + 1
    raise Unreadable
