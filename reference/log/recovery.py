"""Opening a partition's directory after a clean stop or a crash at any point (LogLoader, UnifiedLog).

Files that a crash leaves between two states of a directory come first: deletions and swaps that had begun are
completed, and orphans are removed.

Then the log is trusted as far as its checksums agree: a damaged batch ends the log, and a damaged index or snapshot is
derived anew. The result names everything that is dropped or derived. As in Kafka, a segment that ends early but between
two batches cannot be distinguished from one that was cleaned.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from reference.errors import UnsupportedCodec
from reference.log import checkpoint_file, file_names, sparse_index, txn_index
from reference.log.batch import RecordBatch
from reference.log.checkpoint_file import LeaderEpochs
from reference.log.config import DEFAULT, LogConfig
from reference.log.damage import DamagedFile, FileRepair, RepairKind
from reference.log.disk_log import DiskLog
from reference.log.producer_state import PRODUCER_EXPIRATION_MS, ProducerState
from reference.log.reader import Placed, scan
from reference.log.record import MalformedRecords
from reference.log.segment import Segment
from reference.log.segment_index import FIELD_LIMIT
from reference.log.snapshot_file import Snapshots
from reference.log.state_loading import StateLoader
from reference.log.txn_index import AbortedTxn
from spec.versions import Profile
from spec.vocabulary import Offset, Timestamp

# --- files that a crash leaves ----------------------------------------------------------------------------------------


def tidy(directory: Path) -> list[FileRepair]:
    """Complete what was begun; segments, their indexes, snapshots and checkpoints are left."""
    repairs = [*_remove_unfinished(directory), *_finish_swaps(directory), *_remove_orphans(directory)]
    for path in directory.glob("*.tmp"):
        path.unlink()
    return repairs


def _remove_unfinished(directory: Path) -> list[FileRepair]:
    """Complete deletions that had begun; drop a cleaning that was not complete."""
    paths = sorted(path for path in directory.iterdir() if path.suffix in (file_names.DELETED, file_names.CLEANED))
    for path in paths:
        path.unlink()
    return [FileRepair(RepairKind.REMOVED_TEMPORARY, path.name) for path in paths]


def _finish_swaps(directory: Path) -> list[FileRepair]:
    """A cleaned segment was complete when it was named a swap: remove the segments that it covers."""
    repairs = []
    for swap in sorted(directory.glob(f"*{file_names.LOG}{file_names.SWAP}")):
        base = int(swap.name[:20])
        end = _end_of(swap, base)
        for offset in file_names.files_of(directory, file_names.LOG):
            if base <= offset < end:
                for suffix in file_names.SEGMENT_FILES:
                    file_names.path_of(directory, offset, suffix).unlink(missing_ok=True)
        repairs.append(FileRepair(RepairKind.FINISHED_SWAP, swap.name, f"offsets {base} to {end - 1}"))
    for swap in sorted(directory.glob(f"*{file_names.SWAP}")):
        swap.replace(swap.with_suffix(""))
    return repairs


def _end_of(swap: Path, base: int) -> int:
    """The offset behind the last intact batch of a cleaned segment, at least one past its base."""
    with swap.open("rb") as file:
        found = scan(file.fileno(), 0, swap.stat().st_size)
        ends = [placed.batch.last_offset + 1 for placed in found if isinstance(placed, Placed)]
    return max(ends, default=base + 1)


def _remove_orphans(directory: Path) -> list[FileRepair]:
    segments = file_names.files_of(directory, file_names.LOG)
    orphans = [
        path
        for suffix in (file_names.INDEX, file_names.TIME_INDEX, file_names.TXN_INDEX)
        for offset, path in file_names.files_of(directory, suffix).items()
        if offset not in segments
    ]
    for path in orphans:
        path.unlink()
    return [FileRepair(RepairKind.REMOVED_ORPHAN, path.name) for path in orphans]


# --- opening the log --------------------------------------------------------------------------------------------------


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Recovered:
    """An open log, what its replica knows of producers, and the repairs that were needed.

    Attributes:
        log: open for appends.
        state: producer state at the log end; of each producer the newest batch that a snapshot kept, and what was
            replayed since. After a crash that is one batch, because each segment that is checked ends in a snapshot.
        repairs: in the order of doing; empty after a clean stop.
        replayed: batches that were read to derive the state.
    """

    log: DiskLog
    state: ProducerState
    repairs: tuple[FileRepair, ...]
    replayed: int


def recover(
    directory: Path,
    profile: Profile,
    config: LogConfig = DEFAULT,
    *,
    now: int = 0,
    clean: bool = False,
    log_start: int = 0,
    recovery_point: int = 0,
    expiration_ms: int = PRODUCER_EXPIRATION_MS,
) -> Recovered:
    """Open a partition's directory.

    Args:
        directory: of the partition; it is made if it is missing.
        profile: version whose rules the replay follows.
        config: settings of the log.
        now: milliseconds; producers that were silent for too long before are not restored.
        clean: the broker stopped cleanly, so that segments need no check.
        log_start: from the checkpoint of log starts.
        recovery_point: from its checkpoint; segments below were forced to disk and need no check.
        expiration_ms: setting `producer.id.expiration.ms`.

    Raises:
        Refusal: a batch of the log breaks a rule that its version's replicas insist on; Kafka does not start either.
    """
    directory.mkdir(parents=True, exist_ok=True)
    loader = StateLoader(ProducerState(profile, expiration_ms), Snapshots(directory), Timestamp(now))
    recovery = _Recovery(directory, config, loader)
    return recovery.run(clean, Offset(log_start), recovery_point)


class _Recovery:
    """One opening of one directory."""

    def __init__(self, directory: Path, config: LogConfig, loader: StateLoader) -> None:
        self.directory = directory
        self.config = config
        self.loader = loader
        self.repairs = tidy(directory)
        self.epochs = self.read_epochs()

    def run(self, clean: bool, log_start: Offset, recovery_point: int) -> Recovered:
        segments = self.open_segments(clean, log_start, recovery_point)
        log_end = segments[-1].next_offset if segments else log_start
        if log_start > log_end:
            self.remove_all(segments, f"the log start is {log_start}")
        log = DiskLog(self.directory, self.config, segments, log_start, self.epochs)
        self.epochs.truncate_end(log.log_end)
        self.epochs.truncate_start(log.log_start)
        self.load_state(log, clean)
        return Recovered(log, self.loader.state, (*self.repairs, *self.loader.repairs), self.loader.replayed)

    # --- segments ---------------------------------------------------------------------------------------------

    def open_segments(self, clean: bool, log_start: Offset, recovery_point: int) -> list[Segment]:
        """Every segment up to the first that had to be cut."""
        bases = list(file_names.files_of(self.directory, file_names.LOG))
        segments: list[Segment] = []
        for number, base in enumerate(bases):
            following = bases[number + 1] if number + 1 < len(bases) else None
            flushed = following is not None and following <= recovery_point
            segment = Segment(self.directory, base, self.config)
            segments.append(segment)
            if (clean or flushed) and self.adopt_indexes(segment, _limit_of(segment, following)):
                continue
            if self.check(segments, max(log_start, bases[0]), following):
                self.remove_all([Segment(self.directory, later, self.config) for later in bases[number + 1 :]], "a cut")
                break
        return segments

    def adopt_indexes(self, segment: Segment, limit: int) -> bool:
        """Take over the segment's indexes as they are; False if they or the batches behind them do not check."""
        positions = self.derived(segment, file_names.INDEX, sparse_index.decode_offsets)
        times = self.derived(segment, file_names.TIME_INDEX, sparse_index.decode_times)
        aborted: tuple[AbortedTxn, ...] | None = ()
        if segment.path(file_names.TXN_INDEX).exists():
            aborted = self.derived(
                segment, file_names.TXN_INDEX, lambda data: txn_index.decode(data, segment.base_offset)
            )
        if positions is None or times is None or aborted is None:
            return False
        segment.index.load(positions.entries, times.entries, segment.size)
        segment.aborted = list(aborted)
        return self.read_tail(segment, limit)

    def derived(self, segment: Segment, suffix: str, decode: Callable[[bytes], T]) -> T | None:
        """The content of a file beside the segment; None, and a repair under its name, if it is missing or damaged."""
        path = segment.path(suffix)
        try:
            return decode(path.read_bytes())
        except (DamagedFile, FileNotFoundError) as damage:
            detail = damage.strerror if isinstance(damage, OSError) else str(damage)
            self.repairs.append(FileRepair(RepairKind.REBUILT_INDEX, path.name, str(detail)))
            return None

    def read_tail(self, segment: Segment, limit: int) -> bool:
        """Read the batches behind the last index entry; False if they are damaged, or their offsets do not fit."""
        last = segment.index.positions[-1] if segment.index.positions else sparse_index.OffsetPosition(0, 0)
        name = segment.path(file_names.INDEX).name
        for found in segment.found_from(last.position):
            if (
                not isinstance(found, Placed)
                or not _is_between(found.batch, segment.next_offset, limit)
                or found.batch.last_offset < segment.base_offset + last.relative_offset
            ):
                detail = f"{last} does not fit what is at {found.position}"
                self.repairs.append(FileRepair(RepairKind.REBUILT_INDEX, name, detail))
                return False
            segment.index.raise_latest(found.batch.last_offset, found.batch.max_timestamp)
            segment.next_offset = Offset(found.batch.last_offset + 1)
            if segment.first_timestamp is None:
                segment.first_timestamp = found.batch.max_timestamp
        if last.position >= max(segment.size, 1):
            self.repairs.append(FileRepair(RepairKind.REBUILT_INDEX, name, f"{last} is beyond {segment.size} bytes"))
            return False
        return True

    def check(self, segments: list[Segment], log_start: Offset, following: Offset | None) -> bool:
        """Check the last of the segments batch by batch, up to the base of the one that follows; whether it was cut."""
        segment = segments[-1]
        # Later snapshots have batches that this check may cut, and would outlive the snapshot that it takes.
        self.loader.snapshots.keep_between(log_start, segment.base_offset)
        self.loader.start(log_start, segment.base_offset)
        for earlier in segments[:-1]:
            if earlier.next_offset > self.loader.reached:
                self.loader.replay(earlier.walk(self.loader.reached), earlier.next_offset)
        self.loader.take(segment.base_offset)
        checked = _Check(segment, self.loader, self.epochs, following)
        end = segment.rebuild_index(checked.intact())
        segment.replace_aborted(checked.aborted)
        cut = segment.cut(end)
        if cut:
            detail = f"{cut} bytes at {end}: {checked.damage}"
            self.repairs.append(FileRepair(RepairKind.CUT_SEGMENT, segment.path(file_names.LOG).name, detail))
        if segment.size:
            self.loader.take(segment.next_offset)
        segment.seal()
        return cut > 0

    def remove_all(self, segments: list[Segment], why: str) -> None:
        """Remove segments with their files."""
        for segment in segments:
            self.repairs.append(FileRepair(RepairKind.REMOVED_SEGMENT, segment.path(file_names.LOG).name, why))
            segment.delete()
            self.loader.snapshots.delete(segment.base_offset)
        segments.clear()

    # --- state ------------------------------------------------------------------------------------------------

    def read_epochs(self) -> LeaderEpochs:
        """The checkpoint of leader epochs; a damaged one starts empty, and checked segments fill it."""
        path = self.directory / file_names.LEADER_EPOCHS
        try:
            entries = checkpoint_file.decode_epochs(path.read_bytes()) if path.exists() else None
        except DamagedFile as damage:
            self.repairs.append(FileRepair(RepairKind.REBUILT_EPOCHS, path.name, str(damage)))
            entries = None
        return LeaderEpochs(self.directory, entries or ())

    def load_state(self, log: DiskLog, clean: bool) -> None:
        """Producer state at the log end. A clean stop without any snapshot is taken for an upgrade: no state."""
        self.loader.snapshots.remove_strays(segment.base_offset for segment in log.segments)
        if clean and not self.loader.snapshots.offsets():
            self.loader.start(log.log_start, log.log_end)  # a checked segment may be gone, its state goes too
            for offset in sorted({*(segment.base_offset for segment in log.segments[-2:]), log.log_end}):
                if offset > log.log_start:
                    self.loader.snapshots.take(offset, {})
            self.warn(log, log.log_end > 0, "a clean stop left no snapshot")
            return
        self.loader.load(log.segments, log.log_start, log.log_end)
        lost = log.log_end > 0 and log.log_start == log.log_end and not self.loader.state.producers
        self.warn(log, lost, "no message is left to derive it from")

    def warn(self, log: DiskLog, lost: bool, why: str) -> None:
        """Report that producers are unknown, although some may have been known."""
        if lost:
            self.repairs.append(FileRepair(RepairKind.NO_STATE, log.directory.name, why))


