"""Logs copied one after the other, cleaned, shortened, or with batches of other places: what is right is no finding."""

from collections.abc import Callable
from typing import Final

from model_tests.audit.orphan_markers import LATER
from model_tests.audit.transactions_gaps import EXCUSED_BY
from model_tests.unit.audit.audit_case import AuditCase, each_version
from model_tests.unit.audit.cases.transactions import UNREGISTERED
from model_tests.unit.audit.directory_edits import damaged, without_batches
from model_tests.unit.audit.written_cluster import WrittenCluster
from spec.judging.judge_join import Excuse

A, B = ("a", 0), ("b", 0)

PREPARED: Final = "init tx 7; txn a; add a; prepare commit; copied; mark a; complete; "
AT_THE_END: Final = "init tx 7; txn a b; add a b; send b; copied a b; prepare commit; complete; "
ONE_TAKEN: Final = "init tx 7; txn a b {}; add a b; send a"

OFFSETS_OF_THREE: Final = "init tx 7; txn a offsets; txn a offsets; txn a offsets"


def last_of_b_again(cluster: WrittenCluster) -> None:
    """The last marker of B stands at the end of A, too."""
    cluster.logs[A].append(cluster.logs[B][-1])


COPIES: Final = (
    *each_version(
        AuditCase("markers after a Prepare record at the end of a copy", PREPARED + "txn b; txn c"),
        AuditCase(
            "the same of transactions without data",
            PREPARED + "add b; prepare commit; mark b; complete; add c; prepare commit; mark c; complete",
        ),
    ),
    *(
        AuditCase(
            f"retention took the data and the marker ({outcome}) of another transaction of the epoch",
            ONE_TAKEN.format(outcome),
            counts=f"{'committed=1 open=1' if outcome == 'commit' else 'aborted=1 open=1'}",
            starts={"a": 2},
        )
        for outcome in ("commit", "abort")
    ),
    *(
        AuditCase(
            f"data, of which the cleaner took the end; {next_step} follows; the partition is closed: {closed}",
            AT_THE_END + next_step,
            (f"{severity} txn.registered_before_data b-0@2, {whose}, {UNREGISTERED}",),
            remedy=remedy,
            version=version,
            kept=(-1,),
            closed=closed,
        )
        for closed, severity, remedy in ((True, "violation", ()), (False, "undecided", ("copy the log again",)))
        for next_step, whose in (("add a", "tx"), ("init tx", "producer 7"))
        for version in (0, 2)
    ),
    AuditCase(
        "a marker before a hole is not that of a transaction under way",
        "init tx 7; txn a b; txn b abort; add a b; send a; prepare commit",
        kept=(-3, -2, -1),
    ),
    AuditCase(
        "data may hang, or its transaction is newer than the coordinator's log",
        "init tx 7; txn a; wait 1000; send a",
        (f"undecided txn.registered_before_data a-0@2, tx, {UNREGISTERED}",),
        remedy=("copy the coordinators' logs again", "--topic a --partition 0 --start-offset 2"),
    ),
    AuditCase(
        "markers that are newer than the coordinator's log",
        "init tx 7; txn a; wait 1000; mark a commit epoch=0; send a; mark a commit",
        missing=(LATER,),
    ),
    AuditCase(
        "the same where that log was flushed up to its end",
        "init tx 7; txn a; wait 1000; mark a commit epoch=0; send a; mark a commit",
        ("violation txn.registered_before_data a-0@3, tx, AddPartitionsToTxn",),
        flushed={"state": 4},
    ),
    *(
        AuditCase(
            f"a marker, {outcome}, of a producer id that was never given out",
            f"ids 30; init tx 70; txn a; foreign a 99 {outcome}; txn a",
            (f"{severity} txn.marker_once a-0@2, producer 99, WriteTxnMarkers",),
        )
        for outcome, severity in (("commit", "violation"), ("abort", "suspicious"))
    ),
    AuditCase(
        "it is the last of its log",
        "ids 30; init tx 70; txn a; foreign a 99 commit",
        ("violation txn.marker_once a-0@2, producer 99, WriteTxnMarkers",),
    ),
    AuditCase(
        "it is later than all coordinators' logs",
        "ids 30; init tx 70; txn a; wait 1000; foreign a 99 commit",
    ),
    AuditCase(
        "it may be of an id before it that cannot be read",
        "ids 30; init tx 70; txn a; foreign a 99 commit",
        damage=("CRC",),
        edit=damaged("a-0", 0),
    ),
    *(
        AuditCase(
            f"a marker of another log repeats what was marked {later} ms ago",
            f"init tx 7; other: init other 8; txn a b; wait {later}; other: txn a",
            findings,
            counts="committed=2",
            change=last_of_b_again,
        )
        for later, findings in ((30_000, ("suspicious txn.marker_once a-0@4, tx, WriteTxnMarkers",)), (5_000, ()))
    ),
    *(
        AuditCase(
            f"the cleaner took batches {gone} of the offsets",
            OFFSETS_OF_THREE,
            damage=tuple(f"the record at offset {left}: no key" for left in range(0, 6, 2) if left not in gone),
            missing=(f"1 x the log cleaner {how}",),
            edit=without_batches("__consumer_offsets-0", *gone),
        )
        for gone, how in (((0, 1), "was there"), ((2, 3), "may have been there"))
    ),
    AuditCase(
        "a marker is gone before its data, which the cleaner does not do",
        OFFSETS_OF_THREE,
        ("violation offsets.atomic __consumer_offsets-0@2, tx, WriteTxnMarkers",),
        damage=tuple(f"the record at offset {left}: no key" for left in range(0, 6, 2)),
        edit=without_batches("__consumer_offsets-0", 3),
    ),
)

