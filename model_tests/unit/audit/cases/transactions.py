"""Transactions joined with their partitions: one cause, one finding; what may be is none."""

from typing import Final

from model_tests.audit.changes import in_leader_epoch
from model_tests.unit.audit.audit_case import AuditCase, Change, each_version
from model_tests.unit.audit.directory_edits import batch, damaged
from model_tests.unit.audit.stories import BEGUN
from model_tests.unit.audit.written import data, marker
from model_tests.unit.audit.written_cluster import ABORT, COMMIT, WrittenCluster

UNREGISTERED: Final = "Produce without AddPartitionsToTxn, or after EndTxn"
ENDED: Final = BEGUN + "add a b c; send a b c; prepare commit; "

SOUND: Final = each_version(
    *(
        AuditCase(name, BEGUN + story, missing=())
        for name, story in (
            ("a fence, after which the next instance goes on", "txn a abort fenced; init tx; txn a b"),
            ("partitions are registered and never written to", "add a b; prepare commit; mark a b; complete"),
            ("a marker is sent again", "add a; send a; prepare commit; mark a a; complete"),
            ("one marker is on its way", "add a b; send a b; prepare commit; mark a"),
            ("a transaction is open", "add a b; send a"),
            ("the epoch rises from here on", "upgrade 2; init tx; txn a b c; txn a c abort"),
        )
    )
)

BROKEN: Final = (
    *each_version(
        AuditCase(
            "one partition has another outcome",
            ENDED + "mark a c; mark b abort; complete",
            ("violation txn.atomic b-0@5, tx, WriteTxnMarkers",),
        ),
        AuditCase(
            "one partition has no marker",
            ENDED + "mark a c; complete",
            ("violation txn.marker_once b-0@4, tx, WriteTxnMarkers",),
            remedy=("kafka-transactions.sh", "abort --topic b --partition 0 --start-offset 4"),
        ),
        AuditCase(
            "one partition has no marker, and the next transaction is whole",
            ENDED + "mark a c; complete; txn a b c",
            ("violation txn.marker_once b-0@4, tx, WriteTxnMarkers",),
        ),
        AuditCase(
            "a second marker has another outcome",
            BEGUN + "add b; send b; prepare commit; mark b; mark b abort; complete",
            ("violation txn.one_outcome b-0@6, tx, WriteTxnMarkers",),
        ),
        AuditCase(
            "data comes outside of any transaction",
            BEGUN + "send b",
            (f"violation txn.registered_before_data b-0@4, tx, {UNREGISTERED}",),
            remedy=("kafka-transactions.sh", "abort --topic b --partition 0 --start-offset 4"),
        ),
        AuditCase(
            "data comes to a partition that is not registered",
            BEGUN + "add a; send a b; prepare commit; mark a b; complete",
            ("violation txn.registered_before_data b-0@4, tx, AddPartitionsToTxn",),
        ),
        AuditCase(
            "a marker has the epoch of the other version",
            BEGUN + "add b; send b; prepare commit; mark b epoch=+1; complete",
            ("violation txn.marker_once b-0@5, tx, WriteTxnMarkers",),
        ),
    ),
    AuditCase(
        "the only marker has not the outcome of the coordinator's log",
        BEGUN + "add b; send b; prepare commit; mark b abort; complete",
        ("violation txn.one_outcome b-0@5, tx, WriteTxnMarkers",),
    ),
    AuditCase(
        "a marker that commits has no transaction",
        BEGUN + "wait 1000; mark b commit; init later 9",
        ("violation txn.marker_once b-0@4, tx, WriteTxnMarkers",),
    ),
    AuditCase(
        "a fenced producer goes on",
        BEGUN + "note old; txn a abort fenced; init tx; txn a b; send b epoch=old",
        (f"violation fence.stale_epoch b-0@6, tx, {UNREGISTERED}",),
    ),
    AuditCase(
        "offsets have no marker, and the outputs do",
        BEGUN + "add a offsets; send a offsets; prepare commit; mark a; complete",
        ("violation offsets.atomic __consumer_offsets-0@0, tx, WriteTxnMarkers",),
        damage=("the record at offset 0: no key",),
    ),
    AuditCase(
        "offsets never joined the transaction of the outputs",
        BEGUN + "add a; send a offsets; prepare commit; mark a; complete",
        (f"violation offsets.atomic __consumer_offsets-0@0, tx, {UNREGISTERED}",),
        damage=("the record at offset 0: no key",),
    ),
    AuditCase(
        "an epoch that was raised once has two outcomes, and the coordinator's log is not there",
        "copied; " + ENDED + "mark a c; mark b abort; complete",
        ("violation txn.atomic b-0@5, producer 7",),
        version=2,
    ),
)

