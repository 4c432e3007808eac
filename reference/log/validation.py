"""The form of a client's batch, checked before any producer state (UnifiedLog, LogValidator)."""

from reference.errors import CorruptMessage, InvalidRecord, Refusal
from reference.log.batch import RecordBatch
from reference.log.reader import BatchDamage, read_batches
from spec import rules
from spec.versions import Profile


def validate_client_batch(profile: Profile, batch: RecordBatch) -> None:
    """Check one batch of a client; the order of the checks is that of 2.4, and shows in no answer.

    Raises:
        InvalidRecord: its form is not one that a client may send.
        CorruptMessage: the same, where the version has no code for it.
    """
    # [base offset]
    if batch.base_offset != 0:
        raise ill_formed(profile, base_offset=batch.base_offset)

    # [record count]
    if batch.record_count <= 0:
        raise ill_formed(profile, record_count=batch.record_count)
    if profile.records_compared_with_offsets and batch.last_offset_delta + 1 != batch.record_count:
        raise ill_formed(profile, record_count=batch.record_count, last_offset_delta=batch.last_offset_delta)

    # [control]
    if batch.is_control:
        raise ill_formed(profile, control=True)

    # [sequence]
    if batch.producer_id >= 0 and batch.base_sequence < 0:
        raise ill_formed(profile, base_sequence=batch.base_sequence)


def ill_formed(profile: Profile, **values: object) -> Refusal:
    """The error for a malformed batch of a client."""
    if profile.invalid_record_has_code:
        return InvalidRecord(**values)
    return CorruptMessage(rules.SEQ_WELL_FORMED, **values)


def parse_client_records(data: bytes) -> tuple[RecordBatch, ...]:
    """The batches in the bytes of a Produce.

    Raises:
        CorruptMessage: the bytes are damaged.
    """
    batches = []
    for found in read_batches(data):
        if isinstance(found, BatchDamage):
            raise CorruptMessage(kind=found.kind.value, position=found.position, detail=found.detail)
        batches.append(found.batch)
    return tuple(batches)
