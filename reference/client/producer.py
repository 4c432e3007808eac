"""The idempotent producer: numbering, retries, and the effect of answers on batches (Sender, TransactionManager)."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from reference.broker.ids import ProducerIdentity
from reference.client.partition_queue import MAX_IN_FLIGHT, Hold, PartitionQueue, ProducerBatch
from reference.errors import Impossible
from reference.log.batch import RecordBatch, blank_batch, data_batch, value_batch
from reference.log.record import Record
from spec.vocabulary import MAX_EPOCH, NO_OFFSET, NO_SEQUENCE, NO_TIMESTAMP, Epoch, ErrorCode, Offset, Timestamp

RETRIABLE: Final = frozenset(
    {
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
FATAL: Final = frozenset(
    {ErrorCode.PRODUCER_FENCED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.INVALID_PRODUCER_ID_MAPPING}
)
DELIVERY_TIMEOUT_MS: Final = 120_000
"""Kafka's default of `delivery.timeout.ms`."""


class Attempt(NamedTuple):
    """One attempt to send a batch: its bytes are fixed, whatever happens to the batch later."""

    partition: int
    number: int
    batch: ProducerBatch
    records: RecordBatch


class AttemptReply(NamedTuple):
    """The answer to an attempt, as the client sees it."""

    error: ErrorCode
    offset: Offset = NO_OFFSET
    log_start: Offset = NO_OFFSET
    log_append_time: Timestamp = NO_TIMESTAMP


