"""What lies under a path: the partitions of a broker's log directory, their segments, and what is none of these."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from model_tests.logs.kafka_log_segment import SegmentDamage, SegmentRange
from model_tests.logs.locations import Location, UnsupportedUrl, located, names_in, reason, size_and_time
from spec.vocabulary import ABSENT

OFFSET_IN_NAME: Final = r"(0(?:[0-8]\d{18}|9[01]\d{17}|92[01]\d{16}))"
"""An offset as files are named after it: 20 digits, and no more than 63 bits."""

_SEGMENT: Final = re.compile(rf"{OFFSET_IN_NAME}\.log")
_PARTITION: Final = re.compile(
    r"(?P<topic>[\w.-]+?)-(?P<number>\d+)(?P<renamed>\.[0-9a-f]+-(?P<why>delete|future|stray))?", re.ASCII
)
_RENAMED: Final = {
    "delete": "what is left of a deleted partition, which the broker removes soon",
    "future": "a copy that the broker was making to move the partition to another disk: it may end earlier",
    "stray": "a partition that the controller had not given to this broker when it started",
}
"""What the ends of the names of partitions' folders mean (source: UnifiedLog, LogManager)."""

_OF_KAFKA: Final = re.compile(
    r"(.*\.(index|timeindex|txnindex|snapshot|checkpoint|deleted|cleaned|swap)|.*-checkpoint"
    r"|partition\.metadata|quorum-state|meta\.properties|\.lock|\.kafka_cleanshutdown)"
)

_DERIVED: Final = re.compile(rf"{OFFSET_IN_NAME}\.(index|timeindex|txnindex|snapshot)")

_OTHERS: Final = (
    ("Redpanda", re.compile(r"\d+-\d+-v\d+\.(log|base_index|compaction_index)")),
    ("ZooKeeper", re.compile(r"(log|snapshot)\.[0-9a-f]+|(current|accepted)Epoch")),
    ("RocksDB (a state store of Kafka Streams)", re.compile(r"\d{6}\.(log|sst)|(MANIFEST|OPTIONS)-\d{6}|CURRENT")),
    ("tiered storage", re.compile(r"\d{20}-[\w-]{22}\.\w+(\.\w+)?")),
    ("BookKeeper (Pulsar)", re.compile(r"lastMark|[0-9a-f]+\.(txn|idx)|lastId")),
)
"""Other products, by the names of their files."""

_INTERNAL: Final = ("__consumer_offsets", "__transaction_state", "__share_group_state")

LOG_START: Final = "log-start-offset-checkpoint"
HIGH_WATERMARK: Final = "replication-offset-checkpoint"

CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
"""What a broker that is stopped leaves in its directory."""

LAST: Final = 2**63 - 1
"""The largest offset there is."""

CLEANED: Final = "cleaner-offset-checkpoint"
FLUSHED: Final = "recovery-point-offset-checkpoint"


@dataclass(frozen=True, slots=True)
class LogFolder:
    """A partition's folder.

    Attributes:
        checkpointed_start: log start offset by the broker's checkpoint; -1 where it has none.
        checkpointed_watermark: high watermark, likewise.
        recovery_point: offset up to which the log was flushed, likewise, or up to which files derived from it say.
        cleaned_to: first offset that the cleaner had not reached, likewise.
        cleaner_known: whether there is a cleaner's checkpoint at all.
        empty: base offsets of segments without a byte.
    """

    path: str
    topic: str
    partition: int
    segments: tuple[SegmentRange, ...]
    checkpointed_start: int = ABSENT
    checkpointed_watermark: int = ABSENT
    recovery_point: int = ABSENT
    cleaned_to: int = ABSENT
    cleaner_known: bool = False
    empty: tuple[int, ...] = ()

    @property
    def by_coordinator(self) -> bool:
        """Whether coordinators append to it, not clients: no sequence is checked there."""
        return self.topic in _INTERNAL

    @property
    def name(self) -> str:
        """Topic and partition, as Kafka writes them."""
        return f"{self.topic}-{self.partition}"


@dataclass(slots=True)
class Listing:
    """Everything found under the given paths."""

    logs: list[LogFolder] = field(default_factory=list)
    damage: list[SegmentDamage] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    checkpoints: dict[Location, Mapping[tuple[str, int], int] | None] = field(default_factory=dict)


def list_logs(paths: Iterable[str], topics: Sequence[str] = ()) -> Listing:
    """The partitions under the paths; what is no log there is named.

    Args:
        paths: where to look.
        topics: only topics or partitions of these names, or that match a pattern (`orders*`, `orders-3`); none for all.
            Topics of brokers (`__...`) always count: all others depend on what they contain.
    """
    listing = Listing()
    for given in paths:
        _look_for(given, listing)
    _drop_repeated(listing)
    if topics:
        listing.logs = [log for log in listing.logs if log.topic.startswith("__") or _is_called(log, topics)]
    return listing