BUSY: Final = (
    "init tx 7; other: init other 8; txn a b; other: txn a; txn a b abort; other: txn a abort; txn a b; other: txn a; "
    "add a; send a; prepare abort fenced; mark a; complete; "
)
MEANWHILE: Final = BUSY + "init tx; hour; add a b; send a; prepare commit; complete; "
"""The markers of the last transaction, and of one partition its data too, came after the copy."""

FAR: Final = "clock now; minutes 90000000; blank a; clock =now; "
"""A batch of a client that is a century ahead."""

COMPLETED: Final = (
    AuditCase(
        "retention took the begin of data that hangs",
        "init tx 7; txn a b; add a b; send a b; send a; send a; prepare commit; mark b; complete; txn b",
        ("violation txn.marker_once a-0@3, tx, WriteTxnMarkers",),
        remedy=("--start-offset 3 (the log begins at offset 3 only", "CurrentTransactionStartOffset"),
        starts={"a": 3},
    ),
    AuditCase(
        "retention took what is before data that hangs, but for a marker",
        "init tx 7; txn a b; add a b; send a b; send a; prepare commit; mark b; complete; txn b",
        ("violation txn.marker_once a-0@2, tx, WriteTxnMarkers",),
        remedy=("--start-offset 2 (it aborts",),
        version=2,
        starts={"a": 1},
    ),
    AuditCase(
        "the same where one epoch has both transactions: the time of the marker says whose it is",
        "init tx 7; txn a b; add a b; send a b; send a; prepare commit; mark b; complete; txn b",
        ("violation txn.marker_once a-0@2, tx, WriteTxnMarkers",),
        starts={"a": 1},
    ),
    *(
        AuditCase(
            f"the marker came after the copy, in which a client's time is a century ahead, {where}",
            f"init tx 7; txn a b; {before} add a b; send a b; {behind} copied a; prepare commit; mark a b; complete",
            missing=(f"1 x {EXCUSED_BY[Excuse.COPIED_EARLIER]}",),
            closed=False,
        )
        for where, before, behind in (("in the middle", FAR, ""), ("at its end", "", FAR))
    ),
    AuditCase(
        "a topic was deleted and made again",
        "init tx 7; txn a b; txn a b abort; hour; txn a b; txn a b",
        missing=("2 x its log begins only after the end of the transaction, as of a topic that was deleted",),
        version=2,
        change=lambda cluster: cluster.logs.update({A: cluster.logs[A][4:]}),
    ),
    AuditCase(
        "what is missing of a completed transaction may come yet",
        MEANWHILE,
        missing=(f"2 x {EXCUSED_BY[Excuse.COPIED_EARLIER]}",),
        version=2,
        closed=False,
    ),
    *(
        AuditCase(
            f"what is missing does not come any more: {why} later",
            MEANWHILE + later,
            tuple(f"violation txn.marker_once {at}, tx, WriteTxnMarkers" for at in ("a-0@14", place)),
            version=2,
            closed=False,
        )
        for why, later, place in (
            ("a transaction is decided", "other: txn a b", "b-0@7"),
            ("a batch is an hour", "hour; blank a b", "b-0@6"),
        )
    ),
)


