"""Record batches of version 2, in Kafka's own bytes (DefaultRecordBatch).

Base offset and leader epoch lie before the checksummed part, so that a leader places a batch in its log
without touching what the client wrote.
"""

import struct
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import crc32c

from reference.log import codecs, sequence
from reference.log.record import (
    EndTransactionMarker,
    MalformedRecords,
    Record,
    decode_records,
    encode_records,
    marker_of,
    marker_record,
)
from spec.vocabulary import (
    ABSENT,
    NO_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    ControlType,
    CoordinatorEpoch,
    Epoch,
    LeaderEpoch,
    Offset,
    ProducerId,
    Timestamp,
)
from spec.vocabulary import Sequence as SequenceNumber

HEADER: Final = struct.Struct(">qiibIhiqqqhii")  # by the names of RecordBatch, with length, magic and checksum
UNCHECKED: Final = struct.Struct(">qiibI")  # the part before the checksum's range, which ends with the checksum
CHECKED: Final = struct.Struct(">hiqqqhii")  # the rest of the header
HEADER_SIZE: Final = HEADER.size  # 61
PREFIX_SIZE: Final = 12  # base offset and length, which the length does not count
CHECKED_FROM: Final = 21  # first byte that the checksum covers
MAGIC: Final = 2  # version of the format since 0.11; older ones have no producer ids

COMPRESSION: Final = 0x07
APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40
"""Bits of a batch's attributes (DefaultRecordBatch)."""

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")


class RecordBatch(NamedTuple):
    """One batch: the header's fields by Kafka's names, and the body as bytes.

    Attributes:
        base_offset: offset of the first record, 0 as the client sends it.
        leader_epoch: leader epoch under which it was appended, -1 as the client sends it.
        attributes: compression, timestamp type, transactional, control, delete horizon.
        last_offset_delta: offset of the last record minus that of the first; the same for sequences.
        base_timestamp: milliseconds.
        max_timestamp: milliseconds.
        producer_id: -1 none.
        producer_epoch: -1 none.
        base_sequence: -1 none.
        record_count: records in the body.
        body: records, possibly compressed as a whole.
    """

    base_offset: Offset
    leader_epoch: LeaderEpoch
    attributes: int
    last_offset_delta: int
    base_timestamp: Timestamp
    max_timestamp: Timestamp
    producer_id: ProducerId
    producer_epoch: Epoch
    base_sequence: SequenceNumber
    record_count: int
    body: bytes

    @property
    def is_transactional(self) -> bool:
        """Whether the batch belongs to a transaction."""
        return self.attributes & TRANSACTIONAL != 0

    @property
    def is_control(self) -> bool:
        """Whether the batch holds a control record instead of data."""
        return self.attributes & CONTROL != 0

    @property
    def codec(self) -> str:
        """Name of the compression codec, or `unknown`."""
        number = self.attributes & COMPRESSION
        return CODECS[number] if number < len(CODECS) else "unknown"

    @property
    def last_offset(self) -> Offset:
        """Offset of the last record."""
        return Offset(self.base_offset + self.last_offset_delta)

    @property
    def last_sequence(self) -> SequenceNumber:
        """Sequence of the last record, -1 if the batch has none."""
        return sequence.last_of(self.base_sequence, self.last_offset_delta)

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return HEADER_SIZE + len(self.body)

    def at(self, base_offset: Offset, leader_epoch: LeaderEpoch) -> "RecordBatch":
        """The batch as a leader places it in its log."""
        return RecordBatch._make((base_offset, leader_epoch, *self[2:]))

    def records(self, most: int | None = None) -> tuple[Record, ...]:
        """The records.

        Args:
            most: so many bytes they may be without their compression; None for any number.

        Raises:
            UnsupportedCodec: no codec has the number in the attributes.
            TooLarge: the records are more bytes than that.
            MalformedRecords: the body does not hold the declared records.
        """
        return decode_records(self.plain_body(most), self.record_count)

    def plain_body(self, most: int | None = None) -> bytes:
        """The body without its compression, errors as of `records`; an emptied batch has none whatever its codec.

        Args:
            most: so many bytes it may be; None for any number.

        Raises:
            UnsupportedCodec: no codec has the number in the attributes.
            TooLarge: the body is more bytes than that.
            MalformedRecords: the bytes are not what the codec writes.
        """
        if not self.attributes & COMPRESSION or not self.body:
            return self.body
        try:
            return codecs.decompress(self.attributes & COMPRESSION, self.body, most)
        except codecs.TooLarge:
            raise
        except codecs.DamagedCompression as damage:
            raise MalformedRecords(f"the batch at offset {self.base_offset}: {damage}") from damage

    def compressed(self, codec: int) -> "RecordBatch":
        """The batch with its body under another codec."""
        attributes = self.attributes & ~COMPRESSION | codec
        return self._replace(attributes=attributes, body=codecs.compress(codec, self.plain_body()))

    def marker(self) -> EndTransactionMarker | None:
        """The transaction marker of a control batch, None if cleaning has emptied the batch."""
        records = self.records()
        return marker_of(records[0]) if records else None

    def encode(self) -> bytes:
        """The batch in bytes, with its checksum."""
        base_offset, leader_epoch, *checked, body = self
        header = CHECKED.pack(*checked)
        checksum = crc32c.crc32c(body, crc32c.crc32c(header))
        length = HEADER_SIZE - PREFIX_SIZE + len(body)
        return UNCHECKED.pack(base_offset, length, leader_epoch, MAGIC, checksum) + header + body