def _is_called(log: LogFolder, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in (log.topic, log.name))


def _look_for(given: str, listing: Listing) -> None:
    before, ignored = (len(listing.logs), len(listing.damage)), len(listing.ignored)
    try:
        location = located(given)
        if location.exists() or location.is_symlink():
            _look_at(location, listing)
        else:
            _bad(listing, given, "does not exist")
    except UnsupportedUrl as why:
        _bad(listing, given, str(why))
    except OSError as error:
        _bad(listing, given, f"cannot be read: {reason(error)}")
    if (len(listing.logs), len(listing.damage)) == before:
        whose = _other_product(name for name in listing.ignored[ignored:])
        found = f"; it has files of {whose}, which are none of a broker's log" if whose else ""
        _bad(listing, given, f"no log in it: neither a partition's folder (topic-0) nor a segment (.log){found}")


def _other_product(paths: Iterable[str]) -> str:
    """Whose files they are, if all that are known are of one other product; empty where none is."""
    names = [Path(path).name for path in paths]
    found = {whose for name in names for whose, pattern in _OTHERS if pattern.fullmatch(name)}
    return found.pop() if len(found) == 1 else ""


def renamed(path: str) -> str:
    """What the name of a partition's folder says of it; empty where it has the usual name."""
    found = _PARTITION.fullmatch(path.rstrip("/").rpartition("/")[2])
    return _RENAMED[found["why"]] if found and found["why"] else ""


def _look_at(path: Location, listing: Listing) -> None:
    whose = _other_product([path.name])
    if path.is_dir():
        _look_into(path, listing)
    elif path.is_symlink() and not path.exists():
        _bad(listing, str(path), "a symbolic link that leads nowhere, or round in a circle")
    elif whose:
        _bad(listing, str(path), f"a file of {whose}, which has another format")
    elif path.name.endswith(".log") and path.is_file():
        _add_log(path.parent, [path.name], _names_in(path.parent, listing), listing)
    else:
        _bad(listing, str(path), "no directory, no segment (.log), and no text of Kafka's tools")


def _look_into(folder: Location, listing: Listing) -> None:
    damaged = len(listing.damage)
    names = _names_in(folder, listing)
    if len(listing.damage) > damaged:
        return
    own = [name for name in names if name.endswith(".log") and name[0] != "." and not (folder / name).is_dir()]
    is_partition = _PARTITION.fullmatch(folder.resolve().name) is not None
    if any(_SEGMENT.fullmatch(name) for name in names) or (own and is_partition):
        _add_log(folder, own, names, listing)
    elif is_partition and not _other_product(names) and not any((folder / name).is_dir() for name in names):
        other = next(
            (f"; {name} is packed, or has another name than the broker's" for name in names if ".log." in name), ""
        )
        _bad(listing, str(folder), f"a partition's folder without a segment (.log){other}")
    else:
        _sort_out([folder / name for name in names if _is_foreign(folder / name)], listing)
    for name in names:
        if (folder / name).is_dir() and not _SEGMENT.fullmatch(name):
            _look_below(folder / name, listing)


def _look_below(folder: Location, listing: Listing) -> None:
    if folder.is_symlink():
        listing.ignored.append(f"{folder}: a symbolic link to a directory is not followed; give it as a path")
    elif why := renamed(folder.name):
        listing.ignored.append(f"{folder}: {why}; to judge it, give it as a path")
    else:
        _look_into(folder, listing)


def _sort_out(others: Iterable[Location], listing: Listing) -> None:
    """What is no part of a log: left alone, but for what has the name of a partition's folder."""
    for path in others:
        if _PARTITION.fullmatch(path.name) and path.is_symlink():
            _bad(listing, str(path), "a symbolic link that leads nowhere")
        else:
            listing.ignored.append(str(path))


def is_of_kafka(name: str) -> bool:
    """Whether a broker calls a file so."""
    return (_SEGMENT.fullmatch(name) or _OF_KAFKA.fullmatch(name)) is not None


def _is_foreign(path: Location) -> bool:
    return not path.is_dir() and not _OF_KAFKA.fullmatch(path.name)


def _names_in(folder: Location, listing: Listing) -> list[str]:
    try:
        return names_in(folder)
    except OSError as error:
        _bad(listing, str(folder), f"cannot be listed: {reason(error)}")
        return []


