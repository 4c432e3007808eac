"""A partition in a directory, an observer's record of it, and the comparisons of the two."""

import tempfile
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from model_tests.machines import disk_invariants as invariants
from model_tests.machines.disk_history import (
    NOTHING,
    AcceptedBatches,
    EndedTransaction,
    LoggedProducer,
    Producers,
    knowledge,
    replayed,
)
from model_tests.machines.rule_counts import Ledger
from reference.client.consumer import delivered
from reference.errors import Refusal
from reference.log import file_names, snapshot_file
from reference.log.batch import RecordBatch
from reference.log.config import UNLIMITED, LogConfig
from reference.log.damage import DamagedFile, RepairKind
from reference.log.disk_partition import DiskPartition
from reference.log.partition import READ_COMMITTED, READ_UNCOMMITTED, FetchResult
from reference.log.producer_entry import NO_GUARD
from spec import rules
from spec.rules import Circumstances
from spec.versions import NEWEST, Profile
from spec.vocabulary import ErrorCode, Origin, Timestamp

LATEST: Final = 8  # events that a message lists
MEMORY: Final = Path("/dev/shm")  # a directory in memory, where the system has one
SEGMENT_BYTES: Final = 500  # a few batches fill a segment, so that a run has several


@dataclass(frozen=True, slots=True)
class DiskSetting:
    """Of what kind a partition is."""

    profile: Profile = NEWEST
    compacts: bool = False
    retention_bytes: int = UNLIMITED

    @property
    def config(self) -> LogConfig:
        """Small segments with several index entries each."""
        return LogConfig(
            segment_bytes=SEGMENT_BYTES,
            index_interval_bytes=100,
            segment_index_bytes=240,
            retention_ms=1000,
            retention_bytes=self.retention_bytes,
            delete_retention_ms=20,
            compacts=self.compacts,
        )


