from pathlib import Path

import pytest

from model_tests.audit.findings import Finding
from model_tests.audit.log import audit_log, surroundings
from model_tests.audit.partition_verdict import VERDICT
from model_tests.audit.recorded import KAFKA_3_9, UNREGISTERED, defect_clusters, defects
from model_tests.audit.run import run
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_folders import list_logs
from model_tests.unit.audit.stories import BEGUN, cluster_of
from model_tests.unit.audit.written_cluster import ABORT
from model_tests.unit.support.judged_transactions import found
from model_tests.unit.support.printed_reports import printed
from reference.log.batch import marker_batch
from spec import rules


def test_without_the_coordinators_log_an_open_transaction_is_undecided(tmp_path: Path) -> None:
    """Whether it hangs is not in the partitions; what is missing is named."""
    report = run([cluster_of("copied;" + BEGUN + "send b").write(tmp_path)])

    assert report.findings == ()
    (opened,) = report.transactions.unknown_open
    assert (opened.place.name, opened.run.first_offset) == ("b-0", 4)
    assert any("coordinator's log" in why for why in report.transactions.missing)


@pytest.mark.slow  # `eos verify` audits the same, and demands the same of each case
def test_every_defect_of_the_recordings_is_found_and_nothing_else(recordings: Path) -> None:
    """At its offset, by one of its rules; those that need the coordinator's log too."""
    report = run([], clusters=defect_clusters(recordings))

    by_case: dict[str, list[Finding]] = {}
    for one, finding in report.findings:
        if finding.severity in (Severity.VIOLATION, Severity.SUSPICIOUS):
            by_case.setdefault(Path(one.path).parent.name, []).append(finding)
    expected = {case.case: case for case in defects(recordings) if case.rules}
    assert by_case.keys() == expected.keys()
    for name, case in expected.items():
        (finding,) = by_case[name]
        assert (finding.offset, finding.producer_id) == (case.offset, case.producer_id), name
        assert finding.rule.id in case.rules


def test_the_recorded_transactions_are_what_they_were(recordings: Path) -> None:
    """In 3.9.0 one is open and nothing is wrong; the build of 4.0 has its known defect, and no other."""
    old = run([recordings / KAFKA_3_9])
    new = run([recordings / "kafka-4.0-tv2"])

    assert found(old) == []
    assert old.transactions.counts == {"committed": 789, "aborted": 323, "open": 1}
    (opened,) = [one for one in old.transactions.judged if one.status == "open"]
    assert (opened.one.known.producer_id, len(opened.one.open)) == (1017, 6)
    assert {(name, offset) for _, name, offset in found(new)} == {(name, offset) for _, name, offset in UNREGISTERED}


def test_what_no_transaction_registered_lacks_no_marker_where_the_coordinators_log_has_a_hole(tmp_path: Path) -> None:
    """One unreadable record hides whose the marker after it is, and not whose the data is."""
    story = BEGUN + "add a; send a b; prepare commit; mark a; complete; txn a b"
    cluster = cluster_of(story, version=2)
    cluster.write(tmp_path)
    (segment,) = (tmp_path / "__transaction_state-0").glob("*.log")
    content = bytearray(segment.read_bytes())
    content[-cluster.coordinator[-1].size - 1] ^= 1  # in the last Prepare record
    segment.write_bytes(content)

    report = run([tmp_path])

    assert len(report.damage) == 1
    assert [(rule, offset) for rule, _, offset in found(report)] == [("txn.registered_before_data", 4)]


def test_what_a_task_sends_is_what_it_found(tmp_path: Path) -> None:
    """Summaries and histories come back the same from their wire form."""
    cluster = cluster_of(BEGUN + "add a b c; send a b c; prepare commit; mark a c; complete", version=2)
    for log in list_logs([str(cluster.write(tmp_path))]).logs:
        verdict, damage = audit_log(log, surroundings(log))

        again = VERDICT.decode(VERDICT.encode((verdict, damage)))

        assert again == (verdict, damage)


@pytest.mark.parametrize("wrong", ["left", "right"])
def test_a_marker_that_is_wrong_in_one_replica_is_one_finding(tmp_path: Path, wrong: str) -> None:
    """That the other replica differs there follows from it, whichever of the two is compared with the other."""
    for name in ("left", "right"):
        cluster = cluster_of(BEGUN + "txn a b; txn a b", version=2)
        if name == wrong:
            own = cluster.logs["a", 0]
            own[5] = marker_batch(own[5].producer_id, own[5].producer_epoch, ABORT, 0, own[5].max_timestamp)
        cluster.write(tmp_path / name)

    report = run([tmp_path / "left", tmp_path / "right"])

    ((place, finding),) = report.findings
    assert (finding.rule, place.path) == (rules.TXN_ATOMIC, str(tmp_path / wrong / "a-0"))
    ((other, caused, _),) = report.consequences
    assert (caused.rule, other.path) == (rules.REPL_PREFIX_AGREEMENT, str(tmp_path / "right" / "a-0"))
    assert "right/a-0: this replica has" in printed(report)


def test_a_partition_whose_log_is_not_here_is_listed_as_not_read(tmp_path: Path) -> None:
    """That it has no data would be said of a log that nobody looked into."""
    cluster = cluster_of(BEGUN + "add a b; send a b", version=2)
    del cluster.logs["a", 0]

    report = run([cluster.write(tmp_path)])

    assert "a-0: not read" in printed(report)
    assert "b-0: 4..4" in printed(report)
