from pathlib import Path

import pytest

from model_tests.audit.run import run
from model_tests.histories.severity import Severity
from model_tests.unit.audit.written_cluster import WrittenCluster
from reference.log.batch import RecordBatch
from spec.vocabulary import LeaderEpoch, Offset

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
