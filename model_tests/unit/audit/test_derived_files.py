from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from model_tests.audit.findings import Finding
from model_tests.audit.indexes import judge_segments, misled
from model_tests.audit.log import read_log, surroundings
from model_tests.audit.partition import audit_batches
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_derived import (
    ABORTED_ENTRY,
    SNAPSHOT_ENTRY,
    DerivedFile,
    DerivedFiles,
    Rows,
    read_derived,
)
from model_tests.logs.kafka_log_folders import LogFolder
from spec import rules
from spec.vocabulary import ABSENT, ControlType

SNAPSHOT, ABORTED = 5693, 0
DAY_MS = 24 * 3600 * 1000


def found(log: LogFolder, derived: DerivedFiles) -> list[Finding]:
    """The findings on the log with these derived files."""
    return list(audit_batches(read_log(log)[0], surroundings(log), derived=derived).findings)


def with_snapshot(log: LogFolder, change: Callable[[Rows], Rows], written_ms: int | None = None) -> DerivedFiles:
    """The derived files, one snapshot changed."""
    derived = read_derived(log)
    (number,) = (number for number, file in enumerate(derived.snapshots) if file.number == SNAPSHOT)
    file = derived.snapshots[number]
    written = file.written_ms if written_ms is None else written_ms
    derived.snapshots[number] = replace(file, rows=change(file.rows.copy()), written_ms=written)
    return derived


def with_aborted(log: LogFolder, change: Callable[[Rows], Rows]) -> DerivedFiles:
    """The derived files, one aborted index changed."""
    derived = read_derived(log)
    file = derived.aborted[ABORTED]
    derived.aborted[ABORTED] = replace(file, rows=change(file.rows.copy()))
    return derived


def raised(field: str, entry: int) -> Callable[[Rows], Rows]:
    """A change that adds one to a field of an entry."""

    def change(rows: Rows) -> Rows:
        rows[entry][field] += 1
        return rows

    return change


def test_a_sound_log_has_nothing_to_say(log: LogFolder) -> None:
    """All of its snapshots and indexes agree with it."""
    batches, damage = read_log(log)
    derived = read_derived(log)

    verdict = audit_batches(batches, surroundings(log), derived=derived)

    assert (verdict.findings, damage, derived.damage) == ((), [], [])
    assert list(judge_segments(batches, log.segments, derived, [])) == []
    assert derived.epochs is not None
    assert list(misled(batches, derived.epochs, 0).damage(derived.epochs.path)) == []
    assert verdict.judged[rules.SEQ_STATE_RECOVERABLE.id] == sum(len(file.rows) for file in derived.snapshots)
    assert verdict.judged[rules.LSO_ABORTED_INDEX.id] == sum(len(file.rows) for file in derived.aborted.values())
    assert verdict.judged[rules.LSO_READ_COMMITTED.id] == verdict.judged[rules.LSO_DECIDED_BELOW.id] > 0


@pytest.mark.parametrize("field", [name for name in SNAPSHOT_ENTRY.names or () if name != "producer_id"])
def test_every_field_of_a_snapshot_is_judged(log: LogFolder, field: str) -> None:
    """One wrong value is one finding, where the producer's entry ends."""
    derived = with_snapshot(log, raised(field, 1))
    entry = next(file for file in derived.snapshots if file.number == SNAPSHOT).rows[1]

    (finding,) = found(log, derived)

    assert (finding.rule, finding.severity) == (rules.SEQ_STATE_RECOVERABLE, Severity.VIOLATION)
    assert (finding.offset, finding.producer_id) == (entry["last_offset"], entry["producer_id"])


def test_a_snapshot_may_forget_only_idle_producers(log: LogFolder) -> None:
    """Written within the expiry, it must know them; later, only the older ones that it still has are evidence."""
    derived = read_derived(log)
    rows = next(file for file in derived.snapshots if file.number == SNAPSHOT).rows
    newest = int(np.argmax(rows["timestamp"]))
    oldest = int(np.argmin(rows["timestamp"]))
    later = int(rows["timestamp"].max()) + DAY_MS

    def severities(dropped: int, written_ms: int | None = None) -> list[Severity]:
        changed = with_snapshot(log, lambda entries: np.delete(entries, dropped), written_ms)
        return [finding.severity for finding in found(log, changed)]

    assert severities(newest) == severities(oldest) == [Severity.VIOLATION]
    assert severities(newest, later) == [Severity.VIOLATION]
    assert severities(oldest, later) == [Severity.UNDECIDED]


