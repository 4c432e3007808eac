"""The number of batches that the reference appends in a second, in one process."""

from dataclasses import dataclass
from time import perf_counter
from typing import Final

from reference.log.batch import RecordBatch, blank_batch
from reference.log.partition import Partition
from spec.versions import NEWEST

PRODUCERS: Final = 10
RECORDS: Final = 3
ROUNDS: Final = 3
"""Each batch is small and of another producer than the one before, as at a busy broker; the fastest round counts."""


@dataclass(frozen=True, slots=True)
class AppendTiming:
    """Seconds that the fastest of the rounds took."""

    batches: int
    seconds: float

    @property
    def per_second(self) -> float:
        """Batches in a second."""
        return self.batches / self.seconds


def appends(batches: int) -> AppendTiming:
    """Time the appends of idempotent producers that take turns; the batches are made beforehand."""
    return AppendTiming(batches, min(_seconds(_batches(batches)) for _ in range(ROUNDS)))


def _batches(count: int) -> list[RecordBatch]:
    return [
        blank_batch(RECORDS, producer_id=number % PRODUCERS, epoch=0, base_sequence=number // PRODUCERS * RECORDS)
        for number in range(count)
    ]


def _seconds(batches: list[RecordBatch]) -> float:
    partition = Partition(NEWEST)
    started = perf_counter()
    for batch in batches:
        partition.append(batch)
    return perf_counter() - started
