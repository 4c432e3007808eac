"""A compacted partition of the reference and its cleaner, for counterexamples about reading after a pass."""

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Sequence as Listed
from typing import Final

from model_tests.bugs.world import GhostViolation
from model_tests.monitor.story import Columns, Story
from reference.broker.marker_channel import TxnMarker, write_marker
from reference.log.batch import RecordBatch, data_batch
from reference.log.cleaner import BatchCleaner, CleanedTransactions, KeyMap, last_records
from reference.log.partition import Partition
from reference.log.producer_entry import NO_GUARD
from reference.log.record import Record, control_key
from reference.recording.recorder import Recorder
from spec import rules
from spec.versions import Profile
from spec.vocabulary import (
    NO_OFFSET,
    NO_PRODUCER_ID,
    ControlType,
    CoordinatorEpoch,
    Epoch,
    ProducerId,
    Sequence,
    Timestamp,
)

PRODUCER: Final = ProducerId(0)
KEYS: Final = (control_key(ControlType.ABORT), control_key(ControlType.COMMIT))
"""Of users' records: the bytes of a marker's key."""

MARKERS_VERSION: Final = 1
"""Of WriteTxnMarkers: the epoch stays the transaction's own."""

PASS_MS: Final = 1000
"""Between two passes; what may go has gone by the next."""


CLIENT: Final = "transactional producer"
OTHER: Final = "other producer"
COORDINATOR: Final = "transaction coordinator"
LEADER: Final = "leader"
CLEANER: Final = "cleaner"


class CleaningWorld:
    """One partition, its batches of one record each, and passes of the cleaner over what they leave."""

    cast = (CLIENT, OTHER, COORDINATOR, LEADER, CLEANER)

    def __init__(self, profile: Profile) -> None:
        """An empty log."""
        self.profile = profile
        self.story = Story(Recorder(0, profile))
        self.leader = Partition(profile)
        self.left: list[RecordBatch] = []
        self.now = Timestamp(0)
        self.sequence = 0
        self.undecided: list[int] = []
        self.decided: dict[int, bool] = {}

    @property
    def acts(self) -> Mapping[str, Callable[..., None]]:
        """What each action does."""
        return {
            "producer_writes": self.producer_writes,
            "other_writes": self.other_writes,
            "coordinator_writes_marker": self.coordinator_writes_marker,
            "cleaner_passes": self.cleaner_passes,
        }

    def producer_writes(self, key: int) -> None:
        """A record of the producer's transaction."""
        batch = data_batch(
            (Record(0, 0, KEYS[key], b"in a transaction"),),
            producer_id=PRODUCER,
            epoch=0,
            base_sequence=self.sequence,
            transactional=True,
        )
        state = self.leader.state
        known = state.is_ongoing(PRODUCER, Epoch(0))
        guard = (
            NO_GUARD
            if known
            else state.start_verification(PRODUCER, Sequence(self.sequence), Epoch(0), False, self.now)
        )
        self.undecided.append(self._written(CLIENT, KEYS[key], batch, guard))
        self.sequence += 1

    def other_writes(self, key: int) -> None:
        """A record outside of transactions."""
        self._written(OTHER, KEYS[key], data_batch((Record(0, 0, KEYS[key], b"outside"),)), NO_GUARD)

    def coordinator_writes_marker(self, outcome: int) -> None:
        """The marker of the producer's transaction."""
        marker = TxnMarker(PRODUCER, Epoch(0), bool(outcome), CoordinatorEpoch(0))
        write_marker(self.leader, marker, MARKERS_VERSION, self.now)
        outcome_name = ControlType(int(marker.committed)).name
        self.story.say(COORDINATOR, LEADER, f"marker {outcome_name}")
        place = f"offset {self.leader.log_end - 1}"
        self.story.remark(LEADER, f"{place}, {key_text(control_key(ControlType(int(marker.committed))))}")
        self.left.append(next(self.leader.log.walk(self.leader.log_end - 1, self.leader.log_end)))
        self.decided |= dict.fromkeys(self.undecided, bool(outcome))
        self.undecided = []

    def cleaner_passes(self) -> None:
        """One pass."""
        self.now = Timestamp(self.now + PASS_MS)
        before, self.left = self.left, list(self._cleaned())
        kept = {batch.base_offset for batch in self.left if batch.record_count}
        removed = [batch for batch in before if batch.record_count and batch.base_offset not in kept]
        names = [f"the {'marker' if batch.is_control else 'record'} at offset {batch.base_offset}" for batch in removed]
        self.story.say(CLEANER, LEADER, f"a pass removes {' and '.join(names) or 'nothing'}")

    def broken(self) -> GhostViolation | None:
        """A replica that has only the cleaned log takes a decided transaction for open, or for one of another end."""
        replica = Partition(self.profile)
        for batch in self.left:
            replica.replicate(batch)
        replica.advance_high_watermark(replica.log_end)
        first = replica.state.first_unstable()
        decided = sorted(offset for offset in self.decided if self._is_left(offset))
        if first != NO_OFFSET and first in decided:
            return GhostViolation(
                rules.LSO_DECIDED_BELOW, f"the record at offset {first} is decided, and open once cleaned"
            )
        for offset in decided:
            found = self._marker_after(offset)
            if found is not self.decided[offset]:
                text = f"the marker after offset {offset} is of another transaction, which ended otherwise"
                return GhostViolation(rules.LSO_DECIDED_BELOW, text)
        return None

    def instead(self) -> str:
        """What is left."""
        return f"the cleaned log has the offsets {[batch.base_offset for batch in self.left if batch.record_count]}"

    def _written(self, client: str, key: bytes, batch: RecordBatch, guard: int) -> int:
        name = f"{client} {self.leader.log_end}"
        self.story.records[name, 0] = key_text(key)
        where: Columns = {"client": client, "node": LEADER, "writer": name, "first_record": 0}
        at = self.story.append(where, self.leader, batch, guard).first_offset
        self.left.append(next(self.leader.log.walk(at, self.leader.log_end)))
        return at

    def _is_left(self, offset: int) -> bool:
        return any(batch.base_offset == offset and batch.record_count for batch in self.left)

    def _marker_after(self, offset: int) -> bool | None:
        for batch in self.left:
            marker = batch.marker() if batch.is_control and batch.producer_id == PRODUCER else None
            if marker is not None and batch.base_offset > offset:
                return marker.control_type == ControlType.COMMIT
        return None

    def _cleaned(self) -> Iterator[RecordBatch]:
        """What one pass leaves of the log below the last stable offset."""
        stable = self.leader.last_stable
        cleanable = [batch for batch in self.left if batch.last_offset < stable]
        keys = KeyMap(end=stable)
        keys.add(cleanable, 0, self._transactions())
        last = last_records({NO_PRODUCER_ID: self.leader.state.entry(NO_PRODUCER_ID)})
        cleaner = BatchCleaner(keys, self._transactions(), last, self.now, PASS_MS // 2)
        yield from _left(cleaner, cleanable)
        yield from (batch for batch in self.left if batch.last_offset >= stable)

    def _transactions(self) -> CleanedTransactions:
        transactions = CleanedTransactions()
        transactions.expect(self.leader.aborted.between(0, self.leader.log_end))
        return transactions


def _left(cleaner: BatchCleaner, batches: Listed[RecordBatch]) -> Iterator[RecordBatch]:
    return (left for batch in batches if (left := cleaner.clean(batch)) is not None)


def key_text(key: bytes) -> str:
    """A key by its bytes."""
    return f"key {key.hex(' ')}"
