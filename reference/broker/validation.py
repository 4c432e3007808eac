"""What a client's batch must look like before any producer state is asked (UnifiedLog, LogValidator)."""

from reference.errors import CorruptMessage, InvalidRecord
from reference.log.batch import RecordBatch
from reference.log.reader import Damage, read_batches


def validate_client_batch(batch: RecordBatch) -> None:
    """Check one batch of a client, in Kafka's order.

    Raises:
        InvalidRecord: its form is not one that a client may send.
    """
    # [base offset]
    if batch.base_offset != 0:
        raise InvalidRecord(base_offset=batch.base_offset)

    # [record count]
    if batch.record_count <= 0 or batch.last_offset_delta + 1 != batch.record_count:
        raise InvalidRecord(record_count=batch.record_count, last_offset_delta=batch.last_offset_delta)

    # [control]
    if batch.is_control:
        raise InvalidRecord(control=True)

    # [sequence]
    if batch.producer_id >= 0 and batch.base_sequence < 0:
        raise InvalidRecord(base_sequence=batch.base_sequence)


def parse_client_records(data: bytes) -> tuple[RecordBatch, ...]:
    """The batches in the bytes of a Produce.

    Raises:
        CorruptMessage: the bytes are damaged.
    """
    batches = []
    for found in read_batches(data):
        if isinstance(found, Damage):
            raise CorruptMessage(kind=found.kind.value, position=found.position, detail=found.detail)
        batches.append(found.batch)
    return tuple(batches)
