"""Files that a broker derives from a log: snapshots, aborted and sparse indexes, leader epochs; with wrong entries."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from crc32c import crc32c

from model_tests.audit.recorded import KAFKA_3_9
from model_tests.logs.kafka_log_derived import ABORTED_ENTRY, OFFSET_ENTRY, SNAPSHOT_ENTRY, TIME_ENTRY, Rows
from model_tests.unit.audit.audit_case import AuditCase
from model_tests.unit.audit.directory_edits import Edit, edits, gone, text, unmarked, void, with_markers
from model_tests.unit.audit.written import data, marker, placed
from model_tests.unit.audit.written_world import write_log
from model_tests.unit.support.changed_directories import not_marked, without_epoch, without_id
from reference.log import snapshot_file
from reference.log.batch import RecordBatch, marker_batch
from spec.versions import NEWEST
from spec.vocabulary import ControlType, Epoch, ProducerId

DAY_MS: Final = 24 * 3600 * 1000
ENTRIES: Final = {
    ".snapshot": (snapshot_file.HEADER.size, SNAPSHOT_ENTRY),
    ".txnindex": (0, ABORTED_ENTRY),
    ".index": (0, OFFSET_ENTRY),
    ".timeindex": (0, TIME_ENTRY),
}
"""Where the entries of a file begin, and what one is."""

PARTITION: Final = "orders-2"
FIRST, SECOND = f"{PARTITION}/{0:020}", f"{PARTITION}/{4115:020}"
SNAPSHOT, LATER_SNAPSHOT = f"{PARTITION}/{5693:020}.snapshot", f"{PARTITION}/{5705:020}.snapshot"

RowsChange = Callable[[Rows], Rows]


def with_entries(name: str, change: RowsChange, written_ms: int | None = None) -> Edit:
    """The entries of a file are changed, and its checksum is right; it is as old as it was, or was written then."""

    def edit(directory: Path) -> None:
        path = directory / name
        written = path.stat().st_mtime_ns if written_ms is None else written_ms * 1_000_000
        start, entry = ENTRIES[path.suffix]
        head, rows = path.read_bytes()[:start], np.frombuffer(path.read_bytes()[start:], entry)
        changed = change(rows.copy())
        if start:
            covered = head[snapshot_file.CHECKED_FROM : -4] + len(changed).to_bytes(4, "big") + changed.tobytes()
            head = snapshot_file.HEADER.pack(snapshot_file.VERSION, crc32c(covered), len(changed))
        path.write_bytes(head + changed.tobytes())
        os.utime(path, ns=(written, written))

    return edit


def raised(field: str, number: int, by: int = 1) -> RowsChange:
    """A field of an entry is higher."""

    def change(rows: Rows) -> Rows:
        rows[number][field] += by
        return rows

    return change


def of_orders(name: str, edit: Edit, *findings: str, **more: Any) -> AuditCase:
    """A recorded partition in two segments, with three snapshots, where a derived file is otherwise."""
    return AuditCase(name, findings=findings, recording=KAFKA_3_9, parts=(PARTITION,), edit=edit, **more)


SOUND: Final = of_orders(
    "all snapshots and indexes agree with their log",
    edits(),
    reported={
        "judged.seq.state_recoverable": 4 + 4 + 6,
        "judged.lso.aborted_index": 51 + 17,
        "judged.lso.read_committed": 225,
        "judged.lso.decided_below": 225,
    },
)

OF_2: Final = "violation seq.state_recoverable orders-2@5279, producer 2"
"""The entry of producer 2, the second one of the snapshot."""

LATER_MS: Final = 1_795_241_711_469 + DAY_MS
"""A day after the newest batch of which a snapshot reports."""


def without(number: int) -> RowsChange:
    """An entry is not there."""
    return lambda rows: np.delete(rows, number)


def of_another(rows: Rows) -> Rows:
    """One more entry, of a producer that the log has not."""
    return np.insert(rows, len(rows), raised("producer_id", 0, 500)(rows[:1].copy()))


def other_id_and_sequence(rows: Rows) -> Rows:
    """The second entry has another producer id, and another sequence."""
    return raised("last_sequence", 1)(raised("producer_id", 1, 500)(rows))


def under_name_of_another(directory: Path) -> None:
    """The first snapshot was copied over the last one."""
    (directory / LATER_SNAPSHOT).write_bytes((directory / f"{SECOND}.snapshot").read_bytes())


SNAPSHOTS: Final = (
    *(
        of_orders(f"a snapshot says another {field}", with_entries(SNAPSHOT, raised(field, 1)), OF_2, says=(says,))
        for field, says in (
            ("producer_epoch", "says epoch 1, the log 0"),
            ("last_sequence", "says last sequence 1435, the log 1434"),
            ("offset_delta", "says offset delta 17, the log 16"),
            ("timestamp", "says timestamp 1795241711110, the log 1795241711109"),
            ("coordinator_epoch", "says coordinator epoch 1, the log 0"),
            ("txn_first_offset", "says open transaction from 0, the log -1"),
        )
    ),
    of_orders(
        "a snapshot says another last_offset",
        with_entries(SNAPSHOT, raised("last_offset", 1)),
        OF_2.replace("@5279", "@5280"),
        says=("says last offset 5280, the log 5279",),
    ),
    *(
        of_orders(f"a snapshot has forgotten {who}", with_entries(SNAPSHOT, without(entry), written), finding)
        for who, entry, written, finding in (
            ("the producer that wrote last", 2, None, "violation seq.state_recoverable orders-2@5691, producer 3"),
            (
                "the producer that wrote last, a day later",
                2,
                LATER_MS,
                "violation seq.state_recoverable orders-2@5691, producer 3",
            ),
            ("the producer that has been idle longest", 1, None, OF_2),
            (
                "the producer that has been idle longest, a day later",
                1,
                LATER_MS,
                "undecided seq.state_recoverable orders-2@5279",
            ),
        )
    ),
    of_orders(
        "a snapshot has a producer that the log has not",
        with_entries(SNAPSHOT, of_another),
        "violation seq.state_recoverable orders-2@5659, producer 501",
        says=("knows the producer up to offset 5659, the log has none",),
    ),
    of_orders(
        "a snapshot has another producer id: both are named, the one that no log has and the one that is not there",
        with_entries(SNAPSHOT, raised("producer_id", 1, 500)),
        OF_2,
        says=("says producer 502, the log 2",),
    ),
    of_orders(
        "an unknown producer beside one that is left out: they differ in more than the id, and both are counted",
        with_entries(SNAPSHOT, other_id_and_sequence),
        "violation seq.state_recoverable orders-2@5279",
        says=("2 producers are not as in the log",),
    ),
    of_orders(
        "a snapshot was copied to the name of another",
        under_name_of_another,
        "violation seq.state_recoverable orders-2@4003",
        says=(
            f"{5705:020}.snapshot: 6 producers are not as in the log",
            f"all is as in {4115:020}.snapshot",
        ),
    ),
    of_orders(
        "snapshots that are not there are no finding: a broker makes them anew from the log",
        gone(SNAPSHOT, LATER_SNAPSHOT, f"{SECOND}.snapshot"),
        reported={"judged.seq.state_recoverable": 0},
    ),
)

OF_456: Final = "violation lso.aborted_index orders-2@456, producer 4"
"""The aborted transaction of the sixth entry."""

ABORTED_OF_SECOND: Final = (
    *((4115, 1), (4443, 3), (4546, 4), (4651, 2), (4864, 4), (4968, 3), (5040, 4), (5079, 3), (5109, 1), (5156, 1)),
    *((5241, 4), (5263, 2), (5446, 1), (5412, 3), (5560, 1), (5629, 3), (5634, 3)),
)
"""The first offset and the producer of the aborted transactions that the second segment's index lists."""

