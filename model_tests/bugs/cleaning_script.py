"""A compacted partition and its cleaner, for counterexamples about reading after a pass."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from model_tests.bugs.script import GhostViolation
from model_tests.scenarios.transaction_stage import PLAIN, T0, TransactionStage, partition_name
from reference.log.batch import RecordBatch
from reference.log.config import LogConfig
from reference.log.disk_partition import DiskPartition
from reference.log.partition import Partition
from reference.log.record import control_key
from reference.world.history import SentBatch
from reference.world.transaction_shape import TransactionShape
from spec import rules
from spec.versions import Profile
from spec.vocabulary import ControlType

KEYS: Final = (control_key(ControlType.ABORT), control_key(ControlType.COMMIT))
"""Of users' records: the bytes of a marker's key."""

PASS_MS: Final = 1000
"""Between two passes; what may go has gone by the next."""

COMPACTED: Final = LogConfig(segment_bytes=1, segment_index_bytes=240, delete_retention_ms=PASS_MS // 2, compacts=True)
"""Each batch has a segment of its own, so that a pass may end behind any of them."""


class CleaningScript(TransactionStage):
    """A transactional producer and another one, whose batches have one record each, and a replica that is cleaned."""

    def __init__(self, profile: Profile) -> None:
        """An empty log."""
        super().__init__(profile, TransactionShape(nodes=1, partitions=1))
        with self.story.offstage():
            self.writer, self.other = self.start("payments"), self.plain.start(idempotent=False)
        self.story.participants[self.other.client] = PLAIN
        self.cleaned: tuple[RecordBatch, ...] = ()
        self.cleaned_to = 0

    def producer_writes(self, key: int) -> None:
        """A record of the producer's transaction, which may begin with it."""
        if not self.writer.transactions or self.writer.transaction.result is not None:
            self.application_begins(self.writer)
        self._with_key(self.application_sends(self.writer, T0), key)
        self.settle()

    def other_writes(self, key: int) -> None:
        """A record outside of transactions."""
        self._with_key(self.plain.send(self.other, T0), key)
        self.plain.produce(self.other, T0)
        self.settle()

    def coordinator_writes_marker(self, outcome: int) -> None:
        """The producer ends its transaction."""
        self.end(self.writer, commit=bool(outcome))

    def cleaner_passes(self) -> None:
        """A replica copies the log, as far as it was cleaned before, and is cleaned."""
        self.clock.advance(PASS_MS)
        before = self.log_left()
        with TemporaryDirectory() as directory:
            replica = DiskPartition(Path(directory), self.profile, COMPACTED)
            copy(before, replica)
            replica.roll()
            replica.clean(self.clock.now)
            self.cleaned, self.cleaned_to = replica.disk.batches, replica.log_end
            replica.close()
        left = {batch.base_offset for batch in self.cleaned if batch.record_count}
        removed = [text_of(batch) for batch in before if batch.record_count and batch.base_offset not in left]
        self.story.remark(partition_name(T0), f"a pass of the cleaner removes {' and '.join(removed) or 'nothing'}")

    def broken(self) -> GhostViolation | None:
        """A replica that has only the cleaned log takes a decided transaction for open, or for one of another end."""
        replica = Partition(self.profile)
        copy(self.log_left(), replica)
        opened = replica.state.first_unstable()
        for offset, committed in self.decided_left().items():
            if offset == opened:
                text = f"the record at offset {offset} is decided, and open once cleaned"
                return GhostViolation(rules.LSO_DECIDED_BELOW, text)
            if self._marker_after(offset) is not committed:
                text = f"the marker after offset {offset} is of another transaction, which ended otherwise"
                return GhostViolation(rules.LSO_DECIDED_BELOW, text)
        return None

    def instead(self) -> str:
        """What is left."""
        return f"the cleaned log has the offsets {self.offsets_left()}"

    def log_left(self) -> tuple[RecordBatch, ...]:
        """What the passes have left, and what was written since."""
        log = self.brokers.partitions[T0].leader.log
        return (*self.cleaned, *log.walk(self.cleaned_to, log.log_end))

    def offsets_left(self) -> list[int]:
        """The offsets of the records and markers that are left."""
        return [int(batch.base_offset) for batch in self.log_left() if batch.record_count]

    def decided_left(self) -> dict[int, bool | None]:
        """Of ended transactions the records that are left, and whether each is committed."""
        ended = (each for each in self.writer.transactions if each.result is not None)
        decided = {int(sent.batch.offset): each.commits for each in ended for sent in each.batches}
        return {offset: decided[offset] for offset in self.offsets_left() if offset in decided}

    def _with_key(self, sent: SentBatch, key: int) -> None:
        sent.batch.keys = (KEYS[key],)
        self.story.call(sent.batch.values[0], key_text(KEYS[key]))

    def _marker_after(self, offset: int) -> bool | None:
        for batch in self.log_left():
            marker = batch.marker() if batch.is_control else None
            if marker is not None and batch.base_offset > offset:
                return marker.control_type == ControlType.COMMIT
        return None


def copy(batches: Iterable[RecordBatch], replica: Partition) -> None:
    """A replica copies batches, which are on all replicas."""
    for batch in batches:
        replica.replicate(batch)
    replica.advance_high_watermark(replica.log_end)


def text_of(batch: RecordBatch) -> str:
    """What a batch with one record is, and its key."""
    kind, key = "marker" if batch.is_control else "record", batch.records()[0].key or b""
    return f"the {kind} at offset {batch.base_offset} ({key_text(key)})"


def key_text(key: bytes) -> str:
    """A key by its bytes."""
    return f"key {key.hex(' ')}"
