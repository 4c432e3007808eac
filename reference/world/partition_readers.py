"""Two readers of a topic, one for each isolation level, whose answers and what they take from them are rows."""

from collections.abc import Iterable, Sequence
from typing import Final

from reference.broker.transaction_metadata import TopicPartition
from reference.client.consumer import Consumer
from reference.errors import OffsetOutOfRange
from reference.log.partition import READ_COMMITTED, READ_UNCOMMITTED, Partition
from reference.recording.recorder import NOWHERE, Recorder, Row, observe
from reference.world.history import HistoryRows
from reference.world.reader_rows import consumer_fetch_columns, readable_end, record_fetch, taken
from reference.world.replica_rows import TOPIC
from spec.vocabulary import ErrorCode, Offset, Timestamp

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
        """Readers and partitions of which a fetch brings something: records, or that the position is out of range.

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
        """Whether a fetch brings something."""
        consumer = self.consumers[reader]
        return consumer.positions.get(self._keys[partition], 0) != readable_end(leader, consumer.isolation)

    def fetch(
        self, reader: int, partition: int, node: int, now: Timestamp, leader: Partition, named: Row | None = None
    ) -> None:
        """A reader asks a leader, and takes what it is answered; a position out of range is set to the log start.

        Args:
            reader: its number.
            partition: likewise.
            node: that leads.
            now: by the clock of the node, milliseconds.
            leader: its replica.
            named: what else the request says.
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
        """A reader asks a node that does not answer it; `named` is what its request says beside the rest.

        Args:
            reader: its number.
            partition: its number.
            node: that is asked.
            now: milliseconds, by the node's clock.
            error: the answer.
            named: what the request says beside the rest.
        """
        consumer, key = self.consumers[reader], self._keys[partition]
        request = consumer_fetch_columns(key, consumer.positions.get(key, Offset(0)), consumer.isolation)
        request = {"client": reader_name(reader), **request, **named}
        record_fetch(self._recorder, now, node, request, NOWHERE, error, None)


def reader_name(number: int) -> str:
    """Name of a reader in rows."""
    return f"reader-{number}"
