"""`eos bugs`: the list, one bug, wrong names, and where the files go."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from model_tests.bugs import command
from model_tests.bugs.command import bug_called, run
from model_tests.cli import app
from model_tests.common.reports import HOLDS, NOTHING_JUDGED, BadInput
from spec.bugs.catalogue import BUGS

runner = CliRunner()


def test_the_list_has_every_bug_with_releases() -> None:
    """And gives their number."""
    listed = runner.invoke(app, ["bugs"])

    assert HOLDS == listed.exit_code
    assert all(name in listed.output for name in BUGS)
    assert f"{len(BUGS)} known bugs, each shown by search" in listed.output


@pytest.mark.parametrize("name", ["KAFKA-17507", "kafka-17507", "17507"])
def test_a_bug_is_found_by_its_name_or_number(name: str) -> None:
    """However it is written."""
    assert BUGS["KAFKA-17507"] is bug_called(name)


def test_one_bug_is_reported_drawn_and_written(tmp_path: Path) -> None:
    """Mechanism, verdicts, diagram and replay on the console; the SVG and the entries as files."""
    svg, report = tmp_path / "bug.svg", tmp_path / "bug.json"

    reported = runner.invoke(app, ["bugs", "17507", "--svg", str(svg), "--json", str(report)])

    assert HOLDS == reported.exit_code
    assert "TxnOffsetCommit 0/1 orders-0 offset 1 of transaction 1" in reported.output
    assert "offsets.atomic is violated" in reported.output
    assert "On the reference with the defect: offsets.atomic" in reported.output
    assert svg.read_text().startswith("<svg")
    assert ["violated", "holds", "holds"] == [entry["got"] for entry in json.loads(report.read_text())]


def test_a_wrong_name_is_one_line_with_near_ones() -> None:
    """And no judgement."""
    wrong = runner.invoke(app, ["bugs", "KAFKA-17745"])

    assert NOTHING_JUDGED == wrong.exit_code
    assert "no known bug is called 'KAFKA-17745'; near it are KAFKA-17754" in wrong.output
    assert 1 == len(wrong.output.strip().splitlines())


def test_a_drawing_needs_a_bug_and_a_place(tmp_path: Path) -> None:
    """A missing one is reported in one line."""
    with pytest.raises(BadInput, match="--svg draws one bug"):
        run(svg=tmp_path / "x.svg")
    with pytest.raises(BadInput, match="cannot be written"):
        run("KAFKA-17507", svg=tmp_path)


def test_all_are_judged_only_when_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With --json and without a name: an entry for each case, in the order of the catalogue."""
    few = {name: BUGS[name] for name in ("KAFKA-15784", "KAFKA-17507")}
    monkeypatch.setattr(command, "BUGS", few)

    reported = runner.invoke(app, ["bugs", "--json", str(tmp_path / "all.json")])

    assert HOLDS == reported.exit_code
    names = [entry["name"] for entry in json.loads((tmp_path / "all.json").read_text())]
    assert ["KAFKA-15784"] * 4 + ["KAFKA-17507"] * 3 == names
