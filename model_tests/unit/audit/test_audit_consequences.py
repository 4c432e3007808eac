"""What files beside a log say otherwise only since one marker or batch in it is broken: one finding, with that."""

import shutil
from pathlib import Path
from typing import Final

import pytest

from model_tests.audit.findings import Finding
from model_tests.audit.recorded import KAFKA_3_9
from model_tests.audit.run import run
from model_tests.logs.kafka_log_derived import ABORTED_ENTRY
from model_tests.unit.audit.directory_edits import Edit, edits, unmarked
from model_tests.unit.audit.stories import AuditCase, hold
from model_tests.unit.support.changed_directories import Change, changed, not_marked
from reference.log.batch import TRANSACTIONAL

PARTITION = "zombie-1"
PRODUCER_ID, EPOCH = slice(43, 51), slice(51, 53)
FIRST, STABLE = 10, 26
"""Where an entry of the aborted index has its first offset, and its last stable offset."""


def without_id(content: bytearray, start: int) -> None:
    """The batch has no producer."""
    content[start + PRODUCER_ID.start : start + PRODUCER_ID.stop] = b"\xff" * 8


def outside(content: bytearray, start: int) -> None:
    """The batch has no producer, and is in no transaction."""
    without_id(content, start)
    content[start + 22] &= ~TRANSACTIONAL


def without_epoch(content: bytearray, start: int) -> None:
    """The marker's epoch is -1."""
    content[start + EPOCH.start : start + EPOCH.stop] = b"\xff" * 2


@pytest.fixture
def broker(recordings: Path, tmp_path: Path) -> Path:
    """One partition of the recording, with many aborted transactions, a snapshot, and no coordinator's log."""
    shutil.copytree(recordings / KAFKA_3_9 / PARTITION, tmp_path / PARTITION)
    return tmp_path


def segment_of(broker: Path) -> Path:
    """The partition's first segment."""
    return min((broker / PARTITION).glob("*.log"))


def found(broker: Path) -> list[Finding]:
    """All findings."""
    return [finding for _, finding in run([broker]).findings]


@pytest.mark.parametrize("change", [not_marked, without_id, without_epoch])
def test_a_broken_marker_is_one_finding_with_all_entries_that_report_of_it(broker: Path, change: Change) -> None:
    """Whichever it is: other producers' entries, whose last stable offset it seems to hold back, and the snapshot."""
    sound = segment_of(broker).read_bytes()
    event = 0
    for number in range(20):
        segment_of(broker).write_bytes(changed(sound, number, change, control=True))

        findings = found(broker)

        assert len(findings) == 1, (number, findings)
        event += bool(findings[0].consequences)
    assert event > (0 if change is without_epoch else 10)


@pytest.mark.parametrize("change", [without_id, outside])
def test_data_without_a_producer_is_one_finding_with_the_entries_of_its_transaction(
    recordings: Path, tmp_path: Path, change: Change
) -> None:
    """What its producer lacks says where it is; an aborted index lists it, or begins with it, and so do others'."""
    shutil.copytree(recordings / KAFKA_3_9 / "orders-0", tmp_path / PARTITION)
    sound = segment_of(tmp_path).read_bytes()
    event = 0
    for number in range(0, 145, 5):
        segment_of(tmp_path).write_bytes(changed(sound, number, change, control=False))

        findings = found(tmp_path)

        assert len(findings) <= 1, (number, findings)
        event += sum(bool(one.consequences) for one in findings)
    assert event > 0


@pytest.mark.parametrize("change", [not_marked, without_id, without_epoch])
def test_it_is_one_finding_with_the_coordinators_log(recordings: Path, broker: Path, change: Change) -> None:
    """Of a transaction that hangs by it, which holds all later ones back, and of one at the snapshot's offset."""
    for folder in (recordings / KAFKA_3_9).glob("__transaction_state-*"):
        shutil.copytree(folder, broker / folder.name)
    sound = segment_of(broker).read_bytes()
    for number in (6, 14, 20):
        segment_of(broker).write_bytes(changed(sound, number, change, control=True))

        findings = found(broker)

        assert len(findings) == 1, (number, findings)


def test_a_finding_is_the_same_after_it_was_sent(broker: Path) -> None:
    """Audits on Spark join what tasks have found."""
    index = min((broker / PARTITION).glob("*.txnindex"))
    content = bytearray(index.read_bytes())
    content[FIRST + 7] += 1
    index.write_bytes(content)

    (finding,) = found(broker)

    assert finding.follows == (1, 0)


def with_entry(entry: int, field: int, added: int) -> Edit:
    """A field of an entry of the aborted index is higher."""

    def edit(directory: Path) -> None:
        index = min((directory / PARTITION).glob("*.txnindex"))
        content = bytearray(index.read_bytes())
        at = entry * ABORTED_ENTRY.itemsize % len(content) + field
        content[at : at + 8] = (int.from_bytes(content[at : at + 8], "big") + added).to_bytes(8, "big")
        index.write_bytes(content)

    return edit


UNMARKED: Final = "violation seq.well_formed zombie-1@41, producer 13"
"""The marker at offset 41 has no mark; what it has caused begins with its missing sequence."""
OF_41: Final = {"has sequence -1, expected 5": ("lso.aborted_index", "seq.state_recoverable")}
OF_69: Final = {"has sequence -1, expected 1": ("lso.aborted_index", "txn.registered_before_data")}

CASES: Final = tuple(
    AuditCase(name, findings=(UNMARKED, *others), explains=explains, recording=KAFKA_3_9, parts=(PARTITION,), edit=edit)
    for name, edit, others, explains in (
        ("a broken marker, with all entries that report of it", unmarked(PARTITION, 6), (), OF_41),
        (
            "two broken markers",
            unmarked(PARTITION, 6, 10),
            ("violation seq.well_formed zombie-1@69, producer 16",),
            OF_41 | OF_69,
        ),
        (
            "an entry has a last stable offset that is wrong whatever the marker is",
            edits(unmarked(PARTITION, 6), with_entry(-1, STABLE, -1)),
            ("violation lso.aborted_index zombie-1@103, producer 21",),
            OF_41,
        ),
        (
            "an entry of an earlier transaction is wrong",
            edits(unmarked(PARTITION, 6), with_entry(0, FIRST, 1)),
            ("violation lso.aborted_index zombie-1@0, producer 11",),
            OF_41,
        ),
    )
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_a_broken_marker_does_not_explain_stays_a_finding(
    recordings: Path, tmp_path: Path, case: AuditCase
) -> None:
    """Each finding has its own consequences."""
    hold(case, tmp_path, recordings)
