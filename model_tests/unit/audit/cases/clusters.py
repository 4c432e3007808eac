"""Replicas and brokers: what differs is one finding, on the replica that differs or once for all."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from model_tests.audit.changes import (
    BROKERS,
    CONTROLLER_LOG,
    as_commit,
    batches_in,
    cut,
    flipped,
    in_coordinator_epoch,
    in_leader_epoch,
    outside_transactions,
)
from model_tests.audit.recorded import CLUSTER, CLUSTER_RUNNING, KAFKA_3_9, journal
from model_tests.unit.audit.audit_case import AuditCase
from model_tests.unit.audit.directory_edits import Edit, batch, edits, gone, retained, segments
from model_tests.unit.audit.stories import BEGUN
from spec.vocabulary import Api

ZOMBIE, OFFSETS, UNCLEAN = "zombie-0", "__consumer_offsets-0", "unclean2-2"
CHECKPOINTS: Final = "*-checkpoint"
WATERMARKS: Final = "replication-offset-checkpoint"
SHORT: Final = 522
"""Where the log of `ZOMBIE` ends without its last three batches."""

COORDINATORS = tuple(f"__transaction_state-{number}" for number in range(4))


def elected(node: str, *offsets: int) -> tuple[str, ...]:
    """The findings that report of unclean elections, by the controller's log of a node."""
    return tuple(f"known repl.committed_survives {node}/__cluster_metadata-0@{offset}, election" for offset in offsets)


EARLY: Final = (837, 838, 839, 843, 844)
ALL: Final = (*EARLY, 1204, 1468)
FILES: Final = ("n?/*checkpoint", "n?/*.properties", "n?/.kafka_cleanshutdown")


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
    controller = (f"n1/{CONTROLLER_LOG}",) * controlled
    return AuditCase(
        name,
        findings=(*elected("n1", *ALL), *findings) if controlled else findings,
        says=says,
        damage=damage,
        recording=CLUSTER,
        parts=(*FILES, *controller, *(f"n?/{part}" for part in parts)),
        edit=edit,
    )


def shortened(cluster: Path) -> None:
    """The last three batches of a replica are gone."""
    assert cut(cluster, ZOMBIE, "n3", batches=3) == SHORT


def as_abort(marker: bytearray) -> None:
    """A marker that aborts."""
    marker[-10:-8] = bytes(2)


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


