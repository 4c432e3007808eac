"""Small logs for tests, written with the reference's batches and read with the audit's reader."""

from collections.abc import Iterable
from pathlib import Path

from model_tests.logs.kafka_log_batches import Batches
from model_tests.logs.kafka_log_read import SegmentRange, read_checked_bytes
from reference.log.batch import TRANSACTIONAL, RecordBatch, data_batch, marker_batch
from reference.log.record import Record
from spec.vocabulary import ControlType, LeaderEpoch, Offset

PRODUCER = 7


def data(sequence: int, records: int = 1, *, epoch: int = 0, transactional: bool = False, at: int = 0) -> RecordBatch:
    """Data of the test's producer."""
    listed = [Record(key=None, value=b"v", offset_delta=delta, timestamp_delta=0) for delta in range(records)]
    batch = data_batch(listed, producer_id=PRODUCER, epoch=epoch, base_sequence=sequence, timestamp=at)
    return batch._replace(attributes=TRANSACTIONAL) if transactional else batch


def marker(*, epoch: int = 0, coordinator: int = 0, kind: ControlType = ControlType.COMMIT) -> RecordBatch:
    """The end of the test's producer's transaction."""
    return marker_batch(PRODUCER, epoch, kind, coordinator)


def placed(batches: Iterable[RecordBatch], start: int = 0) -> list[RecordBatch]:
    """The batches one after the other, from an offset on."""
    offset, result = start, []
    for batch in batches:
        result.append(batch.at(Offset(offset), LeaderEpoch(0)))
        offset += batch.last_offset_delta + 1
    return result


def encoded(batches: Iterable[RecordBatch]) -> bytes:
    """The bytes of a segment."""
    return b"".join(batch.encode() for batch in batches)


def log_of(*batches: RecordBatch, start: int = 0) -> Batches:
    """The columns of a log of these batches, in one segment."""
    read, damage = read_checked_bytes(encoded(placed(batches, start)), SegmentRange("test.log", start))
    assert damage == []
    return read


def write_segment(folder: Path, batches: Iterable[RecordBatch], base: int = 0) -> Path:
    """A segment file in a partition's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{base:020}.log"
    path.write_bytes(encoded(placed(batches, base)))
    return path
