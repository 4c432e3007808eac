import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Event, Thread

import pytest

from model_tests.audit.run import run
from model_tests.common.reports import VIOLATED
from model_tests.histories.severity import Severity
from model_tests.unit.audit.fuzzing import fuzz_directories, fuzz_segments
from model_tests.unit.audit.written import data, encoded, marker, placed, write_segment
from model_tests.unit.audit.written_world import run_world, write_world, written_where
from model_tests.unit.support.bad_input import blamed
from reference.event import NO_FAULTS
from spec.versions import NEWEST

KEPT = (".properties", ".txnindex")
"""Files that belong to a copy: without the first the cluster is unknown; no second is one without entries."""


@contextmanager
def appending(path: Path, content: bytes) -> Iterator[None]:
    """A broker appends to a segment, some bytes at a time, so that a copy may end anywhere."""
    ends = Event()

    def append() -> None:
        with path.open("ab", buffering=0) as file:
            for start in range(0, len(content), 37):
                if ends.is_set():
                    return
                file.write(content[start : start + 37])

    thread = Thread(target=append)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join()


def test_a_segment_that_grows_while_it_is_read_is_no_violation(tmp_path: Path) -> None:
    """A live broker appends: what is there is judged, and at most the batch that is half there is named."""
    batches = placed([each for n in range(400) for each in (data(n, transactional=True, at=n), marker())])
    path = write_segment(tmp_path / "t-0", batches[:2])
    seen = set()

    with appending(path, encoded(batches[2:])):
        for _ in range(20):
            report = run([tmp_path])
            seen.add(report.batches)

            assert blamed(report) == []
            assert all("cut short" in bad.message for bad in report.damage)
            assert len(report.damage) <= 1

    assert min(seen) >= 2


def test_a_batch_cut_at_any_byte_is_cut_short(tmp_path: Path) -> None:
    """Also where the few bytes that are left are zeros: a small base offset begins with them."""
    batches = placed([data(n, transactional=True, at=n) for n in range(3)])
    whole, kept = encoded(batches), len(encoded(batches[:2]))
    path = write_segment(tmp_path / "t-0", batches)
    for length in range(kept + 1, len(whole)):
        path.write_bytes(whole[:length])
        (damage,) = run([tmp_path]).damage

        assert "cut short" in damage.message


