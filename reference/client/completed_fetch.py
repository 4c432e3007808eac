"""What a consumer delivers of one fetch: the filter of read_committed (CompletedFetch)."""

from collections.abc import Iterator

from reference.log.batch import RecordBatch
from reference.log.partition import FetchResult
from reference.log.record import Record
from spec.vocabulary import ControlType, Offset, ProducerId


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
