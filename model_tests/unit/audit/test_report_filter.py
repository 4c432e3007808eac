"""What is about several producers, ids or times is shown where any of them is selected."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from model_tests.audit.findings import Finding
from model_tests.audit.partition_verdict import AuditedTransactionLog
from model_tests.audit.recorded import KAFKA_3_9
from model_tests.audit.report import AuditReport
from model_tests.audit.report_filter import chosen_findings
from model_tests.audit.run import run
from model_tests.audit.transactions_report import ListedTransactions
from model_tests.unit.audit.written import data, write_segment
from model_tests.unit.support.one_cause import identified, record, two_producers
from reference.log.batch import RecordBatch
from spec.vocabulary import ProducerId


def of(producer: int, sequence: int, *, at: int = 0) -> RecordBatch:
    """Data of one record of a producer."""
    return data(sequence, at=at)._replace(producer_id=ProducerId(producer))


def shown(report: AuditReport, choice: ListedTransactions) -> list[Finding]:
    """What of a report is shown."""
    logs = [AuditedTransactionLog(one.path, one.topic, one.partition, one.verdict) for one in report.audited]
    request = chosen_findings(logs, [one.verdict.findings for one in report.audited], choice, report.transactions)
    return [finding for own in request for finding in own]


def swapped(folder: Path) -> None:
    """A batch of one producer that is another's."""
    write_segment(folder / "t-0", [of(7, 0), of(8, 0), of(8, 1), of(7, 2), of(8, 1), of(7, 3), of(8, 2)])


def cleaned(folder: Path) -> None:
    """Two producers go on behind what the cleaner may have removed."""
    write_segment(folder / "t-0", [of(7, 0), of(8, 0)])
    write_segment(folder / "t-0", [of(7, 5), of(8, 5)], 9)
    (folder / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 9\n")


def begun(folder: Path) -> None:
    """Two producers begin where the cleaner was."""
    write_segment(folder / "t-0", [of(9, 0)])
    write_segment(folder / "t-0", [of(7, 5), of(8, 5)], 9)
    (folder / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 9\n")


@pytest.mark.parametrize("planted", [swapped, cleaned, begun])
def test_a_finding_of_two_producers_is_shown_for_each(tmp_path: Path, planted: Callable[[Path], None]) -> None:
    """And for no third."""
    planted(tmp_path)
    report = run([tmp_path])
    (finding,) = shown(report, ListedTransactions())

    assert (
        shown(report, ListedTransactions(producer_id=7))
        == shown(report, ListedTransactions(producer_id=8))
        == [finding]
    )
    assert shown(report, ListedTransactions(producer_id=9)) == []


@pytest.mark.parametrize(("kind", "copied_from"), [("txnindex", None), ("snapshot", "00000000000000004331")])
def test_a_finding_of_a_file_is_shown_for_each_producer_in_it(
    recordings: Path, tmp_path: Path, kind: str, copied_from: str | None
) -> None:
    """An aborted index that is missing, a snapshot that is another's."""
    folder = tmp_path / "crash-2"
    shutil.copytree(recordings / KAFKA_3_9 / folder.name, folder)
    file = folder / f"00000000000000006498.{kind}"
    file.unlink()
    if copied_from:
        shutil.copy(folder / f"{copied_from}.{kind}", file)
    report = run([folder])
    (finding,) = [one for one in shown(report, ListedTransactions()) if one.severity == "violation"]

    assert len(finding.others) > 1
    assert all(shown(report, ListedTransactions(producer_id=int(each))) == [finding] for each in finding.others)


def test_a_record_under_another_ids_key_is_shown_for_both_ids(tmp_path: Path) -> None:
    """The one whose key it has, and the one whose it is."""
    cluster = two_producers(0)
    at = next(at for at, one in enumerate(cluster.coordinator[4:], 4) if identified(one)[0] == "tx")
    cluster.coordinator[at] = record("other", identified(cluster.coordinator[at])[1], cluster.coordinator[at])
    report = run([cluster.write(tmp_path)])
    (finding,) = shown(report, ListedTransactions())

    for name in ("tx", "other"):
        assert shown(report, ListedTransactions(transactional_id=name)) == [finding]
    assert shown(report, replace(ListedTransactions(), transactional_id="nobody")) == []


def test_what_comes_late_is_shown_in_the_time_in_which_it_comes(tmp_path: Path) -> None:
    """And in that in which it is missing."""
    day = 24 * 3600 * 1000
    batches = [of(7, 0, at=day), of(7, 1, at=day), of(7, 3, at=day), of(7, 4, at=day), of(7, 2, at=3 * day)]
    write_segment(tmp_path / "t-0", batches)
    report = run([tmp_path])
    (finding,) = shown(report, ListedTransactions())

    assert finding.found_at == (4,)
    assert (
        shown(report, ListedTransactions(since_ms=2 * day))
        == shown(report, ListedTransactions(until_ms=2 * day))
        == [finding]
    )
    assert shown(report, ListedTransactions(since_ms=4 * day)) == []
