"""The log of one partition on disk: segments in a directory, named and laid out as Kafka's (LocalLog, UnifiedLog)."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path

from reference.errors import Impossible
from reference.log.batch import RecordBatch
from reference.log.checkpoint_file import LeaderEpochs
from reference.log.config import DEFAULT, UNLIMITED, LogConfig
from reference.log.segment import Segment
from reference.log.snapshot_file import Snapshots
from reference.log.txn_index import AbortedTxn
from spec.vocabulary import Offset, Timestamp


class DiskLog:
    """Segments in offset order; the last one is appended to. `recovery.recover` opens what a broker left behind.

    Attributes:
        directory: of the partition.
        segments: at least one.
        log_start: the first offset that may be read; it may lie inside the first segment.
        epochs: leader epochs and where they began.
        snapshots: of producer state.
    """

    __slots__ = ("config", "directory", "epochs", "log_start", "segments", "snapshots")

    def __init__(
        self, directory: Path, config: LogConfig, segments: list[Segment], log_start: int, epochs: LeaderEpochs
    ) -> None:
        """A log of opened segments; without any, an empty one begins at the log start."""
        self.directory = directory
        self.config = config
        self.segments = segments or [Segment(directory, log_start, config)]
        self.log_start = Offset(max(log_start, self.segments[0].base_offset))
        self.epochs = epochs
        self.snapshots = Snapshots(directory)
        self.active.preallocate()

    @classmethod
    def create(cls, directory: Path, config: LogConfig = DEFAULT, log_start: int = 0) -> "DiskLog":
        """An empty log in a new directory."""
        directory.mkdir(parents=True, exist_ok=True)
        epochs = LeaderEpochs(directory)
        epochs.write()
        return cls(directory, config, [], log_start, epochs)

    @property
    def active(self) -> Segment:
        """The segment that is appended to."""
        return self.segments[-1]

    @property
    def log_end(self) -> Offset:
        """Offset of the next record."""
        end = self.segments[-1].next_offset
        return end if end > self.log_start else self.log_start

    @property
    def size(self) -> int:
        """Bytes of batches in all segments."""
        return sum(segment.size for segment in self.segments)

    def __iter__(self) -> Iterator[RecordBatch]:
        """Every intact batch in offset order."""
        return self.walk(self.log_start, self.log_end)

    def __len__(self) -> int:
        """Batches in the log, counted by reading it."""
        return sum(1 for _ in self)

    @property
    def batches(self) -> tuple[RecordBatch, ...]:
        """Every intact batch in offset order."""
        return tuple(self)

    # --- append -----------------------------------------------------------------------------------------------

    def append(self, batch: RecordBatch) -> None:
        """Write one placed batch at or after the log end."""
        self.append_all((batch,))

    def append_all(self, batches: Sequence[RecordBatch]) -> None:
        """Write placed batches in one append: all into one segment.

        Raises:
            Impossible: the first batch is below the log end.
        """
        if not batches:
            return
        if batches[0].base_offset < self.log_end:
            raise Impossible(f"batch at {batches[0].base_offset} below the log end {self.log_end}")
        encoded = [batch.encode() for batch in batches]
        if self._is_beyond(sum(map(len, encoded)), batches):
            self.roll(batches[0].base_offset)
        newest = self.epochs.latest
        for batch in batches:
            if batch.leader_epoch > newest:
                newest = batch.leader_epoch
                self.epochs.assign(newest, batch.base_offset)
        self.active.append(batches, encoded)

    def must_roll(self, batches: Sequence[RecordBatch]) -> bool:
        """Whether these batches begin a new segment."""
        return self._is_beyond(sum(batch.size for batch in batches), batches)

    def _is_beyond(self, size: int, batches: Sequence[RecordBatch]) -> bool:
        latest = max([batch.max_timestamp for batch in batches])
        return not self.segments[-1].has_room(size, batches[-1].last_offset, latest)

    def roll(self, base_offset: int | None = None) -> Segment:
        """Seal the active segment and begin the next one, at the log end or the offset of a batch beyond it."""
        offset = self.log_end if base_offset is None else base_offset
        if self.active.size == 0 and self.active.base_offset == offset:
            return self.active
        if self.active.size == 0 and not self.active.aborted:
            self.segments.pop().delete()
        else:
            self.active.seal()
            self.active.flush()
        self.segments.append(Segment(self.directory, offset, self.config))
        self.active.preallocate()
        return self.active

    # --- reading ----------------------------------------------------------------------------------------------

    def read(self, offset: int, below: int) -> tuple[RecordBatch, ...]:
        """The batches that hold any offset in offset .. below-1; the first may begin earlier."""
        return tuple(self.walk(offset, below))

    def walk(self, offset: int, below: int) -> Iterator[RecordBatch]:
        """As `read`, one batch at a time."""
        for segment in self.segments[self._segment_of(offset) :]:
            for placed in segment.walk(offset):
                if placed.batch.base_offset >= below:
                    return
                yield placed.batch

    def offset_for_time(self, timestamp: int) -> Offset | None:
        """Base offset of the first batch with a record of that time or later, None if there is none."""
        for segment in self.segments:
            if segment.index.max_timestamp >= timestamp:
                for placed in segment.walk(segment.index.offset_before(timestamp)):
                    if placed.batch.max_timestamp >= timestamp and placed.batch.last_offset >= self.log_start:
                        return placed.batch.base_offset
        return None

    def base_after(self, offset: int) -> Offset | None:
        """Base offset of the segment behind the first one that reaches beyond `offset`, None if there is none."""
        reaching = range(self._segment_of(offset), len(self.segments) - 1)
        return next(
            (self.segments[at + 1].base_offset for at in reaching if self.segments[at].next_offset > offset), None
        )

    def aborted_from(self, offset: int) -> Iterator[AbortedTxn]:
        """The aborted transactions noted in the segment of `offset` and all that follow."""
        for segment in self.segments[self._segment_of(offset) :]:
            yield from segment.aborted

    def append_aborted(self, txn: AbortedTxn) -> None:
        """Note an aborted transaction in the segment that holds its marker."""
        self.segments[self._segment_of(txn.last_offset)].append_aborted(txn)

    def _segment_of(self, offset: int) -> int:
        return max(0, bisect_right(self.segments, offset, key=_base_offset) - 1)

    # --- truncation and retention -----------------------------------------------------------------------------

    def truncate(self, offset: int) -> None:
        """Drop every batch that reaches `offset` or beyond; the log then ends at the last kept batch."""
        if offset >= self.log_end:
            return
        if offset < self.segments[0].base_offset:
            self.restart_at(offset)
            return
        while len(self.segments) > 1 and self.active.base_offset > offset:
            self._delete(self.segments.pop())
        self.active.truncate(offset)
        self.log_start = Offset(min(self.log_start, offset))
        self.active.preallocate()
        self.epochs.truncate_end(self.log_end)
        self.snapshots.keep_between(-1, self.log_end)

    def restart_at(self, offset: int) -> None:
        """Drop everything; the log is empty and begins at `offset`."""
        for segment in self.segments:
            self._delete(segment)
        self.segments = [Segment(self.directory, offset, self.config)]
        self.log_start = Offset(offset)
        self.active.preallocate()
        self.epochs.truncate_end(0)
        self.snapshots.keep_between(offset, offset)

    def start_at(self, offset: Offset) -> None:
        """As `restart_at`, by the name that a log in memory has for it."""
        self.restart_at(offset)

    def advance_start(self, offset: int) -> None:
        """Move log start up to `offset` (retention or DeleteRecords) and drop the segments wholly below it.

        Raises:
            Impossible: the offset is below the log start or above the log end.
        """
        if not self.log_start <= offset <= self.log_end:
            raise Impossible(f"log start cannot go from {self.log_start} to {offset}, the log ends at {self.log_end}")
        self.log_start = Offset(offset)
        self.epochs.truncate_start(self.log_start)
        while len(self.segments) > 1 and self.segments[1].base_offset <= offset:
            self._delete(self.segments.pop(0))

    def expired(self, now: Timestamp, high_watermark: int) -> int:
        """How many of the oldest segments retention lets go: those too old, then those beyond the size."""
        oldest = self._too_old(now)
        excess, beyond = self.size - self.config.retention_bytes, 0
        for segment in self.segments:
            if self.config.retention_bytes == UNLIMITED or excess < segment.size:
                break
            excess, beyond = excess - segment.size, beyond + 1
        gone = max(oldest, beyond)
        ends = [segment.base_offset for segment in self.segments[1:]] + [self.log_end]
        return sum(1 for end in ends[:gone] if end <= high_watermark)

    def retain(self, now: Timestamp, high_watermark: int) -> int:
        """Delete the segments past retention and return their number. A log that loses all of them continues empty."""
        gone = self.expired(now, high_watermark)
        if gone == len(self.segments) and self.active.size == 0:
            gone -= 1
        if gone == 0:
            return 0
        if gone == len(self.segments):
            self.roll()
        self.advance_start(max(self.log_start, self.segments[gone].base_offset))
        return gone

    def replace(self, old: Sequence[Segment], cleaned: Segment) -> None:
        """Put a cleaned segment in the place of neighbours; the snapshots of those that are no more go too."""
        first = self.segments.index(old[0])
        self.segments[first : first + len(old)] = [cleaned]
        for segment in old:
            segment.delete()
            if segment.base_offset != cleaned.base_offset:
                self.snapshots.delete(segment.base_offset)

    def _too_old(self, now: Timestamp) -> int:
        if self.config.retention_ms == UNLIMITED:
            return 0
        kept = (
            number
            for number, segment in enumerate(self.segments)
            if now - segment.index.max_timestamp <= self.config.retention_ms
        )
        return next(kept, len(self.segments))

    def _delete(self, segment: Segment) -> None:
        segment.delete()
        self.snapshots.delete(segment.base_offset)

    # --- the end of a process ---------------------------------------------------------------------------------

    def flush(self) -> Offset:
        """Force the active segment to disk; the recovery point: what lies below needs no recovery."""
        self.active.flush()
        return self.log_end

    def close(self) -> None:
        """Stop cleanly: indexes are complete and trimmed, batches are on disk."""
        self.active.seal()
        self.active.flush()
        self.release()

    def release(self) -> None:
        """Close all files as they are, as a crash does."""
        for segment in self.segments:
            segment.release()


def _base_offset(segment: Segment) -> int:
    return segment.base_offset
