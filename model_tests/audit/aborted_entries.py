"""Entries of aborted indexes as columns, and indexes that are missing as a whole: one finding of a file."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from model_tests.audit.findings import Finding
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_batches import Integers
from model_tests.logs.kafka_log_derived import ABORTED_ENTRY, DerivedFile, DerivedFiles
from spec import rules
from spec.vocabulary import ABSENT

_SIZE: Final = ABORTED_ENTRY.itemsize


@dataclass(frozen=True, slots=True)
class Entries:
    """All entries of a log's aborted indexes, file by file."""

    files: tuple[DerivedFile, ...]
    file: Integers
    number: Integers  # in its file
    producer_id: Integers
    first: Integers
    last: Integers
    stable: Integers

    def where(self, entry: int) -> str:
        """File and position of an entry."""
        path = Path(self.files[int(self.file[entry])].path)
        return f"{path.name} position {int(self.number[entry]) * _SIZE}"


def flat(derived: DerivedFiles) -> Entries:
    """The entries of all files."""
    files = tuple(derived.aborted[base] for base in sorted(derived.aborted))
    rows = np.concatenate([file.rows for file in files]) if files else np.empty(0, ABORTED_ENTRY)
    counts = [len(file.rows) for file in files]
    numbers = [np.arange(count) for count in counts]

    def column(name: str) -> Integers:
        return rows[name].astype(np.int64)

    return Entries(
        files,
        np.repeat(np.arange(len(files)), counts),
        np.concatenate(numbers) if numbers else np.empty(0, np.int64),
        column("producer_id"),
        column("first_offset"),
        column("last_offset"),
        column("last_stable"),
    )


GIVEN: Final = "a read_committed reader is given its records"
REMEDY: Final = (
    "With the broker stopped, delete {segment}.index: the next start then recovers the segment and makes all of its "
    "indexes anew. If only the copy lacks the file, copy it again."
)


@dataclass(frozen=True, slots=True)
class Unlisted:
    """An aborted transaction that no entry lists: from its first data to its marker."""

    first: int
    last: int
    producer_id: int
    producer_epoch: int


def without_entry(segment: int, one: Unlisted) -> Finding:
    """The index is there and has no entry of the transaction."""
    message = f"{segment:020}.txnindex has no entry of {_offsets(one)}: {GIVEN}"
    return _finding(segment, Severity.VIOLATION, (one,), message)


def without_file(segment: int, unlisted: Sequence[Unlisted], *, made_anew: bool) -> Finding:
    """There is no index, with all that it should list, by their markers; how grave that is depends on the next start.

    Args:
        segment: base offset of the segment.
        unlisted: what the index should list, at least one.
        made_anew: the next start recovers the segment, and the index with it.
    """
    first = f"{unlisted[0].first}..{unlisted[0].last}"
    what = _offsets(unlisted[0])
    if len(unlisted) > 1:
        what = f"{len(unlisted)} aborted transactions that it should list, the first at offsets {first}"
    severity, given = Severity.UNDECIDED, ""
    why = "it lies above the recovery point after a crash, so the next start rebuilds it"
    if not made_anew:
        severity, given = Severity.VIOLATION, f"; {GIVEN if len(unlisted) == 1 else GIVEN.replace('its', 'their')}"
        why = "a broker takes it for one without entries, and while there is an .index does not rebuild it"
    return _finding(segment, severity, unlisted, f"{segment:020}.txnindex is missing, with {what}: {why}{given}")


def _offsets(one: Unlisted) -> str:
    return f"the aborted transaction at offsets {one.first}..{one.last}"


def _finding(segment: int, severity: Severity, unlisted: Sequence[Unlisted], message: str) -> Finding:
    """A finding at the first; of no producer, or no epoch, where several are concerned."""
    producer, epoch = _shared(one.producer_id for one in unlisted), _shared(one.producer_epoch for one in unlisted)
    offset = min(one.first for one in unlisted)
    remedy = REMEDY.format(segment=f"{segment:020}")
    others = tuple(sorted({one.producer_id for one in unlisted}))
    fields = (offset, producer, epoch, message)
    follows = (unlisted[0].last,) if len(unlisted) == 1 else ()
    return Finding(rules.LSO_ABORTED_INDEX, severity, *fields, remedy=remedy, others=others, follows=follows)


def _shared(values: Iterable[int]) -> int:
    found = set(values)
    return found.pop() if len(found) == 1 else ABSENT