class DiskWorld:
    """A partition on disk, and what is remembered of it.

    Attributes:
        known: what should be known of producers now.
        known_at: what was known at each log end.
        unreplicated: ended transactions whose markers are not below the high watermark.
        vague: so many of them ended before a restart or truncation, which may have forgotten them.
        retained: whether producer state was never lost.
    """

    def __init__(self, setting: DiskSetting, ledger: Ledger) -> None:
        self.setting, self.ledger = setting, ledger
        self.place = tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)
        self.directory = Path(self.place.name) / "t-0"
        self.now = Timestamp(0)
        self.history = AcceptedBatches()
        self.known: Producers = {}
        self.known_at: dict[int, Producers] = {}
        self.unreplicated: list[EndedTransaction] = []
        self.vague: list[EndedTransaction] = []
        self.retained, self.floor, self.cleaned = True, NOTHING, 0
        self.snapshots_seen: set[int] = set()
        self.doing: deque[str] = deque(maxlen=LATEST)
        ledger.runs += 1
        self.partition = DiskPartition(self.directory, setting.profile, setting.config, alone=False)

    @property
    def circumstances(self) -> Circumstances:
        """Whether the rules of retained state are claimed."""
        return Circumstances(state_retained=self.retained)

    @property
    def message(self) -> str:
        """The latest events."""
        return f"{'; '.join(self.doing)} ({self.setting.profile.name})"

    def happens(self, event: str) -> None:
        """An event begins, a little later than the one before."""
        self.now = Timestamp(self.now + 1)
        self.doing.append(event)
        self.ledger.steps += 1

    def ends(self) -> None:
        """Nothing more happens; the directory goes."""
        with suppress(OSError):
            self.partition.crash()
        self.place.cleanup()

    # --- append -----------------------------------------------------------------------------------------------

    def appends(
        self, batch: RecordBatch, origin: Origin = Origin.CLIENT, guard: int = NO_GUARD, version: int = -1
    ) -> ErrorCode | None:
        """Ask for an append; what is accepted is remembered, and how it was refused is answered.

        Args:
            batch: as it was sent.
            origin: who sends it.
            guard: that the append carries.
            version: of a marker's transaction, -1 of anything else.
        """
        end = int(self.partition.log_end)
        self.known_at[end] = dict(self.known)
        try:
            result = self.partition.append(batch, origin, guard, version)
        except Refusal as refusal:
            return refusal.code
        if not result.duplicate:
            placed = batch.at(result.first_offset, self.partition.leader_epoch)
            before = self.known.get(batch.producer_id, LoggedProducer())
            count = len(self.history.ended)
            self.history.accepts(placed, before)
            self.unreplicated += [txn for txn in self.history.ended[count:] if txn.first != NOTHING]
            self.known = replayed((placed,), self.known)
        return None

    # --- after disk -------------------------------------------------------------------------------------------

    def snapshots(self) -> dict[int, Producers | None]:
        """The snapshots on disk by offset, None if one cannot be read."""
        found: dict[int, Producers | None] = {}
        for offset in self.partition.disk.snapshots.offsets():
            found[int(offset)] = None
            with suppress(DamagedFile):
                data = self.partition.disk.snapshots.path(offset).read_bytes()
                found[int(offset)] = knowledge(snapshot_file.decode(data))
        return found

    def reported(
        self, snapshots: dict[int, Producers | None], end: int, log: Sequence[RecordBatch], checked: bool
    ) -> tuple[Producers, ...]:
        """What may be known at an offset: a snapshot and the log behind it, or the log alone if there is none.

        The log alone is enough too if segments were `checked`, which takes new snapshots.

        Args:
            snapshots: by offset, None where one is damaged.
            end: offset behind the last record.
            log: the batches that are there.
            checked: whether segments were checked, which takes new snapshots.
        """
        disk = self.partition.disk
        inside = {offset: was for offset, was in snapshots.items() if disk.log_start < offset <= end}
        usable = {offset: was for offset, was in inside.items() if was is not None}
        newest = max(inside, default=NOTHING)
        bases = {int(segment.base_offset) for segment in disk.segments}
        lasting = usable.keys() & bases or (newest in usable and newest > max(bases))
        anew = checked or any(repair.kind is RepairKind.REBUILT_INDEX for repair in self.partition.repairs)
        reported = [replayed((b for b in log if offset <= b.base_offset < end), was) for offset, was in usable.items()]
        behind_start = [b for b in log if b.last_offset >= disk.log_start and b.base_offset < end]
        alone = (replayed(behind_start, {}), replayed((b for b in log if b.base_offset < end), {}))
        return tuple(reported) if lasting and not anew else (*reported, *alone)

    def derives(
        self,
        snapshots: dict[int, Producers | None],
        survivors: Sequence[RecordBatch],
        *,
        upgraded: bool = False,
        checked: bool = False,
        opened: bool = True,
    ) -> None:
        """The partition has read its directory: hold log, state and new snapshots against what was there.

        Args:
            snapshots: those that could be read before.
            survivors: batches that had to be found.
            upgraded: it stopped cleanly; without a snapshot it may know nothing.
            checked: every segment was checked.
            opened: it was opened, not truncated.
        """
        disk = self.partition.disk
        log = disk.read(disk.segments[0].base_offset, disk.log_end)
        end, start = int(disk.log_end), int(disk.log_start)
        producers = knowledge(self.partition.state.producers)
        whole = list(disk.batches) == [batch for batch in survivors if batch.last_offset >= start]
        reported = self.reported(snapshots, end, log, checked)
        warned = any(repair.kind is RepairKind.NO_STATE for repair in self.partition.repairs)
        bases = {int(segment.base_offset) for segment in disk.segments}
        upgraded = upgraded and not (snapshots.keys() & bases or max(snapshots, default=NOTHING) > max(bases))
        nothing_left = opened and not producers and end > 0 and (start == end or (upgraded and any(reported)))
        reported = ({}, *reported) if upgraded else reported
        self.recovered(producers, reported if whole else (), warned, nothing_left)
        for offset, found in self.snapshots().items():
            if found != snapshots.get(offset) and not upgraded:
                self.recovered(found or {}, self.reported(snapshots, offset, log, checked), True, False)
        self.retained = self.retained and not (upgraded and self.known and not producers)
        self.history.loses(end)
        self.known, self.floor = producers, NOTHING
        self.snapshots_seen = set(map(int, disk.snapshots.offsets()))
        # What was lost when a transaction ended, a replay from before may have found again.
        self.unreplicated = [txn._replace(first=txn.began) for txn in self.history.ended]
        self.vague = list(self.unreplicated)
        self.cleaned = min(self.cleaned, end)

    def recovered(
        self, producers: Producers, reported: tuple[Producers, ...], warned: bool, nothing_left: bool
    ) -> None:
        """Hold what is known after reading against what was there to be read.

        Args:
            producers: what is known.
            reported: what may be known.
            warned: whether recovery said that nothing is known.
            nothing_left: whether there is no record.
        """
        seen = invariants.RecoveredState(self.message, producers, reported, warned, nothing_left, self.circumstances)
        invariants.seq_state_recoverable(seen, self.ledger)

    # --- looking ----------------------------------------------------------------------------------------------

    def after_event(self) -> None:
        """Hold offsets, producers and snapshots against what is remembered."""
        seen = self.offsets()
        for check in (invariants.lso_bounds, invariants.lso_monotone, invariants.lso_decided_below):
            check(seen, self.ledger)
        invariants.decision_agrees(seen, self.ledger)
        self.floor = seen.stable
        self.recovered(knowledge(self.partition.state.producers), (self.known,), True, False)
        for offset in set(map(int, self.partition.disk.snapshots.offsets())) - self.snapshots_seen:
            self.snapshots_seen.add(offset)
            reported = self.known if offset == self.partition.log_end else self.known_at.get(offset, {})
            self.recovered(self.snapshots().get(offset) or {}, (reported,), True, False)

    def offsets(self) -> invariants.OffsetsSnapshot:
        """What the partition shows of its offsets, and what they should be."""
        shown = self.partition
        self.unreplicated = [txn for txn in self.unreplicated if txn.marker >= shown.high_watermark]
        ongoing = [known.opened for known in self.known.values() if known.opened != NOTHING]
        all_firsts = [txn.first for txn in self.unreplicated]
        sure = [txn.first for txn in self.unreplicated if txn not in self.vague]
        return invariants.OffsetsSnapshot(
            message=self.message,
            start=shown.log_start,
            stable=shown.last_stable,
            watermark=shown.high_watermark,
            end=shown.log_end,
            floor=self.floor,
            lowest=self.stable_with([*ongoing, *all_firsts]),
            highest=self.stable_with([*ongoing, *sure]),
            undecided=self.first_undecided(),
            opened=min(ongoing, default=NOTHING),
            unreplicated=min(all_firsts, default=NOTHING),
            circumstances=self.circumstances,
        )

    def stable_with(self, firsts: Iterable[int]) -> int:
        """The last stable offset if these transactions hold it."""
        watermark = int(self.partition.high_watermark)
        return min(max(min(firsts, default=watermark), self.partition.log_start), watermark)

    def first_undecided(self) -> int:
        """Where the oldest data begins that is in the log, in a transaction and without a marker; -1 nowhere."""
        decided: set[int] = set()
        found = NOTHING
        for batch in reversed(self.history.batches):
            if batch.is_control:
                decided.add(batch.producer_id)
            elif batch.is_transactional and batch.producer_id not in decided:
                left = range(max(batch.base_offset, self.partition.log_start), batch.last_offset + 1)
                found = batch.base_offset if any(offset in self.history.records for offset in left) else found
        return found

    # --- readers ----------------------------------------------------------------------------------------------

    def reads_committed(self, offset: int, max_bytes: int) -> None:
        """A reader goes from an offset as far as it gets, by fetches of some size."""
        got: list[tuple[int, bytes | None]] = []
        seen, at = self.offsets(), offset
        for _ in range(seen.end + 1):
            result = self.partition.fetch(at, READ_COMMITTED, max_bytes)
            self.fetched(at, result)
            got += [(int(place), record.value) for place, record in delivered(result, at)]
            if not result.batches:
                break
            at = result.batches[-1].last_offset + 1
        end = seen.stable if seen.lowest != seen.highest else seen.lowest
        wanted = tuple((place, kept.value) for place, kept in self.history.visible(offset, end))
        message = f"read {offset}..{end}; {self.message}"
        read = invariants.ReadThrough(message, tuple(got), wanted, self.circumstances)
        invariants.lso_read_committed(read, self.ledger)

    def fetched(self, offset: int, result: FetchResult) -> None:
        """Hold the aborted transactions of one answer against those that were; it comes from one segment."""
        ended, end = tuple(self.history.ended), int(self.partition.log_end)
        read = result.batches[0].base_offset if result.batches else end
        bases = (int(base) for base in file_names.files_of(self.directory, file_names.LOG))
        upper = min((base for base in bases if base > read), default=end)
        markers = frozenset(int(b.base_offset) for b in self.partition.disk.batches if b.is_control)
        seen = invariants.CommittedFetch(self.message, offset, upper, result, ended, markers, self.circumstances)
        invariants.lso_aborted_index(seen, self.ledger)

    def reads_uncommitted(self, offset: int) -> None:
        """A reader of everything gets nothing from the high watermark on."""
        result = self.partition.fetch(offset, READ_UNCOMMITTED)
        below = all(batch.base_offset < self.partition.high_watermark for batch in result.batches)
        seen = self.offsets()
        self.ledger.expect(rules.LSO_BOUNDS, below and result.aborted is None, str(seen))
