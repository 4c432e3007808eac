"""Markers that are missing: what can have removed one makes it a doubt, and nothing else does."""

from typing import Final

from model_tests.audit.changes import in_leader_epoch
from model_tests.unit.audit.audit_case import AuditCase
from model_tests.unit.audit.directory_edits import batch, damaged, edits, text, without_batches

NOWHERE: Final = "init tx 7; txn a b; add a b; send b; prepare commit; mark b; complete; blank a; wait 100; txn a b"
"""The second transaction registers A, and has neither data nor marker there; at offset 2 is a batch of no producer."""

AT_THE_END: Final = "init tx 7; txn a b; add a b; send b; prepare commit; mark b; complete"
HANGING: Final = "init tx 7; txn a b; add a b; send a b; prepare commit; mark b; complete; wait 100; txn b; blank a"
"""The second transaction has data in A at offset 2, and no marker."""

LEADER_AT_2: Final = edits(*(batch("a-0", offset, in_leader_epoch(1), "") for offset in (2, 3, 4)))
ELSEWHERE: Final = edits(
    *(batch("a-0", offset, in_leader_epoch(1), "") for offset in (5, 6, 7)),
    text("cleaner-offset-checkpoint", "0\n1\na 0 1\n"),
    damaged("a-0", 5),
)
"""The cleaner was before, the leader changed behind, and what is unreadable is behind, too."""


REMOVED: Final = (
    *(
        AuditCase(
            f"a marker is missing where {what}", NOWHERE, damage=damage, missing=(f"1 x {why}",), version=2, edit=edit
        )
        for what, why, damage, edit in (
            ("the leader changed", "the leader changed there", (), LEADER_AT_2),
            (
                "the log cleaner was",
                "the log cleaner was there",
                (),
                edits(without_batches("a-0", 2), text("cleaner-offset-checkpoint", "0\n1\na 0 5\n")),
            ),
            (
                "bytes are unreadable",
                "unreadable bytes where the marker should be",
                ("a-0 ... CRC of the batch at offset 2",),
                damaged("a-0", 2),
            ),
        )
    ),
    AuditCase(
        "a marker is missing, and the end of the log",
        AT_THE_END,
        ("undecided lso.bounds a-0@2",),
        missing=("1 x the end of its log is missing",),
        version=2,
        flushed={"a": 9},
    ),
    *(
        AuditCase(
            f"a marker is missing, and {what}",
            story,
            ("violation txn.marker_once a-0@4, tx, WriteTxnMarkers",),
            says=("no COMMIT marker and no data of the transaction between offsets 1 and 4",),
            damage=damage,
            missing=(),
            version=2,
            edit=edit,
        )
        for what, story, damage, edit in (
            ("nothing can have removed it", NOWHERE, (), edits()),
            ("something happened elsewhere", f"{NOWHERE}; blank a; txn a b", ("at offset 5",), ELSEWHERE),
            ("batches are gone, which nothing removes", NOWHERE, (), without_batches("a-0", 2)),
            (
                "batches are gone where the leader changed",
                NOWHERE,
                (),
                edits(LEADER_AT_2, without_batches("a-0", 2)),
            ),
        )
    ),
    AuditCase(
        "data without its marker hangs, though the leader changed: no election loses the marker and not the data",
        HANGING,
        ("violation txn.marker_once a-0@2, tx, WriteTxnMarkers",),
        remedy=("abort --topic a --partition 0 --start-offset 2",),
        version=2,
        edit=batch("a-0", 3, in_leader_epoch(1), ""),
    ),
)

NO_MARKER: Final = "init tx 7; txn a b; add a b; send a b; prepare commit; mark b; complete; txn a b; txn a b"
"""The second of four transactions has none in A; each has three records in the coordinator's log, from 1 on."""

HOLES: Final = tuple(
    AuditCase(
        f"the marker before is missing, and {what} in the coordinator's log",
        NO_MARKER,
        (f"violation txn.marker_once a-0@2, {whose}",),
        says=(why,),
        version=2,
        kept=tuple(number for number in range(13) if number not in gone),
    )
    for gone, what, whose, why in (
        ((7, 8, 9), "the next transaction is not", "tx, WriteTxnMarkers", "the next transaction's marker"),
        ((8,), "the next one's Prepare record is not", "tx, WriteTxnMarkers", "the next transaction's marker"),
        ((7, 8), "the next one's begin is not", "tx, WriteTxnMarkers", "the next transaction's marker"),
        ((4, 5, 6), "its own is not", "producer 7", "the first one's marker is missing"),
        ((6, 7, 8, 9), "its Complete record is not, nor the next one", "producer 7", "the first one's marker"),
    )
)

CASES: Final = (*REMOVED, *HOLES)
