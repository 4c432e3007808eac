"""Prints segments as `kafka-dump-log` does, in the spelling of its releases, for tests of reading that."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from reference.broker import transaction_record
from reference.broker.transaction_record import TransactionValue
from reference.log.batch import HEADER_SIZE, PREFIX_SIZE, RecordBatch, decode_header
from reference.log.record import Record
from spec.vocabulary import TransactionState

STATES = {int(state): state.name.title().replace("_", "") for state in TransactionState}


def dumped(segments: Sequence[Path], *, new: bool = True, alone: bool = False) -> Iterator[str]:
    """The lines about segments: of a new release or of 2.x, or, `alone`, of one that prints records alone."""
    for segment in segments:
        yield f"Dumping {segment}"
        yield f"{'Log starting' if new else 'Starting'} offset: {int(segment.stem)}"
        for position, crc, batch in batches(segment.read_bytes()):
            if not alone:
                yield _batch(position, crc, batch, new=new)
            for record in batch.records():
                yield _record(position, crc, batch, record, segment.parent.name, new=new, alone=alone)


def batches(content: bytes) -> Iterator[tuple[int, int, RecordBatch]]:
    """Where each batch begins, its CRC, and itself."""
    position = 0
    while position < len(content):
        header, length, _, crc = decode_header(content, position)
        after = position + PREFIX_SIZE + length
        yield position, crc, header._replace(body=content[position + HEADER_SIZE : after])
        position = after


def _batch(position: int, crc: int, batch: RecordBatch, *, new: bool) -> str:
    horizon = "deleteHorizonMs: OptionalLong.empty " if new else ""
    codec = batch.codec if new else batch.codec.upper()
    return (
        f"baseOffset: {batch.base_offset} lastOffset: {batch.last_offset} count: {batch.record_count} "
        f"baseSequence: {batch.base_sequence} lastSequence: {batch.last_sequence} producerId: {batch.producer_id} "
        f"producerEpoch: {batch.producer_epoch} partitionLeaderEpoch: {batch.leader_epoch} "
        f"isTransactional: {str(batch.is_transactional).lower()} isControl: {str(batch.is_control).lower()} "
        f"{horizon}position: {position} CreateTime: {batch.max_timestamp} size: {batch.size} magic: 2 "
        f"compresscodec: {codec} crc: {crc} isvalid: true"
    )


def _record(position: int, crc: int, batch: RecordBatch, record: Record, folder: str, *, new: bool, alone: bool) -> str:
    sequence = -1 if batch.base_sequence < 0 else batch.base_sequence + record.offset_delta
    size = "Size" if new else "size"
    lengths = f"key{size}: {len(record.key or b'')} value{size}: {len(record.value or b'')}"
    at = f"offset: {batch.base_offset + record.offset_delta}"
    time = f"CreateTime: {batch.base_timestamp + record.timestamp_delta}"
    if alone:
        text = (
            f"{at} position: {position} {time} isvalid: true {lengths} magic: 2 compresscodec: {batch.codec.upper()} "
            f"producerId: {batch.producer_id} producerEpoch: {batch.producer_epoch} sequence: {sequence} "
            f"isTransactional: {str(batch.is_transactional).lower()} headerKeys: []"
        )
    else:
        text = f"| {at} {time} {lengths} sequence: {sequence} headerKeys: []"
    if batch.is_control:
        marker = batch.marker()
        reported = "" if marker is None else f"{marker.control_type.name} coordinatorEpoch: {marker.coordinator_epoch}"
        return f"{text} endTxnMarker: {reported}"
    if folder.startswith("__transaction_state"):
        return f"{text} {_state(record)}"
    return f"{text} payload: isvalid: false baseOffset: 99 producerId: 7"


def _state(record: Record) -> str:
    key = f"key: transaction_metadata::transactionalId={transaction_record.decode_key(record.key or b'')}"
    if record.value is None:
        return f"{key} payload: <DELETE>"
    value: TransactionValue = transaction_record.decode_value(record.value)
    partitions = ",".join(f"{each.topic}-{number}" for each in value.partitions or () for number in each.partitions)
    return (
        f"{key} payload: producerId:{value.producer_id},producerEpoch:{value.epoch},state={STATES[value.status]},"
        f"partitions=[{partitions}],txnLastUpdateTimestamp={value.updated_ms},txnTimeoutMs={value.timeout_ms}"
    )
