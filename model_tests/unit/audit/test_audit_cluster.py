import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from model_tests.audit.changes import (
    BROKERS,
    CONTROLLER_LOG,
    as_commit,
    batches_in,
    copied,
    cut,
    flipped,
    in_coordinator_epoch,
    in_leader_epoch,
    outside_transactions,
    with_change,
)
from model_tests.audit.findings import Finding
from model_tests.audit.recorded import CLUSTER, CLUSTER_RUNNING, KAFKA_3_9, journal
from model_tests.audit.report import AuditReport
from model_tests.audit.run import run
from model_tests.common.reports import HOLDS, VIOLATED
from model_tests.histories.severity import Severity

ZOMBIE, OFFSETS, UNCLEAN = "zombie-0", "__consumer_offsets-0", "unclean2-2"
COORDINATORS = tuple(f"__transaction_state-{number}" for number in range(4))


def found(report: AuditReport, *severities: Severity) -> list[tuple[str, str, str, int]]:
    """Rule, broker, partition and offset of every finding that is this sure, elections apart."""
    return [
        (finding.rule.id, Path(one.path).parent.name, f"{one.topic}-{one.partition}", finding.offset)
        for one, finding in report.findings
        if finding.severity in severities and one.topic != "__cluster_metadata"
    ]


def surely(report: AuditReport) -> list[tuple[str, str, str, int]]:
    return found(report, Severity.VIOLATION, Severity.SUSPICIOUS)


@pytest.fixture(scope="module")
def whole(recordings: Path) -> AuditReport:
    """The stopped cluster, with the journal of its clients."""
    return run([recordings / CLUSTER], history=journal(CLUSTER))


def test_three_brokers_break_nothing_outside_unclean_elections(whole: AuditReport) -> None:
    """Replicas agree, markers and transactions are as decided; what is lost an unclean election took."""
    violated = {finding.severity for _, finding in whole.findings} & {Severity.VIOLATION, Severity.UNDECIDED}

    assert violated == set()
    assert whole.damage == ()
    assert {one.topic for one, finding in whole.findings} == {"__cluster_metadata", "unclean", "unclean2"}
    assert whole.exit_code == HOLDS


def test_what_unclean_elections_took_is_known(whole: AuditReport) -> None:
    """Seven elections; a transaction that hangs, others of which all is gone, and offsets that were used again."""
    elections = [finding.offset for one, finding in whole.findings if one.topic == "__cluster_metadata"]
    hanging = next(one for one in whole.transactions.judged if one.status == "hanging")

    assert elections == [837, 838, 839, 843, 844, 1204, 1468]
    assert (hanging.one.known.transactional_id, hanging.one.known.producer_id) == ("uh-11", 3001)
    assert found(whole, Severity.KNOWN) == [
        ("seq.exactly_once", "n1", "unclean-0", 1125),
        ("seq.exactly_once", "n1", "unclean-1", 1036),
        ("seq.exactly_once", "n1", "unclean-2", 1067),
        ("txn.marker_once", "n1", UNCLEAN, 234),
        ("txn.client_verdict", "n1", UNCLEAN, 252),
        ("txn.marker_once", "n1", UNCLEAN, 252),
        ("seq.exactly_once", "n1", UNCLEAN, 253),
        ("txn.client_verdict", "n1", UNCLEAN, 259),
        ("txn.client_verdict", "n1", UNCLEAN, 270),
        ("txn.client_verdict", "n1", UNCLEAN, 274),
        ("txn.marker_once", "n1", UNCLEAN, 418),
    ]
    known = [finding for one, finding in whole.findings if finding.severity is Severity.KNOWN]
    assert all("unclean election" in finding.message for finding in known)


