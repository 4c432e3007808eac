"""Logs on disk that a broker recovers."""

from pathlib import Path
from typing import Final

from reference.log.batch import RecordBatch, marker_batch, value_batch
from reference.log.config import LogConfig
from reference.log.disk_partition import DiskPartition
from reference.log.producer_entry import ProducerEntry
from reference.log.producer_state import ProducerState
from spec.versions import KAFKA_3_9_UNVERIFIED
from spec.vocabulary import ControlType, Origin, Timestamp

PROFILE: Final = KAFKA_3_9_UNVERIFIED


SMALL: Final = LogConfig(segment_bytes=600, index_interval_bytes=100, segment_index_bytes=960)


def data(pid: int, sequence: int, count: int = 2, *, transactional: bool = False) -> RecordBatch:
    values = [b"v"] * count
    return value_batch(
        values, producer_id=pid, epoch=0, base_sequence=sequence, timestamp=sequence, transactional=transactional
    )


def written(directory: Path, rounds: int = 8) -> DiskPartition:
    """A partition with three producers: one idempotent, one that commits, one that aborts."""
    partition = DiskPartition(directory, PROFILE, SMALL)
    for number in range(rounds):
        partition.append(data(1, 2 * number))
        for pid, outcome in ((2, ControlType.COMMIT), (3, ControlType.ABORT)):
            partition.append(data(pid, 2 * number, transactional=True))
            partition.append(marker_batch(pid, 0, outcome, 0, number), Origin.COORDINATOR)
    return partition


def newest(state: ProducerState) -> dict[int, ProducerEntry]:
    """Each producer with its newest batch, the time of which a snapshot does not keep."""
    return {pid: without_time(entry) for pid, entry in state.producers.items()}


def without_time(entry: ProducerEntry) -> ProducerEntry:
    return entry._replace(batches=tuple(batch._replace(timestamp=Timestamp(0)) for batch in entry.batches[-1:]))
