"""Log directories of a recording with segments lost, emptied or exchanged, or with folders under other names."""

import shutil
from collections import Counter
from pathlib import Path, PurePath
from typing import Final

import pytest
from crc32c import crc32c

from model_tests.audit.compaction import condense
from model_tests.audit.log import surroundings, wanted_of
from model_tests.audit.lost_segments import lost_segments
from model_tests.audit.reading import read_part
from model_tests.audit.recorded import CLUSTER, KAFKA_3_9, KAFKA_4_0, KAFKA_4_3
from model_tests.audit.run import run
from model_tests.audit.transactions_clusters import coordinator_count, coordinator_partition
from model_tests.logs.kafka_log_folders import list_logs
from model_tests.unit.audit.directory_edits import (
    Edit,
    copied_over,
    edits,
    emptied,
    exchanged,
    gone,
    removed,
    segments,
    text,
    twin,
    unmarked,
)
from model_tests.unit.audit.stories import AuditCase, copied, described, hold
from model_tests.unit.audit.written import data, write_segment
from model_tests.unit.audit.written_cluster import WrittenCluster
from model_tests.unit.support.bad_input import blamed
from model_tests.unit.support.changed_directories import spans_of
from model_tests.unit.support.divided_logs import Divided
from reference.log.batch import CONTROL, RecordBatch
from spec.versions import NEWEST
from spec.vocabulary import Epoch, ProducerId

NAMES: Final = tuple(f"tx-{number}" for number in range(12))
COORDINATORS: Final = "__transaction_state-*"
CHECKPOINTS: Final = "*-checkpoint"
CLEANER: Final = "cleaner-offset-checkpoint"
WITHOUT_BATCH: Final = "index entry {}: no batch of the segment has {}"


def crash(name: str, edit: Edit, *damage: str, checkpoints: str = CHECKPOINTS) -> AuditCase:
    """A partition that was never compacted, with its coordinator's logs."""
    parts = ("crash-0", COORDINATORS, checkpoints)
    return AuditCase(name, damage=damage, recording=KAFKA_3_9, parts=parts, apart="undecided", edit=edit)


def alone(number: int) -> RecordBatch:
    """A batch of no producer."""
    return data(number)._replace(producer_id=ProducerId(-1), producer_epoch=Epoch(-1))


def hole_inside(directory: Path) -> None:
    """Two segments of ten batches, of which the first has lost the one in its middle, and offsets before the second."""
    two_segments(directory)
    first = segments(directory / "t-0")[0]
    content, size = first.read_bytes(), first.stat().st_size // 10
    first.write_bytes(content[: 4 * size] + content[5 * size :])


def two_segments(directory: Path) -> None:
    """Ten batches of no producer, and ten more behind a hole."""
    for base in (0, 15):
        write_segment(directory / "t-0", [alone(-1)] * 10, base)


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
            recording=KAFKA_3_9,
            parts=("ledger-0", "crash-0", COORDINATORS, CHECKPOINTS),
            apart="undecided",
            edit=edit,
        )
        for how, edit in (
            ("the cleaner's checkpoint is there", removed("ledger-0", 2)),
            ("the cleaner's checkpoint is not", edits(removed("ledger-0", 2), gone(CLEANER))),
        )
    ),
    AuditCase("offsets between two segments", "", damage=("is perhaps missing",), edit=two_segments),
    AuditCase("a hole inside a segment, too", "", edit=hole_inside),
)

OF_ANOTHER: Final = "{}/{:020}.log its batches are those of {}, ... that one's segment was copied over it"


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
        apart="undecided",
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
    recording: str, topic: str, *partitions: int, nodes: tuple[str, ...] = ("",), apart: str = "undecided"
) -> AuditCase:
    """Folders of a topic, each under the name of the next one; of a cluster's brokers in the directories of some."""
    within = "*/" * (nodes != ("",))
    named = dict(sorted(zip((*partitions[1:], partitions[0]), partitions, strict=True)))
    return AuditCase(
        f"{recording}: {topic} {partitions} have each the name of the next one {nodes}",
        damage=tuple(
            f"{PurePath(node, f'{topic}-{name}')} ... partition {own} of {topic}"
            for node in nodes
            for name, own in named.items()
        ),
        recording=recording,
        parts=tuple(within + each for each in (f"{topic}-*", COORDINATORS, CHECKPOINTS, STOPPED, "meta.properties")),
        apart=apart,
        edit=edits(*(exchanged(*(str(PurePath(node, f"{topic}-{own}")) for own in partitions)) for node in nodes)),
    )


