from dataclasses import replace

from model_tests.audit.findings import Finding
from model_tests.audit.log import read_log, surroundings
from model_tests.audit.partition import audit_batches
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_derived import DerivedFile, Rows, read_derived
from model_tests.logs.kafka_log_folders import LogFolder
from spec import rules
from spec.vocabulary import ABSENT

SNAPSHOT = 5693


def taken_at(log: LogFolder, number: int) -> DerivedFile:
    return next(file for file in read_derived(log).snapshots if file.number == number)


def found_with(log: LogFolder, rows: Rows, number: int = SNAPSHOT) -> list[Finding]:
    """The findings where a snapshot has these entries."""
    derived = read_derived(log)
    derived.snapshots = [replace(file, rows=rows) if file.number == number else file for file in derived.snapshots]
    return list(audit_batches(read_log(log)[0], surroundings(log), derived=derived).findings)


def test_another_producer_id_in_a_snapshot_is_one_finding(log: LogFolder) -> None:
    """It names both: the one that no log has, and the one that is not there."""
    rows = taken_at(log, SNAPSHOT).rows.copy()
    right = int(rows["producer_id"][1])
    rows["producer_id"][1] += 500

    (finding,) = found_with(log, rows)

    assert (finding.rule, finding.severity) == (rules.SEQ_STATE_RECOVERABLE, Severity.VIOLATION)
    assert (finding.offset, finding.producer_id) == (int(rows["last_offset"][1]), right)
    assert f"says producer {right + 500}, the log {right}" in finding.message


def test_an_unknown_producer_beside_one_that_is_left_out_is_reported_with_both_counted(log: LogFolder) -> None:
    """They are not the same one where anything else differs."""
    rows = taken_at(log, SNAPSHOT).rows.copy()
    rows["producer_id"][1] += 500
    rows["last_sequence"][1] += 1

    (finding,) = found_with(log, rows)

    assert "2 producers are not as in the log" in finding.message


def test_a_snapshot_under_the_name_of_another_is_one_finding(log: LogFolder) -> None:
    """Every producer differs, and the other is named."""
    numbers = [file.number for file in read_derived(log).snapshots if len(file.rows) > 1]
    first, second = numbers[0], numbers[-1]

    (finding,) = found_with(log, taken_at(log, first).rows, second)

    assert (finding.rule, finding.producer_id) == (rules.SEQ_STATE_RECOVERABLE, ABSENT)
    assert f"{second:020}.snapshot" in finding.message
    assert "producers are not as in the log" in finding.message
    assert f"all is as in {first:020}.snapshot" in finding.message


def test_a_snapshot_that_is_not_there_is_no_finding(log: LogFolder) -> None:
    """A broker makes it anew from the log."""
    derived = read_derived(log)
    assert [len(file.rows) for file in derived.snapshots if len(file.rows)]
    derived.snapshots = []

    verdict = audit_batches(read_log(log)[0], surroundings(log), derived=derived)

    assert verdict.findings == ()
    assert verdict.judged[rules.SEQ_STATE_RECOVERABLE.id] == 0