class IdempotentProducer:
    """A producer with one queue per partition.

    The world drives it: `send`, `drain`, `receive`, `tick`, and `identified` once it has a producer id.

    Attributes:
        identity: producer id and epoch, None while one must be asked for.
        queues: by partition number.
        on_wire: attempts without an answer, by number, oldest first.
        history: every batch ever handed over, with its partition.
        failed: a fatal error has ended the producer.
        transactional: whether its batches are parts of transactions.
        fenced_has_code: whether its release knows PRODUCER_FENCED (2.7); before, INVALID_PRODUCER_EPOCH means it.
    """

    __slots__ = (
        "_attempts",
        "_ordinals",
        "_renumber",
        "delivery_timeout_ms",
        "failed",
        "fenced_has_code",
        "history",
        "identity",
        "on_wire",
        "queues",
        "transactional",
    )

    def __init__(
        self,
        partitions: int,
        delivery_timeout_ms: int = DELIVERY_TIMEOUT_MS,
        max_in_flight: int = MAX_IN_FLIGHT,
        *,
        fenced_has_code: bool = True,
    ) -> None:
        """A producer for the partitions 0 .. partitions-1, without producer id."""
        self.identity: ProducerIdentity | None = None
        self.queues = [PartitionQueue(max_in_flight) for _ in range(partitions)]
        self.on_wire: dict[int, Attempt] = {}
        self.history: list[tuple[int, ProducerBatch]] = []
        self.failed = False
        self.transactional = False
        self.fenced_has_code = fenced_has_code
        self.delivery_timeout_ms = delivery_timeout_ms
        self._ordinals = [0] * partitions
        self._attempts = 0
        self._renumber: set[int] = set()

    def add_partition(self) -> int:
        """One partition more, to which nothing has been sent; its number."""
        self.queues.append(PartitionQueue(self.queues[0].max_in_flight))
        self._ordinals.append(0)
        return len(self.queues) - 1

    # --- the application --------------------------------------------------------------------------------------

    def admit(self, partition: int) -> None:
        """The application may send to the partition now; it is refused where a transaction says no."""

    def send(self, partition: int, record_count: int, now: Timestamp, values: tuple[bytes, ...] = ()) -> ProducerBatch:
        """Hand over a batch of `record_count` records; the batch keeps the application's result.

        Args:
            partition: its number.
            record_count: records in the batch.
            now: milliseconds.
            values: one for each record; without them the records carry nothing.
        """
        batch = ProducerBatch(self._ordinals[partition], record_count, now, values)
        self._ordinals[partition] += 1
        self.queues[partition].waiting.append(batch)
        self.history.append((partition, batch))
        return batch

    # --- the sender -------------------------------------------------------------------------------------------

    @property
    def needs_producer_id(self) -> bool:
        """Whether a producer id must be asked for before anything can be sent."""
        return self.identity is None and not self.failed

    @property
    def completes_transaction(self) -> bool:
        """Whether a transaction ends, so that nothing lingers."""
        return False

    @property
    def busy(self) -> bool:
        """Whether the application still waits for a batch."""
        return any(batch.outcome is None for _, batch in self.history)

    def identified(self, identity: ProducerIdentity) -> None:
        """Take the identity that InitProducerId gave, or a bumped one; renumber the partitions that asked for it."""
        self.identity = identity
        for partition in sorted(self._renumber):
            self.queues[partition].start_at_beginning(identity)
        self._renumber.clear()

    def hold(self, partition: int) -> Hold | None:
        """The first rule that keeps the next batch of the partition from being sent now, None if none does."""
        if self.failed:
            return Hold.FAILED
        if self.identity is None:
            return Hold.NO_PRODUCER_ID
        return self.queues[partition].hold(self.identity)

    def may_drain(self, partition: int) -> bool:
        """Whether a batch of the partition may be sent now."""
        return self.hold(partition) is None

    def drain(self, partition: int) -> Attempt:
        """Send the next batch of the partition.

        Raises:
            Impossible: `may_drain` says no.
        """
        if self.identity is None or not self.may_drain(partition):
            raise Impossible(f"nothing may be sent to partition {partition}")
        batch = self.queues[partition].drain(self.identity)
        return self._sent(Attempt(partition, self._attempts, batch, on_the_wire(batch, self.transactional)))

    def _sent(self, attempt: Attempt) -> Attempt:
        self._attempts += 1
        self.on_wire[attempt.number] = attempt
        return attempt

    def tick(self, now: Timestamp) -> None:
        """One round of the sender: expire batches, settle what is unresolved, bump the epoch if asked to."""
        for queue in self.queues:
            self.expire(queue, now)
        for partition, queue in enumerate(self.queues):
            if queue.is_unresolved and not queue.in_flight:
                self.resolve(partition, queue)
        if self._renumber and self.identity is not None:
            self.bump(self.identity)

    def expire(self, queue: PartitionQueue, now: Timestamp) -> None:
        """Fail the batches that took too long; whether they were appended is not known."""
        for batch in (*queue.in_flight, *queue.waiting):
            if now - batch.created_ms >= self.delivery_timeout_ms and batch.outcome is None:
                self.give_up(queue, batch)

    def give_up(self, queue: PartitionQueue, batch: ProducerBatch) -> None:
        """Fail one batch that took too long."""
        batch.fail(ErrorCode.REQUEST_TIMED_OUT)
        queue.expire(batch)

    def resolve(self, partition: int, queue: PartitionQueue) -> None:
        """With nothing left in flight: either the expired batch was acknowledged after all, or the epoch must go up."""
        if queue.is_next(queue.next_sequence):
            queue.unresolved_next = NO_SEQUENCE
        else:
            self.request_bump(partition)

    def request_bump(self, partition: int) -> None:
        """Ask for a new epoch, under which the partition starts at sequence 0."""
        self._renumber.add(partition)

    def bump(self, identity: ProducerIdentity) -> None:
        """Go up one epoch, without a request; past the last epoch a new producer id is needed."""
        if identity.epoch == MAX_EPOCH:
            self.identity = None
        else:
            self.identified(ProducerIdentity(identity.producer_id, Epoch(identity.epoch + 1)))

    # --- answers ----------------------------------------------------------------------------------------------

    def receive(self, attempt: Attempt, reply: AttemptReply) -> None:
        """Handle the answer to an attempt; a second answer to the same attempt is ignored."""
        if self.on_wire.pop(attempt.number, None) is None:
            return
        if reply.error in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            self.succeed(attempt, reply)
        elif attempt.batch.outcome is None:
            self.fail_or_retry(attempt, reply)

    def lose(self, attempt: Attempt) -> None:
        """The connection broke or the request timed out: whether the attempt was handled is not known."""
        self.receive(attempt, AttemptReply(ErrorCode.NETWORK_EXCEPTION))

    def succeed(self, attempt: Attempt, reply: AttemptReply) -> None:
        """The batch is in the log; the application gets a success unless the batch failed before."""
        batch = attempt.batch
        self.queues[attempt.partition].acknowledge(batch, reply.offset)
        if batch.outcome is None:
            batch.outcome, batch.offset = True, reply.offset

    def known_as(self, error: ErrorCode) -> ErrorCode:
        """An answer to Produce as the producer's release understands its code."""
        if error is ErrorCode.INVALID_PRODUCER_EPOCH and not self.fenced_has_code:
            return ErrorCode.PRODUCER_FENCED
        return error

    def fail_or_retry(self, attempt: Attempt, reply: AttemptReply) -> None:
        """Send the batch again unchanged if that can help, else report its failure."""
        if self.can_retry(attempt, reply):
            self.queues[attempt.partition].requeue(attempt.batch)
        else:
            self.fail(attempt, reply)

    def can_retry(self, attempt: Attempt, reply: AttemptReply) -> bool:
        """Whether to send again; asks for a new epoch where the broker has lost or never had the sequence."""
        if reply.error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            self.consider_out_of_order(attempt)
            return True
        if reply.error == ErrorCode.UNKNOWN_PRODUCER_ID:
            self.consider_unknown_producer(attempt, reply)
            return True
        return reply.error in RETRIABLE

    def consider_out_of_order(self, attempt: Attempt) -> None:
        """A gap before a batch that is not the next is filled by retries; before the next one it is real."""
        queue, batch = self.queues[attempt.partition], attempt.batch
        if queue.is_unresolved:
            real_gap = batch.base_sequence == queue.unresolved_next
        else:
            real_gap = not batch.sequence_reset and queue.is_next(batch.base_sequence)
        if real_gap:
            self.request_bump(attempt.partition)

    def consider_unknown_producer(self, attempt: Attempt, reply: AttemptReply) -> None:
        """The broker forgot the producer (before 2.5): start over under a new epoch, once per batch."""
        if reply.log_start != NO_OFFSET and not attempt.batch.sequence_reset:
            self.request_bump(attempt.partition)

    def split(self, attempt: Attempt, parts: Sequence[ProducerBatch]) -> None:
        """Send the batch of an attempt again in parts; a broker has refused the whole because of its size."""
        self.on_wire.pop(attempt.number, None)
        self.replace(attempt.partition, attempt.batch, parts)
        place = self.history.index((attempt.partition, attempt.batch))
        self.history[place : place + 1] = [(attempt.partition, part) for part in parts]

    def replace(self, partition: int, batch: ProducerBatch, parts: Sequence[ProducerBatch]) -> None:
        """Put parts of a batch in flight in its place, to be sent."""
        self.queues[partition].split(batch, parts)

    def fail(self, attempt: Attempt, reply: AttemptReply) -> None:
        """Report the failure; the batch is certainly not in the log, so that what follows must be renumbered."""
        attempt.batch.fail(reply.error)
        self.queues[attempt.partition].remove(attempt.batch)
        if self.known_as(reply.error) in FATAL:
            self.failed = True
        else:
            self.request_bump(attempt.partition)


def on_the_wire(batch: ProducerBatch, transactional: bool) -> RecordBatch:
    """The record batch as an attempt carries it.

    Raises:
        Impossible: the batch has no producer id and sequence yet.
    """
    if batch.identity is None:
        raise Impossible("a batch is numbered before it is sent")
    header = {
        "producer_id": batch.identity.producer_id,
        "epoch": batch.identity.epoch,
        "base_sequence": batch.base_sequence,
        "timestamp": batch.created_ms,
    }
    if batch.keys:
        listed = enumerate(zip(batch.keys, batch.values, strict=True))
        records = (Record(delta, 0, key, value) for delta, (key, value) in listed)
        return data_batch(records, transactional=transactional, **header)
    if batch.values:
        return value_batch(batch.values, transactional=transactional, **header)
    return blank_batch(batch.record_count, transactional=transactional, **header)
