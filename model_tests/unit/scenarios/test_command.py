"""`eos scenarios`: the list, one run, all of them, wrong names, and where the files go."""

import json
from pathlib import Path
from unittest.mock import patch

import pytest
from typer.testing import CliRunner

from model_tests.cli import app
from model_tests.common.reports import HOLDS, NOTHING_JUDGED, VIOLATED, BadInput
from model_tests.scenarios.catalogue import SCENARIOS, scenario_called
from model_tests.scenarios.command import run
from reference.log.producer_entry import ProducerEntry

runner = CliRunner()
NAME = "lost-acknowledgement-idempotent"


def test_the_list_has_every_scenario_and_plays_none() -> None:
    """With what is expected of each."""
    listed = runner.invoke(app, ["scenarios"])

    assert HOLDS == listed.exit_code
    assert all(name in listed.output for name in SCENARIOS)
    assert f"{len(SCENARIOS)} scenarios: eos scenarios NAME" in listed.output
    assert [] == run().to_json()


def test_one_scenario_is_reported_drawn_and_written(tmp_path: Path) -> None:
    """Story, diagram and facts on the console; the SVG and the entry as files."""
    svg, report = tmp_path / "run.svg", tmp_path / "run.json"

    reported = runner.invoke(app, ["scenarios", NAME.upper(), "--svg", str(svg), "--json", str(report)])

    assert HOLDS == reported.exit_code
    assert "duplicate" in reported.output
    assert "NONE at 0 (lost)" in reported.output
    assert "Setting: Kafka 4.4, acks=all, idempotent." in reported.output
    assert "acknowledged" in reported.output
    assert svg.read_text().startswith("<svg")
    facts = {"log": ["a"], "acknowledged": ["a"]}
    entry = {"name": NAME, "items": [1, 4, 5], "expected": facts, "observed": facts, "holds": True}
    assert [entry] == json.loads(report.read_text())


def test_all_scenarios_are_played_for_a_file(tmp_path: Path) -> None:
    """Each is an entry, and all are as expected."""
    report = tmp_path / "all.json"

    played = runner.invoke(app, ["scenarios", "--json", str(report)])

    entries = json.loads(report.read_text())
    assert (HOLDS, list(SCENARIOS)) == (played.exit_code, [entry["name"] for entry in entries])
    assert f"{len(SCENARIOS)} of {len(SCENARIOS)} scenarios are as expected" in played.output


def test_an_outcome_that_is_not_as_expected_is_a_violation() -> None:
    """Expected beside observed, and which fact it is."""
    with patch.object(ProducerEntry, "find_duplicate", lambda *_: None):
        broken = runner.invoke(app, ["scenarios", NAME])

    assert VIOLATED == broken.exit_code
    assert f"FAILED  {NAME}: log: expected a, observed" in broken.output


def test_a_wrong_name_is_one_line_with_near_ones() -> None:
    """And no judgement."""
    wrong = runner.invoke(app, ["scenarios", "lost-acknowledgemnt"])

    assert NOTHING_JUDGED == wrong.exit_code
    assert "no scenario is called 'lost-acknowledgemnt'; near it are lost-acknowledgement" in wrong.output
    assert 1 == len(wrong.output.strip().splitlines())


def test_a_name_that_is_near_none() -> None:
    """Says where the names are."""
    with pytest.raises(BadInput, match="`eos scenarios` lists them"):
        scenario_called("xyz")


def test_a_drawing_needs_a_scenario_and_a_place(tmp_path: Path) -> None:
    """A missing one is reported in one line."""
    with pytest.raises(BadInput, match="--svg draws one scenario"):
        run(svg=tmp_path / "x.svg")
    with pytest.raises(BadInput, match="cannot be written"):
        run(NAME, svg=tmp_path)
