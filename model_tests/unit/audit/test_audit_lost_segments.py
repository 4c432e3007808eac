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
