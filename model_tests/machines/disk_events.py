"""The events of a partition on disk, and what a pass of its cleaner may remove."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from model_tests.machines import disk_invariants as invariants
from model_tests.machines.disk_history import NOTHING, Header, LoggedProducer, header_of, is_abort
from model_tests.machines.disk_world import DiskWorld
from reference.log import file_names
from reference.log.batch import RecordBatch, data_batch, marker_batch
from reference.log.disk_partition import DiskPartition
from reference.log.producer_entry import NO_GUARD
from reference.log.record import Record
from reference.tape import Tape
from spec.vocabulary import ControlType, Offset, Origin, ProducerId, Timestamp


class DiskCleaning(DiskWorld):
    """A partition on disk that may be compacted."""

    def cleaner_compacts(self, choose: Tape) -> None:
        """A pass of the cleaner, from where the last one ended or from the start."""
        if not self.setting.compacts:
            return
        self.now = Timestamp(self.now + choose.pick((30, 1)))
        first_dirty = choose.pick((self.cleaned, 0))
        self.happens(f"cleaning from {first_dirty}")
        before = self.headers()
        self.cleaned = int(self.partition.clean(self.now, first_dirty).end)
        self.cleaning_was_right()
        seen = invariants.Cleaned(self.message, self.known, before, self.headers(), self.circumstances)
        invariants.cleaning_keeps_producers(seen, self.ledger)

    def headers(self) -> frozenset[Header]:
        """The producer fields in the headers of the batches in the log, emptied batches included."""
        return frozenset(header_of(batch) for batch in self.partition.disk.batches)

    def cleaning_was_right(self) -> None:
        """What cleaning removed is aborted, older than another record of its key, or an old tombstone."""
        start = self.partition.log_start
        left = {
            int(batch.base_offset + record.offset_delta): record.value
            for batch in self.partition.disk.batches
            if not batch.is_control
            for record in batch.records()
        }
        records = self.history.records
        gone = [offset for offset in records if offset >= start and offset not in left]
        kept_for = [offset for offset in gone if not self.is_removable(offset)]
        wanted = {**left, **{offset: records[offset].value for offset in kept_for}}
        message = f"cleaned to {self.cleaned}: {kept_for} had to stay; {self.message}"
        seen = invariants.ReadThrough(
            message, tuple(sorted(left.items())), tuple(sorted(wanted.items())), self.circumstances
        )
        invariants.lso_read_committed(seen, self.ledger)
        for offset in gone:
            del records[offset]
        for offset in records:
            if offset < self.cleaned:
                self.history.seen_by_cleaner.setdefault(offset, self.now)

    def is_removable(self, offset: int) -> bool:
        """Whether the record is not needed any more."""
        record = self.history.records[offset]
        marker = self.history.outcome(offset, record.producer_id) if record.transactional else None
        if marker is not None and is_abort(marker):
            return True
        later = (
            o for o, other in self.history.records.items() if offset < o < self.cleaned and other.key == record.key
        )
        if any(self.history.is_visible(other) for other in later):
            return True
        seen_at = self.history.seen_by_cleaner.get(offset)
        return record.value is None and seen_at is not None and seen_at + 20 <= self.now


PRODUCERS: Final = (7, 8, 9, 10)
KEYS: Final = (b"a", b"b", b"c")
UNLIMITED_BYTES: Final = 2**31 - 1  # the largest int: Fetch's max_bytes without a limit


class DiskEvents(DiskCleaning):
    """A partition on disk, and what may happen to it next."""

    # --- producers and coordinator ----------------------------------------------------------------------------

    def producer_appends(self, choose: Tape) -> None:
        """A producer writes its next batch outside any transaction, or one without an id does."""
        producer_id = choose.pick((*PRODUCERS, NOTHING))
        self.happens(f"producer {producer_id} appends")
        if not self.has_forgotten_transaction(producer_id):
            self.appends(self.next_batch(producer_id, choose, transactional=False))

    def producer_appends_in_transaction(self, choose: Tape) -> None:
        """A producer writes its next batch in a transaction, verified."""
        producer_id = choose.pick(PRODUCERS)
        batch = self.next_batch(producer_id, choose, transactional=True)
        self.happens(f"producer {producer_id} appends in a transaction at {self.partition.log_end}")
        guard = self.partition.state.start_verification(
            ProducerId(producer_id), batch.base_sequence, batch.producer_epoch, False, self.now
        )
        self.appends(batch, guard=guard if self.setting.profile.partition_verification else NO_GUARD)

    def producer_resends(self, choose: Tape) -> None:
        """A producer sends a batch of the log once more."""
        data = [b for b in self.history.batches if not b.is_control and b.producer_id != NOTHING]
        if data:
            batch = choose.pick(data[::-1])
            self.happens(f"producer {batch.producer_id} resends {batch.base_sequence}")
            if batch.is_transactional or not self.has_forgotten_transaction(batch.producer_id):
                self.appends(batch._replace(base_offset=Offset(0)))

    def has_forgotten_transaction(self, producer_id: int) -> bool:
        """Whether the producer, not the partition, knows of its open transaction: it writes nothing outside it.

        No check would refuse that, and no replica could follow the log from before the state was lost.
        """
        return self.history.is_open(producer_id) and self.known.get(producer_id, LoggedProducer()).opened == NOTHING

    def next_batch(self, producer_id: int, choose: Tape, *, transactional: bool) -> RecordBatch:
        """The batch that a producer may write next, some records with the few keys."""
        known = self.known.get(producer_id, LoggedProducer())
        deltas = range(1 + choose.below(3))
        records = [Record(delta, 0, choose.pick(KEYS), self.value(delta, choose)) for delta in deltas]
        bumps = choose.below(8) == 1
        epoch = max(known.epoch, 0) + bumps if producer_id != NOTHING else NOTHING
        follows = known.window[-1][0] + 1 if known.window and epoch == known.epoch else 0
        sequence = follows if producer_id != NOTHING else NOTHING
        return data_batch(
            records,
            producer_id=producer_id,
            epoch=epoch,
            base_sequence=sequence,
            timestamp=self.now,
            transactional=transactional,
        )

    def value(self, delta: int, choose: Tape) -> bytes | None:
        """A value that no other record has, or none: a tombstone."""
        return None if choose.below(6) == 1 else f"{self.partition.log_end + delta}@{self.now}".encode()

    def coordinator_writes_marker(self, choose: Tape) -> None:
        """A coordinator of any epoch ends a transaction, or repeats an end."""
        open_ones = [pid for pid, known in self.known.items() if known.opened != NOTHING]
        producer_id = choose.pick(open_ones) if open_ones and choose.below(4) else choose.pick(PRODUCERS)
        known = self.known.get(producer_id, LoggedProducer())
        outcome = choose.pick((ControlType.ABORT, ControlType.COMMIT))
        version = choose.below(2) * 2 if self.setting.profile.marker_epoch_strict else 0
        epoch = max(0, known.epoch + choose.pick((version // 2, 0, 1, -1)))
        coordinator_epoch = max(0, known.coordinator_epoch + choose.pick((0, 1, -1, 0, 2)))
        self.happens(
            f"{outcome.name} of {producer_id} epoch {epoch} by {coordinator_epoch} at {self.partition.log_end}"
        )
        batch = marker_batch(producer_id, epoch, outcome, coordinator_epoch, self.now)
        error = self.appends(batch, Origin.COORDINATOR, version=version)
        stale = epoch < known.epoch or (version == 2 and epoch == known.epoch and known.opened != NOTHING)
        seen = invariants.MarkerAppend(self.message, known, stale, coordinator_epoch, error, self.circumstances)
        invariants.fence_coordinator_epoch(seen, self.ledger)

    # --- replication, readers ---------------------------------------------------------------------------------

    def followers_catch_up(self, choose: Tape) -> None:
        """The high watermark rises to the end of some batch."""
        ends = [b.last_offset + 1 for b in self.history.batches if b.last_offset >= self.partition.high_watermark]
        if ends:
            offset = choose.pick(ends[::-1])
            self.happens(f"the high watermark rises to {offset}")
            self.partition.advance_high_watermark(offset)

    def reader_reads(self, choose: Tape) -> None:
        """A reader of either isolation level begins anywhere."""
        begins = choose.pick(range(self.partition.log_start, self.partition.high_watermark + 1))
        self.happens(f"a reader begins at {begins}")
        self.reads_committed(begins, choose.pick((UNLIMITED_BYTES, 300, 1)))
        self.reads_uncommitted(begins)

    # --- truncation, retention --------------------------------------------------------------------------------

    def replica_truncates(self, choose: Tape) -> None:
        """The log is cut at an offset, as after a change of leader."""
        offset = choose.pick(range(self.partition.log_start, self.partition.log_end + 1)[::-1])
        self.happens(f"truncation to {offset}")
        snapshots = self.snapshots()
        survivors = [batch for batch in self.partition.disk.batches if batch.last_offset < offset]
        self.partition.truncate(offset, self.now)
        self.derives(snapshots, survivors, opened=False)

    def broker_retains(self, choose: Tape) -> None:
        """Retention lets segments go, by size or after a long time."""
        if choose.below(3) == 1:
            self.now = Timestamp(self.now + 2000)
        self.happens("retention")
        self.partition.retain(self.now)

    def log_start_advances(self, choose: Tape) -> None:
        """Records below an offset are deleted."""
        offsets = range(self.partition.log_start, self.partition.high_watermark + 1)
        if offsets:
            offset = choose.pick(offsets)
            self.happens(f"the log start goes to {offset}")
            self.partition.disk.advance_start(offset)

    # --- the broker's end and return --------------------------------------------------------------------------

    def broker_restarts(self, choose: Tape) -> None:
        """The broker stops cleanly and comes back, without some of its indexes or snapshots."""
        self.happens("a clean stop")
        survivors = self.partition.disk.batches
        self.partition.close()
        self.loses_files(choose, (file_names.INDEX, file_names.TIME_INDEX))
        if choose.below(16) == 1:
            self.loses_all_snapshots()
        else:
            self.loses_snapshots(choose, lasting=True)
        self.comes_back(survivors, choose, recovery_point=None)

    def broker_crashes(self, choose: Tape) -> None:
        """The broker ends in the middle of a write, and comes back to what that has left."""
        self.happens("a crash")
        active, batches = self.partition.disk.active, self.partition.disk.batches
        earlier = [batch for batch in batches if batch.base_offset < active.base_offset]
        path, tail = active.path(file_names.LOG), batches[len(earlier) :]
        self.partition.crash()
        survivors = self.damages(path, tail, choose)
        recovery_point = choose.pick((0, int(active.base_offset)))
        indexes = (file_names.INDEX, file_names.TIME_INDEX, file_names.TXN_INDEX)
        self.loses_files(choose, indexes[:2] if recovery_point else indexes)
        self.loses_snapshots(choose, lasting=False)
        self.comes_back((*earlier, *survivors), choose, recovery_point=recovery_point)

    def damages(self, path: Path, tail: Sequence[RecordBatch], choose: Tape) -> Sequence[RecordBatch]:
        """Cut the active segment at any byte, flip one, or leave it; its batches that stand."""
        data, kind = path.read_bytes(), choose.below(3)
        hidden = len(data) - sum(batch.size for batch in tail)  # batches below the log start
        if kind == 0 or not tail:
            return tail
        if kind == 1:
            at = hidden + choose.below(len(data) - hidden)
            self.doing[-1] += f" cuts {path.name} at {at}"
            os.truncate(path, at)
            return [b for b, end in zip(tail, ends_of(tail, hidden), strict=True) if end <= at]
        broken = choose.below(len(tail))
        at = ends_of(tail, hidden)[broken] - 1 - choose.below(tail[broken].size - 21)
        self.doing[-1] += f" leaves byte {at} of {path.name} wrong"
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        return tail[:broken]

    def loses_files(self, choose: Tape, suffixes: Sequence[str]) -> None:
        """Some index files are missing, or are rubbish."""
        kind, suffix = choose.below(4), choose.pick(suffixes)
        for path in file_names.files_of(self.directory, suffix).values() if kind > 1 else ():
            self.doing[-1] += f", {path.name} is {('missing', 'rubbish')[kind - 2]}"
            path.unlink() if kind == 2 else path.write_bytes(b"rubbish")

    def loses_snapshots(self, choose: Tape, *, lasting: bool) -> None:
        """Of the snapshots the newest are missing or damaged, or all are; `lasting` leaves one."""
        paths = list(file_names.files_of(self.directory, file_names.SNAPSHOT).values())[::-1]
        for path in paths[: max(0, min(choose.pick((0, 1, 2, 9)), len(paths) - lasting))]:
            data, kind = path.read_bytes(), choose.below(3)
            self.doing[-1] += f", {path.name} is {('missing', 'cut', 'wrong')[kind]}"
            if kind == 0:
                path.unlink()
            else:
                path.write_bytes(data[:-1] if kind == 1 else data[:-1] + bytes([data[-1] ^ 1]))

    def loses_all_snapshots(self) -> None:
        """No snapshot is left."""
        self.doing[-1] += ", all snapshots are missing"
        for path in file_names.files_of(self.directory, file_names.SNAPSHOT).values():
            path.unlink()

    def comes_back(self, survivors: Sequence[RecordBatch], choose: Tape, *, recovery_point: int | None) -> None:
        """The broker opens the directory, with a high watermark that it noted some time ago; None is a clean stop."""
        snapshots, before, clean = self.snapshots(), self.partition, recovery_point is None
        ends = [b.last_offset + 1 for b in survivors if before.log_start <= b.last_offset + 1 <= before.high_watermark]
        self.partition = DiskPartition(
            self.directory,
            self.setting.profile,
            self.setting.config,
            alone=False,
            now=self.now,
            clean=clean,
            log_start=before.log_start,
            recovery_point=recovery_point or 0,
            high_watermark=choose.pick((int(before.high_watermark), *ends[-3:])),
        )
        self.derives(snapshots, survivors, upgraded=clean, checked=not clean)


def ends_of(batches: Sequence[RecordBatch], position: int) -> list[int]:
    """The position behind each of the batches."""
    ends = []
    for batch in batches:
        position += batch.size
        ends.append(position)
    return ends
