import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from model_tests.conform.replay import run
from model_tests.conform.report import ConformReport
from model_tests.unit.conform.written import Written, accepted, init, produce, refused, session

OF_OTHERS = {
    **produce(refused("INVALID_TXN_STATE", 48), base_sequence=7),
    "racy_error": "verification_batching",
    "accept_errors": ["INVALID_TXN_STATE", "OUT_OF_ORDER_SEQUENCE_NUMBER"],
}
WAITING = {"api": "DeleteGroups", "version": 3, "request": {}, "response": {"error": "NONE"}}


def written(path: Path, *lines: Written) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def printed(report: ConformReport) -> str:
    console = Console(file=io.StringIO(), width=120, color_system=None)
    report.print(console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_every_judged_step_is_counted_once(tmp_path: Path) -> None:
    """Agreed, undecided and the distinct disagreed steps are all the steps; what is unsupported is apart."""
    file = written(
        tmp_path / "a.ndjson",
        session(init(), produce(accepted(5)), OF_OTHERS, id="one"),
        session(init(), WAITING, id="two"),
        session(init(), id="three"),
    )

    report = run([file])
    reported: dict[str, Any] = json.loads(json.dumps(report.to_json()))

    assert (reported["sessions"], reported["steps"], reported["agreed"], reported["undecided"]) == (2, 4, 2, 1)
    distinct = {(each["session"], each["step"]) for each in reported["disagreed"]}
    assert distinct == {("one", 1)}
    assert reported["agreed"] + reported["undecided"] + len(distinct) == reported["steps"]
    assert [each["by"] for each in reported["disagreed"]] == ["specification", "reference"]
    assert reported["disagreed"][0]["expected"] == {"response.base_offset": 5}
    assert reported["disagreed"][0]["got"] == {"response.base_offset": 0}
    assert [(each["session"], each["step"]) for each in reported["undecided_steps"]] == [("one", 2)]
    assert reported["unsupported"] == {"sessions": 1, "steps": 2, "apis": {"DeleteGroups": 1}, "families": {"A": 1}}
    assert report.exit_code == 1


def test_the_first_disagreement_is_shown_with_the_guard(tmp_path: Path) -> None:
    """Session, step, request, what was recorded, what came instead, and which guard decided on which values."""
    file = written(tmp_path / "a.ndjson", session(init(), produce(accepted(0)), produce(accepted(1), base_sequence=7)))

    text = printed(run([file]))

    assert "hand-A-1 step 2 (Produce) by the specification: response.error" in text
    assert "t-0: successor (epoch 0 last sequence 0; batch of epoch 0 sequence 7)" in text
    assert "seq.successor" in text
    assert "'base_sequence': 7" in text
    assert "2 of 3 steps agree, 0 undecided, 1 disagreed" in text


@pytest.mark.parametrize(
    ("families", "steps", "code", "line"),
    [
        (["A"], 1, 0, ""),
        (["Ax"], 1, 0, ""),
        (["A", "Ax"], 2, 0, ""),
        (["A", "Zz"], 1, 1, "no family 'Zz'"),
        (["Zz"], 0, 2, "no family 'Zz'"),
        (["B"], 0, 2, "no session of family B"),
        ([], 2, 0, ""),
        (None, 2, 0, ""),
    ],
)
def test_families_select(tmp_path: Path, families: list[str] | None, steps: int, code: int, line: str) -> None:
    """Only the selected families count; what is no family, or is not there, is said."""
    file = written(tmp_path / "a.ndjson", session(init(), id="one"), session(init(), id="two", family="Ax"))

    report = run([file], families)

    assert (report.steps, report.exit_code) == (steps, code)
    assert line in printed(report)


def test_sessions_that_cannot_be_judged_are_no_agreement(tmp_path: Path) -> None:
    """With nothing but unsupported sessions there is no verdict, and the reason is named."""
    report = run([written(tmp_path / "a.ndjson", session(init(), WAITING))])

    assert report.exit_code == 2
    assert "not judged: 1 sessions of 2 steps, which need DeleteGroups (1)" in printed(report)
    assert "nothing could be judged" in printed(report)


def test_damage_is_reported_and_the_rest_judged(tmp_path: Path) -> None:
    """A missing path and a good file: the file is judged, the path is one line, and the exit code shows it."""
    file = written(tmp_path / "a.ndjson", session(init()))

    report = run([tmp_path / "none", file])

    assert (report.agreed, report.exit_code) == (1, 1)
    assert [True] == [line.startswith(str(tmp_path / "none")) for line in report.damage]
