import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

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
from model_tests.audit.recorded import CLUSTER, CLUSTER_RUNNING, KAFKA_3_9, journal
from model_tests.audit.report import AuditReport
from model_tests.audit.run import run
from model_tests.common.reports import HOLDS
from model_tests.histories.severity import Severity
from model_tests.unit.audit.directory_edits import Edit, edits, gone
from model_tests.unit.audit.stories import AuditCase, hold
from spec.vocabulary import Api

ZOMBIE, OFFSETS, UNCLEAN = "zombie-0", "__consumer_offsets-0", "unclean2-2"
WATERMARKS: Final = "replication-offset-checkpoint"
SHORT: Final = 522
"""Where the log of `ZOMBIE` ends without its last three batches."""

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


ELECTIONS: Final = "known repl.committed_survives n1/__cluster_metadata-0"
"""How the findings begin that report of unclean elections."""


def of_cluster(
    name: str,
    edit: Edit,
    *findings: str,
    parts: tuple[str, ...] = (ZOMBIE,),
    controlled: bool = True,
    says: tuple[str, ...] = (),
    damage: tuple[str, ...] = (),
) -> AuditCase:
    """Partitions of the cluster, with all files beside them and one copy of the controller's log, edited."""
    files = ("n?/*checkpoint", "n?/*.properties", "n?/.kafka_cleanshutdown")
    controller = (f"n1/{CONTROLLER_LOG}",) * controlled
    copied = (*files, *controller, *(f"n?/{part}" for part in parts))
    return AuditCase(
        name, "", findings, says, damage=damage, recording=CLUSTER, parts=copied, apart=ELECTIONS, edit=edit
    )


def batch(partition: str, offset: int, change: Callable[[bytearray], None], *nodes: str) -> Edit:
    """A batch is changed on these brokers, on all where none is named."""
    return lambda cluster: with_change(cluster, partition, offset, change, *nodes)


def shortened(cluster: Path) -> None:
    """The last three batches of a replica are gone."""
    assert cut(cluster, ZOMBIE, "n3", batches=3) == SHORT


def watermark(node: str, offset: int) -> Edit:
    """The checkpoint of a broker has another high watermark."""

    def edit(cluster: Path) -> None:
        checkpoint = cluster / node / WATERMARKS
        checkpoint.write_text(checkpoint.read_text().replace("zombie 0 533", f"zombie 0 {offset}"))

    return edit


