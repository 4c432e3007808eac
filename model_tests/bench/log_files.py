"""The speed of the reference writing a log into its files and recovering it, against plain handling of the bytes."""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Final

import crc32c

from reference.log import file_names
from reference.log.batch import RecordBatch, value_batch
from reference.log.config import LogConfig
from reference.log.disk_log import DiskLog
from reference.log.recovery import recover
from spec.versions import NEWEST
from spec.vocabulary import LeaderEpoch, Offset
from spec.vocabulary import Sequence as SequenceNumber

PRODUCERS: Final = 10
VALUES: Final = (b"v" * 100,) * 4
"""Of one batch: 497 bytes in all."""

TOGETHER: Final = 16
"""Batches of one append, where it has several."""

ROUNDS: Final = 3  # times that each is measured; the fastest counts
CONFIG: Final = LogConfig(segment_bytes=256 << 20)


@dataclass(frozen=True, slots=True)
class LogTiming:
    """Seconds of the fastest of the rounds, for `size` bytes of batches.

    Attributes:
        plain_write: each batch's bytes given to the system by themselves, their checksum computed.
        write: the same as appends of one batch.
        write_together: the same as appends of several.
        plain_read: the files read, and the checksum of all computed.
        recover: the directory opened as after a crash: batches checked, indexes and producer state derived.
    """

    size: int
    plain_write: float
    write: float
    write_together: float
    plain_read: float
    recover: float

    def megabytes(self, seconds: float) -> float:
        """Millions of bytes in a second."""
        return self.size / seconds / 1e6


def log_timing(batches: int, scratch: Path) -> LogTiming:
    """Write and recover so many batches of idempotent producers that take turns; all are made beforehand."""
    placed = list(client_batches(batches))
    encoded = [batch.encode() for batch in placed]
    directory = scratch / "t-0"

    def fastest(timed: Callable[[], object], afresh: bool = True) -> float:
        return min(_seconds(timed, directory if afresh else None) for _ in range(ROUNDS))

    return LogTiming(
        sum(map(len, encoded)),
        fastest(lambda: _write_plainly(encoded, directory)),
        fastest(lambda: _write(directory, ((batch,) for batch in placed))),
        fastest(lambda: _write(directory, _in_groups(placed))),
        fastest(lambda: _read_plainly(directory), afresh=False),
        fastest(lambda: recover(directory, NEWEST, CONFIG).log.release(), afresh=False),
    )


def client_batches(count: int, values: Sequence[bytes] = VALUES) -> Iterator[RecordBatch]:
    """Batches of idempotent producers that take turns, one after the other in a log."""
    first = [value_batch(values, producer_id=pid, epoch=0, base_sequence=0, timestamp=1) for pid in range(PRODUCERS)]
    for number in range(count):
        sequence = SequenceNumber(number // PRODUCERS * len(values))
        batch = first[number % PRODUCERS]._replace(base_sequence=sequence)
        yield batch.at(Offset(number * len(values)), LeaderEpoch(0))


def _in_groups(batches: Sequence[RecordBatch]) -> Iterator[Sequence[RecordBatch]]:
    return (batches[first : first + TOGETHER] for first in range(0, len(batches), TOGETHER))


def _seconds(timed: Callable[[], object], directory: Path | None) -> float:
    if directory is not None:
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
    started = perf_counter()
    timed()
    return perf_counter() - started


def _write_plainly(encoded: Iterable[bytes], directory: Path) -> None:
    with (directory / "plain").open("wb", buffering=0) as file:
        for data in encoded:
            crc32c.crc32c(data)
            file.write(data)


def _write(directory: Path, appends: Iterable[Sequence[RecordBatch]]) -> None:
    log = DiskLog.create(directory, CONFIG)
    for batches in appends:
        log.append_all(batches)
    log.release()


def _read_plainly(directory: Path) -> None:
    for path in file_names.files_of(directory, file_names.LOG).values():
        descriptor = os.open(path, os.O_RDONLY)
        while chunk := os.read(descriptor, 4 << 20):
            crc32c.crc32c(chunk)
        os.close(descriptor)
