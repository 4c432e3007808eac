"""Segments that are gone from a copy: each gap is named once, and its consequences are no findings."""

import shutil
from pathlib import Path

import pytest

from model_tests.audit.compaction import condense
from model_tests.audit.log import surroundings, wanted_of
from model_tests.audit.lost_segments import lost_segments
from model_tests.audit.reading import read_part
from model_tests.audit.recorded import CLUSTER, KAFKA_3_9
from model_tests.audit.run import run
from model_tests.logs.kafka_log_folders import list_logs
from model_tests.unit.audit.written import data, write_segment
from model_tests.unit.support.bad_input import blamed
from model_tests.unit.support.divided_logs import Divided
from spec.versions import NEWEST
from spec.vocabulary import Epoch, ProducerId


@pytest.fixture
def copied(recordings: Path, tmp_path: Path) -> Path:
    """A partition that was never compacted, with its coordinator's logs, and the checkpoints."""
    source = recordings / KAFKA_3_9
    for folder in (source / "crash-0", *source.glob("__transaction_state-*")):
        shutil.copytree(folder, tmp_path / folder.name)
    for file in source.glob("*-checkpoint"):
        shutil.copy(file, tmp_path)
    return tmp_path


def remove(folder: Path, *numbers: int) -> None:
    """Take these segments away, with all that is named after them."""
    segments = sorted(folder.glob("*.log"))
    for number in numbers:
        for file in folder.glob(f"{segments[number].stem}.*"):
            file.unlink()


def missing(messages: list[str]) -> list[str]:
    """The offsets that messages say are missing."""
    return [message.split(" is missing")[0].split()[-1] for message in messages if "is missing" in message]


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((2,), ["4326..6488"]),
        ((2, 3), ["4326..8652"]),
        ((2, 4), ["4326..6488", "8653..10829"]),
        ((11,), ["23636..25830"]),
        ((0,), ["0..2206"]),
        ((0, 1, 5), ["0..4325", "10830..12925"]),
    ],
)
def test_a_segment_that_is_gone_is_named_once_without_consequences(
    copied: Path, numbers: tuple[int, ...], expected: list[str]
) -> None:
    """In the middle, several of them, the last but one, and the first."""
    remove(copied / "crash-0", *numbers)

    report = run([copied])

    assert blamed(report) == []
    assert missing([bad.message for bad in report.damage]) == expected
    assert len(report.damage) == len(expected)


@pytest.mark.slow
def test_it_is_the_same_in_parts(copied: Path) -> None:
    """Wherever the parts end: the offset before a gap is known to the end."""
    remove(copied / "crash-0", 0, 5, 8)
    expected = ["0..2206", "10830..12925", "17343..19465"]

    divided = Divided(copied)

    (number,) = (number for number, log in enumerate(divided.logs) if log.topic == "crash")
    assert divided.verdicts[number] == divided.whole(divided.logs[number])
    assert missing([bad.message for bad in divided.verdicts[number][1]]) == expected


def test_a_segment_before_an_empty_active_one_is_missed(copied: Path) -> None:
    """No batch follows it, only the name of the last segment does."""
    last = sorted((copied / "crash-0").glob("*.log"))[-1]
    remove(copied / "crash-0", -2)
    last.write_bytes(b"")

    report = run([copied])

    assert missing([bad.message for bad in report.damage]) == ["23636..25830"]


def test_what_the_cleaner_left_is_no_missing_segment(recordings: Path, copied: Path) -> None:
    """Offsets that no segment of a compacted topic has say nothing, with a checkpoint of the cleaner or without."""
    shutil.copytree(recordings / KAFKA_3_9 / "ledger-0", copied / "ledger-0")
    remove(copied / "ledger-0", 2)
    compacted = run([copied])
    (copied / "cleaner-offset-checkpoint").unlink()

    unknown = run([copied])

    assert (compacted.damage, unknown.damage) == ((), ())