ABORTED: Final = (
    *(
        of_orders(
            f"an entry of the aborted index {what}", with_entries(f"{FIRST}.txnindex", change), OF_456, says=(says,)
        )
        for what, change, says in (
            ("has another producer_id", raised("producer_id", 5), "says producer 5, the log gives 4"),
            ("has another first_offset", raised("first_offset", 5), "says first offset 457, the log gives 456"),
            ("has another last_offset", raised("last_offset", 5), "says last offset 552, the log gives 551"),
            ("has another last_stable", raised("last_stable", 5), "says last stable offset 479, the log gives 478"),
            ("is lost", without(5), "has no entry of the aborted transaction at offsets 456..551"),
            (
                "is there twice",
                lambda rows: np.insert(rows, 5, rows[5]),
                "ends at 551, but the entry before it ends at 551",
            ),
            (
                "is exchanged with the next one",
                lambda rows: rows[[0, 1, 2, 3, 4, 6, 5, *range(7, len(rows))]],
                "but the entry before it ends at 636",
            ),
        )
    ),
    of_orders(
        "the aborted index of a segment has lost all of its entries",
        with_entries(f"{SECOND}.txnindex", lambda rows: rows[:0]),
        *(
            f"violation lso.aborted_index orders-2@{first}, producer {producer}"
            for first, producer in ABORTED_OF_SECOND
        ),
    ),
    of_orders(
        "a copy of the segments alone shows nothing of their indexes",
        gone(*(f"{segment}.{kind}" for segment in (FIRST, SECOND) for kind in ("txnindex", "index", "timeindex"))),
        reported={"judged.lso.aborted_index": 0},
    ),
)

