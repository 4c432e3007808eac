"""Defects of accumulator and sender, seen where a producer of records works; and the hunt for them."""

from collections.abc import Iterable, Sequence
from typing import Final

from model_tests.machines.sending_events import run_sending
from model_tests.mutants.defects.planted import SEEDS, Planted, defect, hunted, without_defect
from model_tests.verify.results import PlantedDefect
from reference.client import accumulator
from reference.client.accumulator import RecordAccumulator, SentRecord
from reference.client.partition_queue import Hold, PartitionQueue, ProducerBatch
from reference.client.producer import RETRIABLE, Attempt, AttemptReply, IdempotentProducer
from reference.client.record_producer import PlainProducer
from reference.client.sender import Sender
from reference.log import sequence
from spec import rules
from spec.vocabulary import ErrorCode

_split = PartitionQueue.split
_part_of = accumulator.part_of
_settle = SentRecord.settle
_receive = IdempotentProducer.receive


def any_batch(held: RecordAccumulator, partition: int) -> ProducerBatch | None:
    """Records go into the newest batch, although it was sent before."""
    waiting, queue = held.producer.queues[partition].waiting, held.producer.queues[partition]
    newest = waiting[-1] if waiting else (queue.in_flight[-1] if queue.in_flight else None)
    return newest if newest in held.held else None


def split_backwards(queue: PartitionQueue, batch: ProducerBatch, parts: Sequence[ProducerBatch]) -> None:
    """The last part of a batch has its first sequences."""
    _split(queue, batch, parts[::-1])


def split_without_counting(queue: PartitionQueue, batch: ProducerBatch, parts: Sequence[ProducerBatch]) -> None:
    """Every part has the first sequence of the whole."""
    _split(queue, batch, parts)
    for part in parts:
        part.base_sequence = batch.base_sequence


def split_anew(queue: PartitionQueue, batch: ProducerBatch, parts: Sequence[ProducerBatch]) -> None:
    """The parts are numbered behind all that was sent before."""
    _split(queue, batch, parts)
    for part in parts:
        part.base_sequence = queue.next_sequence
        queue.next_sequence = sequence.increment(queue.next_sequence, part.record_count)


def retry_last(queue: PartitionQueue, batch: ProducerBatch) -> None:
    """A batch to be sent again waits behind all others."""
    queue.waiting.append(batch)


def retry_first(queue: PartitionQueue, batch: ProducerBatch) -> None:
    """A batch to be sent again goes before all others, those with lower sequences included."""
    queue.waiting.appendleft(batch)


def plain_behind(producer: PlainProducer, attempt: Attempt, reply: AttemptReply) -> None:
    """Without idempotence a batch to be sent again waits behind all others."""
    queue = producer.queues[attempt.partition]
    queue.remove(attempt.batch)
    if reply.error in RETRIABLE:
        queue.waiting.append(attempt.batch)
    else:
        attempt.batch.fail(reply.error)


def never_busy(sender: Sender, node: int) -> Hold | None:
    """max.in.flight.requests.per.connection does not count, nor does a muted partition."""
    sender.muted.clear()
    return None


def same_offset(record: SentRecord, batch: ProducerBatch, delta: int) -> None:
    """Every record gets the offset of its batch."""
    _settle(record, batch, 0)


def silence_is_success(producer: IdempotentProducer, attempt: Attempt, reply: AttemptReply) -> None:
    """A request without an answer counts as acknowledged."""
    taken = AttemptReply(ErrorCode.NONE) if reply.error is ErrorCode.NETWORK_EXCEPTION else reply
    _receive(producer, attempt, taken)


def drop_the_last(batch: ProducerBatch, records: list[SentRecord]) -> ProducerBatch:
    """The last part of a batch lacks its last record."""
    part = _part_of(batch, records)
    if len(records) > 1:
        part.values, part.keys, part.record_count = part.values[:-1], part.keys[:-1], len(records) - 1
    return part


OF_SENDING: Final[tuple[Planted, ...]] = (
    defect("a batch that was sent takes records", rules.SEQ_EXACTLY_ONCE, RecordAccumulator, "_open_batch", any_batch),
    defect("a batch is split backwards", rules.SEQ_ORDER, PartitionQueue, "split", split_backwards),
    defect("all parts have one sequence", rules.SEQ_EXACTLY_ONCE, PartitionQueue, "split", split_without_counting),
    defect("parts are numbered anew", rules.SEQ_EXACTLY_ONCE, PartitionQueue, "split", split_anew),
    defect("a part lacks its last record", rules.SEQ_EXACTLY_ONCE, accumulator, "part_of", drop_the_last),
    defect("a retry waits behind all others", rules.SEQ_EXACTLY_ONCE, PartitionQueue, "requeue", retry_last),
    defect("a retry goes before all others", rules.SEQ_EXACTLY_ONCE, PartitionQueue, "requeue", retry_first),
    defect("a plain retry waits behind all others", rules.SEQ_ORDER, PlainProducer, "fail_or_retry", plain_behind),
    defect("one in flight is not kept", rules.SEQ_ORDER, Sender, "_held_at_node", never_busy),
    defect("every record has the offset of its batch", rules.SEQ_EXACTLY_ONCE, SentRecord, "settle", same_offset),
    defect("silence is success", rules.SEQ_EXACTLY_ONCE, IdempotentProducer, "receive", silence_is_success),
)
"""Every mutant of accumulator and sender."""


def hunt_in_sending(planted: Planted, seeds: Iterable[int] = SEEDS) -> PlantedDefect:
    """Run a producer of records with the defect, until an invariant of the rule that it breaks has seen it."""
    return hunted(planted, run_sending, seeds)


def true_sending(runs: int) -> tuple[str, ...]:
    """Run a producer of records without any defect: what broke."""
    return without_defect(run_sending, runs, "producer of records")
