import os
import random
import shutil
from pathlib import Path
from typing import Final

import pytest

from model_tests.audit.log import audit_log, surroundings
from model_tests.audit.recorded import RECORDED
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_folders import LogFolder, list_logs
from model_tests.logs.kafka_log_read import read_checked
from model_tests.unit.audit.directory_edits import retained
from model_tests.verify.effort import effort_from_environment
from model_tests.verify.results import RunEffort

CUTS: Final = 60 if effort_from_environment() is RunEffort.DEEP else 20


def copied(log: LogFolder, folder: Path) -> Path:
    """A copy of the partition, with its broker's checkpoints beside it."""
    folder.mkdir()
    for checkpoint in Path(log.path).parent.glob("*-checkpoint"):
        shutil.copy2(checkpoint, folder)
    return Path(shutil.copytree(log.path, folder / Path(log.path).name))


def without_tail(log: LogFolder, partition: Path, chance: random.Random) -> int:
    """Cut the active segment at any byte; whether a batch is cut with it."""
    segment = log.segments[-1]
    batches, _ = read_checked(segment)
    ends = {0, *(batches.position + batches.size).tolist()}
    at = chance.randint(0, max(ends))
    os.truncate(partition / Path(segment.path).name, at)
    return int(at not in ends)


@pytest.mark.parametrize("where", ["head", "tail", "both"])
def test_a_log_without_its_head_or_tail_is_no_violation(recordings: Path, tmp_path: Path, where: str) -> None:
    """Wherever retention or a crash cuts a real log: a batch cut short is one damage, and nothing else is found."""
    chance = random.Random(f"20261121 {where}")  # a seed, not a secret
    logs = [log for name in RECORDED for log in list_logs([str(recordings / name)]).logs]
    logs = [log for log in logs if len(log.segments) > (where != "tail")]
    for number in range(CUTS):
        log = chance.choice(logs)
        partition = copied(log, tmp_path / str(number))
        if where != "tail":
            retained(partition.name, chance.choice(log.segments[1:]).base)(partition.parent)
        damaged = without_tail(log, partition, chance) if where != "head" else 0

        (left,) = list_logs([str(partition)]).logs
        verdict, damage = audit_log(left, surroundings(left))

        assert [finding for finding in verdict.findings if finding.severity is not Severity.UNDECIDED] == []
        assert len(damage) == damaged, (log.path, damage)
        shutil.rmtree(tmp_path / str(number))
