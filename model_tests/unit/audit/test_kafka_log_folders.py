import os
from pathlib import Path

import pytest

from model_tests.audit.run import run
from model_tests.logs.kafka_log_folders import HIGH_WATERMARK, LOG_START, list_logs
from model_tests.logs.kafka_log_read import read_checked
from model_tests.unit.audit.written import data, write_segment


def test_a_brokers_directory_a_partition_and_a_segment_are_the_same_log(tmp_path: Path) -> None:
    """Whatever of them is given, the partition is found once, with its checkpoints."""
    segment = write_segment(tmp_path / "orders-3", [data(0)])
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\norders 3 1\n")

    for paths in ([tmp_path], [tmp_path / "orders-3"], [segment], [tmp_path, segment], [tmp_path.as_uri()]):
        listing = list_logs(map(str, paths))

        assert [(log.topic, log.partition, log.checkpointed_start) for log in listing.logs] == [("orders", 3, 1)]
        assert listing.damage == []


def test_segments_know_the_next_one(tmp_path: Path) -> None:
    """The last one is the active segment."""
    write_segment(tmp_path / "t-0", [data(0)])
    write_segment(tmp_path / "t-0", [], base=1)

    (log,) = list_logs([str(tmp_path)]).logs

    assert [(segment.base, segment.end, segment.active) for segment in log.segments] == [(0, 1, False), (1, -1, True)]
    assert log.empty == (1,)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("ftp://bucket/logs", "Unrecognized filesystem type"),
        ("file://elsewhere/x", "file:// of another machine"),
        ("/no/such/place", "does not exist"),
    ],
)
def test_a_path_that_cannot_be_read_is_named(given: str, message: str) -> None:
    """One line, at the path."""
    (bad,) = list_logs([given]).damage

    assert (bad.path, bad.message[: len(message)]) == (given, message)


def test_folders_and_files_without_a_log_are_named(tmp_path: Path) -> None:
    """An empty folder, a partition without a segment, a file that is neither a directory nor a segment."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "topic-0").mkdir()
    (tmp_path / "notes.txt").write_text("x")

    assert [list_logs([str(tmp_path / name)]).damage[0].message[:12] for name in ("empty", "topic-0", "notes.txt")] == [
        "no log in it",
        "a partition'",
        "no directory",
    ]


def test_foreign_files_are_ignored_and_foreign_segments_are_not(tmp_path: Path) -> None:
    """A file beside the segments is no damage; one with the name of a segment is."""
    write_segment(tmp_path / "t-0", [data(0)])
    (tmp_path / "t-0" / "README").write_text("x")
    (tmp_path / "t-0" / "server.log").write_text("x")
    (tmp_path / "t-1.0123abc-delete").mkdir()

    listing = list_logs([str(tmp_path)])

    assert [Path(bad.path).name for bad in listing.damage] == ["server.log"]
    assert sorted(Path(name.partition(":")[0]).name for name in listing.ignored) == ["README", "t-1.0123abc-delete"]


@pytest.mark.parametrize(
    ("end", "what"), [("delete", "a deleted partition"), ("future", "to another disk"), ("stray", "not given")]
)
def test_a_folder_that_the_broker_renamed_is_judged_where_it_is_given(tmp_path: Path, end: str, what: str) -> None:
    """In a broker's directory it is none of its partitions; what it is, is said in both cases."""
    folder = tmp_path / f"t-1.0123abc-{end}"
    write_segment(tmp_path / "t-0", [data(0)])
    write_segment(folder, [data(0), data(1)])

    whole, alone = run([tmp_path]), run([folder])

    assert [(one.topic, one.partition) for one in whole.audited] == [("t", 0)]
    assert [what in line and "give it as a path" in line for line in whole.ignored] == [True]
    assert [(one.topic, one.partition, one.verdict.batches) for one in alone.audited] == [("t", 1, 2)]
    assert [(one.used, "the log of t-1 (" in one.taken_for, what in one.taken_for) for one in alone.given] == [
        (True, True, True)
    ]
    assert (alone.damage, alone.ignored) == ((), ())


def test_an_unreadable_segment_is_named(tmp_path: Path) -> None:
    """A directory in place of a segment, and a checkpoint that is none."""
    write_segment(tmp_path / "t-0", [data(0)])
    (tmp_path / "t-0" / f"{1:020}.log").mkdir()
    (tmp_path / "log-start-offset-checkpoint").write_text("what")

    listing = list_logs([str(tmp_path)])

    assert sorted(Path(bad.path).name for bad in listing.damage) == [
        "00000000000000000001.log",
        "log-start-offset-checkpoint",
    ]


def test_a_segment_that_vanishes_is_damage(tmp_path: Path) -> None:
    """A file that cannot be opened when it is read."""
    path = write_segment(tmp_path / "t-0", [data(0)])
    (log,) = list_logs([str(tmp_path)]).logs
    path.unlink()

    batches, damage = read_checked(log.segments[0])

    assert len(batches) == 0
    assert damage[0].message.startswith("cannot be read")


TOO_LARGE = 2**63


@pytest.mark.parametrize("name", [f"{TOO_LARGE:020}.log", f"{10**20 - 1}.log"])
def test_a_name_that_is_no_offset_is_no_segment(tmp_path: Path, name: str) -> None:
    """An offset has 63 bits; a larger one is named, and the log beside it judged."""
    path = write_segment(tmp_path / "t-0", [data(0), data(1)])
    (path.parent / name).write_bytes(path.read_bytes())
    (path.parent / f"{TOO_LARGE:020}.snapshot").write_bytes(b"\0" * 10)

    report = run([tmp_path])

    assert [(Path(bad.path).name, bad.message) for bad in report.damage] == [
        (name, "not named after a base offset of 20 digits: not a segment")
    ]
    assert report.batches == 2


@pytest.mark.parametrize("name", [LOG_START, HIGH_WATERMARK, "recovery-point-offset-checkpoint"])
def test_a_checkpoint_beyond_all_offsets_is_no_checkpoint(tmp_path: Path, name: str) -> None:
    """It is named and not believed."""
    write_segment(tmp_path / "t-0", [data(0), data(1)])
    (tmp_path / name).write_text(f"0\n1\nt 0 {TOO_LARGE}\n")

    report = run([tmp_path])

    (bad,) = report.damage
    assert bad.message == "cannot be read: not a checkpoint of offsets in version 0"
    assert (report.batches, report.findings) == (2, ())


def test_what_never_ends_is_not_read(tmp_path: Path) -> None:
    """A pipe in place of a segment or an index: it would never be written to."""
    path = write_segment(tmp_path / "t-0", [data(0), data(1)])
    pipes = [path.with_name(f"{2:020}.log"), path.with_suffix(".txnindex")]
    for pipe in pipes:
        os.mkfifo(pipe)

    report = run([tmp_path])

    assert sorted(bad.path for bad in report.damage) == sorted(map(str, pipes))
    assert all("not a file that can be read to its end" in bad.message for bad in report.damage)
    assert report.batches == 2
