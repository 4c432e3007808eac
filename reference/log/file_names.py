"""Names of the files of a partition's directory (LogFileUtils): twenty digits of an offset, and a suffix."""

import re
from pathlib import Path
from typing import Final

from spec.vocabulary import Offset

LOG: Final = ".log"
INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
TXN_INDEX: Final = ".txnindex"
SNAPSHOT: Final = ".snapshot"
SEGMENT_FILES: Final = (LOG, INDEX, TIME_INDEX, TXN_INDEX)
"""What belongs to one segment; a snapshot belongs to an offset."""

DELETED: Final = ".deleted"
CLEANED: Final = ".cleaned"
SWAP: Final = ".swap"
TEMPORARY: Final = (DELETED, CLEANED, SWAP)

LEADER_EPOCHS: Final = "leader-epoch-checkpoint"
PARTITION_METADATA: Final = "partition.metadata"

_NAME: Final = re.compile(r"(\d{20})(\.(?:log|index|timeindex|txnindex|snapshot))(\.(?:deleted|cleaned|swap))?")


def path_of(directory: Path, offset: int, suffix: str) -> Path:
    """The file of that offset and suffix."""
    return directory / f"{offset:020d}{suffix}"


def offset_in(path: Path) -> Offset | None:
    """The offset in the name of a segment's file or a snapshot, None if it is neither."""
    found = _NAME.fullmatch(path.name)
    return Offset(int(found[1])) if found else None


def files_of(directory: Path, suffix: str) -> dict[Offset, Path]:
    """The files with that suffix by their offset, ascending."""
    named = ((offset_in(path), path) for path in directory.glob(f"*{suffix}"))
    return dict(sorted((offset, path) for offset, path in named if offset is not None))


def partition_of(directory: Path) -> tuple[str, int]:
    """Topic and partition that a directory is named after.

    Raises:
        ValueError: the name is not of the form topic-partition.
    """
    topic, _, partition = directory.name.rpartition("-")
    if not topic or not partition.isdecimal():
        raise ValueError(f"{directory.name} is not named after a partition")
    return topic, int(partition)
