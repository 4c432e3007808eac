"""The bundled logs of real brokers, unpacked for a while, and what was observed when they were recorded."""

import json
import lzma
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_HERE: Final = Path(__file__).parent / "recordings"

KAFKA_3_9: Final = "kafka-3.9.0"
KAFKA_4_0: Final = "kafka-4.0-tv2"
KAFKA_4_3: Final = "kafka-4.3-tv2"
RECORDED: Final = (KAFKA_3_9, KAFKA_4_0, KAFKA_4_3)
DEFECTS: Final = "defects"
CLUSTER: Final = "kafka-3.9.0-cluster"
"""Three brokers and a controller, a folder each."""
CLUSTER_RUNNING: Final = "kafka-3.9.0-cluster-mid"
"""The same three brokers earlier, two of them running, one killed."""
MARKER_BUG: Final = "kafka-4.3-marker-bug"
"""Two brokers, a folder each, of which one was killed when the transaction of both was committed."""
MARKER_BUG_STOPPED: Final = "kafka-4.3-marker-bug-stopped"
"""The same, but that the broker was stopped cleanly; it was running again when its files were copied."""

UNREGISTERED: Final = frozenset((KAFKA_4_0, "tv2-0", offset) for offset in (608, 1012, 2583, 4586, 5006, 6393))
"""Where the recorded build of 4.0 took data of the bumped epoch, sent after the answer to EndTxn without
an AddPartitionsToTxn, into the transaction before (KAFKA-18575, mended before 4.0): recording, partition, offset."""


@dataclass(frozen=True, slots=True)
class ObservedPartition:
    """What the broker and a consumer said of one partition."""

    log_start: int
    lso: int
    log_end: int
    delivered: int
    delivered_sha256: str


@dataclass(frozen=True, slots=True)
class RecordedDefect:
    """One case: what was done, where it shows, and the rules of which one must name it."""

    case: str
    topic_partition: str
    offset: int
    producer_id: int
    rules: tuple[str, ...]
    note: str
    damage: bool


@contextmanager
def unpacked() -> Iterator[Path]:
    """A directory with every recording in a folder of its name, and the defects in another."""
    with tempfile.TemporaryDirectory(prefix="eos-recordings-") as directory:
        for name in (*RECORDED, CLUSTER, MARKER_BUG):
            with tarfile.open(_HERE / f"{name}.tar.xz") as archive:
                archive.extractall(directory, filter="data")
        yield Path(directory)


def journal(recording: str) -> str:
    """The file with what the clients of a recording did and were answered."""
    return str(_HERE / f"{recording}.journal.ndjson.xz")


def leader_changes() -> tuple[dict[str, Any], ...]:
    """What the controller of the recorded cluster decided about partitions, record by record."""
    with lzma.open(_HERE / f"{CLUSTER}.changes.ndjson.xz", "rt") as lines:
        return tuple(json.loads(line) for line in lines)


def observed(recording: str) -> Mapping[str, ObservedPartition]:
    """What was observed of a recording's partitions, by topic and partition."""
    plain: dict[str, dict[str, Any]] = json.loads((_HERE / f"{recording}.json").read_text())
    return {partition: ObservedPartition(**figures) for partition, figures in plain.items()}


def defects(directory: Path) -> tuple[RecordedDefect, ...]:
    """The cases that were unpacked into the directory."""
    plain: list[dict[str, Any]] = json.loads((directory / DEFECTS / "truth.json").read_text())
    return tuple(RecordedDefect(**{**case, "rules": tuple(case["rules"])}) for case in plain)


def defect_clusters(directory: Path) -> dict[str, list[str]]:
    """The folder of each case, as those of clusters of their own."""
    return {case.case: [str(directory / DEFECTS / case.case)] for case in defects(directory)}