def decode_header(data: bytes, position: int) -> tuple[RecordBatch, int, int, int]:
    """Batch without body, length, magic and checksum as the 61 bytes at `position` say."""
    base_offset, length, leader_epoch, magic, checksum, *rest = HEADER.unpack_from(data, position)
    attributes, last_delta, base_timestamp, max_timestamp, producer_id, epoch, base_sequence, count = rest
    header = RecordBatch(
        base_offset,
        leader_epoch,
        attributes,
        last_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        epoch,
        base_sequence,
        count,
        b"",
    )
    return header, length, magic, checksum


def data_batch(
    records: Iterable[Record],
    *,
    producer_id: int = NO_PRODUCER_ID,
    epoch: int = NO_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    timestamp: int = 0,
    transactional: bool = False,
) -> RecordBatch:
    """A client's uncompressed batch of these records, its timestamps counted from `timestamp` (milliseconds).

    Args:
        records: in order, offset and timestamp deltas in them.
        producer_id: -1 without idempotence; epoch and sequence are then -1, too.
        epoch: of the producer.
        base_sequence: of the first record.
        timestamp: that deltas count from, in milliseconds.
        transactional: it is of a transaction.
    """
    listed = tuple(records)
    return RecordBatch(
        Offset(0),
        LeaderEpoch(ABSENT),
        TRANSACTIONAL if transactional else 0,
        len(listed) - 1,
        Timestamp(timestamp),
        Timestamp(timestamp + max((record.timestamp_delta for record in listed), default=0)),
        ProducerId(producer_id),
        Epoch(epoch),
        SequenceNumber(base_sequence),
        len(listed),
        encode_records(listed),
    )


def value_batch(
    values: Sequence[bytes],
    *,
    producer_id: int = NO_PRODUCER_ID,
    epoch: int = NO_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    timestamp: int = 0,
    transactional: bool = False,
) -> RecordBatch:
    """A client's batch of records without keys; the rest as of `data_batch`.

    Args:
        values: of the records, in order.
        producer_id: -1 without idempotence; epoch and sequence are then -1, too.
        epoch: of the producer.
        base_sequence: of the first record.
        timestamp: that deltas count from, in milliseconds.
        transactional: it is of a transaction.
    """
    return data_batch(
        (Record(delta, 0, None, value) for delta, value in enumerate(values)),
        producer_id=producer_id,
        epoch=epoch,
        base_sequence=base_sequence,
        timestamp=timestamp,
        transactional=transactional,
    )


def blank_batch(
    record_count: int,
    *,
    producer_id: int = NO_PRODUCER_ID,
    epoch: int = NO_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    timestamp: int = 0,
    transactional: bool = False,
) -> RecordBatch:
    """A client's batch of so many records without key and value, cheap for workloads; the rest as of `data_batch`.

    Args:
        record_count: how many records it says it has.
        producer_id: -1 without idempotence; epoch and sequence are then -1, too.
        epoch: of the producer.
        base_sequence: of the first record.
        timestamp: that deltas count from, in milliseconds.
        transactional: it is of a transaction.
    """
    return RecordBatch(
        Offset(0),
        LeaderEpoch(ABSENT),
        TRANSACTIONAL if transactional else 0,
        record_count - 1,
        Timestamp(timestamp),
        Timestamp(timestamp),
        ProducerId(producer_id),
        Epoch(epoch),
        SequenceNumber(base_sequence),
        record_count,
        _blank_body(record_count),
    )


@lru_cache(maxsize=64)
def _blank_body(record_count: int) -> bytes:
    return encode_records(Record(delta, 0, None, None) for delta in range(record_count))


def marker_batch(
    producer_id: int, epoch: int, control_type: ControlType, coordinator_epoch: int, timestamp: int = 0
) -> RecordBatch:
    """The control batch that ends a producer's transaction on a partition: 78 bytes.

    Args:
        producer_id: whose transaction ends.
        epoch: of the producer, as the coordinator has it.
        control_type: COMMIT or ABORT.
        coordinator_epoch: leader epoch of the coordinator's log partition.
        timestamp: milliseconds.
    """
    return RecordBatch(
        Offset(0),
        LeaderEpoch(ABSENT),
        TRANSACTIONAL | CONTROL,
        0,
        Timestamp(timestamp),
        Timestamp(timestamp),
        ProducerId(producer_id),
        Epoch(epoch),
        NO_SEQUENCE,
        1,
        _marker_body(control_type, coordinator_epoch),
    )


@lru_cache(maxsize=256)
def _marker_body(control_type: ControlType, coordinator_epoch: int) -> bytes:
    return encode_records((marker_record(EndTransactionMarker(control_type, CoordinatorEpoch(coordinator_epoch))),))


def emptied(batch: RecordBatch) -> RecordBatch:
    """The batch after cleaning removed its records: the header stays, so that sequence and offset are known."""
    return batch._replace(record_count=0, body=b"", base_timestamp=NO_TIMESTAMP)
