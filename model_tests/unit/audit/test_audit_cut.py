"""Logs and copies of logs that end at any place: nothing is blamed."""

import os
import random
import shutil
from pathlib import Path
from typing import Final

import pytest

from model_tests.audit.log import audit_log, surroundings
from model_tests.audit.recorded import RECORDED
from model_tests.audit.run import run
from model_tests.common.reports import HOLDS
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_folders import LogFolder, list_logs
from model_tests.logs.kafka_log_read import read_checked
from model_tests.unit.audit.audit_case import AuditCase, described, written
from model_tests.unit.audit.cases.copies import BUSY
from model_tests.unit.audit.directory_edits import retained
from model_tests.unit.audit.stories import cluster_of
from model_tests.unit.audit.written_cluster import WrittenCluster
from model_tests.verify.effort import effort_from_environment
from model_tests.verify.results import RunEffort
from reference.log.batch import RecordBatch
from spec.vocabulary import Timestamp

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


A, B = ("a", 0), ("b", 0)
HOUR: Final = 3_600_000


def hold_but_for_doubts(case: AuditCase, directory: Path) -> None:
    """Write the logs of a case, audit them, and find nothing that is more than a doubt."""
    report = run([written(case, directory)])
    assert [each for each in described(report) if each.startswith(("violation", "suspicious"))] == []
    assert report.exit_code == HOLDS


def at(batch: RecordBatch, timestamp: int) -> RecordBatch:
    """The batch with another time."""
    return batch._replace(base_timestamp=Timestamp(timestamp), max_timestamp=Timestamp(timestamp))


@pytest.mark.parametrize("version", [0, 2])
def test_wherever_the_copy_of_a_coordinators_log_ends_nothing_is_blamed(tmp_path: Path, version: int) -> None:
    """A live broker's partitions go on: of markers and data that came later the copy has no record yet."""
    for kept in range(1, len(cluster_of(BUSY, version).coordinator) + 1):

        def shortened(cluster: WrittenCluster, kept: int = kept) -> None:
            del cluster.coordinator[kept:]

        hold_but_for_doubts(AuditCase("", BUSY, version=version, change=shortened), tmp_path / str(kept))


@pytest.mark.parametrize("clocks", [0, 2 * HOUR, -2 * HOUR, -1000 * HOUR])
def test_wherever_the_copies_of_partitions_end_nothing_is_blamed(tmp_path: Path, clocks: int) -> None:
    """What is missing of a completed transaction may come yet, and clocks of clients do not show when they end."""
    for kept in range(
        1, 5 if clocks > 0 else 8
    ):  # beyond, no marker of B is left that shows by how much they are ahead

        def shortened(cluster: WrittenCluster, kept: int = kept) -> None:
            for log in cluster.logs.values():
                log[:] = [one if one.is_control else at(one, one.max_timestamp + clocks) for one in log]
            for partition in (A, B):
                del cluster.logs[partition][-kept:]

        hold_but_for_doubts(AuditCase("", BUSY, version=2, change=shortened, closed=False), tmp_path / str(kept))
