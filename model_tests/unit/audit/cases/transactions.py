"""Transactions joined with their partitions: one cause, one finding; what may be is none."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from model_tests.audit.ended_by import EndedBy
from model_tests.unit.audit.stories import BEGUN, AuditCase, Change, StoryWriter, each_version
from model_tests.unit.audit.written_cluster import ABORT, COMMIT, WrittenCluster
from model_tests.unit.support.changed_directories import spans_of
from spec.protocol.ids import WITHOUT_LIMIT
from spec.vocabulary import MAX_EPOCH, Epoch, Timestamp

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


def data_at(timestamp: int) -> Change:
    """The last data of A has this time."""

    def change(cluster: WrittenCluster) -> None:
        number = max(number for number, one in enumerate(cluster.logs["a", 0]) if not one.is_control)
        last = cluster.logs["a", 0][number]
        at = Timestamp(timestamp)
        cluster.logs["a", 0][number] = last._replace(base_timestamp=at, max_timestamp=at)

    return change


OVERDUE: Final = (
    AuditCase(
        "a transaction is past its timeout",
        "late: init late 7; late: add a b; late: send a b; minutes 2; other: init other 8; other: txn a",
        ("suspicious txn.timeout a-0@0, late, abort of timed out transactions",),
        says=("a-0 offset 0, b-0 offset 0",),
        counts="committed=1 overdue=1",
        held=(
            "a-0 at offset 0, 3 offsets before its end, by producer 7 epoch 0 (late), since 1970-01-01 00:16:40.010: "
            "1 committed record waits; its coordinator should have aborted it by itself at 1970-01-01 00:17:40.010",
            "b-0 at offset 0, 1 offsets before its end, by producer 7 epoch 0 (late), since 1970-01-01 00:16:40.010: "
            "0 committed records wait",
        ),
    ),
    AuditCase(
        "a transaction is within its timeout",
        "late: init late 7; late: add a; late: send a; wait 30000; other: init other 8; other: txn a",
        held=("its coordinator aborts it by itself at 1970-01-01 00:17: ... nothing here shows that it hangs",),
    ),
    AuditCase(
        "only a partition goes on past the timeout: the coordinator's log may have been copied before it",
        "late: init late 7; late: add a; late: send a; hour; foreign a 9 commit",
        ("undecided txn.timeout a-0@0, late, abort of timed out transactions",),
        says=("copied before",),
        remedy=("copy __transaction_state-0 again",),
    ),
    AuditCase(
        "a decided transaction with all markers is not completed for an hour",
        "late: init late 7; late: add b; late: send b; late: prepare abort; late: mark b; hour; "
        "other: init other 8; other: txn a",
        ("suspicious txn.completes __transaction_state-0@2, late, completion after the markers",),
        says=("1 markers are written",),
        held=(),
    ),
    AuditCase(
        "a decided transaction without its marker is not completed for an hour",
        "late: init late 7; late: add b; late: send b; late: prepare abort; hour; other: init other 8; other: txn a",
        ("suspicious txn.completes __transaction_state-0@2, late, completion after the markers",),
        says=("no marker in b-0",),
        held=("(late)",),
    ),
    AuditCase(
        "an end is on its way for some seconds",
        "late: init late 7; late: add b; late: send b; late: prepare abort; wait 10000; "
        "other: init other 8; other: txn a",
        counts="committed=1 completing=1",
    ),
)

YEARS: Final = "clock now; minutes 90000000; "
"""Until `clock =now` the clock is that of a later century."""

WRONG_CLOCKS: Final = (
    AuditCase(
        "the coordinator's clock was a century ahead for one transaction",
        f"init tx 7; other: init other 8; {YEARS} other: txn b; clock =now; wait 5000; other: txn b; txn a; "
        "add a; send a",
        held=("nothing here shows that it hangs",),
    ),
    AuditCase(
        "a client of the partition is a century ahead",
        f"{BEGUN} {YEARS} blank a; clock =now; add a; send a",
        held=("nothing here shows that it hangs",),
    ),
    *(
        AuditCase(
            f"data hangs whose client is {how}; markers of others are behind it",
            f"{BEGUN} other: init other 8; clock now; {clock}; send a; clock =now; wait 1000; other: txn a",
            (f"violation txn.registered_before_data a-0@4, tx, {UNREGISTERED}",),
            held=(since,),
        )
        for how, clock, since in (
            ("a century ahead", "minutes 90000000", "(tx), since 1970-01-01 00:16:41.1"),
            ("late", "wait -500000", "(tx), since 1970-01-01 00:16:40.0"),
        )
    ),
)


def of_two_phases(cluster: WrittenCluster) -> None:
    """A transaction without a timeout is open for two hours."""
    cluster.values["tx"] = replace(cluster.values["tx"], timeout_ms=WITHOUT_LIMIT)
    StoryWriter(cluster).write("add a; send a; hour; hour; other: init other 8; other: txn b")


def at_the_last_epoch(cluster: WrittenCluster) -> None:
    """The producer id was not changed when its epochs were used up, and the producer went on."""
    cluster.values["tx"] = replace(cluster.values["tx"], epoch=Epoch(MAX_EPOCH - 1))
    StoryWriter(cluster).write("txn a; add a b; send a b")


NEVER_ABORTED: Final = (
    AuditCase(
        "a transaction of two phases is open for hours",
        "init tx 7; txn a b",
        held=("open without a timeout, as for a two-phase commit ... forceTerminateTransaction",),
        change=of_two_phases,
    ),
    AuditCase(
        "a transaction is open with the epoch that is kept for the fence",
        "init tx 7; txn a b",
        ("violation fence.epoch_exhaustion a-0@4, tx, rotation of the producer id",),
        remedy=("abort --topic a --partition 0 --start-offset 4; kafka-transactions.sh",),
        held=("a-0 at offset 4 ... another transactional id", "b-0 at offset 2"),
        version=2,
        change=at_the_last_epoch,
        kept=tuple(range(4, 8)),
    ),
    *(
        AuditCase(
            f"the coordinator's log ends with {what} instead of a Prepare record",
            f"{BEGUN} add a; send a; {step}",
            findings,
            held=("no coordinator has it any more ... abort --topic a --partition 0 --start-offset 4",),
        )
        for what, step, findings in (
            (
                "a Complete record",
                "record complete_abort",
                ("violation txn.legal_transition __transaction_state-0@8, tx, completion after the markers",),
            ),
            (
                "a tombstone",
                "tombstone",
                ("undecided txn.legal_transition __transaction_state-0@8, tx, expiration of the id",),
            ),
        )
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

TIMELESS: Final = AuditCase(
    "data without a time hangs, whose producer's clock is behind",
    "init tx 7; clock now; wait -9000000; add a; send a; clock =now; prepare commit; mark a; complete; send a",
    (f"violation txn.registered_before_data a-0@2, tx, {UNREGISTERED}",),
    held=("epoch 0 (tx), since 1970-01-01 00:16:40.0",),
    change=data_at(-1),
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


def raised_leader_epoch(directory: Path) -> None:
    """The leader epoch of one batch of the coordinator's log, which no CRC covers."""
    (segment,) = (directory / "__transaction_state-0").glob("*.log")
    content = bytearray(segment.read_bytes())
    start, _ = list(spans_of(content))[8]
    content[start + 15] = 9
    segment.write_bytes(content)


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
        edit=raised_leader_epoch,
    ),
)

