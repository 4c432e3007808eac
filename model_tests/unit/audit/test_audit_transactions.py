from pathlib import Path

import pytest

from model_tests.audit.findings import Finding
from model_tests.audit.log import audit_log, surroundings
from model_tests.audit.partition_verdict import VERDICT
from model_tests.audit.recorded import KAFKA_3_9, UNREGISTERED, defect_clusters, defects
from model_tests.audit.report import AuditReport
from model_tests.audit.run import run
from model_tests.common.reports import HOLDS, VIOLATED
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_folders import list_logs
from model_tests.unit.audit.written_cluster import ABORT, COMMIT, WrittenCluster
from model_tests.unit.support.transaction_stories import A, B, C, Story, begun, found

OFFSETS = ("__consumer_offsets", 0)


def only(report: AuditReport) -> Finding:
    """The one finding there is."""
    ((_, finding),) = report.findings
    return finding


def ended(cluster: WrittenCluster, *partitions: tuple[str, int]) -> None:
    """Prepare and Complete of a transaction with data, with markers on these partitions only."""
    cluster.add("tx", A, B, C)
    for partition in (A, B, C):
        cluster.send("tx", partition)
    cluster.prepare("tx", COMMIT)
    cluster.mark("tx", *partitions)
    cluster.complete("tx")


def fenced(cluster: WrittenCluster) -> None:
    """A second instance fences the first, whose abort raises the epoch under every version."""
    cluster.transaction("tx", [A], ABORT, fenced=True)
    cluster.init("tx", 7, cluster.values["tx"].epoch + 1)
    cluster.transaction("tx", [A, B])


def empty(cluster: WrittenCluster) -> None:
    """Registered and never written to."""
    cluster.add("tx", A, B)
    cluster.prepare("tx", COMMIT)
    cluster.mark("tx", A, B)
    cluster.complete("tx")


def resent(cluster: WrittenCluster) -> None:
    """A marker is sent again, since its answer was lost."""
    cluster.add("tx", A)
    cluster.send("tx", A)
    cluster.prepare("tx", COMMIT)
    cluster.mark("tx", A, A)
    cluster.complete("tx")


def in_flight(cluster: WrittenCluster) -> None:
    """Prepared, with one marker still on its way."""
    cluster.add("tx", A, B)
    cluster.send("tx", A)
    cluster.send("tx", B)
    cluster.prepare("tx", COMMIT)
    cluster.mark("tx", A)


def still_open(cluster: WrittenCluster) -> None:
    """Not ended yet."""
    cluster.add("tx", A, B)
    cluster.send("tx", A)


def upgraded(cluster: WrittenCluster) -> None:
    """From here on every end of a transaction raises the epoch."""
    cluster.version = 2
    cluster.init("tx", 7, cluster.values["tx"].epoch + 1)
    cluster.transaction("tx", [A, B, C])
    cluster.transaction("tx", [A, C], ABORT)


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("story", [fenced, empty, resent, in_flight, still_open, upgraded])
def test_what_may_happen_is_no_finding(tmp_path: Path, version: int, story: Story) -> None:
    """Fences, empty transactions, repeated markers, transactions under way, several regimes in one log."""
    cluster = begun(version)
    story(cluster)

    report = run([cluster.write(tmp_path)])

    assert report.findings == ()
    assert report.exit_code == HOLDS
    assert report.transactions.missing == {}


def torn(cluster: WrittenCluster) -> None:
    cluster.add("tx", A, B, C)
    for partition in (A, B, C):
        cluster.send("tx", partition)
    cluster.prepare("tx", COMMIT)
    cluster.mark("tx", A, C)
    cluster.mark("tx", B, outcome=ABORT)
    cluster.complete("tx")


def unmarked(cluster: WrittenCluster) -> None:
    ended(cluster, A, C)


def unmarked_in_between(cluster: WrittenCluster) -> None:
    ended(cluster, A, C)
    cluster.transaction("tx", [A, B, C])


def twice(cluster: WrittenCluster) -> None:
    cluster.add("tx", B)
    cluster.send("tx", B)
    cluster.prepare("tx", COMMIT)
    cluster.mark("tx", B)
    cluster.mark("tx", B, outcome=ABORT)
    cluster.complete("tx")


