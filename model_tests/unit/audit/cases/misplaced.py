"""Records and markers of two producers under the identity of another, or in another form."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from model_tests.audit.recorded import KAFKA_3_9
from model_tests.unit.audit.directory_edits import unmarked
from model_tests.unit.audit.stories import AuditCase
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

CASES: Final = (*RECORDS, *MARKERS)
