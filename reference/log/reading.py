"""Views of a partition: batches up to a size, and its active producers."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from reference.log.batch import RecordBatch
from spec.vocabulary import CoordinatorEpoch, Epoch, Offset, ProducerId, Sequence, Timestamp

WITHOUT_LIMIT: Final = 2**31 - 1
"""The largest size of a fetch, in bytes."""


@dataclass(frozen=True, slots=True)
class ActiveProducer:
    """One producer in DescribeProducers; -1 is none."""

    producer_id: ProducerId
    epoch: Epoch
    last_sequence: Sequence
    coordinator_epoch: CoordinatorEpoch
    txn_first_offset: Offset
    last_timestamp: Timestamp


def within(batches: Iterable[RecordBatch], max_bytes: int) -> Iterator[RecordBatch]:
    """The first batch, and those after it as long as all together have at most `max_bytes` bytes."""
    size = 0
    for batch in batches:
        size += batch.size
        if size > max_bytes and size > batch.size:
            return
        yield batch