def test_a_copy_that_ended_anywhere_is_no_violation(tmp_path: Path) -> None:
    """Files that are missing or cut off: what could be judged is, the rest is named or in doubt."""
    write_world(run_world(5, NEWEST, 300, NO_FAULTS), tmp_path / "whole")
    chance = Random(1)
    for number in range(12):
        copy = tmp_path / f"copy-{number}"
        shutil.copytree(tmp_path / "whole", copy)
        files = sorted(path for path in copy.rglob("*") if path.is_file() and path.suffix not in KEPT)
        for path in chance.sample(files, len(files) // 4):
            if chance.random() < 0.5 or path.suffix != ".log":
                path.unlink()
        last = max(
            (path for path in files if path.suffix == ".log" and path.exists()), key=lambda path: path.stat().st_size
        )
        os.truncate(last, chance.randrange(last.stat().st_size))

        report = run([copy])

        assert blamed(report) == []
        assert report.damage
        assert report.exit_code == VIOLATED


def test_fuzzed_logs_never_stop_the_audit(tmp_path: Path) -> None:
    """Bytes overwritten anywhere, of segments, indexes, snapshots, checkpoints and the logs of coordinators."""
    write_world(run_world(6, NEWEST, 300, NO_FAULTS), tmp_path / "whole")
    chance = Random(2)
    for number in range(12):
        copy = tmp_path / f"copy-{number}"
        shutil.copytree(tmp_path / "whole", copy)
        for path in sorted(path for path in copy.rglob("*") if path.is_file() and path.stat().st_size):
            if chance.random() < 0.5:
                content = bytearray(path.read_bytes())
                for _ in range(chance.randrange(1, 6)):
                    content[chance.randrange(len(content))] = chance.randrange(256)
                path.write_bytes(content)

        report = run([copy], crc=bool(number % 2))

        assert report.batches
        assert report.exit_code == VIOLATED


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Small directories of brokers, and one with a single partition."""
    into = tmp_path_factory.mktemp("small")
    brokers = [path for seed, steps in ((5, 30), (6, 60)) for path in write_world_of(seed, steps, into / str(seed))]
    write_segment(into / "one" / "t-0", [data(0), data(1, transactional=True), marker()])
    return [into / "one", *brokers]


def write_world_of(seed: int, steps: int, into: Path) -> list[Path]:
    """The directories of a short run."""
    return write_world(run_world(seed, NEWEST, steps, NO_FAULTS), into)


def test_spoiled_directories_never_stop_the_audit(small: list[Path], tmp_path: Path) -> None:
    """Files changed, cut, exchanged, renamed and gone: something is said of each."""
    assert fuzz_directories(small, tmp_path, range(60)) == 60


def test_changed_segments_never_stop_the_audit(small: list[Path], tmp_path: Path) -> None:
    """Segments of clients and coordinators alone: something is said of each."""
    assert fuzz_segments(small, tmp_path, range(100)) == 100


@pytest.mark.slow
def test_no_segment_of_a_hundred_thousand_stops_the_audit(small: list[Path], tmp_path: Path) -> None:
    """The same, many times, in one process."""
    assert fuzz_segments(small, tmp_path, range(100_000)) == 100_000


@pytest.mark.slow
def test_no_directory_of_a_hundred_thousand_stops_the_audit(small: list[Path], tmp_path: Path) -> None:
    """The same, many times."""
    assert fuzz_directories(small, tmp_path, range(100_000)) == 100_000


@pytest.mark.parametrize("denied", ["00000000000000000000.log", "00000000000000000000.index", "t-0"])
def test_what_may_not_be_read_is_named_and_the_rest_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, denied: str
) -> None:
    """A segment, an index, a whole folder of another user."""
    write_segment(tmp_path / "t-0", [data(0)])
    (tmp_path / "t-0" / "00000000000000000000.index").write_bytes(b"")
    write_segment(tmp_path / "u-0", [data(0), data(1)], base=0)
    (tmp_path / "u-0" / f"{0:020}.log").rename(tmp_path / "u-0" / f"{0:020}.kept")
    write_segment(tmp_path / "u-0", [data(0), data(1)], base=7)
    true_open, true_iterdir = Path.open, Path.iterdir

    def opened(path: Path, *given: object, **more: object) -> object:
        if path.name == denied:
            raise PermissionError(13, "Permission denied")
        return true_open(path, *given, **more)  # type: ignore[call-overload]  # as it was called

    def listed(path: Path) -> Iterator[Path]:
        if path.name == denied:
            raise PermissionError(13, "Permission denied")
        return iter(true_iterdir(path))

    monkeypatch.setattr(Path, "open", opened)
    monkeypatch.setattr(Path, "iterdir", listed)

    report = run([tmp_path])

    (bad,) = [bad for bad in report.damage if "Permission denied" in bad.message]
    assert bad.path.endswith(denied)
    assert report.batches >= 2
    assert blamed(report) == []


def test_links_and_folders_in_place_of_files_are_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder where a segment should be, links that lead nowhere, a folder that cannot be listed: each one line."""
    segment = f"{0:020}.log"
    write_segment(tmp_path / "ok-0", [data(0), data(1)])
    (tmp_path / "folder-0" / segment).mkdir(parents=True)
    (tmp_path / "link-0").mkdir()
    (tmp_path / "link-0" / segment).symlink_to(tmp_path / "nowhere")
    (tmp_path / "gone-0").symlink_to(tmp_path / "nowhere")
    (tmp_path / "notes").symlink_to(tmp_path / "nowhere")
    (tmp_path / "shut-0").mkdir()
    true_iterdir = Path.iterdir

    def listed(path: Path) -> Iterator[Path]:
        if path.name == "shut-0":
            raise PermissionError(13, "Permission denied")
        return iter(true_iterdir(path))

    monkeypatch.setattr(Path, "iterdir", listed)

    report = run([tmp_path])

    assert [(str(Path(bad.path).relative_to(tmp_path)), bad.message) for bad in report.damage] == [
        (f"folder-0/{segment}", "a directory, not a segment"),
        ("gone-0", "a symbolic link that leads nowhere"),
        (f"link-0/{segment}", "cannot be read: No such file or directory"),
        ("shut-0", "cannot be listed: Permission denied"),
    ]
    assert report.ignored == (str(tmp_path / "notes"),)
    assert (report.batches, report.exit_code) == (2, VIOLATED)


@pytest.mark.parametrize("batches", [0, 2])
def test_a_segment_that_is_given_alone_is_one_that_is_used(tmp_path: Path, batches: int) -> None:
    """Also one without a batch: it is the log of its partition."""
    segment = write_segment(tmp_path / "t-0", [data(n) for n in range(batches)])

    (given,) = run([segment]).given

    assert (given.used, given.taken_for) == (True, "the log of t-0")


def test_hidden_files_beside_a_log_are_no_damage(tmp_path: Path) -> None:
    """An archive of another system has a file of its own beside each: `._name`."""
    segment = write_segment(tmp_path / "t-0", [data(0), data(1)])
    for path in (segment.with_name(f"._{segment.name}"), segment.with_name(".DS_Store"), tmp_path / "._t-0"):
        path.write_bytes(b"\0\5\x16\7")

    report = run([tmp_path])

    assert (report.damage, report.batches, len(report.ignored)) == ((), 2, 3)


@pytest.mark.parametrize(
    ("folder", "name", "whose"),
    [
        ("version-2", "snapshot.1a", "ZooKeeper"),
        ("store", "MANIFEST-000004", "RocksDB"),
        ("t-AbCdEfGhIjKlMnOpQrStUv", f"{0:020}-AbCdEfGhIjKlMnOpQrStUv.log", "tiered storage"),
    ],
)
def test_a_directory_of_another_product_is_named(tmp_path: Path, folder: str, name: str, whose: str) -> None:
    """By the names of its files; a folder may be called like that of a partition."""
    (tmp_path / folder).mkdir()
    (tmp_path / folder / name).write_bytes(bytes(100))

    (bad,) = run([tmp_path]).damage

    assert f"it has files of {whose}" in bad.message


@pytest.mark.parametrize(
    "name",
    [
        *(
            "meta.properties",
            "replication-offset-checkpoint",
            "log-start-offset-checkpoint",
            "cleaner-offset-checkpoint",
        ),
        *("cleaner-offset-checkpoint", "recovery-point-offset-checkpoint"),
        *("t-0/leader-epoch-checkpoint", "t-0/00000000000000000000.index"),
        *("t-0/00000000000000000000.timeindex", "t-0/00000000000000000002.snapshot"),
        *("t-0/00000000000000000000.txnindex", "t-0/00000000000000000002.log"),
    ],
)
def test_a_pipe_in_the_place_of_a_file_is_named_and_not_waited_for(tmp_path: Path, name: str) -> None:
    """Nobody ever writes into it; what else is there is judged."""
    write_segment(tmp_path / "t-0", [data(0), data(1)])
    os.mkfifo(tmp_path / name)

    report = run([tmp_path])

    assert [bad.path for bad in report.damage] == [str(tmp_path / name)]
    assert report.batches == 2


def test_missing_segments_of_a_coordinators_log_are_no_change_of_state(tmp_path: Path) -> None:
    """Also where the cleaner's checkpoint was copied and shows that it was never there."""
    (broker,) = write_world(run_world(5, NEWEST, 300, NO_FAULTS), tmp_path)[:1]
    (broker / "cleaner-offset-checkpoint").write_text("0\n0\n")
    assert blamed(run([broker])) == []
    segments = sorted(broker.glob("__transaction_state-*/*.log"))
    assert len(segments) > 3

    for segment in segments:
        content = segment.read_bytes()
        segment.unlink()
        found = run([broker]).findings
        segment.write_bytes(content)

        judged = [one for log, one in found if log.topic == "__transaction_state"]
        assert [one for one in judged if one.severity is Severity.VIOLATION] == []


@pytest.mark.parametrize("log", ["__transaction_state", "__consumer_offsets"])
def test_a_segment_that_is_gone_before_its_records_are_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: str
) -> None:
    """A live broker's cleaner replaces segments while they are read: what was in one is not known."""
    (broker,) = write_world(run_world(5, NEWEST, 300, NO_FAULTS), tmp_path)[:1]
    read: set[Path] = set()
    true_open = Path.open

    def opened(path: Path, *given: object, **more: object) -> object:
        if path.suffix == ".log" and path.parent.name.startswith(log):
            if path in read:
                raise FileNotFoundError(2, "No such file or directory")
            read.add(path)
        return true_open(path, *given, **more)  # type: ignore[call-overload]  # as it was called

    monkeypatch.setattr(Path, "open", opened)

    report = run([broker])

    assert blamed(report) == []
    assert {bad.message for bad in report.damage} == {"cannot be read any more: No such file or directory"}