def test_a_snapshot_has_no_producer_that_the_log_has_not(log: LogFolder) -> None:
    """On a whole log, that is."""

    def add(rows: Rows) -> Rows:
        return np.append(rows, raised("producer_id", 0)(rows[:1].copy()))

    assert [finding.severity for finding in found(log, with_snapshot(log, add))] == [Severity.VIOLATION]


@pytest.mark.parametrize("field", (ABORTED_ENTRY.names or ())[1:])
def test_every_field_of_the_aborted_index_is_judged(log: LogFolder, field: str) -> None:
    """One wrong value is one finding, at the first offset of the transaction."""
    offset = read_derived(log).aborted[ABORTED].rows[5]["first_offset"]

    (finding,) = found(log, with_aborted(log, raised(field, 5)))

    assert (finding.rule, finding.severity) == (rules.LSO_ABORTED_INDEX, Severity.VIOLATION)
    assert finding.offset == offset


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: np.delete(rows, 5),
        lambda rows: np.insert(rows, 5, rows[5]),
        lambda rows: rows[[0, 1, 2, 3, 4, 6, 5, *range(7, len(rows))]],
    ],
    ids=["lost", "twice", "exchanged"],
)
def test_the_aborted_index_lists_each_once_and_in_order(log: LogFolder, change: Callable[[Rows], Rows]) -> None:
    """An entry that is lost, repeated or out of order is one finding."""
    assert [finding.rule for finding in found(log, with_aborted(log, change))] == [rules.LSO_ABORTED_INDEX]


def test_segments_without_their_indexes_are_not_judged_by_them(log: LogFolder) -> None:
    """A copy of the segments alone shows nothing of the aborted index; a lost aborted index does."""
    derived = read_derived(log)
    lost = with_aborted(log, lambda rows: rows[:0])

    derived.aborted.clear()

    assert found(log, derived) == []
    assert len(found(log, lost)) == len(read_derived(log).aborted[ABORTED].rows)


@pytest.mark.parametrize("kind", ["offsets", "times"])
@pytest.mark.parametrize("field", [0, 1])
def test_a_wrong_entry_of_a_sparse_index_is_damage(log: LogFolder, kind: str, field: int) -> None:
    """Named with its position in the file."""
    derived = read_derived(log)
    files: dict[int, DerivedFile] = getattr(derived, kind)
    rows = files[0].rows.copy()
    rows[3][field] += 1000
    files[0] = replace(files[0], rows=rows)

    (damage,) = judge_segments(read_log(log)[0], log.segments, derived, [])

    assert damage.path == files[0].path
    assert damage.position // rows.itemsize in (3, 4)


def test_a_wrong_leader_epoch_is_damage(log: LogFolder) -> None:
    """The line with another epoch than its batches is named."""
    derived = read_derived(log)
    assert derived.epochs is not None
    derived.epochs = replace(derived.epochs, epochs=(derived.epochs.epochs[0] + 1,))

    (damage,) = misled(read_log(log)[0], derived.epochs, 0).damage(derived.epochs.path)

    assert Path(damage.path).name == "leader-epoch-checkpoint"


def test_what_entries_say_of_a_marker_that_the_log_lacks_is_one_finding(log: LogFolder) -> None:
    """The next transaction, which is aborted, seems to begin too early, and to hold back those that end within it."""
    batches, derived = read_log(log)[0], read_derived(log)
    commits = np.flatnonzero(batches.control_type == ControlType.COMMIT.value)
    counts = []
    for marker in commits[:60].tolist():
        producer_id = batches.producer_id.copy()
        producer_id[marker] = ABSENT
        verdict = audit_batches(replace(batches, producer_id=producer_id), surroundings(log), derived=derived)
        reported = [one.message for one in verdict.findings if one.rule is rules.LSO_ABORTED_INDEX]
        if any("says first offset" in message for message in reported):
            counts.append(len(reported))

    assert set(counts) == {1}
