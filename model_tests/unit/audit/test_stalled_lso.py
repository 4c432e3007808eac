"""What an operator reads last: which partition waits, where, for whom, and what ends it."""

from pathlib import Path

from model_tests.audit.run import run
from model_tests.unit.audit.written import data, marker, write_segment
from model_tests.unit.support.printed_reports import printed


def test_a_partition_that_is_held_back_is_reported_with_offset_and_producer(tmp_path: Path) -> None:
    """An open transaction holds what is behind it; where nothing is open, and where nothing is, there is no line."""
    write_segment(tmp_path / "held-0", [data(0), data(1, transactional=True), data(2, transactional=True)])
    write_segment(tmp_path / "free-0", [data(0), data(1, transactional=True), marker()])
    write_segment(tmp_path / "empty-0", [])

    output = printed(run([tmp_path]))

    lines = [line for line in output.splitlines() if line.startswith("held back")]
    assert 1 == len(lines)
    assert "held back: held-0 at offset 1, 2 offsets before its end, by producer" in lines[0]
    assert "partitions without a batch, not shown: 1" in output
    assert "empty-0" not in output.partition("given: ")[0]
