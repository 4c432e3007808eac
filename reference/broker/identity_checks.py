"""Checks of the identity in a request: the newest producer of the transactional id, by producer id and epoch."""

from reference.broker.coordinator_errors import InvalidProducerIdMapping
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_metadata import LAST_CLIENT_EPOCH, TransactionMetadata
from reference.errors import ProducerFenced
from spec import rules
from spec.vocabulary import NO_EPOCH


def identity_of(metadata: TransactionMetadata) -> ProducerIdentity:
    """Producer id and epoch of an id."""
    return ProducerIdentity(metadata.producer_id, metadata.epoch)


def check_expected(metadata: TransactionMetadata, expected: ProducerIdentity | None) -> None:
    """A producer that resumes has the current producer id, or the last epoch of the one before.

    Raises:
        ProducerFenced: it has another one.
    """
    if expected is None or metadata.epoch == NO_EPOCH or expected.producer_id == metadata.producer_id:
        return

    # [fence.stale_epoch]
    if expected.producer_id != metadata.previous_producer_id or expected.epoch < LAST_CLIENT_EPOCH:
        raise ProducerFenced(rules.FENCE_STALE_EPOCH, current=metadata.producer_id, got=expected.producer_id)


def check_producer(metadata: TransactionMetadata, producer: ProducerIdentity) -> None:
    """Check that the request comes from the newest producer with the id.

    Raises:
        InvalidProducerIdMapping: the producer id is another.
        ProducerFenced: the epoch is another.
    """
    # [fence.stale_epoch]
    if producer.producer_id != metadata.producer_id:
        raise InvalidProducerIdMapping(current=metadata.producer_id, got=producer.producer_id)

    # [fence.stale_epoch]
    if producer.epoch != metadata.epoch:
        raise ProducerFenced(rules.FENCE_STALE_EPOCH, current=metadata.epoch, got=producer.epoch)
