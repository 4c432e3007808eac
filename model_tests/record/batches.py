"""The heads of record batches in a request or an answer: enough to follow producers, without what records hold."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from reference.log.batch import HEADER_SIZE, MAGIC, PREFIX_SIZE, decode_header
from spec.vocabulary import Api


class BatchHead(NamedTuple):
    """One batch.

    Attributes:
        base_offset: of its first record; 0 as a client sends it.
        producer_id: -1 none.
        producer_epoch: -1 none.
        base_sequence: -1 none.
        records: how many.
        codec: name of its compression.
        transactional: it is of a transaction.
        control: it is a marker.
        size: bytes of the whole batch.
    """

    base_offset: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records: int
    codec: str
    transactional: bool
    control: bool
    size: int


@dataclass(frozen=True, slots=True)
class BatchHeads:
    """What stands in place of records once their heads are read.

    Attributes:
        batches: of version 2, in order.
        size: bytes of all.
        readable: every whole batch is of version 2; older message sets are not looked into.
    """

    batches: tuple[BatchHead, ...]
    size: int
    readable: bool

    def to_json(self) -> dict[str, Any]:
        """As the wire log has it."""
        return {"bytes": self.size, "batches": [batch._asdict() for batch in self.batches]}


def heads_of(records: bytes | None) -> BatchHeads:
    """The heads of all batches that are whole; of an answer the last one may be cut."""
    data = records or b""
    found = tuple(_heads(data))
    batches = tuple(head for head in found if head is not None)
    return BatchHeads(batches, len(data), len(batches) == len(found))


def _heads(data: bytes) -> Iterator[BatchHead | None]:
    """Each batch; None, and no more, where there is one of another version."""
    position = 0
    while position + HEADER_SIZE <= len(data):
        batch, length, magic, _ = decode_header(data, position)
        size = PREFIX_SIZE + length
        if magic != MAGIC or size < HEADER_SIZE or batch.last_offset_delta < 0:
            yield None
            return
        if position + size > len(data):
            return
        yield BatchHead(
            batch.base_offset,
            batch.producer_id,
            batch.producer_epoch,
            batch.base_sequence,
            batch.last_offset_delta + 1,
            batch.codec,
            batch.is_transactional,
            batch.is_control,
            size,
        )
        position += size
    if position == 0 and data:
        yield None


def shorten(api: str, message: Any) -> None:
    """Put heads in place of records: in the body of a Produce, or of an answer to Fetch."""
    if api == Api.PRODUCE:
        parts = [part for topic in message.topic_data for part in topic.partition_data]
    else:
        parts = [part for topic in message.responses for part in topic.partitions]
    for part in parts:
        part.records = heads_of(part.records)