def moved(topic: str, number: int, to: int) -> Callable[[WrittenCluster], None]:
    """A batch of a partition stands at another place of it."""

    def change(cluster: WrittenCluster) -> None:
        log = cluster.logs[topic, 0]
        log.insert(to, log.pop(number))

    return change


def repeated(cluster: WrittenCluster) -> None:
    """The first marker of B stands once more behind the second."""
    cluster.logs[B].insert(4, cluster.logs[B][1])


def copied_from_b(cluster: WrittenCluster) -> None:
    """The second marker of tx in B stands in A, too, in the middle of an open transaction."""
    own = [batch for batch in cluster.logs[B] if batch.is_control and batch.producer_id == 7]
    cluster.logs[A].insert(9, own[1])


THREE: Final = "init tx 7; txn a b; txn a b; txn a b"

MOVED: Final = (
    AuditCase(
        "a marker stands behind the next",
        THREE,
        ("violation fence.stale_epoch b-0@3, tx, WriteTxnMarkers",),
        says=("stands behind later ones", "data from offset 0 on has no COMMIT marker of its own"),
        explains={"marker of epoch 1 after epoch 2": ("txn.marker_once",)},
        version=2,
        change=moved("b", 1, 3),
    ),
    AuditCase(
        "a marker stands behind the next, and behind data of a later transaction",
        THREE,
        ("violation fence.stale_epoch b-0@4, tx, WriteTxnMarkers",),
        says=("behind later ones; it ends the data from offset 3 on", "data from offset 0 on has no COMMIT marker"),
        explains={"marker of epoch 1 after epoch 2": ("txn.marker_once",)},
        version=2,
        change=moved("b", 1, 4),
    ),
    AuditCase(
        "a marker was written once more",
        THREE,
        ("violation fence.stale_epoch b-0@4, tx, WriteTxnMarkers",),
        says=("that has its marker at offset 1 already",),
        not_said=("registered",),
        version=2,
        change=repeated,
    ),
    AuditCase(
        "a batch that comes late hangs",
        "init tx 7; add a; send a; send a; prepare commit; mark a; complete; "
        "add a; send a x2; send a; prepare commit; mark a; complete",
        (f"violation seq.successor a-0@3, tx, {UNREGISTERED}",),
        says=("it hangs and holds the last stable offset",),
        explains={"sequences 4..4, expected 2": ("seq.successor", "txn.registered_before_data")},
        remedy=("kafka-transactions.sh",),
        change=moved("a", 3, 5),
    ),
    AuditCase(
        "a marker of another log ends data of an open transaction that is registered",
        "init tx 7; other: init other 8; txn a b; other: txn a b; txn b; other: txn a; txn a b abort; txn a b; "
        "other: txn a b; txn a b",
        ("violation txn.marker_once a-0@9, tx, WriteTxnMarkers",),
        says=("ended the data from offset 8 on while its transaction was open, registered here",),
        change=copied_from_b,
    ),
)

CASES: Final = (*COPIES, *COMPLETED, *MOVED)