SPARSE: Final = (
    *(
        of_orders(
            f"an entry of the sparse index of {kind} has another {field}",
            with_entries(f"{FIRST}.{kind}", raised(field, 3, 1000)),
            damage=(f"{FIRST}.{kind} byte {damage}",),
        )
        for kind, field, damage in (
            ("index", "relative", "32: entry 4: offsets and positions rise from entry to entry"),
            ("index", "position", "24: entry 3: no batch of the segment has offset 365 and position 20467"),
            ("timeindex", "timestamp", "48: entry 4: timestamps and offsets rise from entry to entry"),
            ("timeindex", "relative", "48: entry 4: timestamps and offsets rise from entry to entry"),
        )
    ),
    of_orders(
        "a line of the leader epochs has another one than its batches",
        text(f"{PARTITION}/leader-epoch-checkpoint", "0\n1\n1 0\n"),
        damage=("leader-epoch-checkpoint byte 4: says epoch 1 from offset 0, but the batch at offset 0 has",),
    ),
)


def of_producer(batch: RecordBatch, producer_id: int) -> RecordBatch:
    """The batch with another producer id."""
    return batch._replace(producer_id=ProducerId(producer_id))


def three_aborted(*producers: int) -> Edit:
    """A log of two segments, of which the first has an aborted transaction of each of three producer ids."""
    batches: list[RecordBatch] = []
    for number, producer in enumerate(producers):
        sequence = producers[:number].count(producer)
        own = data(sequence, transactional=True, at=1_000 + number)
        batches += [of_producer(own, producer), marker_batch(ProducerId(producer), Epoch(0), ControlType.ABORT, 0)]
    batches += [of_producer(data(number, at=2_000), 9) for number in range(5)]
    return lambda directory: void(write_log(directory / "t-0", NEWEST, tuple(placed(batches)), 0))


OF_THREE: Final = f"t-0/{0:020}.txnindex"


def written_again(change: Callable[[bytes], bytes]) -> Edit:
    """The aborted index of three entries has other bytes."""
    return lambda directory: void((directory / OF_THREE).write_bytes(change((directory / OF_THREE).read_bytes())))


