"""The files that a broker derives from a partition's log: producer snapshots, aborted indexes, sparse indexes, epochs.

A file that does not have the form of one is damage, named with path and position; its content is not judged then.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from crc32c import crc32c

from model_tests.logs.kafka_log_folders import CLEAN_SHUTDOWN, OFFSET_IN_NAME, LogFolder
from model_tests.logs.kafka_log_segment import SegmentDamage, SegmentRange
from model_tests.logs.locations import Location, located, names_in, reason, size_and_time
from spec.vocabulary import ABSENT

Rows = npt.NDArray[Any]

SNAPSHOT_ENTRY: Final = np.dtype(
    [
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("last_sequence", ">i4"),
        ("last_offset", ">i8"),
        ("offset_delta", ">i4"),
        ("timestamp", ">i8"),
        ("coordinator_epoch", ">i4"),
        ("txn_first_offset", ">i8"),
    ]
)
ABORTED_ENTRY: Final = np.dtype(
    [
        ("version", ">i2"),
        ("producer_id", ">i8"),
        ("first_offset", ">i8"),
        ("last_offset", ">i8"),
        ("last_stable", ">i8"),
    ]
)
OFFSET_ENTRY: Final = np.dtype([("relative", ">i4"), ("position", ">i4")])
TIME_ENTRY: Final = np.dtype([("timestamp", ">i8"), ("relative", ">i4")])

EPOCHS: Final = "leader-epoch-checkpoint"

_SNAPSHOT: Final = re.compile(rf"{OFFSET_IN_NAME}\.snapshot")
_SNAPSHOT_HEAD: Final = np.dtype([("version", ">i2"), ("crc", ">u4"), ("count", ">i4")])

_CRC_COVERS_FROM: Final = 6
_SNAPSHOT_VERSION: Final = 1
"""The checksum of a producer snapshot covers what follows version and checksum (ProducerStateManager); there is only
this version."""


@dataclass(frozen=True, slots=True)
class DerivedFile:
    """One derived file that has the form of one.

    Attributes:
        number: the offset in its name.
        rows: its entries.
        written_ms: when the file was last written; a copy may be younger, never older.
        cut: it ends within an entry.
    """

    path: str
    number: int
    rows: Rows
    written_ms: int = ABSENT
    cut: bool = False


@dataclass(frozen=True, slots=True)
class LeaderEpochFile:
    """The leader epochs of a log, each with the offset that it begins at, and where its line begins in the file."""

    path: str
    epochs: tuple[int, ...]
    starts: tuple[int, ...]
    positions: tuple[int, ...]


@dataclass(slots=True)
class DerivedFiles:
    """The derived files of one log.

    Attributes:
        snapshots: by the offset they were taken at.
        aborted: the aborted index by its segment's base offset; one without entries where there is no file, though
            the segment has its other indexes; none where those are missing too, as in a copy of segments alone.
        missing: the segments of which it is such, and whether a broker that starts here makes it anew.
        offsets: the sparse index of offsets, likewise.
        times: that of timestamps, likewise.
    """

    snapshots: list[DerivedFile] = field(default_factory=list)
    aborted: dict[int, DerivedFile] = field(default_factory=dict)
    missing: dict[int, bool] = field(default_factory=dict)
    offsets: dict[int, DerivedFile] = field(default_factory=dict)
    times: dict[int, DerivedFile] = field(default_factory=dict)
    epochs: LeaderEpochFile | None = None
    damage: list[SegmentDamage] = field(default_factory=list)


def read_derived(log: LogFolder) -> DerivedFiles:
    """The derived files of the log's segments, and its snapshots."""
    return _read_derived(log, every=True)


def read_indexes(log: LogFolder) -> DerivedFiles:
    """Those that say something of single batches: sparse indexes of the segments, and leader epochs."""
    return _read_derived(log, every=False)


def snapshot_offsets(log: LogFolder) -> list[int]:
    """The offsets at which there are snapshots of the log's producers, rising."""
    return [int(name[:20]) for name in _snapshot_names(log, _names(log.path))]


def _snapshot_names(log: LogFolder, names: Iterable[str]) -> list[str]:
    end = log.segments[-1].end  # where only some of the segments are selected
    return [name for name in sorted(filter(_SNAPSHOT.fullmatch, names)) if end == ABSENT or int(name[:20]) <= end]


def _read_derived(log: LogFolder, *, every: bool) -> DerivedFiles:
    found = DerivedFiles()
    names = _names(log.path)
    for segment in log.segments:
        stem = located(segment.path).stem
        _add_indexes(found, located(segment.path).parent, stem, segment.base, names)
        if segment.base in found.missing:
            found.missing[segment.base] = _is_made_anew(log, segment)
    folder = located(log.path)
    for name in _snapshot_names(log, names) if every else ():
        read = _read(folder / name, found.damage)
        if read is not None:
            snapshot = parse_snapshot(read[0], str(folder / name), read[1], found.damage)
            found.snapshots += [snapshot] if snapshot else []
    if EPOCHS in names:
        read = _read(folder / EPOCHS, found.damage)
        found.epochs = parse_epochs(read[0], str(folder / EPOCHS), found.damage) if read is not None else None
    return found


def _names(path: str) -> frozenset[str]:
    try:
        return frozenset(names_in(located(path)))
    except OSError:
        return frozenset()  # the listing has said so


