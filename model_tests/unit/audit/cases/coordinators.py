"""What a coordinator's log shows of transactional ids: broken, doubtful, damaged, cleaned, of another cluster."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from model_tests.unit.audit.audit_case import AuditCase, each_version
from model_tests.unit.audit.stories import BEGUN, cluster_of
from model_tests.unit.audit.written import write_segment
from model_tests.unit.audit.written_cluster import ABORT, COMMIT, WrittenCluster
from model_tests.unit.support.one_cause import A, B, identified, record
from reference.broker.transaction_record import encode_key
from reference.log.batch import data_batch, marker_batch
from reference.log.record import Record
from spec.vocabulary import Epoch

HISTORIES: Final = (
    AuditCase(
        "Complete without Prepare",
        BEGUN + "add a; record complete_commit",
        ("violation txn.legal_transition __transaction_state-0@8, tx, completion after the markers",),
    ),
    AuditCase(
        "Complete of the other outcome",
        BEGUN + "add a; prepare abort; record complete_commit",
        ("violation txn.one_outcome __transaction_state-0@9, tx, completion after the markers",),
    ),
    AuditCase(
        "the epoch falls",
        BEGUN + "init tx 7 epoch=1; record empty epoch=0",
        ("violation fence.epoch_monotone __transaction_state-0@8, tx, InitProducerId",),
    ),
    AuditCase(
        "a commit raises the epoch under version 0",
        BEGUN + "add a; record prepare_commit epoch=1",
        ("violation txn.legal_transition __transaction_state-0@8, tx, EndTxn",),
    ),
    AuditCase(
        "a partition is dropped",
        BEGUN + "add a b; record prepare_commit a",
        ("violation txn.legal_transition __transaction_state-0@8, tx, EndTxn",),
    ),
    AuditCase(
        "prepared twice, unless the first append was refused",
        BEGUN + "add a; prepare commit; record prepare_abort",
        ("undecided txn.one_outcome __transaction_state-0@9, tx, EndTxn",),
        says=("refused",),
    ),
    AuditCase(
        "expired while open, unless an append was refused",
        BEGUN + "add a; tombstone",
        ("undecided txn.legal_transition __transaction_state-0@8, tx, expiration of the id",),
        says=("refused",),
    ),
    AuditCase(
        "expired twice, unless an append was refused",
        BEGUN + "tombstone; tombstone",
        ("undecided txn.legal_transition __transaction_state-0@8, tx, expiration of the id",),
        says=("refused",),
    ),
    AuditCase(
        "expired without a record before it, unless an append was refused",
        BEGUN + "other: tombstone",
        ("undecided txn.legal_transition __transaction_state-0@7, other, expiration of the id",),
        says=("refused",),
    ),
    AuditCase(
        "a tombstone in a transaction: the record behind it shows that it was not refused",
        BEGUN + "add a; send a; tombstone; record complete_commit",
        ("violation txn.legal_transition __transaction_state-0@8, tx, expiration of the id",),
        not_said=("refused",),
    ),
    AuditCase(
        "an id begins twice: the record behind it shows that the first was not refused",
        "init tx 7; record empty; prepare commit; complete",
        ("violation txn.legal_transition __transaction_state-0@1, tx, InitProducerId",),
        not_said=("refused",),
    ),
    AuditCase(
        "completed twice, the first append refused: one transaction",
        BEGUN + "txn a; again; add b",
        counts="aborted=1 committed=2 open=1",
    ),
    AuditCase(
        "a value of an unknown version",
        BEGUN + "add a; send a; value 000772657374",
        ("undecided txn.legal_transition __transaction_state-0@8",),
        says=("value of version 7",),
    ),
    AuditCase(
        "a damaged value",
        BEGUN + "value 000072657374",
        damage=("damaged value",),
        counts="aborted=1 committed=1",
    ),
    *(
        AuditCase(
            f"a marker, {outcome}, of an id that never had a transaction",
            f"init tx 7; mark a {outcome}; wait 1000; other: init other 8",
            (f"{severity} txn.marker_once a-0@0, tx, WriteTxnMarkers",),
            version=2,
        )
        for outcome, severity in (("commit", "violation"), ("abort", "suspicious"))
    ),
    AuditCase(
        "two transactional ids have one producer id",
        "first: init first 7; first: txn a; second: init second 7; second: txn b",
        ("violation ids.unique __transaction_state-0@4, second, InitProducerId",),
    ),
    AuditCase(
        "two transactional ids have two producer ids",
        "first: init first 7; first: txn a; second: init second 8; second: txn b",
    ),
)


def unreadable_before_a_repeated_record(cluster: WrittenCluster) -> None:
    """A coordinator that gave up waiting for an append continues from the state before it, which is unreadable here."""
    cluster.coordinator[-4] = data_batch([Record(0, 0, encode_key("tx"), b"\x00\x00rest")])


def turned(cluster: WrittenCluster) -> None:
    """The last marker of the second partition has the other outcome."""
    last = cluster.logs[B][-1]
    marker = last.marker()
    assert marker is not None
    kind = ABORT if marker.control_type == COMMIT else COMMIT
    cluster.logs[B][-1] = marker_batch(last.producer_id, last.producer_epoch, kind, 0, last.max_timestamp)


TORN: Final = "init tx 7; txn a b c; txn a b c "
THREE: Final = "init tx 7; txn a b; txn a b abort; txn a b"

CLEANED: Final = (
    AuditCase(
        "a record is appended twice after one that is damaged",
        BEGUN + "add a; send a; prepare abort fenced; record prepare_abort; mark a; complete",
        damage=("damaged value",),
        change=unreadable_before_a_repeated_record,
    ),
    *(
        AuditCase(
            f"the Complete record of an epoch, {outcome}, is left, and a marker is otherwise",
            TORN + outcome,
            ("violation txn.one_outcome b-0@3, tx, WriteTxnMarkers",),
            version=2,
            change=turned,
            kept=(-1,),
        )
        for outcome in ("commit", "abort")
    ),
    *(
        AuditCase(
            f"{left} is left of an id, and two markers contradict a third",
            TORN + "commit; init tx",
            ("violation txn.atomic b-0@3, producer 7",),
            says=("2 others of the same epoch say COMMIT",),
            version=2,
            change=turned,
            kept=kept,
        )
        for left, kept in (("InitProducerId", (-1,)), ("nothing", ()))
    ),
    AuditCase("under version 0 one epoch has many outcomes", TORN + "commit", change=turned, kept=()),
    *each_version(
        AuditCase("the last record of right transactions is left", THREE, kept=(-1,)),
        AuditCase("the last four records of right transactions are left", THREE, kept=(-4, -3, -2, -1)),
        AuditCase(
            "the history begins with InitProducerId, and markers are from before it",
            "init tx 7; txn a b; txn a c; txn b c; init tx; txn a b",
            kept=(-4, -3, -2, -1),
        ),
        AuditCase(
            "the history continues behind unreadable bytes with InitProducerId",
            "init tx 7; txn a b; txn a c; txn b c; init tx",
            kept=(0, 1, 2, 3, -1),
        ),
    ),
    AuditCase(
        "behind a hole a marker ends data of two epochs; the first one's transaction does not have the partition",
        "init tx 7; txn a b; add b; send a b; prepare commit; mark b; complete; txn a b; txn a b",
        ("violation txn.registered_before_data a-0@2, tx",),
        says=("the first one's transaction (offset 5 of the coordinator's log) does not have this partition",),
        version=2,
        kept=(*range(7), *range(10, 13)),
    ),
)


ONE: Final = "init tx 7; add a; send a; prepare commit; mark a; complete; "
ONE_AT_1: Final = "init tx 7 epoch=1; add a; send a; prepare commit; mark a; complete; "


def without_timeout(cluster: WrittenCluster) -> None:
    """The id begins a transaction with a timeout that no request has."""
    cluster.values["tx"] = replace(cluster.values["tx"], timeout_ms=-1)
    cluster.add("tx", A)


BEHIND_HOLES: Final = (
    AuditCase(
        "the cleaner took the Prepare record, and the Complete record was appended three times more as it was refused",
        f"{ONE} again; again; again",
        counts="committed=4",
        reported={"judged.txn.legal_transition": 3},
        version=2,
        kept=(-4, -3, -2, -1),
    ),
    *(
        AuditCase(
            f"no refusal lets an epoch fall behind a hole: {how}",
            ONE + behind,
            (f"violation fence.epoch_monotone __transaction_state-0@{at}, tx, InitProducerId",),
            says=("CompleteCommit of producer 7 epoch 1 is followed by Empty of producer 7 epoch 0",),
            reported={"judged.txn.legal_transition": 2},
            version=2,
            kept=(-3, -2, -1),
        )
        for how, behind, at in (
            ("after a record that is there twice", "again; record empty epoch=0", 5),
            ("before a record as there was one", "record empty epoch=0; record complete_commit epoch=1", 4),
        )
    ),
    *(
        AuditCase(
            f"a commit of epoch 1, a hole, and {after} of epoch {epoch}",
            f"{ONE if version else ONE_AT_1} again; record {after} epoch={epoch}{partitions}",
            (f"violation txn.one_outcome __transaction_state-0@5, tx, {step}",) if found else (),
            says=("under version 2 no two transactions end in one epoch",) if found else (),
            version=version,
            kept=(-3, -1),
        )
        for after, partitions, step in (
            ("complete_abort", "", "completion after the markers"),
            ("prepare_abort", " a", "EndTxn"),
        )
        for version, epoch, found in ((2, 1, True), (2, 2, False), (0, 1, False))
    ),
    AuditCase(
        "a timeout that no request has: without it the two states look as if one followed the other",
        "init tx 7",
        ("violation txn.legal_transition __transaction_state-0@1, tx, AddPartitionsToTxn",),
        says=("Ongoing of producer 7 epoch 0 and timeout -1, expected above 0 with a-0",),
        change=without_timeout,
    ),
)


def doubtful(stray: str, where: str, findings: tuple[str, ...]) -> AuditCase:
    """A transaction of which a record is wrong, among others; somewhere a marker that matches no transaction."""
    places = {"before": "", "beside": "", "between": "", "after": ""} | {stray: f"wait 1000; {where}; wait 1000;"}
    story = (
        f"init tx 7; txn a b; {places['before']} hour; txn a b; hour; txn a b abort; {places['beside']} hour; txn a b; "
        f"{places['between']} minutes 2; {places['after']} txn a b"
    )
    return AuditCase(f"an orphan marker {stray} a doubtful transaction", story, findings, change=seventh_of_next_epoch)


def seventh_of_next_epoch(cluster: WrittenCluster) -> None:
    """The Ongoing record of the third transaction has the next epoch."""
    name, value = identified(cluster.coordinator[7])
    wrong = replace(value, epoch=Epoch(value.epoch + 1))
    cluster.coordinator[7] = record(name, wrong, cluster.coordinator[7])


WRONG_RECORD: Final = "violation txn.legal_transition __transaction_state-0@7, tx, AddPartitionsToTxn"
STRAY: Final = "mark c commit"

DOUBTS: Final = (
    doubtful("before", STRAY, (WRONG_RECORD, "violation txn.marker_once c-0@0, tx, WriteTxnMarkers")),
    doubtful(
        "between",
        "send a; wait 1000; mark a commit",
        (WRONG_RECORD, "violation txn.registered_before_data a-0@8, tx, AddPartitionsToTxn"),
    ),
    doubtful("after", STRAY, (WRONG_RECORD, "violation txn.marker_once c-0@0, tx, WriteTxnMarkers")),
    doubtful("beside", STRAY, (WRONG_RECORD,)),
)


def turns(aborted: int) -> Iterator[str]:
    """Two ids with twenty transactions in turns, of which every so-maniest is aborted."""
    yield "init tx 7; other: init other 8"
    for number in range(20):
        yield f"{'tx' if number % 2 else 'other'}: txn a b {'commit' if number % aborted else 'abort'}"


def coordinator_of_another(own: int, other: int) -> AuditCase:
    """The partitions of one cluster with the coordinator's log of another, which began an hour later."""

    def exchanged(cluster: WrittenCluster) -> None:
        cluster.coordinator = cluster_of("; ".join(("hour", *turns(other)))).coordinator

    return AuditCase(
        f"the log of another cluster: every {own}th is aborted, every {other}th by that",
        "; ".join(turns(own)),
        damage=("/__transaction_state-0 byte 0: ... the folder is of another cluster",),
        explains={"no marker is here": ("txn.one_outcome", "...")},
        change=exchanged,
    )


