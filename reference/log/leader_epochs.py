"""The leader epochs of one partition and where each began, kept in a checkpoint (LeaderEpochFileCache)."""

from collections.abc import Iterable
from pathlib import Path

from reference.log import checkpoint_file, file_names
from reference.log.checkpoint_file import EpochStart
from spec.vocabulary import ABSENT, NO_OFFSET, LeaderEpoch, Offset


class EpochCache:
    """Epochs in ascending order, in memory.

    Attributes:
        entries: oldest first.
    """

    __slots__ = ("entries",)

    def __init__(self, entries: Iterable[EpochStart] = ()) -> None:
        """A cache of these epochs."""
        self.entries = list(entries)

    @property
    def latest(self) -> LeaderEpoch:
        """The newest epoch, -1 none."""
        return self.entries[-1].epoch if self.entries else LeaderEpoch(ABSENT)

    def assign(self, epoch: LeaderEpoch, start_offset: Offset) -> None:
        """An epoch begins at that offset; what does not fit before it goes."""
        if epoch < 0 or (epoch == self.latest and start_offset >= self.entries[-1].start_offset):
            return
        kept = [entry for entry in self.entries if entry.epoch < epoch and entry.start_offset < start_offset]
        self.entries = [*kept, EpochStart(epoch, start_offset)]
        self.write()

    def end_offset_for(self, epoch: int, log_end: Offset) -> tuple[LeaderEpoch, Offset]:
        """The newest epoch at or below `epoch`, and where it ended; -1 and -1 if none is known."""
        if self.entries and epoch == self.latest:
            return self.latest, log_end
        if not self.entries or epoch > self.latest:
            return LeaderEpoch(ABSENT), NO_OFFSET
        if epoch < self.entries[0].epoch:
            return LeaderEpoch(epoch), self.entries[0].start_offset
        newest = max(entry for entry in self.entries if entry.epoch <= epoch)
        following = next(entry for entry in self.entries if entry.epoch > epoch)
        return newest.epoch, following.start_offset

    def truncate_end(self, log_end: int) -> None:
        """Forget the epochs that began at `log_end` or beyond."""
        self._replace([entry for entry in self.entries if entry.start_offset < log_end])

    def truncate_start(self, log_start: Offset) -> None:
        """Forget what ended before the log start; the epoch of the log start begins there."""
        before = [entry for entry in self.entries if entry.start_offset <= log_start]
        first = [EpochStart(before[-1].epoch, log_start)] if before else []
        self._replace([*first, *self.entries[len(before) :]])

    def write(self) -> None:
        """Nothing: what changes stays in memory."""

    def _replace(self, entries: list[EpochStart]) -> None:
        if entries != self.entries:
            self.entries = entries
            self.write()


class LeaderEpochs(EpochCache):
    """A cache on disk; every change is written at once."""

    __slots__ = ("_path",)

    def __init__(self, directory: Path, entries: Iterable[EpochStart] = ()) -> None:
        """The epochs of the partition in that directory."""
        super().__init__(entries)
        self._path = directory / file_names.LEADER_EPOCHS

    def write(self) -> None:
        """Write the checkpoint."""
        replace_file(self._path, checkpoint_file.encode_epochs(self.entries))


def replace_file(path: Path, data: bytes) -> None:
    """Write a whole file so that a crash leaves the old one or the new one."""
    written = path.with_name(f"{path.name}.tmp")
    written.write_bytes(data)
    written.replace(path)
