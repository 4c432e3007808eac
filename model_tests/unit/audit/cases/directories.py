"""Log directories of a recording with segments lost, emptied or exchanged, or with folders under other names."""

from dataclasses import replace
from pathlib import Path, PurePath
from typing import Final

from crc32c import crc32c

from model_tests.audit.recorded import CLUSTER, KAFKA_3_9, KAFKA_4_0, KAFKA_4_3
from model_tests.unit.audit.audit_case import AuditCase, Change
from model_tests.unit.audit.cases.recordings import doubts_of_ledger, without_registration
from model_tests.unit.audit.directory_edits import (
    Edit,
    copied_over,
    edits,
    emptied,
    exchanged,
    gone,
    removed,
    text,
    twin,
    unmarked,
    without_batches,
)
from model_tests.unit.audit.written import data
from model_tests.unit.audit.written_cluster import WrittenCluster
from model_tests.unit.support.changed_directories import spans_of
from reference.log.batch import CONTROL, RecordBatch
from spec.vocabulary import Epoch, ProducerId

COORDINATORS: Final = "__transaction_state-*"
CHECKPOINTS: Final = "*-checkpoint"
CLEANER: Final = "cleaner-offset-checkpoint"
WITHOUT_BATCH: Final = "index ... entry {}: no batch of the segment has {}"


def crash(
    name: str, edit: Edit, *damage: str, findings: tuple[str, ...] = (), checkpoints: str = CHECKPOINTS
) -> AuditCase:
    """A partition that was never compacted, with its coordinator's logs."""
    parts = ("crash-0", COORDINATORS, checkpoints)
    return AuditCase(name, findings=findings, damage=damage, recording=KAFKA_3_9, parts=parts, edit=edit)


def alone(number: int) -> RecordBatch:
    """A batch of no producer."""
    return data(number)._replace(producer_id=ProducerId(-1), producer_epoch=Epoch(-1))


TEN: Final = (alone(-1),) * 10
APART: Final = {"t-0": TEN, "t-0/15": TEN}
"""Ten batches of no producer, and ten more in a segment behind a hole."""


def missing(*offsets: str) -> tuple[str, ...]:
    """The damage of segments that are gone."""
    return tuple(f"the segment of offsets {each} is missing" for each in offsets)


def empty(number: int) -> AuditCase:
    """A segment that is not the last has lost its content."""
    return crash(
        f"segment {number} is empty",
        emptied("crash-0", number),
        WITHOUT_BATCH.format(0, "offset"),
        "empty, but not the last segment",
        WITHOUT_BATCH.format(0, "timestamp"),
        checkpoints=CLEANER,
    )


LOST: Final = (
    crash("a segment in the middle is gone", removed("crash-0", 2), *missing("4326..6488")),
    crash("two that follow each other are gone", removed("crash-0", 2, 3), *missing("4326..8652")),
    crash("two are gone", removed("crash-0", 2, 4), *missing("4326..6488", "8653..10829")),
    crash("the last but one is gone", removed("crash-0", 11), *missing("23636..25830")),
    crash("the first is gone", removed("crash-0", 0), *missing("0..2206")),
    crash(
        "one before an empty active one is gone",
        edits(emptied("crash-0", -1), removed("crash-0", -2)),
        *missing("23636..25830"),
        findings=(
            "undecided lso.bounds crash-0@23589",
            "undecided lso.aborted_index crash-0@25901",
            "undecided seq.state_recoverable crash-0@26398",
        ),
    ),
    crash(
        "no checkpoint reports of the cleaner, and two are gone",
        edits(removed("crash-0", 2, 5), gone(CLEANER)),
        "the segment of offsets 4326..6488 is perhaps missing ... unless the log cleaner was here, which "
        "cleaner-offset-checkpoint would show and is not there; 1 more like it",
    ),
    *(
        crash(f"retention took two: {how}", edits(removed("crash-0", 0, 1), text(name, content)))
        for how, name, content in (
            ("by the leader epochs", "crash-0/leader-epoch-checkpoint", "0\n1\n0 4326\n"),
            ("remote storage", "log-start-offset-checkpoint", "0\n1\ncrash 0 0\n"),
            ("it goes on", "crash-0/00000000000000002207.log.deleted", ""),
        )
    ),
    empty(0),
    empty(2),
    *(
        AuditCase(
            f"a segment of a compacted topic is gone; {how}",
            findings=doubts_of_ledger(0),
            recording=KAFKA_3_9,
            parts=("ledger-0", "crash-0", COORDINATORS, CHECKPOINTS),
            edit=edit,
        )
        for how, edit in (
            ("the cleaner's checkpoint is there", removed("ledger-0", 2)),
            ("the cleaner's checkpoint is not", edits(removed("ledger-0", 2), gone(CLEANER))),
        )
    ),
    AuditCase("offsets between two segments", damage=("is perhaps missing",), logs=APART),
    AuditCase("a hole inside a segment, too", edit=without_batches("t-0", 4), logs=APART),
)

OF_ANOTHER: Final = "{}/{:020}.log ... its batches are those of {}, ... that one's segment was copied over it"


