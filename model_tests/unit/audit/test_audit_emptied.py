"""A segment of which a copy has the name alone: its content is lost, and the consequences are no findings."""

import shutil
from pathlib import Path

import pytest

from model_tests.audit.recorded import KAFKA_3_9
from model_tests.audit.run import run
from model_tests.unit.support.bad_input import blamed
from model_tests.unit.support.divided_logs import Divided


@pytest.fixture
def copied(recordings: Path, tmp_path: Path) -> Path:
    """One partition with its coordinator's log, and the checkpoint by which the cleaner was never there."""
    source = recordings / KAFKA_3_9
    for folder in (source / "crash-0", *source.glob("__transaction_state-*")):
        shutil.copytree(folder, tmp_path / folder.name)
    shutil.copy(source / "cleaner-offset-checkpoint", tmp_path)
    return tmp_path


@pytest.mark.parametrize("number", [0, 2, 7])
def test_an_empty_segment_is_damage_and_nothing_else(copied: Path, number: int) -> None:
    """Neither its markers nor its sequences, nor what its indexes and the snapshots after it know, are missed."""
    segment = sorted((copied / "crash-0").glob("*.log"))[number]
    segment.write_bytes(b"")

    report = run([copied])

    assert blamed(report) == []
    assert [bad.message for bad in report.damage if bad.path.endswith(".log")] == ["empty, but not the last segment"]


@pytest.mark.slow
def test_it_is_the_same_in_parts(copied: Path) -> None:
    """Wherever the parts end."""
    sorted((copied / "crash-0").glob("*.log"))[2].write_bytes(b"")
    divided = Divided(copied)

    (number,) = (number for number, log in enumerate(divided.logs) if log.topic == "crash")

    assert divided.verdicts[number][0] == divided.whole(divided.logs[number])[0]
    assert divided.verdicts[number][0].findings == ()
