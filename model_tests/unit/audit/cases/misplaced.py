"""Records and markers of two producers under the identity of another, or in another form."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from model_tests.audit.recorded import KAFKA_3_9
from model_tests.unit.audit.audit_case import AuditCase
from model_tests.unit.audit.directory_edits import unmarked
from model_tests.unit.audit.written_cluster import STATES, WrittenCluster
from model_tests.unit.support.one_cause import A, identified, record, two_producers
from reference.broker.transaction_record import TransactionValue
from reference.log.batch import TRANSACTIONAL
from spec.vocabulary import ProducerId


def changed(name: str, change: Callable[[WrittenCluster], None], *findings: str, **more: Any) -> AuditCase:
    """The logs of two producers, changed."""

    def write(cluster: WrittenCluster) -> None:
        two_producers(cluster.version, cluster)
        change(cluster)

    return AuditCase(name, findings=findings, change=write, **more)


def first_record(
    cluster: WrittenCluster, chosen: Callable[[str, TransactionValue], bool]
) -> tuple[int, str, TransactionValue]:
    """The first of the coordinator's records that is chosen: its number, its id, and its value."""
    records = ((number, *identified(batch)) for number, batch in enumerate(cluster.coordinator))
    return next(each for each in records if chosen(each[1], each[2]))


def prepared_under_another_key(cluster: WrittenCluster) -> None:
    """The first PrepareCommit record has the key of the other id."""
    number, _, value = first_record(cluster, lambda _, value: value.status == STATES.PREPARE_COMMIT.value)
    cluster.coordinator[number] = record("other", value, cluster.coordinator[number])


def producer_of_the_other(name: str) -> Callable[[WrittenCluster], None]:
    """The first record of an id has the producer id of the other one, and a state in which no id begins."""

    def change(cluster: WrittenCluster) -> None:
        number, _, value = first_record(cluster, lambda own, _: own == name)
        wrong = replace(value, producer_id=ProducerId(15 - value.producer_id), status=STATES.ONGOING.value)
        cluster.coordinator[number] = record(name, wrong, cluster.coordinator[number])

    return change


def not_marked(first: int, count: int) -> Callable[[WrittenCluster], None]:
    """Markers of producer 7 in the first partition are no control batches."""

    def change(cluster: WrittenCluster) -> None:
        log = cluster.logs[A]
        markers = [number for number, batch in enumerate(log) if batch.is_control and batch.producer_id == 7]
        for number in markers[first:][:count]:
            log[number] = log[number]._replace(attributes=TRANSACTIONAL)

    return change


RECORDS: Final = (
    changed(
        "a record under another key leaves both histories as they were",
        prepared_under_another_key,
        "violation txn.legal_transition __transaction_state-0@4, tx, the coordinator's append of the record",
        says=("the record has the key of other and the producer id of tx",),
        explains={"": ("txn.legal_transition",)},
        counts="aborted=4 committed=4",
        version=2,
    ),
    *(
        changed(
            f"the first record of {name} has the producer of another, and is broken otherwise",
            producer_of_the_other(name),
            f"violation txn.legal_transition __transaction_state-0@{number}, {name}, AddPartitionsToTxn",
            explains={},
            counts="aborted=4 committed=3 undecided=1",
        )
        for number, name in enumerate(("tx", "other"))
    ),
)

WELL_FORMED: Final = "violation seq.well_formed a-0@"
BY_MARKERS: Final = ", tx, WriteTxnMarkers"
ABORT: Final = "abort --topic a --partition 0 --start-offset 14"
THIRD_LACKS: Final = "data from offset 10 on has no ABORT marker of its own"
LAST_LACKS: Final = "data from offset 12 on has no COMMIT marker of its own"


def two_not_marked(first: int, *findings: str, **more: Any) -> tuple[AuditCase, ...]:
    """What a transaction lacks is the first of them behind its data, though the later one is behind it as well."""
    name = f"markers {first + 1} and {first + 2} are no control batches"
    return tuple(changed(name, not_marked(first, 2), *findings, version=version, **more) for version in (0, 2))