def of_another(own: str, base: int, other: str, first: int = 0) -> tuple[str, ...]:
    """The damage of a segment that is another partition's, and of its indexes."""
    offsets, times = WITHOUT_BATCH.format(0, "offset"), WITHOUT_BATCH.format(first, "timestamp")
    return offsets, OF_ANOTHER.format(own, base, other), times


COPIED: Final = (
    *(
        AuditCase(
            f"segment {number} of {own} is that of {other}",
            damage=damage,
            explains={f"its batches are those of {other}": ("seq.successor", "...")},
            recording=KAFKA_3_9,
            parts=(own, other, COORDINATORS),
            edit=copied_over(own, other, number),
        )
        for own, other, number, damage in (
            ("orders-0", "orders-1", 0, (*of_another("orders-0", 0, "orders-1"), "4128..4280 is perhaps missing")),
            (
                "payments-1",
                "orders-2",
                0,
                (*of_another("payments-1", 0, "orders-2", 1), "4115..4225 is perhaps"),
            ),
            ("crash-0", "crash-1", 3, of_another("crash-0", 6489, "crash-1")),
            ("crash-2", "crash-1", 12, (OF_ANOTHER.format("crash-2", 26033, "crash-1"), "is below its segment's base")),
        )
    ),
    AuditCase(
        "a marker before a segment of another partition is not marked as one",
        findings=("violation seq.well_formed crash-0@453, producer 30",),
        damage=of_another("crash-0", 6489, "crash-1"),
        recording=KAFKA_3_9,
        parts=("crash-0", "crash-1"),
        edit=edits(unmarked("crash-0", 9), copied_over("crash-0", "crash-1", 3)),
    ),
    AuditCase(
        "two partitions whose clients sent alike, with two markers in one that are not marked",
        findings=tuple(f"violation seq.well_formed crash-0@{offset}, producer 27" for offset in (174, 574)),
        recording=KAFKA_3_9,
        parts=("crash-0",),
        edit=edits(twin, unmarked("crash-0", 3, 9)),
    ),
)


def topics(
    name: str,
    edit: Edit,
    *damage: str,
    explained: int = 0,
    counts: str = "aborted=323 committed=789 open=1",
) -> AuditCase:
    """Two topics of three partitions, and their coordinators' logs; so many of the damages explain violations."""
    return AuditCase(
        name,
        damage=damage,
        explains=dict.fromkeys(damage[:explained], ("...",)),
        counts=counts,
        recording=KAFKA_3_9,
        parts=("orders-*", "payments-*", COORDINATORS, "replication-offset-checkpoint"),
        edit=edit,
    )


def renamed(left: str, right: str) -> AuditCase:
    """Two partitions of a topic, each under the name of the other."""
    return topics(
        f"{left} and {right} have changed names",
        exchanged(left, right),
        *(f"its transactions are those of partition {name[-1]} of {name[:-2]}" for name in (right, left)),
        explained=2,
    )