FOREIGN: Final = (
    coordinator_of_another(2, 3),
    coordinator_of_another(2, 5),
    replace(
        coordinator_of_another(3, 3),
        name="a coordinator whose clock is wrong by an hour",
        damage=(),
        explains={},
        counts="aborted=7 committed=13",
    ),
)


def all_turned(cluster: WrittenCluster) -> None:
    """Every marker of the first partition has the other outcome."""
    for number, batch in enumerate(cluster.logs[A]):
        marker = batch.marker() if batch.is_control else None
        if marker is not None:
            kind = ABORT if marker.control_type == COMMIT else COMMIT
            wrong = marker_batch(batch.producer_id, batch.producer_epoch, kind, 0, batch.max_timestamp)
            cluster.logs[A][number] = wrong


TURNED: Final = AuditCase(
    "where all is broken in one partition, the others show that the log is of this cluster",
    "; ".join(turns(3)),
    tuple(
        f"violation txn.atomic a-0@{2 * number + 1}, {'tx' if number % 2 else 'other'}, WriteTxnMarkers"
        for number in range(20)
    ),
    change=all_turned,
)

TWO_IDS: Final = "first: init first 7; first: txn a; second: init second 7; second: txn b"


def in_two_logs(directory: Path) -> None:
    """The records of the second id are in the log of another coordinator."""
    records = cluster_of(TWO_IDS).coordinator
    for number, own in enumerate((records[:4], records[4:])):
        write_segment(directory / f"__transaction_state-{number}", own)


TWO_COORDINATORS: Final = AuditCase(
    "each of two coordinators claimed a block of ids, and the blocks overlap",
    TWO_IDS,
    ("violation ids.unique __transaction_state-1@0, second, InitProducerId",),
    says=("which first has (__transaction_state-0 offset 0)",),
    edit=in_two_logs,
)

CASES: Final = (*HISTORIES, *CLEANED, *BEHIND_HOLES, *DOUBTS, *FOREIGN, TURNED, TWO_COORDINATORS)