def late(cluster: WrittenCluster) -> None:
    cluster.send("tx", B)


def unregistered(cluster: WrittenCluster) -> None:
    cluster.add("tx", A)
    cluster.send("tx", A)
    cluster.send("tx", B)
    cluster.prepare("tx", COMMIT)
    cluster.mark("tx", A, B)
    cluster.complete("tx")


def against_the_log(cluster: WrittenCluster) -> None:
    cluster.add("tx", B)
    cluster.send("tx", B)
    cluster.prepare("tx", COMMIT)
    cluster.mark("tx", B, outcome=ABORT)
    cluster.complete("tx")


def stray(cluster: WrittenCluster) -> None:
    cluster.now += 1000
    cluster.mark("tx", B, outcome=COMMIT)
    cluster.init("later", 9)


def wrong_regime(cluster: WrittenCluster) -> None:
    cluster.add("tx", B)
    cluster.send("tx", B)
    cluster.prepare("tx", COMMIT)
    cluster.mark("tx", B, epoch=cluster.values["tx"].epoch + 1)
    cluster.complete("tx")


def by_a_zombie(cluster: WrittenCluster) -> None:
    old = cluster.values["tx"].epoch
    fenced(cluster)
    cluster.send("tx", B, epoch=old)


@pytest.mark.parametrize(
    ("story", "version", "expected"),
    [
        (torn, 0, ("txn.atomic", "b-0", 5)),
        (torn, 2, ("txn.atomic", "b-0", 5)),
        (against_the_log, 0, ("txn.one_outcome", "b-0", 5)),
        (unmarked, 0, ("txn.marker_once", "b-0", 4)),
        (unmarked, 2, ("txn.marker_once", "b-0", 4)),
        (unmarked_in_between, 0, ("txn.marker_once", "b-0", 4)),
        (unmarked_in_between, 2, ("txn.marker_once", "b-0", 4)),
        (twice, 0, ("txn.one_outcome", "b-0", 6)),
        (twice, 2, ("txn.one_outcome", "b-0", 6)),
        (late, 0, ("txn.registered_before_data", "b-0", 4)),
        (late, 2, ("txn.registered_before_data", "b-0", 4)),
        (unregistered, 0, ("txn.registered_before_data", "b-0", 4)),
        (unregistered, 2, ("txn.registered_before_data", "b-0", 4)),
        (stray, 0, ("txn.marker_once", "b-0", 4)),
        (wrong_regime, 0, ("txn.marker_once", "b-0", 5)),
        (wrong_regime, 2, ("txn.marker_once", "b-0", 5)),
        (by_a_zombie, 0, ("fence.stale_epoch", "b-0", 6)),
    ],
)
def test_what_must_not_happen_is_found_at_its_offset(
    tmp_path: Path, story: Story, version: int, expected: tuple[str, str, int]
) -> None:
    """One cause, one finding: the rule, the partition, the first offset that shows it."""
    cluster = begun(version)
    story(cluster)

    report = run([cluster.write(tmp_path)])

    assert found(report) == [expected]
    assert report.exit_code == VIOLATED
    assert only(report).transactional_id == "tx"
    assert only(report).step != ""


@pytest.mark.parametrize("story", [unmarked, late])
def test_a_hanging_transaction_comes_with_the_command_that_ends_it(tmp_path: Path, story: Story) -> None:
    """With topic, partition and start offset; it is printed, never run."""
    cluster = begun()
    story(cluster)

    report = run([cluster.write(tmp_path)])

    assert "kafka-transactions.sh" in only(report).remedy
    assert "abort --topic b --partition 0 --start-offset 4" in only(report).remedy


@pytest.mark.parametrize("registered", [True, False])
def test_offsets_without_the_outcome_of_their_outputs_are_named(tmp_path: Path, registered: bool) -> None:
    """The outputs are committed; the offsets have no marker, or never joined the transaction."""
    cluster = begun()
    cluster.add("tx", *((A, OFFSETS) if registered else (A,)))
    cluster.send("tx", A)
    cluster.send("tx", OFFSETS)
    cluster.prepare("tx", COMMIT)
    cluster.mark("tx", A)
    cluster.complete("tx")

    report = run([cluster.write(tmp_path)])

    assert found(report) == [("offsets.atomic", "__consumer_offsets-0", 0)]


