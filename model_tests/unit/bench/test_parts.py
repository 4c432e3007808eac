import json
from pathlib import Path

import pytest

from model_tests.bench import __main__ as bench
from model_tests.verify import sources
from model_tests.verify.results import RunEffort


def _part(name: str, requested: list[str]) -> bench.Part:
    """A part that notes that it was measured."""

    def measured(_effort: RunEffort, scratch: Path) -> list[bench.Measured]:
        assert scratch.is_dir()
        requested.append(name)
        return [bench.Measured(name, 1.5, "x", "at most 2", met=True)]

    return measured


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The parts that were measured; the measuring itself is left out."""
    names: list[str] = []
    monkeypatch.setattr(bench, "PARTS", {name: _part(name, names) for name in bench.PARTS})
    monkeypatch.setattr(bench, "DIRECTORY", tmp_path)
    return names


def test_one_part_is_measured_alone(requested: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its figures are printed; the report of the last whole run stays as it is."""
    bench.main(["audit"])

    assert requested == ["audit"]
    assert "1.50" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_all_parts_are_measured_where_none_is_named(requested: list[str], tmp_path: Path) -> None:
    """And the report has them all, and names their sources."""
    bench.main([])

    assert requested == list(bench.PARTS)
    report = json.loads((tmp_path / "report.json").read_text())
    assert [*bench.PARTS, "peak memory, Python and JVM"] == [figure["what"] for figure in report["figures"]]
    assert sources.digest() == report["sources"]


def test_an_unknown_part_is_named(requested: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """With those that there are, before anything is measured."""
    with pytest.raises(SystemExit):
        bench.main(["audits"])

    assert requested == []
    said = capsys.readouterr().err
    assert "no audits to measure" in said
    assert "simulation" in said


def test_the_help_names_the_parts(capsys: pytest.CaptureFixture[str]) -> None:
    """A reader need not look them up in the code."""
    with pytest.raises(SystemExit):
        bench.main(["--help"])

    said = capsys.readouterr().out
    assert all(name in said for name in bench.PARTS)
