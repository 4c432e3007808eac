"""The producer that takes records and chooses partitions (KafkaProducer), and one without idempotence."""

from collections.abc import Sequence

from reference.broker.transaction_api import NO_IDENTITY
from reference.client.accumulator import ProducerCounts, RecordAccumulator, SentRecord
from reference.client.partition_queue import Hold, PartitionQueue, ProducerBatch
from reference.client.partitioners import Partitioner, TopicLayout, checked
from reference.client.producer import RETRIABLE, Attempt, AttemptReply, IdempotentProducer, on_the_wire
from reference.client.producer_settings import ProducerSettings
from reference.client.sender import Sender
from reference.errors import Impossible
from spec.vocabulary import NO_SEQUENCE, ErrorCode, Timestamp


class PlainProducer(IdempotentProducer):
    """A producer that retries without producer id and sequence; its batches overtake one another when one fails."""

    __slots__ = ()

    @property
    def needs_producer_id(self) -> bool:
        """Never."""
        return False

    def hold(self, partition: int) -> Hold | None:
        """What keeps a batch of the partition from being sent: whatever happens to those in flight does not matter."""
        queue = self.queues[partition]
        if not queue.waiting:
            return Hold.NOTHING_WAITS
        return Hold.WINDOW_FULL if len(queue.in_flight) >= queue.max_in_flight else None

    def drain(self, partition: int) -> Attempt:
        """Send the head of the queue.

        Raises:
            Impossible: `may_drain` says no.
        """
        if not self.may_drain(partition):
            raise Impossible(f"nothing may be sent to partition {partition}")
        queue = self.queues[partition]
        batch = queue.waiting.popleft()
        batch.number(NO_IDENTITY, NO_SEQUENCE)
        batch.attempts += 1
        queue.in_flight.append(batch)
        return self._sent(Attempt(partition, self._attempts, batch, on_the_wire(batch, transactional=False)))

    def replace(self, partition: int, batch: ProducerBatch, parts: Sequence[ProducerBatch]) -> None:
        """Put parts of a batch before those that wait."""
        queue = self.queues[partition]
        queue.remove(batch)
        queue.waiting.extendleft(reversed(parts))

    def give_up(self, queue: PartitionQueue, batch: ProducerBatch) -> None:
        """Fail one batch that took too long; those behind it stay."""
        batch.fail(ErrorCode.REQUEST_TIMED_OUT)
        queue.remove(batch)

    def succeed(self, attempt: Attempt, reply: AttemptReply) -> None:
        """The broker has acknowledged the batch, or, with acks=0, sends no answer."""
        batch = attempt.batch
        self.queues[attempt.partition].remove(batch)
        if batch.outcome is None:
            batch.outcome, batch.offset = True, reply.offset

    def fail_or_retry(self, attempt: Attempt, reply: AttemptReply) -> None:
        """Send the batch again, before those that wait and after those in flight, or report its failure."""
        queue = self.queues[attempt.partition]
        queue.remove(attempt.batch)
        if reply.error in RETRIABLE:
            queue.waiting.appendleft(attempt.batch)
        else:
            attempt.batch.fail(reply.error)


class RecordProducer:
    """Records for one topic, on top of a plain, an idempotent or a transactional producer of batches.

    Attributes:
        batches: the producer that numbers and retries the batches.
        queues: its queues for the partitions of the topic, in their order.
        accumulator: where records wait.
        sender: what sends them.
        partitioner: where records go that name no partition.
    """

    __slots__ = ("accumulator", "batches", "partitioner", "queues", "sender")

    def __init__(
        self,
        batches: IdempotentProducer,
        partitioner: Partitioner,
        leaders: Sequence[int | None],
        settings: ProducerSettings | None = None,
        queues: Sequence[int] | None = None,
    ) -> None:
        """A producer that has sent nothing.

        Args:
            batches: with a queue for each partition.
            partitioner: of the topic.
            leaders: node that leads the partition of each queue, None where it is not known.
            settings: of batches and requests.
            queues: those of the topic's partitions, in their order; all of them unless it is said.
        """
        self.batches = batches
        self.queues = tuple(range(len(batches.queues)) if queues is None else queues)
        self.partitioner = partitioner
        self.accumulator = RecordAccumulator(batches, settings)
        self.sender = Sender(self.accumulator, leaders)

    @property
    def counts(self) -> ProducerCounts:
        """What became of its records."""
        return self.accumulator.counts

    @property
    def layout(self) -> TopicLayout:
        """The topic as the producer knows it."""
        leaders = self.sender.leaders
        available = tuple(number for number, queue in enumerate(self.queues) if leaders[queue] is not None)
        queued = [len(self.batches.queues[queue].waiting) for queue in self.queues]
        return TopicLayout(len(self.queues), available, queued)

    def send(self, key: bytes | None, value: bytes, now: Timestamp, partition: int | None = None) -> SentRecord:
        """Hand over a record; where it is not accepted yet, the calling thread waits for memory, and no other.

        Args:
            key: says the partition where the partitioner goes by keys.
            value: of the record.
            now: milliseconds.
            partition: to which it is to go, whatever the partitioner says.

        Raises:
            UnknownPartition: the topic does not have the partition.
            IllegalState: there is no open transaction where there must be one.
            ProducerFailed: the transaction can only be aborted, or the producer is of no use any more.
        """
        if partition is not None:
            record = SentRecord(key, value, self.queues[checked(partition, self.layout)], now)
            self.accumulator.take(record, now)
            return record
        record = SentRecord(key, value, self._chosen(key), now)
        if not self.accumulator.has_room(record) and self.partitioner.batch_begins(key, self.layout):
            record.partition = self._chosen(key)
        appended = self.accumulator.take(record, now)
        if key is None and appended is not None:
            self.partitioner.appended(record.size_at(0), self.layout, batch_ends=appended.filled)
        return record

    def _chosen(self, key: bytes | None) -> int:
        """The queue of the partition that the partitioner chooses."""
        return self.queues[self.partitioner.choose(key, self.layout)]

    def add_partition(self) -> None:
        """The topic has one partition more, whose leader is not known yet."""
        self.queues = (*self.queues, self.batches.add_partition())
        self.sender.leaders.append(None)

    def flush(self) -> None:
        """Have everything sent that was handed over so far."""
        self.accumulator.flush()
