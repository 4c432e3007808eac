"""Names of the files of a log directory (LogFileUtils), and the files that name its owner and its last shutdown."""

import json
import re
from pathlib import Path
from typing import Final, NamedTuple

from reference.log.damage import DamagedFile, FileDamage
from spec.vocabulary import Offset

# --- names ------------------------------------------------------------------------------------------------------------


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


# --- the owner of the directory, and its last shutdown ----------------------------------------------------------------


CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
META_PROPERTIES: Final = "meta.properties"


class PartitionMetadata(NamedTuple):
    """`partition.metadata`: the id of the partition's topic, 22 letters of base 64."""

    topic_id: str

    def encode(self) -> bytes:
        """The file's bytes."""
        return f"version: 0\ntopic_id: {self.topic_id}".encode()


class Properties(NamedTuple):
    """`meta.properties` in Java's format: the comment lines, then names and values in the file's order."""

    comments: tuple[str, ...]
    values: dict[str, str]

    def encode(self) -> bytes:
        """The file's bytes."""
        lines = (*self.comments, *(f"{name}={value}" for name, value in self.values.items()))
        return "".join(f"{line}\n" for line in lines).encode()


def decode_partition_metadata(data: bytes) -> PartitionMetadata:
    """The topic id of a partition's directory.

    Raises:
        DamagedFile: the file is not of this form.
    """
    lines = _text(data).removesuffix("\n").split("\n")
    if lines[0] != "version: 0":
        raise DamagedFile(FileDamage.VERSION, 0, repr(lines[0][:80]))
    name, _, topic_id = lines[-1].partition(": ")
    if len(lines) != 2 or name != "topic_id" or len(topic_id) != 22:
        raise DamagedFile(FileDamage.FORM, 1, repr(lines[-1][:80]))
    return PartitionMetadata(topic_id)


def decode_properties(data: bytes) -> Properties:
    """Comments and values of a properties file without escapes.

    Raises:
        DamagedFile: a line is neither.
    """
    comments: list[str] = []
    values: dict[str, str] = {}
    for number, line in enumerate(_text(data).removesuffix("\n").split("\n")):
        name, equals, value = line.partition("=")
        if line.startswith("#") and not values:
            comments.append(line)
        elif equals and name not in values:
            values[name] = value
        else:
            raise DamagedFile(FileDamage.FORM, number, repr(line[:80]))
    return Properties(tuple(comments), values)


def encode_json(value: dict[str, object]) -> bytes:
    """A JSON file as Kafka writes it: no spaces, no end of line."""
    return json.dumps(value, separators=(",", ":")).encode()


def decode_json(data: bytes) -> dict[str, object]:
    """The object in `.kafka_cleanshutdown` or `quorum-state`.

    Raises:
        DamagedFile: the file holds no JSON object.
    """
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as damage:
        raise DamagedFile(FileDamage.FORM, 0, str(damage)) from damage
    if not isinstance(value, dict):
        raise DamagedFile(FileDamage.FORM, 0, "no JSON object")
    return value


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as damage:
        raise DamagedFile(FileDamage.FORM, damage.start, "not text") from damage
