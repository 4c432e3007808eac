"""One segment of a log on disk: batches in a file, its sparse indexes, its aborted transactions (LogSegment)."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from reference.log import file_names, sparse_index, txn_index
from reference.log.batch import RecordBatch
from reference.log.config import LogConfig
from reference.log.reader import CHUNK, BatchDamage, Placed, scan
from reference.log.segment_index import FIELD_LIMIT, SegmentIndex
from reference.log.sparse_index import OffsetPosition
from reference.log.txn_index import AbortedTxn
from spec.vocabulary import Offset, Timestamp

LOOKUP_CHUNK: Final = 16 * 1024
"""Four times Kafka's default of index.interval.bytes: mostly one chunk after the index entry is enough."""


class Segment:
    """A segment that is open; only the last one of a log is appended to.

    Attributes:
        base_offset: of its first batch, or of the first to come.
        size: bytes of batches.
        next_offset: behind its last batch; its base offset while it is empty.
        index: its two sparse indexes.
        aborted: aborted transactions whose markers it holds.
        first_timestamp: of its first batch, None while it is empty.
    """

    __slots__ = (
        "_descriptor",
        "_indexes",
        "_positions_limit",
        "_times_limit",
        "aborted",
        "base_offset",
        "config",
        "directory",
        "extension",
        "first_timestamp",
        "index",
        "next_offset",
        "size",
    )

    def __init__(self, directory: Path, base_offset: int, config: LogConfig, extension: str = "") -> None:
        """Open or make the segment's file, with a further extension while it is no part of the log."""
        self.directory = directory
        self.extension = extension
        self.config = config
        self.base_offset = Offset(base_offset)
        self.next_offset = Offset(base_offset)
        self.index = SegmentIndex(base_offset, config.index_interval_bytes)
        self.aborted: list[AbortedTxn] = []
        self.first_timestamp: Timestamp | None = None
        self._descriptor = os.open(self.path(file_names.LOG), os.O_RDWR | os.O_CREAT, 0o644)
        self._indexes: tuple[int, int] | None = None
        self._positions_limit = config.index_file_size // sparse_index.OFFSET_ENTRY_SIZE
        # One place stays free for the entry that closing the segment adds.
        self._times_limit = config.time_index_file_size // sparse_index.TIME_ENTRY_SIZE - 1
        self.size = os.fstat(self._descriptor).st_size

    def path(self, suffix: str) -> Path:
        """The segment's file with that suffix."""
        return file_names.path_of(self.directory, self.base_offset, suffix + self.extension)

    # --- append -----------------------------------------------------------------------------------------------

    def preallocate(self) -> None:
        """Make this the segment that is appended to: its indexes are as large as they may become."""
        self._close_indexes()
        self._indexes = (
            _allocate(self.path(file_names.INDEX), self.config.index_file_size),
            _allocate(self.path(file_names.TIME_INDEX), self.config.time_index_file_size),
        )
        self._write_indexes(0, 0)

    def append(self, batches: Sequence[RecordBatch], encoded: Sequence[bytes]) -> None:
        """Write placed batches, given also in bytes, behind the last one, and the index entries that are due."""
        _write_all(self._descriptor, b"".join(encoded), self.size)
        if self.first_timestamp is None:
            self.first_timestamp = batches[0].max_timestamp
        index, position = self.index, self.size
        positions, times = len(index.positions), len(index.times)
        for batch, data in zip(batches, encoded, strict=True):
            index.add(position, batch.base_offset + batch.last_offset_delta, batch.max_timestamp)
            position += len(data)
        self.size, self.next_offset = position, Offset(batches[-1].last_offset + 1)
        if len(index.positions) > positions:
            self._write_indexes(positions, times)

    def append_aborted(self, txn: AbortedTxn) -> None:
        """Note an aborted transaction whose marker is in this segment."""
        self.aborted.append(txn)
        with self.path(file_names.TXN_INDEX).open("ab") as file:
            file.write(txn_index.encode((txn,)))

    def has_room(self, size: int, last_offset: int, max_timestamp: int) -> bool:
        """Whether an append of `size` bytes belongs here, or begins the next segment."""
        index = self.index
        if len(index.positions) >= self._positions_limit or len(index.times) >= self._times_limit:
            return False
        if last_offset - self.base_offset >= FIELD_LIMIT:
            return False
        if self.size == 0 or self.first_timestamp is None:
            return True
        late = max_timestamp - self.first_timestamp > self.config.segment_ms
        return not late and self.size + size <= self.config.segment_bytes

    # --- reading ----------------------------------------------------------------------------------------------

    def found_from(self, position: int = 0, chunk_size: int = CHUNK) -> Iterator[Placed | BatchDamage]:
        """Batches and damage from a position on."""
        return scan(self._descriptor, position, self.size, chunk_size)

    def walk(self, offset: int) -> Iterator[Placed]:
        """The batches that reach `offset` or beyond: index, binary search, then scan."""
        for found in self.found_from(self._start_of(offset), LOOKUP_CHUNK):
            if isinstance(found, Placed) and found.batch.last_offset >= offset:
                yield found

    def _start_of(self, offset: int) -> int:
        """Where a scan for the offset begins: where the index says, at the segment's start if the log denies it."""
        entry = self.index.entry_before(offset)
        return entry.position if entry is not None and self._holds(entry) else 0

    def _holds(self, entry: OffsetPosition) -> bool:
        """Whether a batch at or below the entry's offset begins at its position; then a scan from there meets all."""
        found = next(self.found_from(entry.position, LOOKUP_CHUNK), None)
        if not isinstance(found, Placed):
            return False
        batch = found.batch
        return self.base_offset <= batch.base_offset and batch.last_offset - self.base_offset <= entry.relative_offset

    def position_of(self, offset: int) -> int:
        """Position of the first batch that reaches `offset`, the segment's size if none does."""
        return next((placed.position for placed in self.walk(offset)), self.size)

    # --- repair -----------------------------------------------------------------------------------------------

    def rebuild_index(self, batches: Iterable[Placed]) -> int:
        """Derive the indexes from the batches, by the rule of `SegmentIndex`; the position behind the last one."""
        self.index = SegmentIndex(self.base_offset, self.config.index_interval_bytes)
        self.next_offset, self.first_timestamp, end = self.base_offset, None, 0
        for placed in batches:
            batch = placed.batch
            self.index.add(placed.position, batch.last_offset, batch.max_timestamp)
            if self.first_timestamp is None:
                self.first_timestamp = batch.max_timestamp
            self.next_offset, end = Offset(batch.last_offset + 1), placed.position + batch.size
        self.index.note_time()
        return end

    def cut(self, position: int) -> int:
        """Drop the bytes from a position on; how many there were."""
        dropped = self.size - position
        if dropped:
            os.ftruncate(self._descriptor, position)
            self.size = position
        return dropped

    def truncate(self, offset: int) -> None:
        """Drop the batches that reach `offset` or beyond, with their index entries."""
        self.cut(self.position_of(offset))
        self.index.truncate(offset, self.size)
        start, last = self._start_of(offset), None
        for found in self.found_from(start):
            if isinstance(found, Placed):
                last = found.batch
                self.index.raise_latest(last.last_offset, last.max_timestamp)
        self.next_offset = Offset(last.last_offset + 1) if last else self.base_offset
        self.first_timestamp = self.first_timestamp if self.size else None
        kept = [txn for txn in self.aborted if txn.last_offset < offset]
        if len(kept) < len(self.aborted):
            self.replace_aborted(kept)

    def replace_aborted(self, txns: Iterable[AbortedTxn]) -> None:
        """Write the index of aborted transactions anew; without entries there is no file."""
        self.aborted = list(txns)
        path = self.path(file_names.TXN_INDEX)
        if self.aborted:
            path.write_bytes(txn_index.encode(self.aborted))
        else:
            path.unlink(missing_ok=True)

    # --- files ------------------------------------------------------------------------------------------------

    def seal(self) -> None:
        """Leave the indexes as a segment has them that is no longer appended to: complete and trimmed."""
        self.index.note_time()
        self._close_indexes()
        self.path(file_names.INDEX).write_bytes(sparse_index.encode_offsets(self.index.positions))
        self.path(file_names.TIME_INDEX).write_bytes(sparse_index.encode_times(self.index.times))

    def flush(self) -> None:
        """Force the batches to disk."""
        os.fsync(self._descriptor)

    def release(self) -> None:
        """Close the files as they are, as the end of a process does."""
        self._close_indexes()
        os.close(self._descriptor)

    def delete(self) -> None:
        """Close and remove the segment's files."""
        self.release()
        for suffix in file_names.SEGMENT_FILES:
            self.path(suffix).unlink(missing_ok=True)

    def rename(self, extension: str) -> None:
        """Give the segment's files another further extension; batches first."""
        paths = {suffix: self.path(suffix) for suffix in file_names.SEGMENT_FILES}
        self.extension = extension
        for suffix, path in paths.items():
            if path.exists():
                path.replace(self.path(suffix))

    def _write_indexes(self, positions: int, times: int) -> None:
        """Write the entries from those numbers on into the preallocated files."""
        if self._indexes is None:
            return
        index, time = self._indexes
        _write_all(
            index,
            sparse_index.encode_offsets(self.index.positions[positions:]),
            positions * sparse_index.OFFSET_ENTRY_SIZE,
        )
        _write_all(time, sparse_index.encode_times(self.index.times[times:]), times * sparse_index.TIME_ENTRY_SIZE)

    def _close_indexes(self) -> None:
        for descriptor in self._indexes or ():
            os.close(descriptor)
        self._indexes = None


def _allocate(path: Path, size: int) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
    os.ftruncate(descriptor, size)
    return descriptor


def _write_all(descriptor: int, data: bytes, position: int) -> None:
    written = os.pwrite(descriptor, data, position)
    while written < len(data):
        written += os.pwrite(descriptor, data[written:], position + written)
