"""The tasks of an audit give the same report wherever they run."""

from pathlib import Path
from typing import Any

import pytest

from model_tests.audit import run as command
from model_tests.audit.in_process import judged_in_process
from model_tests.audit.options import DEFAULTS, AuditOptions
from model_tests.audit.run import run
from model_tests.common.reports import VIOLATED
from model_tests.logs.kafka_log_folders import list_logs
from model_tests.unit.audit.written import data, encoded, marker, placed, write_segment
from model_tests.unit.audit.written_world import run_world, write_world
from reference.event import NO_FAULTS
from spec.versions import NEWEST


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A broker's directory with a gap in a sequence, a batch that is cut short, and a world of transactions."""
    write_world(run_world(5, NEWEST, 200, NO_FAULTS), tmp_path / "world")
    write_segment(tmp_path / "gap-0", [data(0), data(2)])
    write_segment(tmp_path / "open-0", [data(0, transactional=True), marker(), data(1, transactional=True)])
    (tmp_path / "cut-0").mkdir()
    (tmp_path / "cut-0" / f"{0:020}.log").write_bytes(encoded(placed([data(0), data(1)]))[:-7])
    return tmp_path


def plain(paths: list[Path], **options: Any) -> dict[str, Any]:
    """The report as JSON, without times."""
    found = run(paths, **options).to_json()
    return {name: value for name, value in found.items() if name != "seconds"}


@pytest.mark.xdist_group("spark")
def test_a_report_does_not_depend_on_where_tasks_run(broken: Path) -> None:
    """Findings, damage, transactions and counts, in this process and on Spark."""
    here = plain([broken], transactions=True)

    assert here == plain([broken], transactions=True, master="local[2]")
    assert here["damage"]
    assert run([broken]).exit_code == VIOLATED


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_reports_on_bundled_logs_do_not_depend_on_where_tasks_run(recordings: Path) -> None:
    """Logs of real brokers, and those with defects."""
    bundled = sorted(recordings.iterdir())

    assert len(bundled) > 5
    for directory in bundled:
        assert plain([directory]) == plain([directory], master="local[2]"), directory.name


def test_children_give_the_verdicts_of_one_process(broken: Path) -> None:
    """Large logs are shared out to processes of their own."""
    logs, paths = list_logs([str(broken)]).logs, [str(broken)]

    assert judged_in_process(logs, paths, DEFAULTS) == judged_in_process(logs, paths, DEFAULTS, children_from=0)


def test_spark_runs_what_is_large_or_submitted_to_it(broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small logs need no Java, unless `spark-submit` started this process or a master is named."""
    masters: list[str] = []

    class SessionStarted(Exception):
        """Stands for a session."""

    def judged_on_spark(logs: object, paths: object, options: AuditOptions) -> None:
        masters.append(options.master)
        raise SessionStarted

    monkeypatch.setattr("model_tests.audit.on_spark.judged_on_spark", judged_on_spark)

    def runs(**options: Any) -> None:
        with pytest.raises(SessionStarted):
            run([broken], **options)

    runs(master="local[1]")
    with monkeypatch.context() as changed:
        changed.setenv(command.SUBMITTED, "1")
        runs()
    with monkeypatch.context() as changed:
        changed.setattr(command, "SPARK_FROM", 1)
        runs()

    assert masters == ["local[1]", "", ""]
    assert run([broken]).audited
    assert len(masters) == 3
