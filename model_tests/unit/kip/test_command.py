"""`eos kip`: its exit codes, its report for people and programs, and its page."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from model_tests.cli import app
from model_tests.unit.kip.variants import KIPS, PLAIN


def kip(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["kip", *arguments])


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    file = tmp_path / "plain.py"
    file.write_text(PLAIN)
    return file


def test_a_variant_that_changes_nothing_holds(plain: Path) -> None:
    """Exit code 0, and the same states."""
    done = kip(str(plain), "--only", "searches")

    assert 0 == done.exit_code
    assert "two: the same states" in done.stdout
    assert done.stdout.rstrip().endswith("plain: holds")


def test_a_violation_is_drawn_and_written(tmp_path: Path) -> None:
    """Exit code 1; the run is in the output, in the JSON, and on the page."""
    written, page = tmp_path / "found.json", tmp_path / "found.html"
    options = ("--only", "searches", "--instance", "a successor", "--json", str(written), "--html", str(page))

    done = kip(str(KIPS / "kip_939.py"), *options)

    assert 1 == done.exit_code
    assert "txn.no_crosstalk is violated: marker_leaves_next_guard" in done.stdout
    assert "loses: no_open_data_is_refused, marker_leaves_next_guard" in done.stdout
    found = json.loads(written.read_text())
    assert not found["holds"]
    assert found["proof"] is None
    assert len(found["instances"][0]["violating"]["trace"]) > 10
    assert "<svg" in page.read_text()
    assert found["verdict"].replace("'", "&#39;") in page.read_text()


def test_a_file_without_a_variant_is_refused_in_one_line(tmp_path: Path) -> None:
    """Exit code 2."""
    file = tmp_path / "empty.py"
    file.write_text("")

    done = kip(str(file))

    assert 2 == done.exit_code
    assert 1 == len(done.stderr.splitlines())
    assert "has no VARIANT" in done.stderr
