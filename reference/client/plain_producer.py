"""The producer without idempotence (enable.idempotence=false): a batch that is sent again looks like a new one."""

from collections.abc import Sequence

from reference.broker.transaction_api import NO_IDENTITY
from reference.client.drain_rules import Hold
from reference.client.partition_queue import PartitionQueue, ProducerBatch
from reference.client.producer import RETRIABLE, Attempt, AttemptReply, IdempotentProducer, on_the_wire
from reference.errors import Impossible
from spec.vocabulary import NO_SEQUENCE, ErrorCode


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
