"""A consumer: its positions, and what it delivers of a fetch by isolation level (KafkaConsumer, CompletedFetch)."""

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, auto, unique
from typing import NamedTuple

from reference.broker.group_api import OffsetsAnswer
from reference.broker.group_requests import OffsetAndMetadata
from reference.broker.transaction_metadata import TopicPartition
from reference.log.batch import RecordBatch
from reference.log.partition import READ_COMMITTED, FetchResult
from reference.log.record import Record
from spec.vocabulary import ControlType, ErrorCode, Offset, ProducerId


def delivered(result: FetchResult, offset: int) -> Iterator[tuple[Offset, Record]]:
    """Records from `offset` on in offset order, without control records and aborted transactions."""
    waiting = sorted((result.aborted or ()), key=lambda txn: txn.first_offset, reverse=True)
    aborted: set[ProducerId] = set()
    for batch in result.batches:
        while waiting and waiting[-1].first_offset <= batch.last_offset:
            aborted.add(waiting.pop().producer_id)
        if ends_aborted(batch):
            aborted.discard(batch.producer_id)
        if not batch.is_control and not (batch.is_transactional and batch.producer_id in aborted):
            yield from records_from(batch, offset)


def ends_aborted(batch: RecordBatch) -> bool:
    """Whether the batch is an ABORT marker."""
    marker = batch.marker() if batch.is_control else None
    return marker is not None and marker.control_type == ControlType.ABORT


def records_from(batch: RecordBatch, offset: int) -> Iterator[tuple[Offset, Record]]:
    """The batch's records at `offset` and later."""
    for record in batch.records():
        position = Offset(batch.base_offset + record.offset_delta)
        if position >= offset:
            yield position, record


@unique
class OffsetReset(Enum):
    """Where to start without a position, or with one that the log does not have (auto.offset.reset)."""

    EARLIEST = auto()
    LATEST = auto()
    NONE = auto()


class NoPosition(Exception):
    """The consumer has no position on a partition, and may not choose one."""


class Delivered(NamedTuple):
    """A record as the application receives it."""

    partition: TopicPartition
    offset: Offset
    record: Record


class Consumer:
    """One consumer with partitions assigned to it.

    Attributes:
        isolation: 0 read_uncommitted, 1 read_committed.
        reset: where to start without a position.
        positions: offset of the next record to deliver, by partition; none until it is known.
        received: what the application was given, in that order.
    """

    __slots__ = ("_assigned", "isolation", "positions", "received", "reset")

    def __init__(
        self,
        partitions: Iterable[TopicPartition],
        isolation: int = READ_COMMITTED,
        reset: OffsetReset = OffsetReset.EARLIEST,
    ) -> None:
        """A consumer of the partitions that has no position yet."""
        self.isolation = isolation
        self.reset = reset
        self.positions: dict[TopicPartition, Offset] = {}
        self.received: list[Delivered] = []
        self._assigned = frozenset(partitions)

    @property
    def assigned(self) -> frozenset[TopicPartition]:
        """The partitions that it reads."""
        return self._assigned

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read other partitions; positions on those that stay are kept."""
        self._assigned = frozenset(partitions)
        self.positions = {key: offset for key, offset in self.positions.items() if key in self._assigned}

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Continue at an offset, wherever the consumer was."""
        self.positions[self._checked(partition)] = Offset(offset)

    def start_from(self, answer: OffsetsAnswer) -> tuple[TopicPartition, ...]:
        """Take over the offsets that the group has committed.

        Returns:
            The partitions that must be asked for again: an open transaction may still change their offset.
        """
        unstable = []
        for partition, fetched in answer.partitions.items():
            if fetched.error is ErrorCode.NONE and fetched.offset >= 0:
                self.positions[self._checked(partition)] = fetched.offset
            elif fetched.error is ErrorCode.UNSTABLE_OFFSET_COMMIT:
                unstable.append(partition)
        return tuple(unstable)

    def fetch_offset(self, partition: TopicPartition, earliest: int, latest: int) -> Offset:
        """The offset to fetch from: the position, or what the reset policy makes of the log's ends.

        Args:
            partition: one that is assigned.
            earliest: log start offset.
            latest: last stable offset under read_committed, else the high watermark.

        Raises:
            NoPosition: there is none, and the policy does not choose one.
        """
        if self._checked(partition) not in self.positions:
            self._reset(partition, earliest, latest)
        return self.positions[partition]

    def out_of_range(self, partition: TopicPartition, earliest: int, latest: int) -> None:
        """The log does not have the position; raises as `fetch_offset`."""
        self._reset(self._checked(partition), earliest, latest)

    def receive(self, partition: TopicPartition, result: FetchResult) -> tuple[Delivered, ...]:
        """Deliver the records of a fetch from the position, and continue behind them."""
        position = self.positions[self._checked(partition)]
        records = tuple(Delivered(partition, offset, record) for offset, record in delivered(result, position))
        if result.batches:
            self.positions[partition] = Offset(max(position, result.batches[-1].last_offset + 1))
        self.received += records
        return records

    def consumed(self) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """The positions as offsets to commit: everything before them has been delivered."""
        return {partition: OffsetAndMetadata(offset) for partition, offset in sorted(self.positions.items())}

    def _reset(self, partition: TopicPartition, earliest: int, latest: int) -> None:
        match self.reset:
            case OffsetReset.EARLIEST:
                self.positions[partition] = Offset(earliest)
            case OffsetReset.LATEST:
                self.positions[partition] = Offset(latest)
            case OffsetReset.NONE:
                raise NoPosition(f"{partition.topic}-{partition.partition}")

    def _checked(self, partition: TopicPartition) -> TopicPartition:
        if partition not in self._assigned:
            raise NoPosition(f"{partition.topic}-{partition.partition} is not assigned")
        return partition
