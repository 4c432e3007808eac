"""Two readers of a topic, one for each isolation level, and the rows of what they are answered and deliver.

A fetch at its leader is a row, and so is each batch that a reader takes from the answer.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from reference.broker.transaction_metadata import TopicPartition
from reference.client.consumer import Consumer, Delivered
from reference.errors import OffsetOutOfRange
from reference.log.batch import RecordBatch
from reference.log.partition import READ_COMMITTED, READ_UNCOMMITTED, FetchResult, Partition
from reference.recording.recorder import NOWHERE, ObservedState, Recorder, Row, batch_columns, observe
from reference.world.history import NOBODYS, HistoryRows, origin_of
from reference.world.replica_rows import TOPIC, node_name
from spec.vocabulary import ABSENT, ErrorCode, Offset, Timestamp

# --- rows -------------------------------------------------------------------------------------------------------------


def record_fetch(
    recorder: Recorder,
    now: Timestamp,
    node: int,
    request: Row,
    seen: ObservedState,
    error: ErrorCode,
    result: FetchResult | None,
) -> None:
    """A node has answered a reader: one row, and one for each aborted transaction that the answer lists.

    Args:
        recorder: of the trace.
        now: by the clock of the node, milliseconds.
        node: that answers.
        request: the reader, the partition, the offset, and the isolation level.
        seen: the replica, which a fetch does not change.
        error: of the answer.
        result: the answer, None where it is refused.
    """
    where: Row = {"node": node_name(node), **request}
    recorder.record("ConsumerFetch", now, seen, seen, **where, **answered_columns(error, result))
    listed = (result.aborted if result is not None else None) or ()
    for left, aborted in zip(reversed(range(len(listed))), listed, strict=True):
        named: Row = {"producer_id": aborted.producer_id, "first_offset": aborted.first_offset, "error": 0}
        named["aborted_count"] = left
        named |= {"before_last_stable": seen.last_stable, "after_last_stable": seen.last_stable}
        recorder.record("ConsumerFetchAborted", now, NOWHERE, NOWHERE, **where, **named)


def answered_columns(error: ErrorCode, result: FetchResult | None) -> Row:
    """What a leader answers to a fetch: from which batch to which, and how many aborted transactions beside them."""
    if result is None or not result.batches:
        return {"error": int(error), "batch_count": 0, "aborted_count": aborted_count(result)}
    return {
        "error": int(error),
        "first_offset": result.batches[0].base_offset,
        "last_offset": result.batches[-1].last_offset,
        "batch_count": len(result.batches),
        "aborted_count": aborted_count(result),
    }


def aborted_count(result: FetchResult | None) -> int:
    """Aborted transactions in the answer, absent where there is no list of them."""
    return ABSENT if result is None or result.aborted is None else len(result.aborted)


def consumer_fetch_columns(partition: TopicPartition, offset: Offset, isolation: int) -> Row:
    """The request of a reader."""
    return {"topic": partition.topic, "partition": partition.partition, "offset": offset, "isolation": isolation}


def taken(batches: Sequence[RecordBatch], received: Sequence[Delivered]) -> Iterator[Row]:
    """Each batch of an answer as the reader takes it, and whether it was `received` by the application."""
    offsets = [each.offset for each in received]
    for batch in batches:
        yield fetched_columns(batch, any(batch.base_offset <= offset <= batch.last_offset for offset in offsets))


def fetched_columns(batch: RecordBatch, delivered: bool) -> Row:
    """A batch as a reader takes it, and whether the application was given its records."""
    made_by = NOBODYS if batch.is_control or not batch.record_count else origin_of(batch.records()[0].value)
    return {
        **batch_columns(batch),
        **made_by._asdict(),
        "first_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "delivered": delivered,
        "error": int(ErrorCode.NONE),
    }


def readable_end(leader: Partition, isolation: int) -> Offset:
    """The offset up to which an isolation level may read."""
    return leader.last_stable if isolation == READ_COMMITTED else leader.high_watermark


# --- the readers ------------------------------------------------------------------------------------------------------


READERS: Final = (READ_UNCOMMITTED, READ_COMMITTED)
"""The isolation level of each reader."""


class PartitionReaders:
    """The readers, by number; each reads all partitions from the beginning on.

    Attributes:
        consumers: by number.
    """

    __slots__ = ("_history", "_keys", "_recorder", "consumers")

    def __init__(self, recorder: Recorder, history: HistoryRows, partitions: int) -> None:
        """Readers that have read nothing of the partitions 0 .. partitions-1."""
        self._recorder = recorder
        self._history = history
        self._keys = [TopicPartition(TOPIC, number) for number in range(partitions)]
        self.consumers: Sequence[Consumer] = [Consumer(self._keys, isolation) for isolation in READERS]

    def due(self, leaders: Iterable[tuple[int, Partition]]) -> list[tuple[int, int]]:
        """Readers and partitions where a fetch has a result: records, or that the position is out of range.

        Args:
            leaders: of partitions, with their numbers.
        """
        return [
            (reader, partition)
            for partition, leader in leaders
            for reader in range(len(self.consumers))
            if self.is_due(reader, partition, leader)
        ]

    def is_due(self, reader: int, partition: int, leader: Partition) -> bool:
        """Whether a fetch has a result."""
        consumer = self.consumers[reader]
        return consumer.positions.get(self._keys[partition], 0) != readable_end(leader, consumer.isolation)

    def fetch(
        self, reader: int, partition: int, node: int, now: Timestamp, leader: Partition, named: Row | None = None
    ) -> None:
        """A reader fetches from a leader, and takes the answer; a position out of range is set to the log start.

        Args:
            reader: its number.
            partition: likewise.
            node: that leads.
            now: by the clock of the node, milliseconds.
            leader: its replica.
            named: further columns of the request.
        """
        consumer, key = self.consumers[reader], self._keys[partition]
        ends = (leader.log_start, readable_end(leader, consumer.isolation))
        offset = consumer.fetch_offset(key, *ends)
        request = {
            "client": reader_name(reader),
            **consumer_fetch_columns(key, offset, consumer.isolation),
            **(named or {}),
        }
        try:
            result = leader.fetch(offset, consumer.isolation)
        except OffsetOutOfRange as refusal:
            record_fetch(self._recorder, now, node, request, observe(leader), refusal.code, None)
            consumer.out_of_range(key, *ends)
            return
        record_fetch(self._recorder, now, node, request, observe(leader), ErrorCode.NONE, result)
        columns = consumer_fetch_columns(key, offset, consumer.isolation)
        for reported in taken(result.batches, consumer.receive(key, result)):
            self._history.note("ClientFetched", reader_name(reader), columns | reported)

    def is_refused(self, reader: int, partition: int, node: int, now: Timestamp, error: ErrorCode, named: Row) -> None:
        """A reader fetches from a node that refuses the request.

        Args:
            reader: its number.
            partition: its number.
            node: that refuses.
            now: milliseconds, by the node's clock.
            error: the answer.
            named: further columns of the request.
        """
        consumer, key = self.consumers[reader], self._keys[partition]
        request = consumer_fetch_columns(key, consumer.positions.get(key, Offset(0)), consumer.isolation)
        request = {"client": reader_name(reader), **request, **named}
        record_fetch(self._recorder, now, node, request, NOWHERE, error, None)


def reader_name(number: int) -> str:
    """Name of a reader in rows."""
    return f"reader-{number}"
