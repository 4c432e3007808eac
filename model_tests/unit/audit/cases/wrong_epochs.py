"""Data and markers with too high or too low an epoch, and what only seems to be wrong behind them."""

from typing import Final

from model_tests.unit.audit.audit_case import AuditCase, Change
from model_tests.unit.audit.written_cluster import WrittenCluster
from reference.log.batch import TRANSACTIONAL
from spec.vocabulary import Epoch, Sequence


def by(number: int, difference: int) -> Change:
    """A batch of the first partition has another epoch, and its own sequence."""

    def change(cluster: WrittenCluster) -> None:
        log = cluster.logs["a", 0]
        log[number] = log[number]._replace(producer_epoch=Epoch(log[number].producer_epoch + difference))

    return change


THREE: Final = "add a; send a; send a; send a; prepare commit; mark a; complete; "
OPEN: Final = "init tx 7; txn a; add a; send a; "
UNREGISTERED: Final = "violation txn.registered_before_data a-0@{}, tx, Produce"
FENCED: Final = "violation fence.stale_epoch a-0@{}, tx, Produce"
OF_MARKER: Final = "violation txn.marker_once a-0@3, tx, WriteTxnMarkers"

DATA: Final = (
    *(
        AuditCase(
            f"data in a transaction has the next epoch: {behind} batches behind it seem stale",
            OPEN + "send a epoch=+1; send a; prepare commit; mark a; complete; txn a",
            (UNREGISTERED.format(3),),
            says=(f"data of epoch {epoch + 1} in the transaction of epoch {epoch}",),
            explains={"": ("fence.stale_epoch",)},
            version=version,
        )
        for version, epoch, behind in ((0, 0, 4), (2, 1, 1))
    ),
    AuditCase(
        "all data of a transaction has the next epoch, under which the next one's sequences seem to come twice",
        "init tx 7; txn a; txn a; txn a",
        (UNREGISTERED.format(2),),
        explains={"": ("seq.exactly_once",)},
        version=2,
        change=by(2, 1),
    ),
    AuditCase(
        "all data of a transaction has the next epoch, under which the next one's sequences seem to go back",
        "init tx 7; txn a; add a; send a x2; prepare commit; mark a; complete; txn a",
        (UNREGISTERED.format(2),),
        explains={"": ("seq.successor",)},
        version=2,
        change=by(2, 1),
    ),
    AuditCase(
        "the last data of a transaction has the next epoch",
        f"init tx 7; txn a; {THREE}{THREE}",
        ("violation seq.epoch_reset a-0@4, tx, Produce",),
        explains={"": ("txn.registered_before_data",)},
        version=2,
        change=by(4, 1),
    ),
    AuditCase(
        "data behind that of its own epoch has an old one",
        f"init tx 7; txn a; init tx; {THREE}{THREE}",
        (FENCED.format(3),),
        explains={"": ("fence.stale_epoch",)},
        change=by(3, -1),
    ),
    AuditCase(
        "the first data of an epoch has the one before, in which its sequence is there already",
        f"init tx 7; txn a; init tx; {THREE}",
        ("violation seq.exactly_once a-0@2, tx, Produce",),
        explains={"": ("fence.stale_epoch",)},
        change=by(2, -1),
    ),
    AuditCase(
        "the first data of a partition has an old epoch, so that its own seems to begin behind 0",
        f"init tx 7; txn b; init tx; {THREE}{THREE}",
        (FENCED.format(0),),
        explains={"": ("seq.epoch_reset",)},
        change=by(0, -1),
    ),
)

MARKERS: Final = tuple(
    AuditCase(
        f"a marker has an epoch that is too high by {difference}",
        f"{OPEN}prepare commit; mark a epoch=+{difference}; complete; txn a; txn a",
        (OF_MARKER,),
        says=(f"the marker has epoch {version + difference}, its transaction's Prepare record has {version}",),
        explains={"": ("fence.stale_epoch",)},
        version=version,
    )
    for version in (0, 2)
    for difference in (1, 5)
)


def begins_late(epoch: int) -> Change:
    """The data of an epoch in the first partition has higher sequences."""

    def change(cluster: WrittenCluster) -> None:
        log = cluster.logs["a", 0]
        for number, batch in enumerate(log):
            if batch.producer_epoch == epoch and not batch.is_control:
                log[number] = batch._replace(base_sequence=Sequence(batch.base_sequence + 5))

    return change


SECOND_FAULTS: Final = tuple(
    AuditCase(
        f"behind {what} with too high an epoch, {which} begins behind sequence 0",
        f"init tx 7; txn a; add a; send a{of_data}; prepare commit; mark a{of_marker}; complete; init tx; txn a",
        (finding, f"violation {second} a-0@4, producer 7"),
        explains={},
        version=2,
        change=begins_late(3),
    )
    for what, which, of_data, of_marker, finding, second in (
        ("a marker", "that epoch", "", " epoch=+1", OF_MARKER, "seq.successor"),
        ("data", "a later epoch", " epoch=+1", "", UNREGISTERED.format(2), "seq.epoch_reset"),
    )
)
"""A second fault behind a wrong epoch is a finding of its own."""


def unmarked(cluster: WrittenCluster) -> None:
    """The last marker of the first partition that is of producer 8 is no control batch."""
    log = cluster.logs["a", 0]
    number = max(number for number, batch in enumerate(log) if batch.is_control and batch.producer_id == 8)
    log[number] = log[number]._replace(attributes=TRANSACTIONAL)


BESIDE: Final = AuditCase(
    "a marker that is no control batch stands where another producer's is missing",
    "init tx 7; other: init other 8; txn a; add a; send a; prepare commit; complete; other: txn a; txn a",
    ("violation txn.marker_once a-0@2, tx, WriteTxnMarkers", "violation seq.well_formed a-0@4, other, WriteTxnMarkers"),
    explains={"a-0@4": ("txn.marker_once",)},
    change=unmarked,
)

CASES: Final = (*DATA, *MARKERS, *SECOND_FAULTS, BESIDE)