OF_4_0: Final = "violation txn.registered_before_data tv2-1"

EXCHANGED: Final = (
    ring(KAFKA_3_9, "aio", 0, 1),
    ring(KAFKA_3_9, "ledger", 1, 2),
    ring(KAFKA_3_9, "timeout", 0, 1, 2),
    ring(KAFKA_3_9, "payments", 0, 1, 2),
    ring(KAFKA_3_9, "__consumer_offsets", 0, 1, 2, 3),
    ring(KAFKA_4_0, "tv2", 0, 1, apart=OF_4_0),
    ring(KAFKA_4_3, "zombie", 1, 2),
    ring(KAFKA_4_3, "__consumer_offsets", 0, 2, 3),
    ring(CLUSTER, "timeout", 0, 1, nodes=("n1",)),
    ring(CLUSTER, "timeout", 0, 1, nodes=("n1", "n2")),
    ring(CLUSTER, "timeout", 0, 1, 2, nodes=("n1", "n2", "n3")),
)

CASES: Final = (*LOST, *COPIED, *FOLDERS, *EXCHANGED)

FURTHER: Final = (
    ring(KAFKA_3_9, "timeout", 0, 2, 1),
    ring(KAFKA_4_0, "tv2", 0, 1, 2, apart=OF_4_0),
    ring(KAFKA_4_3, "timeout", 0, 1, 2),
    ring(CLUSTER, "timeout", 0, 1, 2, nodes=("n1",)),
    ring(CLUSTER, "timeout", 0, 1, 2, nodes=("n1", "n2")),
    ring(CLUSTER, "timeout", 0, 1, nodes=("n1", "n2", "n3")),
    crash("the first two and one more are gone", removed("crash-0", 0, 1, 5), *missing("0..4325", "10830..12925")),
    empty(7),
    renamed("payments-0", "payments-2"),
)
"""Other numbers of what is among the cases by default."""


@pytest.mark.parametrize("case", [*CASES, *(pytest.param(case, marks=pytest.mark.slow) for case in FURTHER)], ids=str)
def test_what_is_lost_or_exchanged_is_named_without_consequences(
    recordings: Path, tmp_path: Path, case: AuditCase
) -> None:
    """Each is one damage where it is; what logs and files beside it say otherwise because of it is no finding."""
    hold(case, tmp_path, recordings)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        crash("an empty segment", emptied("crash-0", 2), "empty, but not the last segment"),
        crash("three are gone", removed("crash-0", 0, 5, 8), *missing("0..2206", "10830..12925", "17343..19465")),
        crash("two may be gone", edits(removed("crash-0", 2, 5), gone(CLEANER)), "is perhaps missing"),
    ],
    ids=str,
)
def test_it_is_the_same_in_parts(recordings: Path, tmp_path: Path, case: AuditCase) -> None:
    """Wherever the parts end: the offset before a gap is known to the end."""
    divided = Divided(copied(case, recordings, tmp_path))

    (number,) = (number for number, log in enumerate(divided.logs) if log.topic == "crash")
    verdict, damage = divided.verdicts[number]

    assert (verdict, damage) == divided.whole(divided.logs[number])
    assert verdict.findings == ()
    for words in case.damage:
        assert any(words in bad.message for bad in damage), damage


def gaps(messages: list[str]) -> list[str]:
    """The offsets that messages say are missing."""
    return [message.split(" is missing")[0].split()[-1] for message in messages if "is missing" in message]


def test_a_segment_that_was_not_given_is_not_missing(recordings: Path) -> None:
    """One file of a partition can be audited alone."""
    report = run([segments(recordings / KAFKA_3_9 / "crash-0")[2]])

    assert [bad.message for bad in report.damage if "missing" in bad.message] == []


