import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from model_tests.audit import result_cache
from model_tests.audit.history_log import ClientSide
from model_tests.audit.log import audit_log, surroundings
from model_tests.audit.partition_verdict import VERDICT
from model_tests.audit.result_cache import ResultCache, directory_for
from model_tests.audit.run import run
from model_tests.cli import app
from model_tests.common.reports import NOTHING_JUDGED, BadInput
from model_tests.logs.kafka_log_folders import LogFolder, list_logs
from model_tests.spark.session import archive
from model_tests.unit.audit.written import data, encoded, placed, write_segment
from model_tests.unit.source_files import reached_from, within

AUDIT = """
import os, signal, sys
from pathlib import Path
from model_tests.audit.result_cache import ResultCache
from model_tests.audit.log import audit_log, surroundings
from model_tests.audit.partition_verdict import VERDICT
from model_tests.logs.kafka_log_folders import list_logs

def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)

def judged(log):
    return VERDICT.encode(audit_log(log, surroundings(log)))

logs, work, where = sys.argv[1:]
for number, log in enumerate(list_logs([logs]).logs):
    if number == 3 and where == "reading":
        judged = die
    if number == 3 and where == "renaming":
        Path.replace = die
    ResultCache(Path(work), "").found(log, "", lambda: judged(log))
"""


def judged(log: LogFolder) -> bytes:
    """What a task keeps of a log."""
    return VERDICT.encode(audit_log(log, surroundings(log)))


@pytest.mark.parametrize(("where", "unfinished"), [("reading", 0), ("renaming", 1)])
def test_an_audit_that_is_killed_is_resumed(tmp_path: Path, where: str, unfinished: int) -> None:
    """A resumed audit reuses the complete results, and its report is that of an audit without a stop."""
    for number in range(5):
        write_segment(tmp_path / "logs" / f"t-{number}", [data(0), data(1 + number % 2)])
    work = directory_for(tmp_path / "work")
    script = [sys.executable, "-c", AUDIT, str(tmp_path / "logs"), str(work), where]
    killed = subprocess.run(script, cwd=Path(result_cache.__file__).parents[2])
    logs = list_logs([str(tmp_path / "logs")]).logs
    requested: list[str] = []

    def find(log: LogFolder) -> bytes:
        requested.append(log.name)
        return judged(log)

    before = len(list(work.iterdir()))
    found = [ResultCache(work, "").found(log, "", lambda log=log: find(log)) for log in logs]  # type: ignore[misc]

    assert (-signal.SIGKILL, 3 + unfinished) == (killed.returncode, before)
    assert [log.name for log in logs[3:]] == requested
    assert list(map(VERDICT.decode, found)) == [audit_log(log, surroundings(log)) for log in logs]


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_tasks_take_what_is_kept(tmp_path: Path) -> None:
    """A segment that is damaged in place, with the same size and time, is not looked at again."""
    path = write_segment(tmp_path / "logs" / "t-0", [data(0), data(2)])
    first = run([tmp_path / "logs"], work=tmp_path / "work")
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_bytes(bytes(path.stat().st_size))
    os.utime(path, ns=times)

    again, anew = run([tmp_path / "logs"], work=tmp_path / "work"), run([tmp_path / "logs"])

    assert [finding.offset for _, finding in first.findings] == [1]
    assert (again.findings, again.damage) == (first.findings, ())
    assert len(anew.damage) == 1


def test_what_changed_is_read_again(tmp_path: Path) -> None:
    """A file's size or time, a checkpoint, an option; nothing else."""
    path = write_segment(tmp_path / "t-0", [data(0)])
    (tmp_path / "work").mkdir()
    requested: list[str] = []

    def looks(options: str, why: str) -> None:
        (log,) = list_logs([str(tmp_path / "t-0")]).logs

        def find() -> bytes:
            requested.append(why)
            return judged(log)

        ResultCache(tmp_path / "work", options).found(log, "", find)

    looks("", "first")
    looks("", "nothing changed")
    looks("crc", "another option")
    path.write_bytes(encoded(placed([data(0), data(1)])))
    looks("", "another size")
    os.utime(path, (1, 1))
    looks("", "another time")
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nt 0 1\n")
    looks("", "a checkpoint")

    assert requested == ["first", "another option", "another size", "another time", "a checkpoint"]


def test_a_log_that_grows_while_it_is_read_is_not_kept(tmp_path: Path) -> None:
    """What was found of it is of no state that the log had before or after."""
    path = write_segment(tmp_path / "t-0", [data(0)])
    (log,) = list_logs([str(tmp_path / "t-0")]).logs
    work = directory_for(tmp_path / "work")

    def find() -> bytes:
        path.write_bytes(encoded(placed([data(0), data(1)])))
        return b"found"

    assert ResultCache(work, "").found(log, "", find) == b"found"
    assert list(work.iterdir()) == []


def test_without_a_directory_nothing_is_kept(tmp_path: Path) -> None:
    """And a directory that cannot be written is one line before the work."""
    write_segment(tmp_path / "t-0", [data(0)])
    (log,) = list_logs([str(tmp_path / "t-0")]).logs

    assert ResultCache(None, "").found(log, "", lambda: b"now") == b"now"
    with pytest.raises(BadInput, match="cannot be written"):
        directory_for(tmp_path / "t-0" / f"{0:020}.log" / "work")


@pytest.mark.parametrize("option", ["--html", "--json"])
def test_a_report_with_nowhere_to_go_is_said_before_the_work(tmp_path: Path, option: str) -> None:
    """Nothing is read; the audit of what is not there would say so."""
    result = CliRunner().invoke(app, ["audit", str(tmp_path / "nothing"), option, str(tmp_path / "no" / "report")])

    assert result.exit_code == NOTHING_JUDGED
    assert "cannot be written: it needs a file in a directory that exists" in result.output
    assert result.output.count("\n") == 1


def test_what_clients_know_is_a_part_of_the_name() -> None:
    """Two histories that differ in one record of thousands are not the same, however long they are."""
    received = np.arange(5_000)
    other = received.copy()
    other[2_500] = 7

    digests = {ClientSide(received=received).digest, ClientSide(received=other).digest, ClientSide().digest}

    assert 3 == len(digests)
    assert ClientSide(received=received).digest == ClientSide(received=received.copy()).digest


def test_shipped_code_has_the_same_digest(tmp_path: Path) -> None:
    """Executors import the project from an archive: what they keep is of the same code, and found again."""
    shipped = archive(Path(result_cache.__file__).parents[2], tmp_path / "shipped.zip")
    script = "from model_tests.audit import result_cache; print(result_cache.__file__, result_cache._code())"
    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(shipped)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()

    assert ended[0].startswith(str(shipped))
    assert result_cache._code() == ended[1]


def test_the_name_of_a_result_depends_on_all_code_that_judges() -> None:
    """What a task imports, at whatever remove, is within the packages whose digest is part of the name."""
    reached = reached_from("model_tests.audit.verdict_tasks")

    assert len(reached) > 50
    assert [] == [module.name for module in reached if not within(module.name, result_cache.CODE)]
