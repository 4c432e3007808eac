"""The defects of the known bugs, planted in the reference where no profile has them."""

from typing import Final

from model_tests.mutants.of_client import renumber_backwards
from model_tests.mutants.planted import Patch, Planted
from reference.broker.ids import ProducerIdentity
from reference.broker.producer_append import ProducerAppend
from reference.broker.producer_entry import ProducerEntry, VerificationEntry
from reference.broker.producer_state import ProducerState
from reference.client.partition_queue import PartitionQueue
from reference.client.producer import IdempotentProducer
from reference.log.batch import RecordBatch
from reference.log.record import EndTransactionMarker
from spec import rules
from spec.vocabulary import Timestamp

_identified = IdempotentProducer.identified
_adopt_marker = ProducerAppend.adopt_marker


def renumber_everything(producer: IdempotentProducer, identity: ProducerIdentity) -> None:
    """A raised epoch numbers again what is in flight for every partition."""
    for partition, _ in enumerate(producer.queues):
        producer.request_bump(partition)
    _identified(producer, identity)


def count_on(queue: PartitionQueue, identity: ProducerIdentity) -> None:
    """An idle partition takes up a raised epoch and goes on counting."""
    queue.identity = identity


def forget_with_the_records(_: ProducerState, entry: ProducerEntry, __: Timestamp) -> bool:
    """A producer is forgotten as soon as its records are deleted."""
    return not entry.in_transaction


def keep_time_of_data(part: ProducerAppend, batch: RecordBatch, marker: EndTransactionMarker) -> None:
    """A marker does not count for the age of its producer."""
    before = part.entry.last_timestamp
    _adopt_marker(part, batch, marker)
    part.entry = part.entry._replace(last_timestamp=before)


def let_overtake(_: ProducerAppend, __: RecordBatch, ___: VerificationEntry) -> None:
    """No sequence that waits for its verification is remembered."""


DEFECTS: Final = {
    "KAFKA-8483": Planted(
        "numbered again in arbitrary order",
        rules.SEQ_ORDER,
        (Patch(PartitionQueue, "start_at_beginning", renumber_backwards),),
    ),
    "KAFKA-12152": Planted(
        "an idle partition counts on", rules.SEQ_EPOCH_RESET, (Patch(PartitionQueue, "adopt", count_on),)
    ),
    "librdkafka#4953": Planted(
        "everything in flight is numbered again",
        rules.SEQ_EXACTLY_ONCE,
        (Patch(IdempotentProducer, "identified", renumber_everything),),
    ),
    "KAFKA-7190": Planted(
        "state goes with the records",
        rules.SEQ_SUCCESSOR,
        (Patch(ProducerState, "is_expired", forget_with_the_records),),
    ),
    "KAFKA-9144": Planted(
        "a marker does not refresh its producer",
        rules.FENCE_COORDINATOR_EPOCH,
        (Patch(ProducerAppend, "adopt_marker", keep_time_of_data),),
    ),
    "KAFKA-14920": Planted(
        "a waiting sequence is not remembered",
        rules.SEQ_ORDER,
        (Patch(ProducerAppend, "check_lowest_waiting", let_overtake),),
    ),
}
"""By the bug."""