FOLDERS: Final = (
    topics("as they are", edits()),
    topics(
        "folders of two topics have changed names",
        exchanged("orders-1", "payments-0"),
        "its topic id in partition.metadata is that of payments",
        "its topic id in partition.metadata is that of orders",
        counts="",
    ),
    renamed("orders-0", "orders-1"),
    topics(
        "coordinators' folders have changed names",
        exchanged("__transaction_state-0", "__transaction_state-1"),
        "its transactional ids belong to partition 1 of 4",
        "its transactional ids belong to partition 0 of 4",
    ),
    topics(
        "four coordinators' folders have each the name of the next one",
        exchanged(*(f"__transaction_state-{number}" for number in range(4))),
        *(f"its transactional ids belong to partition {number} of 4" for number in (3, 0, 1, 2)),
    ),
    topics(
        "a topic id that no other folder has: the topic may have been made anew",
        text("orders-1/partition.metadata", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAABw\n"),
    ),
)

STOPPED: Final = ".kafka_cleanshutdown"


def ring(
    recording: str, topic: str, *partitions: int, nodes: tuple[str, ...] = ("",), findings: tuple[str, ...] = ()
) -> AuditCase:
    """Folders of a topic, each under the name of the next one; of a cluster's brokers in the directories of some."""
    within = "*/" * (nodes != ("",))
    named = dict(sorted(zip((*partitions[1:], partitions[0]), partitions, strict=True)))
    return AuditCase(
        f"{recording}: {topic} {partitions} have each the name of the next one {nodes}",
        findings=findings,
        damage=tuple(
            f"{PurePath(node, f'{topic}-{name}')} ... partition {own} of {topic}"
            for node in nodes
            for name, own in named.items()
        ),
        recording=recording,
        parts=tuple(within + each for each in (f"{topic}-*", COORDINATORS, CHECKPOINTS, STOPPED, "meta.properties")),
        edit=edits(*(exchanged(*(str(PurePath(node, f"{topic}-{own}")) for own in partitions)) for node in nodes)),
    )


OF_4_0: Final = without_registration("tv2-1")

EXCHANGED: Final = (
    ring(KAFKA_3_9, "aio", 0, 1),
    ring(KAFKA_3_9, "ledger", 1, 2, findings=doubts_of_ledger(0, 2, 1)),
    ring(KAFKA_3_9, "timeout", 0, 1, 2),
    ring(KAFKA_3_9, "payments", 0, 1, 2),
    ring(KAFKA_3_9, "__consumer_offsets", 0, 1, 2, 3),
    ring(KAFKA_4_0, "tv2", 0, 1, findings=OF_4_0),
    ring(KAFKA_4_3, "zombie", 1, 2),
    ring(KAFKA_4_3, "__consumer_offsets", 0, 2, 3),
    ring(CLUSTER, "timeout", 0, 1, nodes=("n1",)),
    ring(CLUSTER, "timeout", 0, 1, nodes=("n1", "n2")),
    ring(CLUSTER, "timeout", 0, 1, 2, nodes=("n1", "n2", "n3")),
)


def without_markers(folder: Path, count: int) -> None:
    """Some markers in the middle of a partition are data without a producer; its indexes were not copied."""
    for index in folder.glob("*index"):
        index.unlink()
    (segment,) = list(folder.glob("*.log"))[:1]
    content = bytearray(segment.read_bytes())
    places = [place for place in spans_of(content) if content[place[0] + 22] & CONTROL]
    for start, end in places[len(places) // 2 :][: 2 * count : 2]:
        content[start + 21 : start + 23] = bytes(2)
        content[start + 43 : start + 57] = b"\xff" * 14
        content[start + 17 : start + 21] = crc32c(bytes(content[start + 21 : end])).to_bytes(4, "big")
    segment.write_bytes(content)


def partly_without_markers(directory: Path) -> None:
    """Two partitions lack three markers each; under each other's names more would be broken."""
    for name in ("orders-0", "orders-1"):
        without_markers(directory / name, 3)


TURNS: Final = (0, 1, 2, 3, 0, 0, 1, 1, 2, 3, 3, 0, 1)
"""The partitions of transactions that follow each other, each with one of another topic."""


def in_turns(count: int) -> Change:
    """Transactions over so many partitions."""

    def change(cluster: WrittenCluster) -> None:
        for number in TURNS:
            cluster.transaction("tx", [("t", number % count), ("u", 0)])

    return change


def exchanged_on(count: int, *brokers: str) -> AuditCase:
    """On these of two brokers the folders have each the name of the next one."""
    folders = [f"t-{number}" for number in range(count)]
    names = [(broker, number) for broker in brokers for number in range(count)]
    damage = tuple(
        f"{broker}/t-{number} byte 0: its transactions are those of partition {(number - 1) % count} "
        for broker, number in names
    )
    return AuditCase(
        f"{count} folders have each the name of the next one on {' and '.join(brokers)}",
        "init tx 7",
        damage=damage,
        explains={
            f"those of partition {number} of t": ("txn.registered_before_data", "...") for number in range(count)
        },
        version=2,
        change=in_turns(count),
        edit=edits(*(exchanged(*(f"{broker}/{folder}" for folder in folders)) for broker in brokers)),
        brokers=("left", "right"),
    )


LACKING: Final = replace(
    topics(
        "markers are gone from two partitions, which are not each other's",
        partly_without_markers,
        counts="aborted=322 broken=4 committed=786 open=1",
    ),
    findings=tuple(
        f"violation txn.marker_once orders-{place}, {name}, WriteTxnMarkers"
        for place, name in (("0@1971", "tx-2"), ("0@2070", "tx-0"), ("1@1884", "tx-0"), ("1@1965", "tx-2"))
    ),
)

HERE: Final = (
    AuditCase(
        "a segment that was not given is not missing",
        recording=KAFKA_3_9,
        parts=("crash-0",),
        given=("crash-0/00000000000000004326.log",),
    ),
    AuditCase(
        "a replica without a segment has no other history",
        damage=missing("3263..4911"),
        recording=CLUSTER,
        parts=("n?/orders-0", "n?/*-checkpoint", "n?/meta.properties"),
        edit=removed("n1/orders-0", 2),
    ),
    LACKING,
    *(exchanged_on(count, *brokers) for count in (2, 3, 4) for brokers in (("left",), ("left", "right"))),
)

FURTHER: Final = tuple(
    replace(case, slow=True)
    for case in (
        ring(KAFKA_3_9, "timeout", 0, 2, 1),
        ring(KAFKA_4_0, "tv2", 0, 1, 2, findings=OF_4_0),
        ring(KAFKA_4_3, "timeout", 0, 1, 2),
        ring(CLUSTER, "timeout", 0, 1, 2, nodes=("n1",)),
        ring(CLUSTER, "timeout", 0, 1, 2, nodes=("n1", "n2")),
        ring(CLUSTER, "timeout", 0, 1, nodes=("n1", "n2", "n3")),
        crash("the first two and one more are gone", removed("crash-0", 0, 1, 5), *missing("0..4325", "10830..12925")),
        empty(7),
        renamed("payments-0", "payments-2"),
    )
)
"""Other numbers of what is among the cases by default."""

CASES: Final = (*LOST, *COPIED, *FOLDERS, *EXCHANGED, *HERE, *FURTHER)
