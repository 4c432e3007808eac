import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from model_tests.conform import replay
from model_tests.conform.files import SessionLine, lines
from model_tests.conform.replay import FEW, TOGETHER, _Workers, in_order, run
from model_tests.conform.report import ConformReport
from model_tests.unit.conform.written import accepted, init, produce, session

FATAL = FEW // 2


def lost(line: SessionLine) -> int:
    return -line.number


def never(line: SessionLine) -> tuple[int, int]:
    raise AssertionError(line)


def dies_at_one(line: SessionLine) -> int:
    if line.number == FATAL:
        os._exit(1)
    return line.number


def without_time(report: ConformReport) -> dict[str, object]:
    return {**report.to_json(), "seconds": 0}


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More sessions than one process keeps to itself; the last is wrong, another is damaged."""
    file = tmp_path_factory.mktemp("many") / "many.ndjson"
    sessions = [json.dumps(session(init(), id=f"s-{number}")) for number in range(1, FEW + TOGETHER)]
    sessions[FEW // 3] = "{"
    wrong = json.dumps(session(init(), produce(accepted(3)), id="wrong"))
    file.write_text("".join(f"{line}\n" for line in (*sessions, wrong)))
    return file


def test_two_processes_report_what_one_reports(many: Path) -> None:
    """The same counts, disagreements and damages, in the same order."""
    alone = run([many], jobs=1)

    together = run([many], jobs=2)

    assert without_time(together) == without_time(alone)
    assert [found.session for found in together.disagreed] == ["wrong", "wrong"]
    assert len(together.damage) == 1


def test_a_process_that_dies_loses_one_line_by_name(many: Path) -> None:
    """Every other line is worked on, in order, whichever process had begun it."""
    made = [item for _, item in in_order(dies_at_one, lost, lines([many]), jobs=2)]

    assert made == [-number if number == FATAL else number for number in range(1, FEW + TOGETHER + 1)]


def test_a_session_that_kills_its_process_is_damage(many: Path) -> None:
    """The report names it."""
    report = replay.lost(next(lines([many])))

    assert isinstance(report, ConformReport)
    assert report.damage == [f"{many}:1: session s-1: the process that replayed it died"]


def test_few_lines_need_no_other_process() -> None:
    """The work is done here, one line after another, as they are needed."""
    requested: list[int] = []

    def few() -> Iterator[SessionLine]:
        for number in range(1, 4):
            requested.append(number)
            yield SessionLine(1, "few", number, b"{}")

    made = in_order(lambda line: (os.getpid(), line.number), never, few(), jobs=2)

    assert [item for _, item in made] == [(os.getpid(), number) for number in requested]
    assert requested == [1, 2, 3]


def test_where_no_process_can_start_this_one_does_it_all(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that came from standard input cannot be imported again."""
    monkeypatch.setattr(_Workers, "can_start", lambda _: False)

    made = [item for _, item in in_order(lambda line: (os.getpid(), line.number), never, lines([many]), jobs=2)]

    assert made == [(os.getpid(), number) for number in range(1, FEW + TOGETHER + 1)]


def test_what_breaks_in_a_session_is_damage(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The session is named, and nothing of it is counted as judged."""

    def breaks(*_: object) -> None:
        raise KeyError("t-9")

    monkeypatch.setattr("model_tests.conform.replay.outcomes", breaks)

    report = run([many], jobs=1)

    assert report.sessions == 0
    assert report.damage[0] == f"{many}:1: session s-1: KeyError: 't-9'"
    assert report.exit_code == 2