def _add_indexes(found: DerivedFiles, folder: Location, stem: str, base: int, names: frozenset[str]) -> None:
    def parsed(kind: str, entry: npt.DTypeLike) -> DerivedFile | None:
        path = folder / f"{stem}.{kind}"
        read = _read(path, found.damage) if path.name in names else None
        return parse_rows(read[0], str(path), base, entry, found.damage) if read is not None else None

    offsets, times, aborted = parsed("index", OFFSET_ENTRY), parsed("timeindex", TIME_ENTRY), None
    if f"{stem}.txnindex" in names:
        aborted = parsed("txnindex", ABORTED_ENTRY)
    elif f"{stem}.index" in names:
        aborted = DerivedFile(str(folder / f"{stem}.txnindex"), base, np.empty(0, ABORTED_ENTRY))
        found.missing[base] = False
    for kind, file in ((found.offsets, offsets), (found.times, times), (found.aborted, aborted)):
        if file is not None:
            kind[base] = file


def _is_made_anew(log: LogFolder, segment: SegmentRange) -> bool:
    """Whether the next start recovers the segment, and its indexes with it: after a crash, above the recovery point.

    A segment that still has its sparse index is else taken as it is (LogLoader.loadSegmentFiles, recoverLog).
    """
    unflushed = log.recovery_point != ABSENT and (segment.active or segment.end > log.recovery_point)
    return unflushed and not (located(log.path).resolve().parent / CLEAN_SHUTDOWN).exists()


def _read(path: Location, damage: list[SegmentDamage]) -> tuple[bytes, int] | None:
    """The bytes of a file, and when it was written in milliseconds."""
    if isinstance(path, Path) and path.exists() and not (path.is_file() or path.is_dir()):
        damage.append(SegmentDamage(str(path), 0, "not a file that can be read to its end"))
        return None
    try:
        return path.read_bytes(), size_and_time(path)[1]
    except OSError as error:
        damage.append(SegmentDamage(str(path), 0, f"cannot be read: {reason(error)}"))
        return None


def parse_rows(
    content: bytes, path: str, base: int, entry: npt.DTypeLike, damage: list[SegmentDamage]
) -> DerivedFile | None:
    """The entries of a file that is nothing but entries; what is too short for one at its end is damage.

    Args:
        content: of the whole file.
        path: for what is said of it.
        base: offset in the file's name.
        entry: fields of one entry, in their order.
        damage: what is wrong is added to it.
    """
    size = np.dtype(entry).itemsize
    whole = len(content) - len(content) % size
    if whole < len(content):
        damage.append(SegmentDamage(path, whole, f"{len(content) - whole} bytes are left, an entry has {size}"))
    return DerivedFile(path, base, np.frombuffer(content[:whole], entry), cut=whole < len(content))


def parse_snapshot(content: bytes, path: str, written_ms: int, damage: list[SegmentDamage]) -> DerivedFile | None:
    """A producer snapshot, as far as its checksum vouches for it.

    Args:
        content: of the whole file.
        path: for what is said of it; its name has the offset.
        written_ms: when the file was last written.
        damage: what is wrong is added to it.
    """
    wrong = _wrong_snapshot(content)
    if wrong:
        damage.append(SegmentDamage(path, *wrong))
        return None
    rows = np.frombuffer(content[_SNAPSHOT_HEAD.itemsize :], SNAPSHOT_ENTRY)
    return DerivedFile(path, int(path.rpartition("/")[2][:20]), rows, written_ms)


def _wrong_snapshot(content: bytes) -> tuple[int, str] | None:
    """Position and message of what makes it no snapshot."""
    size = _SNAPSHOT_HEAD.itemsize
    if len(content) < size:
        return len(content), f"cut short: a snapshot's header has {size} bytes (a crash leaves this)"
    head = np.frombuffer(content[:size], _SNAPSHOT_HEAD)[0]
    if head["version"] != _SNAPSHOT_VERSION:
        return 0, f"version {head['version']} of a snapshot, expected {_SNAPSHOT_VERSION}"
    computed = crc32c(memoryview(content)[_CRC_COVERS_FROM:])
    if head["crc"] != computed:
        return 2, f"CRC of the snapshot is {head['crc']:#010x}, its bytes give {computed:#010x}"
    expected = size + int(head["count"]) * SNAPSHOT_ENTRY.itemsize
    if expected != len(content):
        return size, f"{head['count']} entries need {expected} bytes, there are {len(content)}"
    return None


def parse_epochs(content: bytes, path: str, damage: list[SegmentDamage]) -> LeaderEpochFile | None:
    """The leader epochs of a log; epochs and offsets rise from line to line."""
    lines = content.split(b"\n")
    starts = np.cumsum([0, *(len(line) + 1 for line in lines)]).tolist()
    entries: list[tuple[int, int, int]] = []
    try:
        version, count = int(lines[0]), int(lines[1])
        for number, line in enumerate(lines[2:], start=2):
            if line.strip():
                epoch, offset = map(int, line.split())
                if entries and (epoch <= entries[-1][0] or offset < entries[-1][1]):
                    before = f"epoch {entries[-1][0]} from offset {entries[-1][1]}"
                    damage.append(
                        SegmentDamage(path, starts[number], f"epoch {epoch} from offset {offset} after {before}")
                    )
                    return None
                entries.append((epoch, offset, starts[number]))
    except (ValueError, IndexError):
        version = count = ABSENT
    if version != 0 or count != len(entries):
        if content:  # the broker makes it empty
            damage.append(SegmentDamage(path, 0, "not a checkpoint of leader epochs in version 0"))
        return None
    return LeaderEpochFile(path, *(tuple(column) for column in zip(*entries, strict=True))) if entries else None