def test_a_replica_without_a_segment_has_no_other_history(recordings: Path, tmp_path: Path) -> None:
    """Its damage shows what it lacks; the other replicas have it, and agree with all that is left."""
    nodes = [path for path in (recordings / CLUSTER).iterdir() if (path / "orders-0").exists()]
    for node in nodes:
        shutil.copytree(node / "orders-0", tmp_path / node.name / "orders-0")
        for file in (*node.glob("*-checkpoint"), node / "meta.properties"):
            shutil.copy(file, tmp_path / node.name)
    removed("orders-0", 2)(tmp_path / nodes[0].name)

    report = run([tmp_path])

    assert len(nodes) == 3
    assert gaps([bad.message for bad in report.damage]) == ["3263..4911"]
    assert blamed(report) == []


def test_the_batch_before_a_gap_is_kept_where_nothing_else_needs_it(tmp_path: Path) -> None:
    """Data of no producer, and no snapshot: of such a log hardly anything else is kept."""
    two_segments(tmp_path)
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n0\n")
    (log,) = list_logs([str(tmp_path)]).logs
    around = surroundings(log)
    wanted = wanted_of(log, around, NEWEST)

    left = condense(read_part(log, wanted).log, wanted)

    assert len(left.rows) < 10
    assert gaps([one.message for one in lost_segments(log, left, around)]) == ["10..14"]


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


def test_what_two_folders_lack_does_not_make_them_each_others(recordings: Path, tmp_path: Path) -> None:
    """Markers are gone from both; under each other's names more would be broken."""
    directory = copied(topics("markers are gone", edits()), recordings, tmp_path)
    for name in ("orders-0", "orders-1"):
        without_markers(directory / name, 3)

    report = run([directory])

    broken = [
        f"{log.topic}-{log.partition} {one.rule.id}" for log, one in report.findings if one.severity == "violation"
    ]
    lacking = Counter(name for name in broken if name.endswith("txn.marker_once"))
    assert sorted(lacking) == ["orders-0 txn.marker_once", "orders-1 txn.marker_once"]
    assert min(lacking.values()) >= 2
    assert report.damage == ()


def here(count: int, given: tuple[int, ...]) -> list[tuple[int, list[str]]]:
    """The ids of some partitions of so many."""
    own = [(number, [name for name in NAMES if coordinator_partition(name, count) == number]) for number in given]
    return [(number, names) for number, names in own if names]


def test_the_number_of_coordinators_is_asked_only_where_ids_are_out_of_place() -> None:
    """Where some number explains all, nothing is said; nor where there are too few ids, or they are mixed."""
    (zero, one, *others) = here(4, (0, 1, 2, 3))

    assert coordinator_count([zero, one, *others]) == 0
    assert coordinator_count(here(50, tuple(range(50)))) == 0
    assert coordinator_count([]) == 0
    assert coordinator_count([(zero[0], one[1]), (one[0], zero[1]), *others]) == 4
    assert coordinator_count([(zero[0], one[1][:2]), (one[0], zero[1][:2])]) == 0
    assert coordinator_count([(zero[0], [*one[1], zero[1][0]]), (one[0], zero[1]), *others]) == 0


@pytest.mark.parametrize("exchanged_in", [("left",), ("left", "right")])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_folders_are_exchanged_in_one_directory_or_in_all(
    tmp_path: Path, count: int, exchanged_in: tuple[str, ...]
) -> None:
    """Where they are in all, the other replicas of the same name do not contradict it."""
    cluster = WrittenCluster(2)
    cluster.init("tx", 7)
    for number in (0, 1, 2, 3, 0, 0, 1, 1, 2, 3, 3, 0, 1):
        cluster.transaction("tx", [("t", number % count), ("u", 0)])
    for name in ("left", "right"):
        cluster.write(tmp_path / name)
    folders = [f"t-{number}" for number in range(count)]
    for name in exchanged_in:
        exchanged(*folders)(tmp_path / name)

    report = run([tmp_path / "left", tmp_path / "right"])

    assert described(report) == []
    assert [(bad.path, bad.message[:42]) for bad in report.damage] == [
        (str(tmp_path / name / folder), f"its transactions are those of partition {(number - 1) % count} ")
        for name in exchanged_in
        for number, folder in enumerate(folders)
    ]
    assert {one.rule.id for _, one, _ in report.consequences} & {"txn.marker_once", "txn.registered_before_data"}