def topic_made_anew(cluster: Path) -> None:
    """The folder on one broker is of an earlier topic of the name."""
    folder = cluster / "n1" / ZOMBIE
    (folder / "leader-epoch-checkpoint").unlink()
    (folder / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAABw\n")


def differs(
    name: str, partition: str, offset: int, change: Callable[[bytearray], None], node: str, step: str = "Fetch"
) -> AuditCase:
    """One batch of one replica is changed."""
    finding = f"violation repl.prefix_agreement {node}/{partition}@{offset}, {step}"
    return of_cluster(name, batch(partition, offset, change, node), finding, parts=(partition,))


def everywhere(
    name: str, partition: str, offset: int, change: Callable[[bytearray], None], rule: str, step: str
) -> AuditCase:
    """One batch of all replicas is changed."""
    finding = f"violation {rule} n1/{partition}@{offset}, {step}"
    return of_cluster(name, batch(partition, offset, change, *BROKERS), finding, parts=(partition,))


CASES: Final = (
    differs("a bit of a record", ZOMBIE, 405, flipped, "n2"),
    differs("a bit on the leader", ZOMBIE, 405, flipped, "n1"),
    differs("an earlier leader epoch", ZOMBIE, 405, in_leader_epoch(9), "n2", Api.PRODUCE),
    differs("a later leader epoch", ZOMBIE, 405, in_leader_epoch(11), "n3", Api.PRODUCE),
    differs("the first batch of an epoch, of two replicas", UNCLEAN, 64, in_leader_epoch(1), "n3"),
    everywhere(
        "a falling leader epoch everywhere", ZOMBIE, 405, in_leader_epoch(9), "repl.prefix_agreement", Api.PRODUCE
    ),
    everywhere(
        "a leader epoch without a leader", ZOMBIE, 532, in_leader_epoch(40), "repl.prefix_agreement", Api.PRODUCE
    ),
    everywhere(
        "a coordinator that never was",
        ZOMBIE,
        437,
        in_coordinator_epoch(99),
        "fence.coordinator_epoch",
        "producer 4, WriteTxnMarkers",
    ),
    differs("a marker on one replica", ZOMBIE, 409, in_coordinator_epoch(14), "n2"),
    everywhere(
        "offsets without a transaction",
        OFFSETS,
        104,
        outside_transactions,
        "offsets.atomic",
        "producer 2001, TxnOffsetCommit",
    ),
    differs("offsets of an aborted transaction", OFFSETS, 104, flipped, "n3"),
    differs("a record of the coordinator", "__transaction_state-1", 50, flipped, "n3"),
    of_cluster(
        "a marker of a stale coordinator",
        batch(ZOMBIE, 532, in_coordinator_epoch(3)),
        f"violation fence.coordinator_epoch n1/{ZOMBIE}@532, zmb-5, WriteTxnMarkers",
        parts=(ZOMBIE, *COORDINATORS),
    ),
    of_cluster(
        "a marker of another outcome than the coordinator's log has",
        batch(OFFSETS, 106, as_commit),
        f"violation txn.one_outcome n1/{OFFSETS}@106, ctp-0, WriteTxnMarkers",
        says=("orders-0 = 1667",),
        parts=(OFFSETS, *COORDINATORS),
    ),
    of_cluster(
        "a replica lost committed records, and was stopped",
        shortened,
        f"violation repl.hw_bounds n3/{ZOMBIE}@{SHORT}",
    ),
    of_cluster(
        "a replica lost committed records, or was killed",
        edits(shortened, gone("n3/.kafka_cleanshutdown")),
        f"undecided repl.hw_bounds n3/{ZOMBIE}@{SHORT}",
    ),
    of_cluster(
        "a replica that was in sync to the end is short, and says otherwise",
        edits(shortened, watermark("n3", SHORT)),
        f"violation repl.hw_bounds n3/{ZOMBIE}@{SHORT}",
        f"undecided lso.bounds n3/{ZOMBIE}@515",
    ),
    of_cluster(
        "a replica has what the leader before an unclean election appended",
        batch(UNCLEAN, 252, in_leader_epoch(4), "n3"),
        f"known repl.prefix_agreement n3/{UNCLEAN}@252, Fetch",
        says=("unclean election of broker 1 for leader epoch 5",),
        damage=("says epoch 5 from offset 252, but the batch at offset 252 has leader epoch 4",),
        parts=(UNCLEAN,),
    ),
    of_cluster(
        "two batches of one leader, after unclean elections: the first replica is held against the others",
        batch(UNCLEAN, 284, flipped, "n3"),
        f"violation repl.prefix_agreement n1/{UNCLEAN}@284, Fetch",
        parts=(UNCLEAN,),
    ),
    of_cluster(
        "no high watermark is known, and two copies differ under one leader",
        edits(batch(ZOMBIE, 405, flipped, "n2"), gone(*(f"{node}/{WATERMARKS}" for node in BROKERS))),
        f"suspicious repl.prefix_agreement n2/{ZOMBIE}@405, Fetch",
        controlled=False,
    ),
    of_cluster(
        "a folder of an earlier topic of the name has neither its leaders nor its replicas",
        edits(batch(ZOMBIE, 532, in_leader_epoch(40), "n1"), topic_made_anew),
    ),
    of_cluster(
        "what lies above a high watermark differs: it will be truncated",
        edits(batch(ZOMBIE, 532, flipped, "n2"), watermark("n2", 532)),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_differs_among_replicas_is_one_finding(recordings: Path, tmp_path: Path, case: AuditCase) -> None:
    """At its offset, on the replica that differs or once for all, by its rule, and nothing else."""
    hold(case, tmp_path, recordings)


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
