"""A replica whose log is on disk: the append path of `Partition`, with snapshots, indexes and recovery."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from reference.log.batch import RecordBatch
from reference.log.cleaner import Cleaning, clean_log
from reference.log.config import DEFAULT, LogConfig
from reference.log.damage import FileRepair
from reference.log.disk_log import DiskLog
from reference.log.partition import Partition
from reference.log.partition_log import PartitionLog
from reference.log.producer_append import ProducerAppend
from reference.log.producer_state import PRODUCER_EXPIRATION_MS
from reference.log.reading import SegmentBases
from reference.log.recovery import recover
from reference.log.state_loading import StateLoader
from reference.log.txn_index import AbortedTxn, TransactionIndex
from spec.versions import Profile
from spec.vocabulary import Offset, Timestamp


class DiskTransactionIndex(TransactionIndex):
    """The aborted transactions of all segments; each is in the file of the segment that holds its marker."""

    __slots__ = ("_disk",)

    def __init__(self, disk: DiskLog) -> None:
        """What the segments have noted."""
        super().__init__()
        self._disk = disk
        self._entries = list(disk.aborted_from(0))

    def append(self, entry: AbortedTxn) -> None:
        """Note an aborted transaction in memory and in its segment's file."""
        super().append(entry)
        self._disk.append_aborted(entry)


class DiskSegmentBases(SegmentBases):
    """Where the segments on disk begin; the log alone begins, grows and drops them."""

    __slots__ = ("_disk",)

    def __init__(self, disk: DiskLog) -> None:
        """The bases of that log's segments."""
        super().__init__()
        self._disk = disk

    def roll(self, size: int, log_end: Offset) -> None:
        """Nothing: the log begins a segment when batches are written."""

    def grow(self, size: int) -> None:
        """Nothing: the log knows its size."""

    def truncate(self, log: PartitionLog) -> None:
        """Nothing: the log has dropped what was cut off."""

    def after(self, offset: int) -> Offset | None:
        """Base offset of the segment after the one that a read from `offset` is answered from, None if it is the last.

        That is the first with a batch at `offset` or beyond: cleaning may have left none in the one that holds it.
        """
        return self._disk.base_after(offset)


class DiskPartition(Partition):
    """A replica in a directory; a batch is on disk before its producer's state changes.

    Attributes:
        disk: the log, also as `log`.
        repairs: what had to be done when the directory was opened.
    """

    __slots__ = ("_config", "disk", "repairs")

    def __init__(
        self,
        directory: Path,
        profile: Profile,
        config: LogConfig = DEFAULT,
        *,
        leads: bool = True,
        alone: bool = True,
        now: int = 0,
        clean: bool = False,
        log_start: int = 0,
        recovery_point: int = 0,
        high_watermark: int | None = None,
        expiration_ms: int = PRODUCER_EXPIRATION_MS,
    ) -> None:
        """Open a directory, new or left behind; without a checkpointed high watermark it is the log end if alone."""
        super().__init__(profile, leads=leads, alone=alone, expiration_ms=expiration_ms)
        self._config = config
        self.repairs: tuple[FileRepair, ...] = ()
        self._open(directory, now, clean, log_start, recovery_point)
        known = self.disk.log_end if alone and high_watermark is None else high_watermark or 0
        self.advance_high_watermark(max(known, self.disk.log_start))

    def _open(self, directory: Path, now: int, clean: bool, log_start: int, recovery_point: int) -> None:
        recovered = recover(
            directory,
            self.profile,
            self._config,
            now=now,
            clean=clean,
            log_start=log_start,
            recovery_point=recovery_point,
            expiration_ms=self.state.expiration_ms,
        )
        self.disk: DiskLog = recovered.log
        self.log = recovered.log  # type: ignore[assignment]  # it does what PartitionLog does
        self.state = recovered.state
        self.aborted = DiskTransactionIndex(self.disk)
        self.segments = DiskSegmentBases(self.disk)
        self.epochs = self.disk.epochs
        self.repairs = (*self.repairs, *recovered.repairs)

    def write(self, placed: Sequence[RecordBatch], parts: Iterable[ProducerAppend]) -> None:
        """Put placed batches into the log; a new segment begins with a snapshot of what came before."""
        if self.disk.must_roll(placed):
            self.roll(placed[0].base_offset)
        super().write(placed, parts)

    def roll(self, base_offset: int | None = None) -> None:
        """Begin a new segment, and take a snapshot there."""
        segment = self.disk.roll(base_offset)
        self.disk.snapshots.take(segment.base_offset, self.state.producers)

    def retain(self, now: Timestamp) -> int:
        """Drop the segments that retention lets go; how many."""
        if self.disk.expired(now, self.high_watermark) == len(self.disk.segments) and self.disk.active.size:
            self.roll()
        return self.disk.retain(now, self.high_watermark)

    def clean(self, now: Timestamp, first_dirty: int = 0) -> Cleaning:
        """Compact the segments below the last stable offset."""
        producers = self.state.producers
        cleaning = clean_log(
            self.disk,
            producers,
            first_dirty=first_dirty,
            last_stable=self.last_stable,
            now=now,
            profile=self.state.profile,
            high_watermark=self.high_watermark,
        )
        self.aborted = DiskTransactionIndex(self.disk)
        return cleaning

    def truncate(self, offset: int, now: Timestamp) -> None:
        """Drop everything from `offset` on; the producer state comes from a snapshot and what is left behind it."""
        self.disk.truncate(offset)
        self.aborted.truncate(offset)
        self.high_watermark = Offset(min(self.high_watermark, self.disk.log_end))
        loader = StateLoader(self.state, self.disk.snapshots, now)
        loader.load(self.disk.segments, self.disk.log_start, self.disk.log_end)
        self.repairs = (*self.repairs, *loader.repairs)
        self.state.on_high_watermark(self.high_watermark)

    def restart(self, now: Timestamp) -> None:
        """Come back from disk after a clean stop: what is known of producers comes from the snapshot at the log end."""
        self.close()
        self._open(self.disk.directory, now, True, self.disk.log_start, self.disk.log_end)

    def close(self) -> None:
        """Stop cleanly: with a snapshot at the log end, and complete indexes."""
        if self.disk.log_end > max(self.disk.snapshots.offsets(), default=self.disk.log_start):
            self.disk.snapshots.take(self.disk.log_end, self.state.producers)
        self.disk.close()

    def crash(self) -> None:
        """End without any of that; the directory stays as it is."""
        self.disk.release()
