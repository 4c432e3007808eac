"""A segment of another partition, copied over one's own: reported as a copy, and what stands before it is judged."""

import shutil
from pathlib import Path

import pytest

from model_tests.audit.recorded import KAFKA_3_9
from model_tests.audit.report import AuditReport
from model_tests.audit.run import run
from model_tests.unit.support.changed_directories import changed, not_marked

REPORTED = "that one's segment was copied over it"


def partitions(recordings: Path, directory: Path, *names: str) -> Path:
    """A broker's directory with these of the recording."""
    for name in names:
        shutil.copytree(recordings / KAFKA_3_9 / name, directory / name)
    return directory


def segments(broker: Path, name: str) -> list[Path]:
    """Of a partition, in order."""
    return sorted((broker / name).glob("*.log"))


def reported(report: AuditReport) -> list[tuple[str, str]]:
    """Which segments are said to be another's."""
    return [(bad.path, bad.message.partition(",")[0]) for bad in report.damage if REPORTED in bad.message]


@pytest.mark.parametrize(
    ("own", "other", "number"),
    [("orders-0", "orders-1", 0), ("payments-1", "orders-2", 0), ("crash-0", "crash-1", 3), ("crash-2", "crash-1", 12)],
)
def test_a_segment_of_another_partition_is_reported_as_that(
    recordings: Path, tmp_path: Path, own: str, other: str, number: int
) -> None:
    """Of the same topic or another, the first segment or a later one."""
    broker = partitions(recordings, tmp_path, own, other, *(f"__transaction_state-{n}" for n in range(4)))
    path = segments(broker, own)[number]
    path.write_bytes(segments(broker, other)[number].read_bytes())

    report = run([broker])

    assert report.findings == ()
    assert reported(report) == [(str(path), f"its batches are those of {other}")]


def test_what_is_broken_before_it_is_reported_as_ever(recordings: Path, tmp_path: Path) -> None:
    """A marker in the first segment is not marked as one."""
    broker = partitions(recordings, tmp_path, "crash-0", "crash-1")
    own = segments(broker, "crash-0")
    own[0].write_bytes(changed(own[0].read_bytes(), 9, not_marked, control=True))
    own[3].write_bytes(segments(broker, "crash-1")[3].read_bytes())

    report = run([broker])

    assert [finding.rule.id for _, finding in report.findings] == ["seq.well_formed"]
    assert len(reported(report)) == 1


def test_partitions_whose_clients_sent_alike_are_none_of_each_other(recordings: Path, tmp_path: Path) -> None:
    """They are alike in other segments, too, and what is broken in one of them is reported."""
    broker = partitions(recordings, tmp_path, "crash-0")
    shutil.copytree(broker / "crash-0", broker / "twin-0")
    first = segments(broker, "crash-0")[0]
    for number in (3, 9):
        first.write_bytes(changed(first.read_bytes(), number, not_marked, control=True))

    report = run([broker])

    assert [finding.rule.id for _, finding in report.findings] == ["seq.well_formed"] * 2
    assert reported(report) == []
