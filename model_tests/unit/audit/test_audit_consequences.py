"""What files beside a log say otherwise only since one marker or batch in it is broken: one finding, with that."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from model_tests.audit.findings import Finding
from model_tests.audit.log import read_log, surroundings
from model_tests.audit.partition import audit_batches
from model_tests.audit.recorded import KAFKA_3_9
from model_tests.audit.run import run
from model_tests.logs.kafka_log_derived import read_derived
from model_tests.logs.kafka_log_folders import LogFolder
from model_tests.unit.audit.cases.derived_files import raised, with_entries
from model_tests.unit.support.changed_directories import Change, changed, not_marked, without_epoch, without_id
from reference.log.batch import TRANSACTIONAL
from spec import rules
from spec.vocabulary import ABSENT, ControlType

PARTITION = "zombie-1"


def outside(content: bytearray, start: int) -> None:
    """The batch has no producer, and is in no transaction."""
    without_id(content, start)
    content[start + 22] &= ~TRANSACTIONAL


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


def test_a_finding_is_the_same_after_it_was_sent(broker: Path) -> None:
    """Audits on Spark join what tasks have found."""
    with_entries(f"{PARTITION}/{0:020}.txnindex", raised("first_offset", 0))(broker)

    (finding,) = found(broker)

    assert finding.follows == (1, 0)


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