def test_without_the_coordinators_log_an_open_transaction_is_undecided(tmp_path: Path) -> None:
    """Whether it hangs is not in the partitions; what is missing is named."""
    cluster = begun()
    late(cluster)
    cluster.coordinator.clear()

    report = run([cluster.write(tmp_path)])

    assert report.findings == ()
    (opened,) = report.transactions.unknown_open
    assert (opened.place.name, opened.run.first_offset) == ("b-0", 4)
    assert any("coordinator's log" in why for why in report.transactions.missing)


def test_an_epoch_raised_once_has_one_outcome_even_without_the_coordinators_log(tmp_path: Path) -> None:
    """Under version 2 every marker epoch ends one transaction only."""
    cluster = begun(2)
    torn(cluster)
    cluster.coordinator.clear()

    report = run([cluster.write(tmp_path)])

    assert found(report) == [("txn.atomic", "b-0", 5)]


def test_a_log_whose_end_is_lost_is_not_blamed_for_its_last_marker(tmp_path: Path) -> None:
    """The recovery point shows that there was more; the finding is a doubt."""
    cluster = begun()
    unmarked(cluster)
    directory = cluster.write(tmp_path)
    (directory / "recovery-point-offset-checkpoint").write_text("0\n1\nb 0 9\n")

    report = run([directory])

    assert found(report) == []
    assert "the end of its log is missing" in report.transactions.missing


def test_data_with_old_timestamps_belongs_to_the_marker_after_it(tmp_path: Path) -> None:
    """The marker of the transaction before lies below the log start; a client's timestamps say nothing against that."""
    cluster = begun()
    cluster.add("tx", B)
    cluster.send("tx", B)
    long_ago = cluster.now
    cluster.now += 60_000
    cluster.prepare("tx", COMMIT)
    cluster.mark("tx", B)
    cluster.complete("tx")
    cluster.add("tx", B)
    now, cluster.now = cluster.now, long_ago
    cluster.send("tx", B)
    cluster.now = now
    cluster.prepare("tx", COMMIT)
    cluster.mark("tx", B)
    cluster.complete("tx")

    report = run([cluster.write(tmp_path, {B: 6})])

    assert found(report) == []


def test_markers_of_a_broker_whose_clock_is_behind_are_paired_by_what_they_say(tmp_path: Path) -> None:
    """An ABORT marker with the time of the COMMIT before it is of the transaction after it."""
    cluster = begun()
    cluster.transaction("tx", [B])
    committed = cluster.now - 9
    cluster.add("tx", B)
    cluster.prepare("tx", ABORT)
    now, cluster.now = cluster.now, committed
    cluster.mark("tx", B)
    cluster.now = now
    cluster.complete("tx")

    report = run([cluster.write(tmp_path)])

    assert found(report) == []


@pytest.mark.parametrize("with_data", [True, False])
def test_an_abort_by_hand_is_suspicious(tmp_path: Path, with_data: bool) -> None:
    """An abort marker that matches no transaction may be an operator's, and may be sent twice."""
    cluster = begun()
    cluster.transaction("tx", [B])
    cluster.now += 1000
    if with_data:
        cluster.send("tx", B)
    cluster.mark("tx", B, outcome=ABORT)
    cluster.init("later", 9)

    report = run([cluster.write(tmp_path)])

    ((_, finding),) = report.findings
    assert finding.severity is Severity.SUSPICIOUS
    assert "by hand" in finding.message


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


def test_what_a_task_sends_is_what_it_found(tmp_path: Path) -> None:
    """Summaries and histories come back the same from their wire form."""
    cluster = begun(2)
    unmarked(cluster)
    for log in list_logs([str(cluster.write(tmp_path))]).logs:
        verdict, damage = audit_log(log, surroundings(log))

        again = VERDICT.decode(VERDICT.encode((verdict, damage)))

        assert again == (verdict, damage)