def _add_log(folder: Location, own: list[str], names: list[str], listing: Listing) -> None:
    """Add a partition's folder, of whose segments `own` are selected."""
    bases = sorted(int(name[:20]) for name in names if _SEGMENT.fullmatch(name))
    segments: list[SegmentRange] = []
    for name in own:
        path = folder / name
        if isinstance(path, Path) and path.exists() and not path.is_file():
            _bad(listing, str(path), "not a file that can be read to its end: not a segment")
            continue
        if not _SEGMENT.fullmatch(name):
            if len(own) > 1 or any(_SEGMENT.fullmatch(other) for other in names):
                _bad(listing, str(path), "not named after a base offset of 20 digits: not a segment")
                continue
            segments.append(SegmentRange(str(path), _first_offset(path)))
            continue
        later = [base for base in bases if base > int(name[:20])]
        segments.append(SegmentRange(str(path), int(name[:20]), later[0] if later else ABSENT))
    listing.ignored.extend(str(folder / name) for name in names if name not in own and _is_foreign_here(folder / name))
    unfinished = [name for name in names if name.endswith((".cleaned", ".swap"))]
    listing.ignored.extend(f"{folder / name}: left by the cleaner" for name in unfinished)
    _bad_folders(folder, names, listing)
    if segments:
        listing.logs.append(_described(folder, tuple(sorted(segments, key=lambda one: one.base)), names, listing))


def _bad_folders(folder: Location, names: list[str], listing: Listing) -> None:
    for name in names:
        if _SEGMENT.fullmatch(name) and (folder / name).is_dir():
            _bad(listing, str(folder / name), "a directory, not a segment")


def _is_foreign_here(path: Location) -> bool:
    return _is_foreign(path) and (not path.name.endswith(".log") or path.name[0] == ".")


def _derived_up_to(names: Iterable[str]) -> int:
    """The last offset in the name of an index or snapshot: a copy may have them and not their segment."""
    return max((int(match[1]) for name in names if (match := _DERIVED.fullmatch(name))), default=ABSENT)


def _described(
    folder: Location, segments: tuple[SegmentRange, ...], names: Iterable[str], listing: Listing
) -> LogFolder:
    match = _PARTITION.fullmatch(folder.resolve().name)
    topic, number = (match["topic"], int(match["number"])) if match else (folder.resolve().name, ABSENT)
    around = folder.resolve().parent

    def checkpointed(name: str) -> Mapping[tuple[str, int], int] | None:
        path = around / name
        if path not in listing.checkpoints:
            listing.checkpoints[path] = _read_checkpoint(path, listing)
        return listing.checkpoints[path]

    cleaned = checkpointed(CLEANED)
    return LogFolder(
        str(folder),
        topic,
        number,
        segments,
        (checkpointed(LOG_START) or {}).get((topic, number), ABSENT),
        (checkpointed(HIGH_WATERMARK) or {}).get((topic, number), ABSENT),
        max((checkpointed(FLUSHED) or {}).get((topic, number), ABSENT), _derived_up_to(names)),
        (cleaned or {}).get((topic, number), ABSENT),
        cleaned is not None,
        tuple(segment.base for segment in segments if size_of(segment) == 0),
    )


def size_of(segment: SegmentRange) -> int:
    """Bytes of a segment; -1 where that is not known."""
    if segment.until is not None:
        return segment.until.position - segment.position
    try:
        return size_and_time(located(segment.path))[0] - segment.position
    except OSError:
        return ABSENT  # the reader will say why


def _first_offset(path: Location) -> int:
    try:
        return max(int.from_bytes(path.read_bytes()[:8], "big", signed=True), 0)
    except OSError:
        return 0  # likewise


def _read_checkpoint(path: Location, listing: Listing) -> Mapping[tuple[str, int], int] | None:
    """Offsets by topic and partition; None where there is no such file, or none that can be read."""
    try:
        text = path.read_text()
        version, count, *lines = text.splitlines() if text else ("0", "0")  # the broker makes it empty
        entries = [line.split() for line in lines]
        offsets = {(topic, int(partition)): int(offset) for topic, partition, offset in entries}
        if int(version) != 0 or int(count) != len(lines) or any(abs(one) > LAST for one in offsets.values()):
            raise ValueError
    except FileNotFoundError:
        return None
    except (ValueError, OSError) as error:
        why = reason(error) if isinstance(error, OSError) else "not a checkpoint of offsets in version 0"
        _bad(listing, str(path), f"cannot be read: {why}")
        return None
    return offsets


def _drop_repeated(listing: Listing) -> None:
    """A partition given by two paths is judged once."""
    by_place = {(located(log.path).resolve(), log.segments[0].base, len(log.segments)): log for log in listing.logs}
    listing.logs = list(by_place.values())


def _bad(listing: Listing, path: str, message: str) -> None:
    damage = SegmentDamage(path, 0, message)
    if damage not in listing.damage:
        listing.damage.append(damage)
