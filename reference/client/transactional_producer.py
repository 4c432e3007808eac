"""The transactional producer: batches are numbered and retried as ever, and belong to transactions (KafkaProducer)."""

from collections.abc import Sequence
from typing import Final

from reference.broker.group_requests import NO_CLAIM, MemberClaim, Offsets
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_metadata import TopicPartition
from reference.client.coordinator_channel import CoordinatorAnswer, Outgoing, PendingResult
from reference.client.partition_queue import MAX_IN_FLIGHT, Hold, PartitionQueue, ProducerBatch
from reference.client.producer import DELIVERY_TIMEOUT_MS, Attempt, AttemptReply, IdempotentProducer
from reference.client.producer_settings import RequestVersions
from reference.client.transaction_manager import TransactionManager
from reference.client.transaction_states import COMPLETING, ClientState, ErrorHandling, ProducerRequest, meaning
from reference.errors import Impossible
from spec.vocabulary import NO_OFFSET, NO_SEQUENCE, ErrorCode, Timestamp

TRANSACTION_TIMEOUT_MS: Final = 60_000
"""Kafka's default of `transaction.timeout.ms`."""


class TransactionalProducer(IdempotentProducer):
    """One instance of a transactional id.

    The application calls `init_transactions`, `begin`, `send`, `send_offsets_to_transaction`, `commit` and `abort`;
    the world drives the sender: `poll` and `answer` for coordinators, `drain` and `receive` for leaders, `tick`.

    Attributes:
        manager: its part in its transactions.
        partitions: the partitions it writes to, by the numbers of its queues.
    """

    __slots__ = ("manager", "partitions")

    def __init__(
        self,
        transactional_id: str,
        partitions: Sequence[TopicPartition],
        versions: RequestVersions,
        timeout_ms: int = TRANSACTION_TIMEOUT_MS,
        delivery_timeout_ms: int = DELIVERY_TIMEOUT_MS,
        max_in_flight: int = MAX_IN_FLIGHT,
    ) -> None:
        """An instance that has not been initialized."""
        super().__init__(len(partitions), delivery_timeout_ms, max_in_flight, fenced_has_code=versions.fenced_has_code)
        self.transactional = True
        self.partitions = tuple(partitions)
        self.manager = TransactionManager(transactional_id, timeout_ms, versions, self._take_identity)

    # --- the application --------------------------------------------------------------------------------------

    def init_transactions(self) -> PendingResult:
        """Get a producer id, and abort what another instance has left open."""
        return self.manager.init_transactions()

    def begin(self) -> None:
        """Begin a transaction."""
        self.manager.begin()

    def admit(self, partition: int) -> None:
        """The partition joins the transaction.

        Raises:
            IllegalState: there is no open transaction.
            ProducerFailed: it can only be aborted, or the producer is of no use any more.
        """
        self.manager.add_partition(self.partitions[partition])

    def send(self, partition: int, record_count: int, now: Timestamp, values: tuple[bytes, ...] = ()) -> ProducerBatch:
        """Hand over a batch as part of the transaction; raises as `admit`.

        Args:
            partition: its number.
            record_count: records in the batch.
            now: milliseconds.
            values: a value for each record, or nothing at all.
        """
        self.admit(partition)
        return super().send(partition, record_count, now, values)

    def send_offsets_to_transaction(self, group: str, offsets: Offsets, claim: MemberClaim = NO_CLAIM) -> PendingResult:
        """Commit offsets of a consumer group as part of the transaction; `claim` is that of the group's member."""
        return self.manager.send_offsets(group, offsets, claim)

    def commit(self) -> PendingResult:
        """Commit the transaction, once all its batches are acknowledged."""
        return self.manager.commit()

    def abort(self) -> PendingResult:
        """Abort the transaction; what has not been sent is dropped."""
        result = self.manager.abort()
        self._drop_undrained()
        return result

    # --- the sender -------------------------------------------------------------------------------------------

    @property
    def needs_producer_id(self) -> bool:
        """Never: the coordinator gives one to `init_transactions`."""
        return False

    @property
    def state(self) -> ClientState:
        """Where the producer stands."""
        return self.manager.machine.state

    @property
    def completes_transaction(self) -> bool:
        """Whether the application has said that the transaction ends."""
        return self.state in COMPLETING

    @property
    def is_incomplete(self) -> bool:
        """Whether a batch waits or is in flight."""
        return any(queue.waiting or queue.in_flight for queue in self.queues)

    def hold(self, partition: int) -> Hold | None:
        """What keeps a batch from being sent: also, that its partition is not known to be in the transaction."""
        if self.state is ClientState.FATAL_ERROR:
            return Hold.FAILED
        if self.partitions[partition] not in self.manager.partitions:
            return Hold.NOT_IN_TRANSACTION
        return super().hold(partition)

    def may_poll(self) -> bool:
        """Whether a coordinator request can go out or be settled."""
        return self.manager.may_send(self.is_incomplete)

    def poll(self) -> Outgoing | None:
        """The next coordinator request to send, None if there is none or it is settled without being sent."""
        self._settle()
        return self.manager.poll(self.is_incomplete)

    def answer(self, number: int, answer: CoordinatorAnswer) -> None:
        """A coordinator's answer has come."""
        self.manager.receive(number, answer)

    def tick(self, now: Timestamp) -> None:
        """One round of the sender: expire batches, settle what is unresolved, drop what will not be sent."""
        for queue in self.queues:
            self.expire(queue, now)
        self._settle()

    def _settle(self) -> None:
        for partition, queue in enumerate(self.queues):
            if queue.is_unresolved and not queue.in_flight:
                self.resolve(partition, queue)
        self._drop_undrained()

    def _drop_undrained(self) -> None:
        """What was never sent is not sent any more once the transaction can only be aborted; in the end nothing is."""
        if not self.manager.is_giving_up:
            return
        for queue in self.queues:
            for batch in queue.drop_all() if self.state is ClientState.FATAL_ERROR else queue.drop_undrained():
                batch.fail()

    def _take_identity(self, identity: ProducerIdentity, starts_again: bool) -> None:
        """The coordinator has given an identity; after a bump nothing is in flight, and sequences start at 0."""
        if starts_again:
            if any(queue.in_flight for queue in self.queues):
                raise Impossible("the epoch goes up while batches are in flight")
            for queue in self.queues:
                queue.forget()
        self.identity = identity

    # --- answers to batches -----------------------------------------------------------------------------------

    def give_up(self, queue: PartitionQueue, batch: ProducerBatch) -> None:
        """A batch took too long; the transaction cannot be committed without it."""
        super().give_up(queue, batch)
        self.manager.fail_batch(ErrorCode.REQUEST_TIMED_OUT)

    def resolve(self, partition: int, queue: PartitionQueue) -> None:
        """With nothing left in flight: either the expired batch was acknowledged after all, or only an abort helps."""
        if not queue.is_next(queue.next_sequence):
            self.manager.fail_unresolved()
        queue.unresolved_next = NO_SEQUENCE

    def can_retry(self, attempt: Attempt, reply: AttemptReply) -> bool:
        """Whether sending the batch again can help."""
        outcome = meaning(ProducerRequest.PRODUCE, self.known_as(reply.error))
        if outcome is ErrorHandling.BY_SEQUENCE:
            return self._can_retry_by_sequence(attempt, reply)
        return outcome is ErrorHandling.RETRY

    def _can_retry_by_sequence(self, attempt: Attempt, reply: AttemptReply) -> bool:
        queue, batch = self.queues[attempt.partition], attempt.batch
        if reply.error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            gap_ahead = batch.sequence_reset or not queue.is_next(batch.base_sequence)
            return gap_ahead and not queue.is_unresolved
        if reply.log_start == NO_OFFSET or batch.sequence_reset:
            return True
        forgotten = queue.last_acked_offset < reply.log_start
        if forgotten and batch.identity is not None:
            queue.start_at_beginning(batch.identity)
        return forgotten

    def fail(self, attempt: Attempt, reply: AttemptReply) -> None:
        """A batch has a fatal error: with it the transaction, or the producer, fails."""
        queue, batch = self.queues[attempt.partition], attempt.batch
        if reply.error is ErrorCode.UNKNOWN_PRODUCER_ID:
            queue.forget()
        else:
            queue.close_gap(batch)
        batch.fail(reply.error)
        queue.remove(batch)
        if meaning(ProducerRequest.PRODUCE, self.known_as(reply.error)) is ErrorHandling.FATAL:
            self.manager.machine.fail_fatally(reply.error)
        else:
            self.manager.fail_batch(reply.error)
        self._drop_undrained()
