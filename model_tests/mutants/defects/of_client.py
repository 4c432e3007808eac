"""Defects of the producer client: numbering, retries, and the assignment of answers.

Left out, because no rule about the log sees them: resends that overtake each other (the leader refuses all but the
next one, so that nothing but time is lost), and resends that wait for ever.
"""

from collections import deque
from typing import Final

from model_tests.machines.tape_runs import ANYWHERE, Terrain
from model_tests.mutants.defects.planted import Patch, Planted
from reference.broker.ids import ProducerIdentity
from reference.client.partition_queue import MAX_IN_FLIGHT, Hold, PartitionQueue, ProducerBatch
from reference.client.producer import Attempt, AttemptReply, IdempotentProducer
from reference.log import sequence
from spec import rules
from spec.vocabulary import NO_SEQUENCE, ErrorCode, Offset, Sequence

_init = PartitionQueue.__init__
_drain = PartitionQueue.drain
_hold = PartitionQueue.hold
_start_at_beginning = PartitionQueue.start_at_beginning
_can_retry = IdempotentProducer.can_retry
_succeed = IdempotentProducer.succeed


def one_more_in_flight(queue: PartitionQueue, max_in_flight: int = MAX_IN_FLIGHT) -> None:
    """Six batches in flight; two with 0.11."""
    _init(queue, max_in_flight + 1)


def drain_renumbered(queue: PartitionQueue, identity: ProducerIdentity) -> ProducerBatch:
    """A resend gets the next sequence."""
    batch = queue.waiting[0]
    resent = batch.has_sequence
    _drain(queue, identity)
    if resent:
        batch.number(identity, queue.next_sequence)
        queue.next_sequence = sequence.increment(queue.next_sequence, batch.record_count)
    return batch


def drain_without_counting(queue: PartitionQueue, identity: ProducerIdentity) -> ProducerBatch:
    """Each batch counts as one record, however many it has."""
    before = queue.next_sequence
    batch = _drain(queue, identity)
    if queue.next_sequence != before:
        queue.next_sequence = sequence.increment(batch.base_sequence, 1)
    return batch


def keep_counting(queue: PartitionQueue, identity: ProducerIdentity) -> None:
    """A new epoch continues the sequences of the one before."""
    queue.identity = identity
    for batch in queue.in_flight:
        batch.number(identity, batch.base_sequence)
    queue.last_acked = queue.unresolved_next = NO_SEQUENCE


def renumber_backwards(queue: PartitionQueue, identity: ProducerIdentity) -> None:
    """What is in flight is renumbered from the newest to the oldest."""
    queue.in_flight.reverse()
    resent = [batch for batch in queue.waiting if batch.has_sequence]
    new = [batch for batch in queue.waiting if not batch.has_sequence]
    queue.waiting = deque((*reversed(resent), *new))
    _start_at_beginning(queue, identity)


def adopt_at_any_time(queue: PartitionQueue, identity: ProducerIdentity) -> Hold | None:
    """A new epoch is taken up while batches of the old one are in flight."""
    if queue.waiting and not queue.waiting[0].has_sequence:
        return _hold(queue, queue.identity or identity)
    return _hold(queue, identity)


def acknowledge_the_newest(producer: IdempotentProducer, attempt: Attempt, reply: AttemptReply) -> None:
    """A success is taken for that of the newest batch in flight."""
    in_flight = producer.queues[attempt.partition].in_flight
    batch = in_flight[-1] if in_flight else attempt.batch
    _succeed(producer, attempt._replace(batch=batch), reply)


def succeed_with_next_offset(producer: IdempotentProducer, attempt: Attempt, reply: AttemptReply) -> None:
    """The application gets the offset after the right one."""
    _succeed(producer, attempt, reply._replace(offset=Offset(reply.offset + 1)))


def take_silence_for_success(producer: IdempotentProducer, attempt: Attempt) -> None:
    """A lost connection counts as a success."""
    producer.receive(attempt, AttemptReply(ErrorCode.NONE))


def bump_on_silence(producer: IdempotentProducer, attempt: Attempt, reply: AttemptReply) -> bool:
    """A lost connection makes the client renumber what is in flight."""
    if reply.error == ErrorCode.NETWORK_EXCEPTION:
        producer.request_bump(attempt.partition)
    return _can_retry(producer, attempt, reply)


def take_out_of_order_for_success(producer: IdempotentProducer, attempt: Attempt, reply: AttemptReply) -> bool:
    """A sequence out of order is taken for a duplicate, and so for a success."""
    if reply.error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
        attempt.batch.outcome = True
    return _can_retry(producer, attempt, reply)


def same_sequence_again(queue: PartitionQueue, identity: ProducerIdentity) -> ProducerBatch:
    """Two batches in a row get the same sequence."""
    before = queue.next_sequence
    batch = _drain(queue, identity)
    if batch.ordinal % 2 == 0 and batch.attempts == 1:
        queue.next_sequence = Sequence(before)
    return batch


def expire_and_go_on(queue: PartitionQueue, batch: ProducerBatch) -> None:
    """What follows an expired batch is numbered and sent as if that had certainly been appended."""
    queue.remove(batch)


def _queue(name: str, rule: rules.Rule, method: str, instead: object, terrain: Terrain = ANYWHERE) -> Planted:
    return Planted(name, rule, (Patch(PartitionQueue, method, instead),), terrain)


def _producer(name: str, method: str, instead: object) -> Planted:
    return Planted(name, rules.SEQ_EXACTLY_ONCE, (Patch(IdempotentProducer, method, instead),))


GIVEN_UP: Final = frozenset({"delivery_times_out", "network_fails"})
"""Faults by which clients give up batches."""

REPLACED: Final = frozenset({"delivery_times_out", "leader_fails_over", "broker_restarts"})
"""Faults by which clients give up batches, or number them anew."""

OF_CLIENT: Final = (
    _queue(
        "six in flight", rules.SEQ_EXACTLY_ONCE, "__init__", one_more_in_flight, Terrain(ordered=True, faults=GIVEN_UP)
    ),
    _queue("resend renumbered", rules.SEQ_EXACTLY_ONCE, "drain", drain_renumbered),
    _queue("same sequence twice", rules.SEQ_EXACTLY_ONCE, "drain", same_sequence_again),
    _queue("batches counted as records", rules.SEQ_SUCCESSOR, "drain", drain_without_counting),
    _queue("epoch bump without sequence reset", rules.SEQ_EPOCH_RESET, "start_at_beginning", keep_counting),
    _queue("in flight renumbered backwards", rules.SEQ_ORDER, "start_at_beginning", renumber_backwards),
    Planted(
        "new epoch while the old is in flight",
        rules.SEQ_EPOCH_RESET,
        (Patch(PartitionQueue, "hold", adopt_at_any_time),),
        Terrain(partitions=2, ordered=True, faults=GIVEN_UP),
    ),
    _producer("wrong batch acknowledged", "succeed", acknowledge_the_newest),
    _producer("wrong offset acknowledged", "succeed", succeed_with_next_offset),
    _producer("silence taken for success", "lose", take_silence_for_success),
    _producer("epoch bump on silence", "can_retry", bump_on_silence),
    _producer("out of order taken for success", "can_retry", take_out_of_order_for_success),
    _queue(
        "nothing is unresolved after expiry",
        rules.SEQ_SUCCESSOR,
        "expire",
        expire_and_go_on,
        Terrain(partitions=1, ordered=True, faults=REPLACED),
    ),
)