ABORTED: Final = "Transactions: 1 aborted (aborted: 1 by {})."
COMMITTED: Final = "Transactions: 1 committed."

ENDED_BY: Final = tuple(
    AuditCase(
        f"a transaction with a timeout of a minute is open for {seconds} s, then {how}",
        f"init tx 7; add a; send a; wait {seconds}000; prepare {how}; mark a; complete",
        line=line,
        ended_by=(by,),
        version=version,
    )
    for version, how, seconds, by, line in (
        (0, "commit", 0, EndedBy.CLIENT, COMMITTED),
        (0, "abort", 0, EndedBy.CLIENT, ABORTED.format("their client")),
        (0, "abort", 120, EndedBy.CLIENT, ABORTED.format("their client")),
        (0, "abort fenced", 0, EndedBy.FENCE, ABORTED.format("a fence")),
        (0, "abort fenced", 61, EndedBy.TIMEOUT, ABORTED.format("their timeout")),
        (2, "abort", 0, EndedBy.CLIENT_OR_FENCE, ABORTED.format("their client or a fence")),
        (2, "abort", 61, EndedBy.TIMEOUT, ABORTED.format("their timeout")),
        (2, "commit", 61, EndedBy.CLIENT, COMMITTED),
    )
)
"""Under versions 0 and 1 only the coordinator's own abort raises the epoch; under version 2 every end does."""

FENCED: Final = "txn a abort fenced; "
FENCED_AGAIN: Final = tuple(
    AuditCase(
        f"an id of which others fence {fences} transactions in a row",
        "init tx 7; " + "".join(f"{FENCED}init tx 7 epoch={2 * number}; " for number in range(1, fences + 1)) + "txn a",
        findings,
        says=says,
        counts=f"aborted={fences} committed=1",
    )
    for fences, findings, says in (
        (3, (), ()),
        (
            4,
            ("suspicious fence.stale_epoch __transaction_state-0@2, tx, InitProducerId",),
            ("4 of 5 transactions of tx were aborted by a fence",),
        ),
    )
)
"""One fence is how a producer that was restarted begins."""

EXPIRED: Final = AuditCase(
    "an id that expired is listed with the time",
    "init tx 7; txn a; tombstone",
    options={"transactional_id": "tx"},
    reported={"transactions.listed.0.expired_ms": 1_000_051},
    printed=("id expired",),
)

CASES: Final = (
    *SOUND,
    *BROKEN,
    *DOUBTED,
    *LATE_MARKERS,
    *OVERDUE,
    *WRONG_CLOCKS,
    *NEVER_ABORTED,
    *GIVEN_AGAIN,
    *TWO_FAULTS,
    TIMELESS,
    *WIDE,
    *ENDED_BY,
    *FENCED_AGAIN,
    EXPIRED,
)