def test_every_replica_is_compared(whole: AuditReport) -> None:
    """Of three replicas two are compared with the first, and the counts of elections are the controller's own."""
    cluster = whole.cluster

    assert (cluster.elections, cluster.shrinks, cluster.expansions, cluster.unclean) == (417, 689, 631, 7)
    assert cluster.replicated == 23
    assert whole.judged()["repl.prefix_agreement"] == cluster.compared > 10_000
    assert whole.judged()["repl.hw_bounds"] == 63


def test_a_cluster_that_runs_while_it_is_copied_is_no_violation(recordings: Path) -> None:
    """One broker is down, its log behind, and high watermarks lag: nothing is found, nothing is in doubt."""
    report = run([recordings / CLUSTER_RUNNING])

    assert report.findings == ()
    assert report.transactions.counts == {"committed": 238, "aborted": 82, "open": 5}


def test_a_broker_that_missed_the_end_is_behind(recordings: Path) -> None:
    """The log of a broker that died earlier lacks what came later, and disagrees with nothing."""
    brokers = [recordings / CLUSTER / "n1", recordings / CLUSTER_RUNNING / "n3"]

    assert surely(run(brokers)) == []


CHANGES: dict[str, tuple[str, int, Callable[[bytearray], None], tuple[str, ...], str]] = {
    "a bit of a record": (ZOMBIE, 405, flipped, ("n2",), "repl.prefix_agreement"),
    "a bit on the leader": (ZOMBIE, 405, flipped, ("n1",), "repl.prefix_agreement"),
    "an earlier leader epoch": (ZOMBIE, 405, in_leader_epoch(9), ("n2",), "repl.prefix_agreement"),
    "a later leader epoch": (ZOMBIE, 405, in_leader_epoch(11), ("n3",), "repl.prefix_agreement"),
    "the first batch of an epoch, of two replicas": (UNCLEAN, 64, in_leader_epoch(1), ("n3",), "repl.prefix_agreement"),
    "a falling leader epoch everywhere": (ZOMBIE, 405, in_leader_epoch(9), BROKERS, "repl.prefix_agreement"),
    "a leader epoch without a leader": (ZOMBIE, 532, in_leader_epoch(40), BROKERS, "repl.prefix_agreement"),
    "a coordinator that never was": (ZOMBIE, 437, in_coordinator_epoch(99), BROKERS, "fence.coordinator_epoch"),
    "a marker on one replica": (ZOMBIE, 409, in_coordinator_epoch(14), ("n2",), "repl.prefix_agreement"),
    "offsets without a transaction": (OFFSETS, 104, outside_transactions, BROKERS, "offsets.atomic"),
    "offsets of an aborted transaction": (OFFSETS, 104, flipped, ("n3",), "repl.prefix_agreement"),
    "a record of the coordinator": ("__transaction_state-1", 50, flipped, ("n3",), "repl.prefix_agreement"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_one_changed_batch_is_one_finding(recordings: Path, tmp_path: Path, name: str) -> None:
    """At its offset, on the replica that differs or once for all, by its rule, and nothing else."""
    partition, offset, change, nodes, rule = CHANGES[name]
    cluster = copied(recordings, tmp_path / "cluster", partition)
    with_change(cluster, partition, offset, change, *nodes)

    report = run([cluster])

    assert found(report, *Severity) == [(rule, nodes[0], partition, offset)]
    assert report.damage == ()
    assert report.exit_code == VIOLATED


@pytest.mark.parametrize(
    ("partition", "offset", "change", "rule"),
    [
        (ZOMBIE, 532, in_coordinator_epoch(3), "fence.coordinator_epoch"),
        (OFFSETS, 106, as_commit, "txn.one_outcome"),
    ],
    ids=["stale", "of another outcome"],
)
def test_a_changed_marker_is_found_with_its_transaction(
    recordings: Path, tmp_path: Path, partition: str, offset: int, change: Callable[[bytearray], None], rule: str
) -> None:
    """The coordinator's log has the epoch and the outcome that it should have; offsets are named."""
    cluster = copied(recordings, tmp_path / "cluster", partition, *COORDINATORS)
    with_change(cluster, partition, offset, change)

    report = run([cluster])

    assert surely(report) == [(rule, "n1", partition, offset)]
    offsets = [finding.message for _, finding in report.findings if "orders-0 = 1667" in finding.message]
    assert bool(offsets) == (partition == OFFSETS)


def only(report: AuditReport) -> Finding:
    """The one finding that is not about elections."""
    (finding,) = [finding for one, finding in report.findings if one.topic != "__cluster_metadata"]
    return finding


@pytest.mark.parametrize("stopped", [True, False], ids=["stopped", "killed"])
def test_a_replica_that_lost_committed_records_is_named(recordings: Path, tmp_path: Path, stopped: bool) -> None:
    """Its end is below its own high watermark; only a clean stop rules out that a crash explains it."""
    cluster = copied(recordings, tmp_path / "cluster", ZOMBIE)
    end = cut(cluster, ZOMBIE, "n3", batches=3)
    if not stopped:
        (cluster / "n3" / ".kafka_cleanshutdown").unlink()

    finding = only(run([cluster]))

    assert (finding.rule.id, finding.offset) == ("repl.hw_bounds", end)
    assert finding.severity is (Severity.VIOLATION if stopped else Severity.UNDECIDED)


def test_a_short_log_is_named_whatever_its_own_checkpoint_says(recordings: Path, tmp_path: Path) -> None:
    """Broker 3 was in sync to the end; the others know that more is committed than it has."""
    cluster = copied(recordings, tmp_path / "cluster", ZOMBIE)
    end = cut(cluster, ZOMBIE, "n3", batches=3)
    checkpoint = cluster / "n3" / "replication-offset-checkpoint"
    checkpoint.write_text(checkpoint.read_text().replace("zombie 0 533", f"zombie 0 {end}"))

    report = run([cluster])

    assert surely(report) == [("repl.hw_bounds", "n3", ZOMBIE, end)]


def test_replicas_that_were_cleaned_apart_do_not_differ(recordings: Path, tmp_path: Path) -> None:
    """Every broker cleans its own log; below what either has cleaned, nothing is compared."""
    for node in BROKERS[:2]:
        shutil.copytree(recordings / KAFKA_3_9 / "ledger-0", tmp_path / node / "ledger-0")
        for checkpoint in (recordings / KAFKA_3_9).glob("*-checkpoint"):
            shutil.copy2(checkpoint, tmp_path / node)
        (tmp_path / node / "meta.properties").write_text(f"cluster.id=one\nnode.id={node[1:]}\n")
    segment = min((tmp_path / "n2" / "ledger-0").glob("*.log"))
    content = segment.read_bytes()
    batches = list(batches_in(content))
    segment.write_bytes(b"".join(content[start:end] for start, end in batches[::2]))
    for derived in (tmp_path / "n2" / "ledger-0").glob("*index"):
        derived.unlink()

    report = run([tmp_path])

    assert report.cluster.replicated == 1
    assert [one for one in surely(report) if one[0] == "repl.prefix_agreement"] == []


def test_another_history_after_an_unclean_election_is_known(recordings: Path, tmp_path: Path) -> None:
    """A replica still has what the leader before the election appended, where the others have the next leader's."""
    cluster = copied(recordings, tmp_path / "cluster", UNCLEAN)
    with_change(cluster, UNCLEAN, 252, in_leader_epoch(4), "n3")

    finding = only(run([cluster]))

    assert (finding.rule.id, finding.severity, finding.offset) == ("repl.prefix_agreement", Severity.KNOWN, 252)
    assert "unclean election of broker 1 for leader epoch 5" in finding.message


def test_a_difference_within_an_epoch_is_a_violation_after_unclean_elections_too(
    recordings: Path, tmp_path: Path
) -> None:
    """No election explains two batches of one leader at the same offset."""
    cluster = copied(recordings, tmp_path / "cluster", UNCLEAN)
    with_change(cluster, UNCLEAN, 284, flipped, "n3")

    finding = only(run([cluster]))

    assert (finding.severity, finding.offset) == (Severity.VIOLATION, 284)


def test_without_high_watermarks_a_difference_under_one_leader_is_suspicious(recordings: Path, tmp_path: Path) -> None:
    """Two copies alone do not show which of their records were committed; but a leader wrote one of them only."""
    cluster = copied(recordings, tmp_path / "cluster", ZOMBIE, controlled=False)
    with_change(cluster, ZOMBIE, 405, flipped, "n2")
    for node in BROKERS:
        (cluster / node / "replication-offset-checkpoint").unlink()

    finding = only(run([cluster]))

    assert (finding.severity, finding.offset) == (Severity.SUSPICIOUS, 405)


def test_a_folder_of_an_earlier_topic_of_the_name_is_judged_by_itself(recordings: Path, tmp_path: Path) -> None:
    """A topic that was deleted and made anew has another id: neither its leaders nor its replicas are the same."""
    cluster = copied(recordings, tmp_path / "cluster", ZOMBIE)
    with_change(cluster, ZOMBIE, 532, in_leader_epoch(40), "n1")
    (cluster / "n1" / ZOMBIE / "leader-epoch-checkpoint").unlink()
    metadata = cluster / "n1" / ZOMBIE / "partition.metadata"
    metadata.write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAABw\n")

    assert found(run([cluster]), *Severity) == []


def test_what_lies_above_a_high_watermark_may_differ(recordings: Path, tmp_path: Path) -> None:
    """A broker that was killed may have records that no other replica has; it will truncate them when it returns."""
    cluster = copied(recordings, tmp_path / "cluster", ZOMBIE)
    with_change(cluster, ZOMBIE, 532, flipped, "n2")
    checkpoint = cluster / "n2" / "replication-offset-checkpoint"
    checkpoint.write_text(checkpoint.read_text().replace("zombie 0 533", "zombie 0 532"))

    assert found(run([cluster]), *Severity) == []


def test_an_older_copy_of_the_controllers_log_proves_nothing_newer_wrong(recordings: Path, tmp_path: Path) -> None:
    """Leaders and coordinators that came after its end are unknown to it, not impossible."""
    cluster = copied(recordings, tmp_path / "cluster", ZOMBIE, controlled=False)
    shutil.copytree(recordings / CLUSTER / "n100", cluster / "n100")
    (segment,) = (cluster / "n100" / CONTROLLER_LOG).glob("*.log")
    content = segment.read_bytes()
    batches = list(batches_in(content))
    segment.write_bytes(content[: batches[len(batches) // 2][0]])

    report = run([cluster])

    assert 0 < report.cluster.elections < 417
    assert surely(report) == []


def test_what_retention_removed_on_one_replica_is_no_difference(recordings: Path, tmp_path: Path) -> None:
    """Replicas delete their oldest segments on their own; what both have is compared."""
    cluster = copied(recordings, tmp_path / "cluster", "orders-0", controlled=False)
    segments = sorted((cluster / "n2" / "orders-0").glob("*.log"))
    kept = int(segments[2].stem)
    for file in (cluster / "n2" / "orders-0").iterdir():
        if file.name[:20].isdigit() and int(file.name[:20]) < kept:
            file.unlink()

    assert surely(run([cluster])) == []

    with_change(cluster, "orders-0", kept, flipped, "n2")

    assert surely(run([cluster])) == [("repl.prefix_agreement", "n2", "orders-0", kept)]


def test_a_directory_that_is_copied_in_part_is_no_violation(recordings: Path, tmp_path: Path) -> None:
    """Partitions that a broker's copy lacks are compared with nothing."""
    cluster = copied(recordings, tmp_path / "cluster", ZOMBIE, "hang-0")
    shutil.rmtree(cluster / "n2" / ZOMBIE)
    shutil.rmtree(cluster / "n3")

    assert surely(run([cluster])) == []