DOUBTED: Final = (
    AuditCase(
        "the end of the log is lost, by its recovery point, with the marker that is missing",
        ENDED + "mark a c; complete",
        ("undecided lso.bounds b-0@4",),
        missing=("the end of its log is missing",),
        flushed={"b": 9},
    ),
    AuditCase(
        "data with old timestamps, after a marker below the log start",
        BEGUN + "add b; send b; clock sent; wait 60000; prepare commit; mark b; complete; add b; "
        "clock now; clock =sent; send b; clock =now; prepare commit; mark b; complete",
        starts={"b": 6},
    ),
    AuditCase(
        "a marker of a broker whose clock is behind is paired by its outcome",
        BEGUN + "txn b; wait -9; clock committed; wait 9; add b; prepare abort; clock now; clock =committed; mark b; "
        "clock =now; complete",
    ),
    AuditCase(
        "an abort marker without data matches no transaction",
        BEGUN + "txn b; wait 1000; mark b abort; init later 9",
        ("suspicious txn.marker_once b-0@6, tx, WriteTxnMarkers",),
        says=("by hand",),
    ),
    AuditCase(
        "an abort marker ends data that matches no transaction",
        BEGUN + "txn b; wait 1000; send b; mark b abort; init later 9",
        ("suspicious txn.registered_before_data b-0@6, tx, AddPartitionsToTxn",),
        says=("by hand",),
    ),
)

LATE: Final = (
    "init tx 7; txn a b {0}; note late; add a b; send a b; mark b {0} epoch=late; prepare {1}; mark a b; complete"
)
"""A copy of the first transaction's marker comes while the second is open and registered at the partition."""

LATE_MARKERS: Final = (
    *(
        AuditCase(
            f"a COMMIT of the transaction before comes late; {then} follows",
            LATE.format("commit", then),
            ("violation txn.marker_once b-0@3, tx, WriteTxnMarkers",),
            says=(
                "a COMMIT marker of epoch 1 ended the data from offset 2 on while its transaction was open",
                "a late copy of the marker of an earlier transaction",
                "KAFKA-19446",
            ),
            not_said=("not registered",),
            remedy=(f"was decided to {then.upper()} afterwards",),
            version=2,
        )
        for then in ("commit", "abort")
    ),
    AuditCase(
        "an ABORT of the transaction before comes late, or was written by hand",
        LATE.format("abort", "commit"),
        ("suspicious txn.marker_once b-0@3, tx, WriteTxnMarkers",),
        says=("by hand",),
        version=2,
    ),
    AuditCase(
        "the same marker on a partition that the second transaction does not have",
        "init tx 7; txn a b; note late; add a; send a b; mark b commit epoch=late; prepare commit; mark a; complete",
        ("violation txn.registered_before_data b-0@2, tx, AddPartitionsToTxn",),
        says=("not registered",),
        version=2,
    ),
)


GIVEN_AGAIN: Final = (
    AuditCase(
        "two ids have one producer id, and write to the same partitions",
        "init tx 7; txn a b; other: init other 7; other: txn a b; txn a b",
        ("violation ids.unique __transaction_state-0@4, other, InitProducerId",),
        explains={"other is given producer id 7": ("fence.stale_epoch",)},
        version=2,
    ),
    AuditCase(
        "an id that expired has its producer id again",
        "init tx 7; txn a; txn b; tombstone; init tx 7; txn a b",
        ("violation ids.identity_never_repeats __transaction_state-0@8, tx, InitProducerId",),
        explains={"a producer id that it had before": ("fence.stale_epoch",)},
        version=2,
    ),
    AuditCase(
        "an id that expired has another one", "init tx 7; txn a; txn b; tombstone; init tx 8; txn a b", version=2
    ),
    AuditCase(
        "an epoch falls",
        f"{BEGUN} record empty epoch=0; txn a b",
        ("violation fence.epoch_monotone __transaction_state-0@7, tx, InitProducerId",),
        explains={"the epoch falls": ("fence.stale_epoch",)},
        version=2,
    ),
)

