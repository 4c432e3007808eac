"""Whole log directories of real brokers: where nothing is broken, and where a release of Kafka broke something."""

from collections.abc import Callable
from typing import Any, Final

from model_tests.audit.changes import CONTROLLER_LOG
from model_tests.audit.recorded import (
    KAFKA_3_9,
    KAFKA_4_0,
    KAFKA_4_3,
    MARKER_BUG,
    MARKER_BUG_STOPPED,
    UNREGISTERED,
    journal,
)
from model_tests.unit.audit.audit_case import AuditCase
from model_tests.unit.audit.directory_edits import batch


def doubts(*places: str) -> tuple[str, ...]:
    """Findings where the log cleaner may have removed what would decide."""
    return tuple(f"undecided {place}" for place in places)


OF_LEDGER: Final = {
    0: (
        "lso.aborted_index {}@720",
        "seq.first {}@796, producer 1",
        "seq.successor {}@16529, producer 1013",
        "seq.state_recoverable {}@16675",
    ),
    1: (
        "seq.first {}@591, producer 1",
        "seq.successor {}@10289, producer 1013",
        "seq.state_recoverable {}@10386",
        "lso.aborted_index {}@10421",
    ),
    2: (
        "lso.aborted_index {}@613",
        "seq.first {}@669, producer 1",
        "seq.state_recoverable {}@11607",
        "seq.successor {}@12662, producer 1015",
    ),
}
"""Where the log cleaner was, in the partitions of the compacted topic of 3.9."""


def doubts_of_ledger(*numbers: int) -> tuple[str, ...]:
    """The doubts about its partitions 0, 1 and so on, where their folders have these numbers."""
    return tuple(
        doubt.format(f"ledger-{number}") for own, number in enumerate(numbers) for doubt in doubts(*OF_LEDGER[own])
    )


IDS: Final = {608: "t2-0", 1012: "t2-0", 2583: "t2-2", 4586: "t2-4", 5006: "t2-4", 6393: "t2-0"}


def without_registration(partition: str) -> tuple[str, ...]:
    """What the build of 4.0 took into transactions before, in a folder of this name."""
    return tuple(
        f"violation txn.registered_before_data {partition}@{offset}, {IDS[offset]}, Produce"
        for _, _, offset in sorted(UNREGISTERED)
    )


OPEN: Final = tuple(
    f"{place} ... by producer 1017 epoch 0 (hang-0) ... nothing here shows that it hangs"
    for place in (
        "orders-0 at offset 6349",
        "orders-1 at offset 6383",
        "orders-2 at offset 5693",
        "payments-0 at offset 6519",
        "payments-1 at offset 6431",
        "payments-2 at offset 5771",
    )
)
WHOLE: Final = (
    AuditCase(
        "3.9.0: one transaction is open, and nothing is wrong",
        findings=doubts_of_ledger(0, 1, 2),
        counts="aborted=323 committed=789 open=1",
        held=OPEN,
        recording=KAFKA_3_9,
        parts=("*",),
    ),
    AuditCase(
        "a build of 4.0: data of the bumped epoch went into the transaction before (KAFKA-18575)",
        findings=(
            *doubts("lso.aborted_index ledger-0@13", "seq.successor ledger-0@581, producer 8"),
            *without_registration("tv2-0"),
        ),
        counts="aborted=160 broken=6 committed=366 undecided=1",
        recording=KAFKA_4_0,
        parts=("*",),
    ),
    AuditCase(
        "4.3 with the journal of its clients: after each of three kills partitions have their last leader again",
        findings=doubts(
            "seq.successor ledger-0@521, producer 32",
            "seq.epoch_reset ledger-1@238, producer 8",
            "seq.successor ledger-1@403, producer 32",
            "seq.successor ledger-2@397, producer 33",
        ),
        counts="aborted=149 committed=352 open=1",
        held=("orders-0 at offset 4593", "payments-0 at offset 4659"),
        reported={"cluster.again": 3 * 44, "cluster.not_read": []},
        printed=("by the controller's log 308 changes of leader (0 unclean, 132 of the last leader)",),
        recording=KAFKA_4_3,
        parts=("*",),
        options={"history": journal(KAFKA_4_3)},
    ),
)

HANGING: Final = "violation txn.marker_once node2/t-1@0, x, WriteTxnMarkers"
COMMAND: Final = "kafka-transactions.sh --bootstrap-server HOST:PORT abort --topic t --partition 1 --start-offset 0 ("
CAUSE: Final = "t-1 had no leader in leader epoch 1 (offset {} of the controller's log)"
BY_BUG: Final = "while the coordinator was to write its marker: one of 4.3 or 4.4 takes such a partition for deleted"


def without_marker(name: str, recording: str, *doubts: str, says: tuple[str, ...], **more: Any) -> AuditCase:
    """A transaction that was completed without the marker of a partition, whose broker was not there (KAFKA-20734)."""
    whole = "though the coordinator's log says CompleteCommit (offset 4); 1 other partitions have theirs"
    return AuditCase(
        name,
        findings=(*doubts, HANGING),
        says=(whole, *says),
        remedy=(COMMAND, "t-0 got COMMIT, so that this tears the transaction"),
        counts="hanging=1",
        held=(f"held back: node2/t-1 at offset 0, 1 offsets before its end, by producer 0 epoch 0 (x), ... {COMMAND}",),
        recording=recording,
        parts=("*",),
        **more,
    )


def in_version(kind: bytes, version: int) -> Callable[[bytearray], None]:
    """The first record of a kind in a batch has another version."""

    def change(content: bytearray) -> None:
        content[content.index(kind) + 2] = version

    return change


UNREAD: Final = "undecided repl.committed_survives node1/__cluster_metadata-0@"

COMPLETED_WITHOUT_MARKER: Final = (
    without_marker("a broker was killed before its marker", MARKER_BUG, says=(CAUSE.format(98), BY_BUG, "KAFKA-20734")),
    without_marker(
        "a broker was stopped before its marker", MARKER_BUG_STOPPED, says=(CAUSE.format(62), BY_BUG, "KAFKA-20734")
    ),
    without_marker(
        "the registration with which a broker came back has an unknown version: whether it was alive is not known",
        MARKER_BUG_STOPPED,
        f"{UNREAD}94",
        f"{UNREAD}97, election",
        says=(
            CAUSE.format(62),
            "not read: 1 RegisterBroker of version 5, known up to 4, at offset 94",
            "unless records that are not read say otherwise",
        ),
        reported={
            "cluster.not_read": [
                {
                    "kind": "RegisterBroker",
                    "version": 5,
                    "newest": 4,
                    "count": 1,
                    "first": 94,
                    "last": 94,
                    "path": f"node1/{CONTROLLER_LOG}",
                }
            ]
        },
        edit=batch(CONTROLLER_LOG, 94, in_version(b"\x01\x00\x04", 5), "node1", "node2"),
    ),
    without_marker(
        "who led is not known after partition records of an unknown version: why the marker is missing is not said",
        MARKER_BUG,
        f"{UNREAD}166",
        says=("not read: 1 PartitionChange of version 3, known up to 2, at offset 166",),
        not_said=("had no leader",),
        edit=batch(CONTROLLER_LOG, 165, in_version(b"\x01\x05\x02", 3), "node1", "node2"),
    ),
)

CASES: Final = (*WHOLE, *COMPLETED_WITHOUT_MARKER)
