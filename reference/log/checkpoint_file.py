"""Checkpoints (CheckpointFile), and the leader epochs kept in one (LeaderEpochFileCache).

Those of a log directory have a line for each partition: high watermarks in `replication-offset-checkpoint`, the
flushed part in `recovery-point-offset-checkpoint`, log starts in `log-start-offset-checkpoint`, the cleaned part in
`cleaner-offset-checkpoint`. That of a partition has a line for each leader epoch. A file that was made and never
written is empty: None here.
"""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from reference.log import file_names
from reference.log.damage import DamagedFile, FileDamage
from spec.vocabulary import ABSENT, NO_OFFSET, LeaderEpoch, Offset

VERSION: Final = 0
_HEAD: Final = 2
"""Lines before the first entry."""

HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
LOG_STARTS: Final = "log-start-offset-checkpoint"
CLEANED: Final = "cleaner-offset-checkpoint"
OFFSET_CHECKPOINTS: Final = (HIGH_WATERMARKS, RECOVERY_POINTS, LOG_STARTS, CLEANED)


class PartitionOffset(NamedTuple):
    """One partition's line in a checkpoint of offsets."""

    topic: str
    partition: int
    offset: Offset


class EpochStart(NamedTuple):
    """One leader epoch's line: the offset of the first record that it appended."""

    epoch: LeaderEpoch
    start_offset: Offset


def encode_offsets(entries: Iterable[PartitionOffset] | None) -> bytes:
    """A checkpoint of offsets, in the given order."""
    if entries is None:
        return b""
    return _encode([f"{entry.topic} {entry.partition} {entry.offset}" for entry in entries])


def decode_offsets(data: bytes) -> tuple[PartitionOffset, ...] | None:
    """The lines of a checkpoint of offsets, in the file's order.

    Raises:
        DamagedFile: the file is not of this form.
    """
    if not data:
        return None
    lines = (_split(number, line, 3) for number, line in _lines(data))
    return tuple(
        PartitionOffset(topic, _number(at, partition), Offset(_number(at, offset)))
        for at, (topic, partition, offset) in lines
    )


def encode_epochs(entries: Iterable[EpochStart] | None) -> bytes:
    """A checkpoint of leader epochs."""
    if entries is None:
        return b""
    return _encode([f"{entry.epoch} {entry.start_offset}" for entry in entries])


def decode_epochs(data: bytes) -> tuple[EpochStart, ...] | None:
    """The lines of a checkpoint of leader epochs.

    Raises:
        DamagedFile: the file is not of this form, or epochs and offsets do not ascend.
    """
    if not data:
        return None
    lines = (_split(number, line, 2) for number, line in _lines(data))
    entries = tuple(
        EpochStart(LeaderEpoch(_number(at, epoch)), Offset(_number(at, start))) for at, (epoch, start) in lines
    )
    _check_order(entries)
    return entries


def _check_order(entries: tuple[EpochStart, ...]) -> None:
    if entries and min(entries[0]) < 0:
        raise DamagedFile(FileDamage.RANGE, _HEAD, f"first entry {tuple(entries[0])}")
    for line, (before, after) in enumerate(pairwise(entries), _HEAD + 1):
        if after.epoch <= before.epoch or after.start_offset <= before.start_offset:
            raise DamagedFile(FileDamage.ORDER, line, f"{tuple(after)} after {tuple(before)}")


def _encode(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in (VERSION, len(lines), *lines)).encode()


def _lines(data: bytes) -> list[tuple[int, str]]:
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError as damage:
        raise DamagedFile(FileDamage.FORM, damage.start, "not text") from damage
    if not text.endswith("\n"):
        raise DamagedFile(FileDamage.LENGTH, text.count("\n"), "the last line has no end")
    lines = text[:-1].split("\n")
    if len(lines) < _HEAD:
        raise DamagedFile(FileDamage.LENGTH, len(lines), "no version and count")
    _check_head(_number(0, lines[0]), _number(1, lines[1]), len(lines) - _HEAD)
    return list(enumerate(lines))[_HEAD:]


def _check_head(version: int, declared: int, found: int) -> None:
    if version != VERSION:
        raise DamagedFile(FileDamage.VERSION, 0, f"version {version}")
    if declared != found:
        raise DamagedFile(FileDamage.LENGTH, 1, f"{declared} lines declared, {found} found")


def _split(number: int, line: str, fields: int) -> tuple[int, list[str]]:
    words = line.split(" ")
    if len(words) != fields:
        raise DamagedFile(FileDamage.FORM, number, f"{line[:80]!r} has not {fields} words")
    return number, words


def _number(line: int, word: str) -> int:
    digits = word.removeprefix("-")
    if not (digits.isdecimal() and len(digits) < 20) or str(int(word)) != word:
        raise DamagedFile(FileDamage.FORM, line, f"{word[:80]!r} is no number")
    return int(word)


# --- The leader epochs of one partition and where each began, kept in a checkpoint (LeaderEpochFileCache) -----


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
        replace_file(self._path, encode_epochs(self.entries))


def replace_file(path: Path, data: bytes) -> None:
    """Write a whole file so that a crash leaves the old one or the new one."""
    written = path.with_name(f"{path.name}.tmp")
    written.write_bytes(data)
    written.replace(path)
