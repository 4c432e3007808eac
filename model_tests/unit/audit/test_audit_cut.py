import os
import random
import shutil
from pathlib import Path

import pytest

from model_tests.audit.log import audit_log, surroundings
from model_tests.audit.recorded import RECORDED
from model_tests.audit.run import run
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_folders import LogFolder, list_logs
from model_tests.logs.kafka_log_read import read_checked
from model_tests.unit.audit.written_cluster import WrittenCluster
from reference.log.batch import RecordBatch
from spec.vocabulary import LeaderEpoch, Offset

CUTS = 60


def copied(log: LogFolder, folder: Path) -> Path:
    """A copy of the partition, with its broker's checkpoints beside it."""
    folder.mkdir()
    for checkpoint in Path(log.path).parent.glob("*-checkpoint"):
        shutil.copy2(checkpoint, folder)
    return Path(shutil.copytree(log.path, folder / Path(log.path).name))


def without_head(partition: Path, base: int) -> None:
    """Remove what retention removes: segments below the base, what is derived from them, and earlier leader epochs."""
    for file in partition.iterdir():
        if file.name[:20].isdigit() and int(file.name[:20]) < base:
            file.unlink()
    checkpoint = partition / "leader-epoch-checkpoint"
    entries = [tuple(map(int, line.split())) for line in checkpoint.read_text().splitlines()[2:]]
    last_before = max(number for number, (_, start) in enumerate(entries) if start <= base)
    left = [f"{epoch} {max(start, base)}" for epoch, start in entries[last_before:]]
    checkpoint.write_text("\n".join(["0", str(len(left)), *left, ""]))


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
            without_head(partition, chance.choice(log.segments[1:]).base)
        damaged = without_tail(log, partition, chance) if where != "head" else 0

        (left,) = list_logs([str(partition)]).logs
        verdict, damage = audit_log(left, surroundings(left))

        assert [finding for finding in verdict.findings if finding.severity is not Severity.UNDECIDED] == []
        assert len(damage) == damaged, (log.path, damage)
        shutil.rmtree(tmp_path / str(number))


A, OFFSETS = ("a", 0), ("__consumer_offsets", 0)


def written(directory: Path, *removed: int) -> Path:
    """Three transactions with offsets, of which the batches at these offsets of the offsets' log are not there."""
    cluster = WrittenCluster()
    cluster.init("tx", 7)
    for _ in range(3):
        cluster.transaction("tx", [A, OFFSETS])
    cluster.write(directory)
    placed: list[RecordBatch] = [
        batch.at(Offset(offset), LeaderEpoch(0))
        for offset, batch in enumerate(cluster.logs[OFFSETS])
        if offset not in removed
    ]
    path = directory / "__consumer_offsets-0" / f"{0:020}.log"
    path.write_bytes(b"".join(batch.encode() for batch in placed))
    return directory


def blamed(directory: Path) -> list[tuple[str, int]]:
    found = run([directory]).findings
    return [(one.rule.id, one.offset) for _, one in found if one.severity is Severity.VIOLATION]


@pytest.mark.parametrize("removed", [(0, 1), (2, 3)])
def test_what_the_cleaner_took_of_a_copy_without_its_end_is_not_blamed(
    tmp_path: Path, removed: tuple[int, ...]
) -> None:
    """The last segment that was copied looks like the active one, and no checkpoint shows that it was cleaned."""
    assert blamed(written(tmp_path, *removed)) == []


def test_a_marker_that_is_gone_before_its_data_was_not_cleaned_away(tmp_path: Path) -> None:
    """The cleaner removes a marker only after all that it ends."""
    ((rule, offset),) = blamed(written(tmp_path, 3))

    assert (rule, offset) == ("offsets.atomic", 2)
