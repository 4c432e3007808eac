"""Compaction of the disk log: what a pass of the cleaner may remove, and what it must keep of every producer."""

from model_tests.machines import disk_invariants as invariants
from model_tests.machines.disk_history import Header, header_of, is_abort
from model_tests.machines.disk_world import DiskWorld
from reference.tape import Tape
from spec.vocabulary import Timestamp


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
