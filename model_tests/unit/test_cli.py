"""`eos`: what it prints, how it exits, and that bad input is one line."""

import errno
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import pytest
from pyspark.errors import PythonException
from rich.console import Console
from typer.testing import CliRunner

from model_tests import cli
from model_tests.audit.options import AuditOptions
from model_tests.common import java
from model_tests.common.reports import HOLDS, NOTHING_JUDGED, VIOLATED, BadInput, Report, lacking_on_executors
from model_tests.serve.options import ServeOptions
from spec.rules import RULES
from spec.versions import PROFILES

RUN: Final = CliRunner()


@dataclass(frozen=True)
class MadeUpReport:
    """A report made up here."""

    exit_code: int = HOLDS

    def to_json(self) -> dict[str, object]:
        return {"judged": 3}

    def print(self, console: Console) -> None:
        console.print("three judged")


@dataclass(frozen=True)
class RecordedCall:
    """A command's function that keeps what it was given."""

    calls: list[tuple[object, object]] = field(default_factory=list)

    def __call__(self, *given: object, **options: object) -> MadeUpReport:
        self.calls.append((given, options))
        return MadeUpReport()


@pytest.fixture
def provide(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Report]], None]:
    """Put a function in the place of the one that a command dispatches to."""

    def put(run: Callable[..., Report]) -> None:
        monkeypatch.setattr(cli, "import_module", lambda name: SimpleNamespace(run=run))
        monkeypatch.setattr(cli, "require_java", lambda: None)

    return put


def test_the_catalogue_lists_every_rule() -> None:
    """`eos rules` has each rule once."""
    shown = RUN.invoke(cli.app, ["rules"], env={"COLUMNS": "200"})

    assert 0 == shown.exit_code
    assert all(shown.output.count(f"│ {rule} ") == 1 for rule in RULES)


def test_one_rule_is_shown_with_all_that_is_known_of_it() -> None:
    """`eos rules ID` has statement, source, domain and evidence."""
    shown = RUN.invoke(cli.app, ["rules", "seq.successor"], env={"COLUMNS": "200"})

    assert 0 == shown.exit_code
    assert all(word in shown.output for word in ("wrapping after 2^31-1", "KIP-98", "any circumstances", "conformance"))


def test_an_unknown_rule_is_reported_with_the_rules_that_come_near() -> None:
    """A typo is one line with what was meant."""
    shown = RUN.invoke(cli.app, ["rules", "seq.sucessor"])

    assert NOTHING_JUDGED == shown.exit_code
    assert "did you mean seq.successor" in shown.stderr


@pytest.mark.parametrize("exit_code", [HOLDS, VIOLATED, NOTHING_JUDGED])
def test_a_command_exits_as_its_report_says(provide: Callable[[Callable[..., Report]], None], exit_code: int) -> None:
    """The report is printed, and its exit code is the command's."""
    provide(lambda *paths, **options: MadeUpReport(exit_code))

    shown = RUN.invoke(cli.app, ["audit", "logs"])

    assert (exit_code, "three judged\n") == (shown.exit_code, shown.stdout)


def test_a_report_is_written_where_json_says(provide: Callable[[Callable[..., Report]], None], tmp_path: Path) -> None:
    """`--json FILE` has the whole report."""
    provide(lambda *paths, **options: MadeUpReport())

    RUN.invoke(cli.app, ["conform", "sessions", "--json", str(tmp_path / "report.json")])

    assert {"judged": 3} == json.loads((tmp_path / "report.json").read_text())


def test_a_report_with_nowhere_to_go_is_reported_before_the_work(
    provide: Callable[[Callable[..., Report]], None], tmp_path: Path
) -> None:
    """An unwritable `--json FILE` is one line, and nothing runs for it."""
    seen = RecordedCall()
    provide(seen)

    shown = RUN.invoke(cli.app, ["check", "traces", "--json", str(tmp_path / "no" / "report.json")])

    assert (NOTHING_JUDGED, []) == (shown.exit_code, seen.calls)
    assert 1 == len(shown.stderr.splitlines())


def test_bad_input_is_one_line(provide: Callable[[Callable[..., Report]], None]) -> None:
    """Input that cannot be judged gives one line without a traceback, and exit code 2."""

    def refuse(*paths: object, **options: object) -> Report:
        raise BadInput("logs is no log directory:\n it holds no segment")

    provide(refuse)

    shown = RUN.invoke(cli.app, ["audit", "logs"])

    assert NOTHING_JUDGED == shown.exit_code
    assert "eos: logs is no log directory: it holds no segment\n" == shown.stderr


def test_a_full_disk_is_one_line(provide: Callable[[Callable[..., Report]], None]) -> None:
    """With the file for which no room is left."""

    def run(*_: object, **__: object) -> Report:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "build/somewhere")

    provide(run)

    result = CliRunner().invoke(cli.app, ["scenarios"])

    message = "eos: no room is left for build/somewhere: make some, and run it again\n"
    assert (result.exit_code, result.stderr) == (NOTHING_JUDGED, message)


def test_an_interruption_is_one_line(provide: Callable[[Callable[..., Report]], None]) -> None:
    """And exits as shells expect it."""

    def run(*_: object, **__: object) -> Report:
        raise KeyboardInterrupt

    provide(run)

    result = CliRunner().invoke(cli.app, ["scenarios"])

    assert (result.exit_code, result.stderr) == (130, "eos: interrupted: no report was made; run it again\n")