MARKERS: Final = (
    changed(
        "a marker that is no control batch leaves its transaction open",
        not_marked(4, 1),
        f"{WELL_FORMED}15{BY_MARKERS}",
        remedy=(ABORT,),
        explains={"": ("txn.marker_once",)},
        held=(ABORT,),
    ),
    *two_not_marked(
        0,
        f"{WELL_FORMED}3{BY_MARKERS}",
        f"{WELL_FORMED}8, producer 7",
        says=("data from offset 0 on has no COMMIT marker of its own",),
        explains={"a-0@3": ("txn.marker_once",)},
    ),
    *two_not_marked(
        1,
        f"{WELL_FORMED}8{BY_MARKERS}",
        f"{WELL_FORMED}11, tx, Produce",
        says=("data from offset 5 on has no ABORT marker of its own",),
        explains={"a-0@8": ("txn.marker_once",), "a-0@11": ("fence.stale_epoch",)},
    ),
    *two_not_marked(
        2,
        f"{WELL_FORMED}11{BY_MARKERS}",
        f"{WELL_FORMED}13{BY_MARKERS}",
        says=(THIRD_LACKS, LAST_LACKS),
        explains={"a-0@11": ("fence.stale_epoch", "txn.marker_once"), "a-0@13": ("txn.marker_once",)},
    ),
    AuditCase(
        "an entry of the aborted index shows that a marker is no control batch, without a coordinator's log",
        findings=("violation seq.well_formed payments-0@294, producer 4",),
        recording=KAFKA_3_9,
        parts=("payments-0",),
        edit=unmarked("payments-0", 8),
        explains={"": ("lso.aborted_index",)},
        says=("txnindex",),
    ),
)

MISSING: Final = "ids 30; init tx 70; txn a b; add a; send a; prepare commit; "
"""The marker of a transaction is missing from A, whose next one has it; all coordinators' logs are here."""

BOTH_LACK: Final = "ids 30; init tx 70; txn a b; add a b; send a; send b; prepare commit; "

LACKS: Final = "violation txn.marker_once a-0@{}, tx, WriteTxnMarkers"
FOREIGN: Final = "violation txn.marker_once {}, producer 99, WriteTxnMarkers"
NAMED_OTHERWISE: Final = "the COMMIT marker has producer id 99, for which nothing asks for it"
NOT_OF_IT: Final = {
    "has another outcome": (
        MISSING + "foreign a 99 abort; complete; txn a b",
        (LACKS.format(2), "suspicious txn.marker_once a-0@3, producer 99, WriteTxnMarkers"),
    ),
    "stands behind the next one": (
        MISSING + "complete; txn a b; foreign a 99 commit; txn a b",
        (LACKS.format(2), FOREIGN.format("a-0@5")),
    ),
    "stands before the one before": (
        "ids 30; init tx 70; add a; send a; foreign a 99 commit; prepare commit; mark a; complete; "
        "add a; send a; prepare commit; complete; txn a b",
        (FOREIGN.format("a-0@1"), LACKS.format(3)),
    ),
    "has another epoch": (
        "ids 30; init tx 70; init tx; txn a b; add a; send a; prepare commit; foreign a 99 commit; complete; txn a b",
        (LACKS.format(2), FOREIGN.format("a-0@3")),
    ),
    "stands in another log": (
        MISSING + "foreign b 99 commit; complete; txn a b",
        (LACKS.format(2), FOREIGN.format("b-0@2")),
    ),
    "stands in another log, and one of another outcome here": (
        BOTH_LACK + "foreign a 99 abort; foreign b 99 commit; mark b; complete; txn a b",
        (
            LACKS.format(2),
            "suspicious txn.marker_once a-0@3, producer 99, WriteTxnMarkers",
            FOREIGN.format("b-0@3"),
        ),
    ),
    "is later than all coordinators' logs, and another one stands in another log": (
        BOTH_LACK
        + "foreign b 99 commit; mark b; clock end; wait 1000; foreign a 99 commit; clock =end; complete; txn a b",
        (LACKS.format(2), FOREIGN.format("b-0@3")),
    ),
    "is a day younger": (
        MISSING + "clock end; wait 86400000; foreign a 99 commit; clock =end; complete; wait 86402000; txn a b",
        (LACKS.format(2), FOREIGN.format("a-0@3")),
    ),
    "may be one that an id asked for whose log is not here": (
        MISSING.removeprefix("ids 30; ") + "foreign a 99 commit; complete; txn a b",
        (LACKS.format(2),),
    ),
    "is the last of its log, so that the missing marker may come yet": (
        MISSING + "foreign a 99 commit; complete",
        (FOREIGN.format("a-0@3"),),
    ),
}