DIFFERENCES: Final = (
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


OF_ELECTIONS: Final = tuple(
    f"known {rule} n1/{place}, {step}"
    for rule, place, step in (
        ("seq.exactly_once", "unclean-0@1125", "Produce"),
        ("seq.exactly_once", "unclean-1@1036", "Produce"),
        ("seq.exactly_once", "unclean-2@1067", "Produce"),
        ("txn.client_verdict", f"{UNCLEAN}@252", "utx-0, EndTxn"),
        ("seq.exactly_once", f"{UNCLEAN}@253", "Produce"),
        ("txn.client_verdict", f"{UNCLEAN}@259", "utx-0, EndTxn"),
        ("txn.client_verdict", f"{UNCLEAN}@270", "uh-11, EndTxn"),
        ("txn.client_verdict", f"{UNCLEAN}@274", "utx-0, EndTxn"),
    )
)
"""What unclean elections took of what clients had been answered."""

MARKERS_TAKEN: Final = tuple(
    f"known txn.marker_once n1/{UNCLEAN}@{offset}, {name}, WriteTxnMarkers"
    for offset, name in ((234, "uh-11"), (252, "utx-0"), (418, "uh-11"))
)

OPEN: Final = tuple(
    f"n1/hang-{number} at offset 0 ... (hang-0) ... nothing here shows that it hangs" for number in range(3)
)
HANGS: Final = "n1/unclean2-2 at offset 234, 185 offsets before its end, by producer 3001 epoch 0 (uh-11)"

WHOLE: Final = (
    AuditCase(
        "three stopped brokers and the journal of their clients: what is lost unclean elections took",
        findings=(
            *elected("n1", *ALL),
            *OF_ELECTIONS,
            *MARKERS_TAKEN,
            *(f"suspicious seq.exactly_once n1/unclean-{place}, Produce" for place in ("0@1818", "1@233", "2@260")),
        ),
        says=(
            "29 more offsets; the unclean election of broker 1 for leader epoch 3",
            "75 more offsets; the unclean election of broker 2 for leader epoch 4",
            "85 more offsets; the unclean election of broker 1 for leader epoch 3",
            "16 more offsets; the unclean election of broker 1 for leader epoch 5",
            *(
                f"are lost at {UNCLEAN} offset {lost} records); the unclean election of broker 1 for leader epoch 5"
                for lost in ("252 (2", "259 (2", "270 (1", "274 (1")
            ),
            "it hangs and holds the last stable offset; the unclean election of broker 1 for leader epoch 5",
            "(offset 457); 1 other partitions have theirs; the unclean election of broker 1 for leader epoch 5",
            "(offset 734); the unclean election of broker 1 for leader epoch 5 (offset 1204 of the controller's log) "
            "took the marker away: broker 3 led in leader epoch 4 when the transaction ended",
        ),
        counts="aborted=248 committed=719 hanging=1 lost=4 open=1",
        held=(*OPEN, HANGS),
        reported={
            "judged.repl.prefix_agreement": 20_663,
            "judged.repl.hw_bounds": 63,
            "cluster.compared": 20_663,
        },
        printed=(
            "Replicas of 23 partitions: 20,663 batches compared; by the controller's log 417 changes of leader "
            "(7 unclean), in-sync sets 689 times smaller and 631 times larger.",
        ),
        recording=CLUSTER,
        parts=("*",),
        options={"history": journal(CLUSTER)},
    ),
    AuditCase(
        "a cluster that runs while it is copied, with one broker down and high watermarks that lag",
        counts="aborted=82 committed=238 open=5",
        recording=CLUSTER_RUNNING,
        parts=("*",),
    ),
    AuditCase(
        "the log of a broker that died earlier lacks what came later, and disagrees with nothing",
        findings=(*elected("n1", *ALL), *MARKERS_TAKEN),
        missing=("819 x no log of it was read", "727 x another replica is further"),
        recording=".",
        parts=(f"{CLUSTER}/n1", f"{CLUSTER_RUNNING}/n3"),
    ),
)


def cleaned_apart(directory: Path) -> None:
    """Two brokers have a compacted partition; of the second's log every other batch is cleaned away."""
    for node in BROKERS[:2]:
        shutil.copytree(directory / "ledger-0", directory / node / "ledger-0")
        for checkpoint in directory.glob(CHECKPOINTS):
            shutil.copy2(checkpoint, directory / node)
        (directory / node / "meta.properties").write_text(f"cluster.id=one\nnode.id={node[1:]}\n")
    shutil.rmtree(directory / "ledger-0")
    segment = segments(directory / "n2" / "ledger-0")[0]
    content = segment.read_bytes()
    segment.write_bytes(b"".join(content[start:end] for start, end in list(batches_in(content))[::2]))
    for derived in (directory / "n2" / "ledger-0").glob("*index"):
        derived.unlink()


def copied_earlier(directory: Path) -> None:
    """The second half of the controller's log came after the copy."""
    (segment,) = (directory / "n100" / CONTROLLER_LOG).glob("*.log")
    content = segment.read_bytes()
    batches = list(batches_in(content))
    segment.write_bytes(content[: batches[len(batches) // 2][0]])


HEAD_GONE: Final = retained("n2/orders-0", 3263)
REPLICAS: Final = (
    AuditCase(
        "every broker cleans its own log: below what either has cleaned, nothing is compared",
        findings=tuple(
            f"undecided {each}"
            for each in (
                "lso.aborted_index n1/ledger-0@720",
                "seq.first n1/ledger-0@796, producer 1",
                "seq.successor n1/ledger-0@16529, producer 1013",
                "seq.state_recoverable n1/ledger-0@16675",
                "seq.first n2/ledger-0@720, producer 2",
                "seq.state_recoverable n2/ledger-0@721",
            )
        ),
        printed=("Replicas of 1 partition: 65 batches compared",),
        recording=KAFKA_3_9,
        parts=("ledger-0", CHECKPOINTS),
        edit=cleaned_apart,
    ),
    AuditCase(
        "leaders and coordinators that came after an older copy of the controller's log are not impossible",
        findings=(
            *elected("n100", *EARLY),
            "undecided lso.bounds n100/__cluster_metadata-0@1009",
            "undecided seq.state_recoverable n100/__cluster_metadata-0@2133",
        ),
        printed=("by the controller's log 166 changes of leader (5 unclean)",),
        recording=CLUSTER,
        parts=(*FILES, f"n?/{ZOMBIE}", "n100"),
        edit=copied_earlier,
    ),
    of_cluster(
        "retention removed the oldest segments on one replica", HEAD_GONE, parts=("orders-0",), controlled=False
    ),
    of_cluster(
        "retention removed the oldest segments on one replica, and what both have differs",
        edits(HEAD_GONE, batch("orders-0", 3263, flipped, "n2")),
        "violation repl.prefix_agreement n2/orders-0@3263, Fetch",
        parts=("orders-0",),
        controlled=False,
    ),
    of_cluster(
        "partitions that a broker's copy lacks are compared with nothing",
        gone(f"n2/{ZOMBIE}", "n3"),
        parts=(ZOMBIE, "hang-0"),
    ),
)

SPLIT: Final = AuditCase(
    "the directories name no cluster: data that hangs on one broker is joined with its coordinator on another",
    "init tx 7; txn a; send a",
    ("violation txn.registered_before_data one/a-0@2, tx, Produce without AddPartitionsToTxn, or after EndTxn",),
    counts="committed=1",
    missing=(),
    printed=("/one, ... /two are of one cluster ... --cluster",),
    brokers=("one", "two"),
    edit=gone("one/__transaction_state-0", "two/a-0"),
)

DIRECTORIES: Final = (
    SPLIT,
    replace(
        SPLIT,
        name="the same directories are named as those of two clusters",
        findings=(),
        missing=("1 x the coordinator's log of a producer id", "1 x no log of it was read"),
        held=("a-0 at offset 2, 1 offsets before ... whether it hangs is not known",),
        printed=("1 markers and 1 open without their coordinator's log",),
        not_printed=("are of one cluster",),
        given=(),
        options={"clusters": {"one": ("one",), "two": ("two",)}},
    ),
    *(
        AuditCase(
            f"a marker has another outcome on the broker to the {node}, and the other replica differs from it",
            BEGUN + "txn a b; txn a b",
            (f"violation txn.atomic {node}/a-0@5, tx, WriteTxnMarkers",),
            explains={"the marker says ABORT (a-0 offset 5)": ("repl.prefix_agreement",)},
            printed=("right/a-0: this replica has",),
            version=2,
            brokers=("left", "right"),
            edit=batch("a-0", 5, as_abort, node),
        )
        for node in ("left", "right")
    ),
)

CASES: Final = (*WHOLE, *DIFFERENCES, *REPLICAS, *DIRECTORIES)