def test_a_library_that_executors_lack_is_one_line(provide: Callable[[Callable[..., Report]], None]) -> None:
    """It exits with 2, not as a violation does; an error of this process, or of another kind, stays what it is."""

    def without(*paths: object, **options: object) -> Report:
        raise PythonException("Traceback\n in pages\nModuleNotFoundError: No module named 'pyarrow'\n\tat java")

    provide(without)

    shown = RUN.invoke(cli.app, ["audit", "logs"])

    assert NOTHING_JUDGED == shown.exit_code
    assert 1 == shown.stderr.count("\n")
    assert "has no pyarrow" in shown.stderr
    assert lacking_on_executors(ModuleNotFoundError("No module named 'pyarrow'")) is None
    assert lacking_on_executors(PythonException("ZeroDivisionError: no module")) is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["audit", "a", "b", "--no-crc"], ((["a", "b"], AuditOptions(crc=False)), {})),
        (
            ["audit", "--kafka", "2.7", "--topic", "a-0", "--cluster", "A=x", "--cluster", "A=y", "--html", "p.html"],
            (
                (
                    [],
                    AuditOptions(profile=PROFILES["2.7"], topics=("a-0",), clusters={"A": ("x", "y")}, pictured=True),
                ),
                {},
            ),
        ),
        (
            ["serve", "--nodes", "3", "--topic", "a:2", "--topic", "b", "--seconds", "0.5", "--dir", "d"],
            ((ServeOptions(nodes=3, topics=("a:2", "b"), seconds=0.5, directory=Path("d")),), {}),
        ),
        (
            ["conform", "s", "--family", "A,Ax", "--jobs", "2"],
            ((["s"],), {"families": ("A", "Ax"), "jobs": 2}),
        ),
        (
            ["check", "t", "--master", "local[1]", "--z3-sample", "7"],
            (("t",), {"master": "local[1]", "z3_sample": 7, "reference_sample": 0}),
        ),
        (
            ["simulate", "--traces", "5", "--seed", "9", "--out", "d", "--workload", "raw"],
            (
                (),
                {
                    "traces": 5,
                    "seed": 9,
                    "out": Path("d"),
                    "steps": 200,
                    "master": "local[*]",
                    "workload": "raw",
                },
            ),
        ),
        (
            ["simulate", "--monitor", "--traces", "5", "--out", "t.ndjson"],
            (
                (),
                {
                    "traces": 5,
                    "seed": 0,
                    "out": Path("t.ndjson"),
                    "steps": 200,
                    "workload": None,
                    "monitored": True,
                },
            ),
        ),
        (
            ["replay", "--seed=4", "--steps=30", "--workload=raw", "--profile=3.9.0", "--transaction-version=0"],
            (
                (None,),
                {
                    "workload": "raw",
                    "profile": "3.9.0",
                    "transaction_version": 0,
                    "seed": 4,
                    "tape": None,
                    "trace": None,
                    "step": None,
                    "steps": 30,
                    "shrink_seconds": 20,
                    "svg": None,
                },
            ),
        ),
    ],
    ids=["audit", "audit clusters", "serve", "conform", "check", "simulate", "simulate here", "replay"],
)
def test_a_command_passes_on_what_it_was_given(
    provide: Callable[[Callable[..., Report]], None], arguments: list[str], expected: tuple[object, object]
) -> None:
    """Arguments reach the function behind the command under the names that it has for them."""
    seen = RecordedCall()
    provide(seen)

    RUN.invoke(cli.app, arguments)

    assert [expected] == seen.calls


@pytest.mark.parametrize(
    "arguments",
    [
        ["scenarios", "none-such"],
        ["replay"],
        ["replay", "--seed", "-1"],
        ["replay", "--seed", "1", "--workload", "none-such"],
        ["replay", "--seed", "1", "--profile", "none-such"],
        ["replay", "--seed", "1", "--step", "100000"],
        ["replay", "none-such.ndjson"],
        ["replay", __file__],
        ["replay", "--seed", "1", "--tape", __file__],
        ["replay", "--tape", __file__],
        ["simulate", "--local", "--out", "none-such/traces.ndjson"],
        ["simulate", "--local", "--out", "traces.ndjson", "--workload", "none-such"],
    ],
    ids=" ".join,
)
def test_what_there_is_not_is_one_line_and_exits_with_2(arguments: list[str]) -> None:
    """No traceback, no usage: the requested name, and those that exist."""
    shown = RUN.invoke(cli.app, arguments)

    assert (NOTHING_JUDGED, "") == (shown.exit_code, shown.stdout)
    assert 1 == len(shown.stderr.splitlines())
    assert shown.stderr.startswith("eos: ")


@pytest.mark.parametrize(
    ("says", "found"),
    [('openjdk version "1.8.0_392"', "1.8.0_392"), ('openjdk version "11.0.2" 2019-01-15', "11.0.2"), ("", "none")],
    ids=["8", "11", "none"],
)
def test_an_old_java_is_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, says: str, found: str
) -> None:
    """Without a recent Java a Spark command reports what was found and how to get one."""
    fake = tmp_path / "java"
    fake.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)

    shown = RUN.invoke(cli.app, ["check", "traces", "--master", "local[1]"])

    assert NOTHING_JUDGED == shown.exit_code
    assert shown.stderr.startswith(f"eos: Java >= 17 is needed; found: {found}. Try apt-get")


def test_java_home_comes_before_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Spark starts the Java of JAVA_HOME, so that is the one looked at."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(BadInput, match="found: none"):
        java.require_java()