UNDER_ANOTHER_ID: Final = (
    AuditCase(
        "the missing marker stands in its place under another's producer id",
        MISSING + "foreign a 99 commit; complete; txn a b",
        (LACKS.format(3),),
        says=(NAMED_OTHERWISE,),
        explains={NAMED_OTHERWISE: ("txn.marker_once",)},
        reported={"findings.0.producer_id": 99},
    ),
    AuditCase(
        "the missing marker stands in its place under another's producer id, by a clock that is ahead",
        MISSING + "clock end; wait 1000; foreign a 99 commit; clock =end; complete; wait 2000; txn a b",
        (LACKS.format(3),),
        says=(NAMED_OTHERWISE,),
        explains={NAMED_OTHERWISE: ("txn.marker_once",)},
    ),
    AuditCase(
        "the missing marker stands under another's producer id and ends data of that",
        "ids 30; init tx 70; other: init other 99; txn a b; add a; send a; prepare commit; "
        "other: send a; other: mark a commit; complete; txn a b",
        (LACKS.format(4),),
        says=(NAMED_OTHERWISE,),
        explains={NAMED_OTHERWISE: ("txn.marker_once", "txn.registered_before_data")},
    ),
    *(
        AuditCase(
            f"the marker of another's producer id {why}",
            *(story, findings),
            not_said=(NAMED_OTHERWISE,),
            explains={},
            closed="come yet" not in why,
        )
        for why, (story, findings) in NOT_OF_IT.items()
    ),
    AuditCase(
        "the missing markers of two partitions stand under two ids",
        "ids 30; init tx 70; txn a b; add a b; send a; send a b; prepare commit; foreign b 98 commit; "
        "foreign a 99 commit; complete; txn a b",
        (LACKS.format(4), "violation txn.marker_once b-0@3, tx, WriteTxnMarkers"),
        says=(NAMED_OTHERWISE, "the COMMIT marker has producer id 98"),
        explains={
            NAMED_OTHERWISE: ("txn.marker_once",),
            "the COMMIT marker has producer id 98": ("txn.marker_once",),
        },
    ),
    AuditCase(
        "another marker of that id stands elsewhere in the log",
        MISSING + "foreign a 99 commit; complete; txn a b; foreign a 99 abort; txn a b",
        (LACKS.format(3), "suspicious txn.marker_once a-0@6, producer 99, WriteTxnMarkers"),
        says=(NAMED_OTHERWISE,),
    ),
    AuditCase(
        "another marker of that id stands at the same offset of another log",
        "ids 30; init tx 70; txn a b; add a b; send a b; send a; prepare commit; foreign a 99 commit; mark b; "
        "foreign b 99 commit; complete; txn a b",
        (LACKS.format(4), FOREIGN.format("b-0@4")),
        says=(NAMED_OTHERWISE,),
    ),
)

CASES: Final = (*RECORDS, *MARKERS, *UNDER_ANOTHER_ID)