TWO_FAULTS: Final = each_version(
    AuditCase(
        "a marker is missing, and a fenced producer wrote behind its data",
        f"{BEGUN} note old; txn a b abort fenced; init tx; add a b c; send a b c; send a epoch=old; prepare commit; "
        "mark b c; complete; txn a b c",
        (
            "violation fence.stale_epoch a-0@7, tx, Produce",
            "violation txn.marker_once a-0@6, tx, WriteTxnMarkers",
        ),
        explains={"data of epoch": ("fence.stale_epoch",)},
    ),
)


def with_ten_partitions(cluster: WrittenCluster) -> None:
    """One transaction over ten more partitions, of which five have another outcome."""
    names = [("many", number) for number in range(10)]
    cluster.add("tx", *names)
    for name in names:
        cluster.send("tx", name)
    cluster.prepare("tx", COMMIT)
    cluster.mark("tx", *names[:2])
    cluster.mark("tx", *names[2:], outcome=ABORT)
    cluster.complete("tx")


def without(topic: str) -> Change:
    """The log of a partition was not copied."""

    def change(cluster: WrittenCluster) -> None:
        del cluster.logs[topic, 0]

    return change


WIDE: Final = (
    AuditCase(
        "of many partitions the first are named",
        "init tx 7",
        ("violation txn.atomic many-2@1, tx, WriteTxnMarkers",),
        says=("many-7 offset 1 and 2 more), but", "as the markers at many-0 offset 1, many-1 offset 1"),
        change=with_ten_partitions,
    ),
    AuditCase(
        "the Prepare record has a leader epoch that none behind it has",
        BEGUN + "txn a b c; txn a b",
        ("violation repl.prefix_agreement __transaction_state-0@8, Produce",),
        edit=batch("__transaction_state-0", 8, in_leader_epoch(9), ""),
    ),
)

UNREAD: Final = (
    AuditCase(
        "whether an open transaction hangs is not in the partitions: the coordinator's log is not there",
        "copied;" + BEGUN + "send b",
        missing=("1 x the coordinator's log of a producer id",),
        held=("b-0 at offset 4, 1 offsets before its end ... whether it hangs is not known",),
    ),
    AuditCase(
        "a partition whose log is not here is listed as not read",
        BEGUN + "add a b; send a b",
        missing=("3 x no log of it was read",),
        held=("b-0 at offset 4, 1 offsets before its end ... open: a-0: no log of it was read",),
        printed=("a-0: not read", "b-0: 4..4"),
        version=2,
        change=without("a"),
    ),
    AuditCase(
        "an open transaction is not called sound where one of its partitions was not read",
        "late: init late 7; late: add a b; late: send a b; wait 30000; other: init other 8; other: txn a",
        missing=("1 x no log of it was read",),
        held=("a-0 at offset 0 ... aborts it by itself at 1970-01-01 00:17:40.010 ... open: b-0: no log of it was",),
        not_printed=("nothing here shows",),
        change=without("b"),
    ),
    AuditCase(
        "data that no transaction registered lacks no marker where one record of the coordinator's log is unreadable",
        BEGUN + "add a; send a b; prepare commit; mark a; complete; txn a b",
        ("violation txn.registered_before_data b-0@4, tx",),
        damage=("__transaction_state-0 ... CRC of the batch at offset 11",),
        version=2,
        edit=damaged("__transaction_state-0", -2),
    ),
    AuditCase(
        "the partition that waits is reported, and neither one without an open transaction nor one without a batch",
        missing=("1 x the coordinator's log of a producer id",),
        held=("held-0 at offset 1, 2 offsets before its end, by producer 7 epoch 0",),
        printed=("held-0 ... 0 ... 1 ... 3", "partitions without a batch, not shown: 1"),
        logs={
            "held-0": (data(0), data(1, transactional=True), data(2, transactional=True)),
            "free-0": (data(0), data(1, transactional=True), marker()),
            "empty-0": (),
        },
    ),
)

EXPIRED: Final = AuditCase(
    "an id that expired is listed with the time",
    "init tx 7; txn a; tombstone",
    options={"transactional_id": "tx"},
    reported={"transactions.listed.0.expired_ms": 1_000_051},
    printed=("id expired",),
)

CASES: Final = (*SOUND, *BROKEN, *DOUBTED, *LATE_MARKERS, *GIVEN_AGAIN, *TWO_FAULTS, *WIDE, *UNREAD, EXPIRED)
