"""One finding for a producer snapshot that differs from the state that the log leads to: one file, one cause."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto, unique
from pathlib import Path

import numpy as np

from model_tests.audit.findings import Finding
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_derived import DerivedFile
from spec import rules
from spec.vocabulary import ABSENT


@unique
class Lacking(Enum):
    """Where a producer is missing."""

    NOWHERE = auto()
    IN_LOG = auto()
    IN_SNAPSHOT = auto()


@dataclass(frozen=True, slots=True)
class SnapshotMismatch:
    """One producer that a snapshot and the log do not agree on.

    Attributes:
        offset: where its entry ends.
        values: of its entry, or what should be in it.
        follows: offsets of what it may come from: the producer's last batches before, its open transaction.
    """

    producer_id: int
    offset: int
    values: Mapping[str, int]
    what: str
    follows: tuple[int, ...] = ()
    lacking: Lacking = Lacking.NOWHERE


def reported(snapshot: DerivedFile, wrong: Sequence[SnapshotMismatch], snapshots: Iterable[DerivedFile]) -> Finding:
    """What is wrong with a snapshot, of one producer or more; `snapshots` are all of the log."""
    name, first = Path(snapshot.path).name, min(wrong, key=lambda one: one.offset)
    if len(wrong) == 1:
        return _finding(first, f"{name}: {first.what}")
    renamed = _other_id(wrong)
    if renamed is not None:
        unknown, lacked = renamed
        found = _finding(lacked, f"{name}: says producer {unknown.producer_id}, the log {lacked.producer_id}")
        return replace(found, others=(unknown.producer_id,))
    message = f"{name}: {len(wrong)} producers are not as in the log, the first, {first.producer_id}: {first.what}"
    twin = next((other for other in snapshots if _is_copy(other, snapshot)), None)
    if twin is not None:
        message += f"; all is as in {Path(twin.path).name}: the one of them was copied to the other's name"
    fields = (first.offset, ABSENT, ABSENT, message)
    others = tuple(sorted({one.producer_id for one in wrong}))
    return Finding(rules.SEQ_STATE_RECOVERABLE, Severity.VIOLATION, *fields, others=others)


def _other_id(wrong: Sequence[SnapshotMismatch]) -> tuple[SnapshotMismatch, SnapshotMismatch] | None:
    """The one that the log lacks and the one that the snapshot lacks, if they are alike but for the producer id."""
    unknown = [one for one in wrong if one.lacking is Lacking.IN_LOG]
    lacked = [one for one in wrong if one.lacking is Lacking.IN_SNAPSHOT]
    if len(wrong) != 2 or len(unknown) != 1 or len(lacked) != 1 or unknown[0].values != lacked[0].values:
        return None
    return unknown[0], lacked[0]


def _is_copy(other: DerivedFile, snapshot: DerivedFile) -> bool:
    return other.number != snapshot.number and np.array_equal(other.rows, snapshot.rows)


def _finding(one: SnapshotMismatch, message: str) -> Finding:
    epoch = one.values["producer_epoch"]
    fields = (one.offset, one.producer_id, epoch, message)
    return Finding(rules.SEQ_STATE_RECOVERABLE, Severity.VIOLATION, *fields, follows=one.follows)