def cut_at(left: int) -> AuditCase:
    """So many bytes of the aborted index were copied."""
    return AuditCase(
        f"the copy of an aborted index ended after {left} bytes: what it lost, its damage reports",
        damage=(f"{OF_THREE} byte {left - left % ABORTED_ENTRY.itemsize}: ",),
        edit=edits(three_aborted(7, 8, 7), written_again(lambda content: content[:left])),
    )


CUT: Final = (
    AuditCase("an aborted index has three entries", edit=three_aborted(7, 8, 7)),
    *map(cut_at, (1, 33, 35)),
    AuditCase(
        "a cut aborted index lacks an entry before its end",
        findings=("violation lso.aborted_index t-0@0, producer 7",),
        damage=(f"{OF_THREE} byte 34: 1 bytes are left",),
        edit=edits(three_aborted(7, 8, 7), written_again(lambda content: content[34:69])),
    ),
    *(
        AuditCase(
            f"a missing aborted index is one finding, however much it should list, of producers {producers}",
            findings=(f"violation lso.aborted_index t-0@0{whose}",),
            says=(f"{0:020}.txnindex is missing, with 3 aborted transactions that it should list",),
            edit=edits(three_aborted(*producers), gone(OF_THREE)),
        )
        for producers, whose in (((7, 8, 7), ""), ((7, 7, 7), ", producer 7"))
    ),
)


def several_segments(directory: Path) -> None:
    """A log in several segments, with an aborted transaction in the first and in the last."""
    batches = [data(0, transactional=True, at=1_000), marker(kind=ControlType.ABORT)]
    batches += [data(1 + number, transactional=True, at=1_001 + number) for number in range(12)]
    batches += [marker(kind=ControlType.ABORT), data(13, transactional=True, at=1_014), marker()]
    write_log(directory / "t-0", NEWEST, tuple(placed(batches)), 0)
    assert len(indexes(directory)) == 2


def indexes(directory: Path) -> list[Path]:
    """The aborted indexes that have entries."""
    return [path for path in sorted((directory / "t-0").glob("*.txnindex")) if path.stat().st_size]


def without_files(number: int, *kinds: str) -> Edit:
    """One of the aborted indexes is not there, and no other index of these kinds of its segment."""

    def edit(directory: Path) -> None:
        listed = indexes(directory)
        for kind in ("txnindex", *kinds):
            listed[number].with_suffix(f".{kind}").unlink()

    return edit


def flushed(offset: int) -> Edit:
    """The recovery point."""
    return text("recovery-point-offset-checkpoint", f"0\n1\nt 0 {offset}\n")


STOPPED: Final = text(".kafka_cleanshutdown", '{"version":0,"brokerEpoch":1}')

MISSING: Final = (
    AuditCase("no index is missing", edit=several_segments),
    AuditCase(
        "a missing index is one without entries to a broker: it is not made anew while the sparse index is there",
        findings=("violation lso.aborted_index t-0@0, producer 7",),
        says=("is missing, with the aborted transaction at offsets 0..1",),
        remedy=(f"With the broker stopped, delete {0:020}.index: ",),
        edit=edits(several_segments, without_files(0), flushed(16)),
    ),
    AuditCase(
        "above the recovery point of a crash it is made anew",
        findings=("undecided lso.aborted_index t-0@2, producer 7",),
        says=("the next start rebuilds it",),
        edit=edits(several_segments, without_files(1), flushed(5)),
    ),
    AuditCase(
        "after a clean stop nothing is recovered",
        findings=("violation lso.aborted_index t-0@2, producer 7",),
        not_said=("the next start rebuilds it",),
        edit=edits(several_segments, without_files(1), flushed(5), STOPPED),
    ),
    AuditCase(
        "a segment without any index is recovered whole",
        edit=edits(several_segments, without_files(0, "index", "timeindex")),
    ),
)