def test_where_no_checkpoint_reports_of_the_cleaner_a_segment_may_be_missing(copied: Path) -> None:
    """Reported once for a log, with what would show it; the log cleaner leaves holes inside segments, too."""
    remove(copied / "crash-0", 2, 5)
    (copied / "cleaner-offset-checkpoint").unlink()

    report = run([copied])

    (bad,) = report.damage
    assert blamed(report) == []
    assert "the segment of offsets 4326..6488 is perhaps missing" in bad.message
    assert bad.message.endswith(
        "unless the log cleaner was here, which cleaner-offset-checkpoint would show and is not there; 1 more like it"
    )


@pytest.mark.slow
def test_it_may_be_missing_in_parts(copied: Path) -> None:
    """Wherever the parts end."""
    remove(copied / "crash-0", 2, 5)
    (copied / "cleaner-offset-checkpoint").unlink()

    divided = Divided(copied)

    (number,) = (number for number, log in enumerate(divided.logs) if log.topic == "crash")
    assert divided.verdicts[number] == divided.whole(divided.logs[number])
    assert ["perhaps missing" in bad.message for bad in divided.verdicts[number][1]] == [True]


@pytest.mark.parametrize(("inside", "expected"), [((), [True]), ((4,), [])])
def test_a_hole_inside_a_segment_is_the_cleaners(tmp_path: Path, inside: tuple[int, ...], expected: list[bool]) -> None:
    """Where every batch has one record, nothing else is left of its work."""
    alone = data(-1)._replace(producer_id=ProducerId(-1), producer_epoch=Epoch(-1))
    first = write_segment(tmp_path / "t-0", [alone] * 10)
    write_segment(tmp_path / "t-0", [alone] * 10, 15)
    size = first.stat().st_size // 10
    content = first.read_bytes()
    first.write_bytes(b"".join(content[size * each : size * (each + 1)] for each in range(10) if each not in inside))

    report = run([tmp_path])

    assert ["perhaps missing" in bad.message for bad in report.damage] == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("crash-0/leader-epoch-checkpoint", "0\n1\n0 4326\n"),
        ("log-start-offset-checkpoint", "0\n1\ncrash 0 0\n"),
        ("crash-0/00000000000000002207.log.deleted", ""),
    ],
    ids=["retention", "remote storage", "retention going on"],
)
def test_retention_is_no_missing_segment(copied: Path, name: str, text: str) -> None:
    """It takes what was before the first segment from the epochs, too; only a remote log is said to start at 0."""
    remove(copied / "crash-0", 0, 1)
    (copied / name).write_text(text)

    report = run([copied])

    assert (report.damage, blamed(report)) == ((), [])


def test_a_segment_that_was_not_asked_for_is_not_missing(copied: Path) -> None:
    """One file of a partition can be audited alone."""
    report = run([sorted((copied / "crash-0").glob("*.log"))[2]])

    assert [bad.message for bad in report.damage if "missing" in bad.message] == []


def test_a_replica_without_a_segment_has_no_other_history(recordings: Path, tmp_path: Path) -> None:
    """Its damage shows what it lacks; the other replicas have it, and agree with all that is left."""
    nodes = [path for path in (recordings / CLUSTER).iterdir() if (path / "orders-0").exists()]
    for node in nodes:
        shutil.copytree(node / "orders-0", tmp_path / node.name / "orders-0")
        for file in (*node.glob("*-checkpoint"), node / "meta.properties"):
            shutil.copy(file, tmp_path / node.name)
    remove(tmp_path / nodes[0].name / "orders-0", 2)

    report = run([tmp_path])

    assert len(nodes) == 3
    assert missing([bad.message for bad in report.damage]) == ["3263..4911"]
    assert blamed(report) == []


def test_the_batch_before_a_gap_is_kept_where_nothing_else_needs_it(tmp_path: Path) -> None:
    """Data of no producer, and no snapshot: of such a log hardly anything else is kept."""
    batches = [data(-1)._replace(producer_id=ProducerId(-1), producer_epoch=Epoch(-1)) for _ in range(10)]
    write_segment(tmp_path / "t-0", batches)
    write_segment(tmp_path / "t-0", batches, 15)
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n0\n")
    (log,) = list_logs([str(tmp_path)]).logs
    around = surroundings(log)
    wanted = wanted_of(log, around, NEWEST)

    left = condense(read_part(log, wanted).log, wanted)

    assert len(left.rows) < len(batches)
    assert missing([one.message for one in lost_segments(log, left, around)]) == ["10..14"]