class _Check:
    """One pass over a segment: the intact batches, and the producers and epochs that follow from them."""

    def __init__(self, segment: Segment, loader: StateLoader, epochs: LeaderEpochs, following: Offset | None) -> None:
        self.segment = segment
        self.limit = _limit_of(segment, following)
        self.loader = loader
        self.epochs = epochs
        self.aborted: list[AbortedTxn] = []
        self.damage = ""

    def intact(self) -> Iterator[Placed]:
        """The batches up to the first that is damaged, does not ascend or reaches into the next segment."""
        expected = self.segment.base_offset
        for found in self.segment.found_from():
            if not isinstance(found, Placed):
                self.damage = f"{found.kind}, {found.detail}"
                return
            batch = found.batch
            if not _is_between(batch, expected, self.limit):
                self.damage = f"offsets {batch.base_offset} to {batch.last_offset} where {expected} is next"
                return
            if not self.follow(found):
                return
            expected = Offset(batch.last_offset + 1)
            yield found

    def follow(self, placed: Placed) -> bool:
        """Take the batch into state and epochs, below the log start too; False if its marker cannot be read."""
        batch = placed.batch
        if batch.leader_epoch > self.epochs.latest:
            self.epochs.assign(batch.leader_epoch, batch.base_offset)
        state = self.loader.state
        try:
            completed = state.replay(batch)
        except (MalformedRecords, UnsupportedCodec) as damage:
            self.damage = str(damage)
            return False
        self.loader.replayed += 1
        for txn in completed:
            if txn.aborted:
                stable = state.last_stable_after(txn)
                self.aborted.append(AbortedTxn(txn.producer_id, txn.first_offset, txn.marker_offset, stable))
        return True


def _limit_of(segment: Segment, following: Offset | None) -> int:
    """The offset that no batch of the segment reaches: the base of the segment that follows, if there is one."""
    limit = segment.base_offset + FIELD_LIMIT
    return limit if following is None else min(limit, following)


def _is_between(batch: RecordBatch, expected: Offset, limit: int) -> bool:
    return expected <= batch.base_offset <= batch.last_offset < limit