ZOMBIE: Final = "zombie-1"
ZOMBIE_INDEX: Final = f"{ZOMBIE}/{0:020}.txnindex"
UNMARKED: Final = "violation seq.well_formed zombie-1@41, producer 13"
"""The marker at offset 41 has no mark; what it has caused begins with its missing sequence."""
OF_41: Final = {"has sequence -1, expected 5": ("lso.aborted_index", "seq.state_recoverable")}
OF_69: Final = {"has sequence -1, expected 1": ("lso.aborted_index", "txn.registered_before_data")}

BROKEN_MARKERS: Final = tuple(
    AuditCase(name, findings=(UNMARKED, *others), explains=explains, recording=KAFKA_3_9, parts=(ZOMBIE,), edit=edit)
    for name, edit, others, explains in (
        ("a broken marker, with all entries that report of it", unmarked(ZOMBIE, 6), (), OF_41),
        (
            "two broken markers",
            unmarked(ZOMBIE, 6, 10),
            ("violation seq.well_formed zombie-1@69, producer 16",),
            OF_41 | OF_69,
        ),
        (
            "an entry has a last stable offset that is wrong whatever the marker is",
            edits(unmarked(ZOMBIE, 6), with_entries(ZOMBIE_INDEX, raised("last_stable", -1, -1))),
            ("violation lso.aborted_index zombie-1@103, producer 21",),
            OF_41,
        ),
        (
            "an entry of an earlier transaction is wrong",
            edits(unmarked(ZOMBIE, 6), with_entries(ZOMBIE_INDEX, raised("first_offset", 0))),
            ("violation lso.aborted_index zombie-1@0, producer 11",),
            OF_41,
        ),
    )
)

ENTRIES_AND_SNAPSHOT: Final = ("lso.aborted_index", "seq.state_recoverable")
WITH_COORDINATORS: Final = tuple(
    AuditCase(
        f"marker {number} of many {what}, with the coordinators' logs",
        findings=(f"violation {rule} zombie-1@{offset}, {name}, WriteTxnMarkers",),
        explains={says: caused},
        recording=KAFKA_3_9,
        parts=(ZOMBIE, "__transaction_state-*"),
        edit=with_markers(ZOMBIE, change, number),
    )
    for what, change, rule, says, markers in (
        (
            "is not marked as one",
            not_marked,
            "seq.well_formed",
            "a producer numbers its data",
            (
                (6, 41, "zmb-2", ("txn.marker_once", *ENTRIES_AND_SNAPSHOT)),
                (14, 87, "zmb-6", ("txn.marker_once", *ENTRIES_AND_SNAPSHOT)),
                (
                    20,
                    107,
                    "zmb-10",
                    ("txn.registered_before_data", "txn.marker_once", *ENTRIES_AND_SNAPSHOT),
                ),
            ),
        ),
        (
            "has no producer id",
            without_id,
            "txn.marker_once",
            "it hangs and holds the last stable offset",
            (
                (6, 36, "zmb-2", ENTRIES_AND_SNAPSHOT),
                (14, 81, "zmb-6", ENTRIES_AND_SNAPSHOT),
                (20, 103, "zmb-10", ENTRIES_AND_SNAPSHOT),
            ),
        ),
        (
            "has no epoch",
            without_epoch,
            "fence.stale_epoch",
            "marker of epoch -1 after epoch",
            (
                (6, 41, "zmb-2", ("txn.marker_once", "seq.state_recoverable")),
                (14, 87, "zmb-6", ("txn.marker_once", "seq.state_recoverable")),
                (20, 107, "zmb-10", ("txn.marker_once", "seq.state_recoverable")),
            ),
        ),
    )
    for number, offset, name, caused in markers
)

CASES: Final = (SOUND, *SNAPSHOTS, *ABORTED, *SPARSE, *CUT, *MISSING, *BROKEN_MARKERS, *WITH_COORDINATORS)