@pytest.mark.parametrize("last", [True, False], ids=["last segment", "segment before"])
def test_indexes_of_a_log_of_which_nothing_can_be_read_are_not_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: bool
) -> None:
    """The log is named as damage; its index of aborted transactions is compared with nothing."""

    def with_entries(broker: Path) -> list[Path]:
        return [path for path in broker.rglob("*.txnindex") if path.stat().st_size]

    def shows(broker: Path) -> bool:
        """An index with entries, of the last segment of its log or of one before."""
        names = ((path.stem, max(log.stem for log in path.parent.glob("*.log"))) for path in with_entries(broker))
        return last in {own == newest for own, newest in names}

    broker = written_where(shows, tmp_path)
    indexed = {path.parent.name for path in with_entries(broker)}
    true_open = Path.open

    def opened(path: Path, *given: object, **more: object) -> object:
        if path.suffix == ".log" and path.parent.name in indexed:
            raise PermissionError(13, "Permission denied")
        return true_open(path, *given, **more)  # type: ignore[call-overload]  # as it was called

    monkeypatch.setattr(Path, "open", opened)

    assert blamed(run([broker])) == []


@pytest.mark.parametrize("denied", ["listing", "looking"])
def test_a_broker_of_another_user_is_named_and_the_others_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, denied: str
) -> None:
    """Its directory cannot be listed; or it can, and nothing in it be looked at."""
    write_world(run_world(5, NEWEST, 300, NO_FAULTS), tmp_path)
    first, second = tmp_path / "broker-0", tmp_path / "broker-1"
    true_iterdir, true_stat = Path.iterdir, Path.stat

    def listed(path: Path) -> Iterator[Path]:
        if path == first:
            raise PermissionError(13, "Permission denied")
        return iter(true_iterdir(path))

    def looked_at(path: Path, **given: bool) -> os.stat_result:
        if first in path.parents:
            raise PermissionError(13, "Permission denied")
        return true_stat(path, **given)

    if denied == "listing":
        monkeypatch.setattr(Path, "iterdir", listed)
    else:
        monkeypatch.setattr(Path, "stat", looked_at)

    report = run([first, second])

    (bad,) = report.damage
    assert bad.path.startswith(str(first))
    assert "Permission denied" in bad.message
    assert {one.path.split("/")[-2] for one in report.audited} == {"broker-1"}
    assert blamed(report) == []
