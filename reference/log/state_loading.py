"""Producer state from the newest snapshot that can be trusted, and the log behind it (ProducerStateManager)."""

from collections.abc import Iterable, Sequence

from reference.log.damage import DamagedFile, FileRepair, RepairKind
from reference.log.producer_state import ProducerState
from reference.log.reader import Placed
from reference.log.segment import Segment
from reference.log.snapshot_file import Snapshots
from spec.vocabulary import Offset, Timestamp


class StateLoader:
    """Loads producer state at any offset of one log.

    Attributes:
        state: what is known at `reached`.
        reached: the batches below this offset are in the state.
        snapshot_offset: of the newest snapshot that it began from or took, else the log start.
        replayed: batches that were read for it.
        repairs: snapshots that were removed.
    """

    __slots__ = ("now", "reached", "repairs", "replayed", "snapshot_offset", "snapshots", "state")

    def __init__(self, state: ProducerState, snapshots: Snapshots, now: Timestamp) -> None:
        """Nothing is loaded yet."""
        self.state = state
        self.snapshots = snapshots
        self.now = now
        self.reached = Offset(0)
        self.snapshot_offset = Offset(0)
        self.replayed = 0
        self.repairs: list[FileRepair] = []

    def start(self, log_start: Offset, offset: int) -> None:
        """Begin from the newest snapshot above the log start and not beyond `offset`, else from the log start."""
        self.state.unreplicated = {}
        self.state.restore({}, self.now)
        self.reached = self.snapshot_offset = log_start
        for candidate in reversed(self.snapshots.offsets()):
            if log_start < candidate <= offset and self._restore(candidate):
                return

    def _restore(self, offset: Offset) -> bool:
        try:
            producers = self.snapshots.read(offset)
        except DamagedFile as damage:
            self.snapshots.delete(offset)
            self.repairs.append(FileRepair(RepairKind.REMOVED_SNAPSHOT, self.snapshots.path(offset).name, str(damage)))
            return False
        self.state.restore(producers, self.now)
        self.reached = self.snapshot_offset = offset
        return True

    def replay(self, placed: Iterable[Placed], below: int) -> None:
        """Follow the batches that are not yet in the state, up to the one at or beyond `below`."""
        for found in placed:
            batch = found.batch
            if batch.base_offset >= below:
                break
            if batch.last_offset >= self.reached:  # the log start may lie inside a batch
                self.state.replay(batch)
                self.replayed += 1
                self.reached = Offset(batch.last_offset + 1)

    def load(self, segments: Sequence[Segment], log_start: Offset, offset: int) -> None:
        """The state at `offset`; snapshots are taken at the last two segments' starts and at `offset`."""
        self.snapshots.keep_between(log_start, offset)
        self.start(log_start, offset)
        bases = {segment.base_offset for segment in segments[-2:]}
        for segment in segments:
            if segment.next_offset > self.reached:
                if segment.base_offset in bases:
                    self.take(max(segment.base_offset, log_start))
                self.replay(segment.walk(self.reached), offset if segment is segments[-1] else segment.next_offset)
        self.take(offset)

    def take(self, offset: int) -> None:
        """Take a snapshot at `offset` if the state is newer than the one that it began from."""
        self.reached = Offset(max(self.reached, offset))
        if offset > self.snapshot_offset:
            self.snapshots.take(offset, self.state.producers)
            self.snapshot_offset = Offset(offset)
