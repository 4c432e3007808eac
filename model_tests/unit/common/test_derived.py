"""Tables that are kept beside the code: a changed text makes its rows stale, and a line gives the remedy."""

import ast
import re
from pathlib import Path

import pytest

from model_tests.common.derived import DerivedTable, digest
from model_tests.common.reports import BadInput
from model_tests.judging.branch_names import TABLE as BRANCHES
from model_tests.mutants.decisions import table as texts
from model_tests.mutants.decisions.hunting import HuntResult, MutantFate
from model_tests.mutants.decisions.made import by_name
from model_tests.mutants.decisions.table import TABLE as DECISIONS
from model_tests.mutants.decisions.table import read, write


def table(path: Path, now: dict[str, str]) -> DerivedTable:
    """A table about these texts."""
    return DerivedTable(path / "table.json", "make tables", lambda: now)


def parsed(text: str) -> ast.AST:
    return ast.parse(text)


def test_the_table_beside_the_code_is_not_stale() -> None:
    """Every row is about the code as it is."""
    assert BRANCHES.complaint() == ""


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    """Empty texts and lists are left out; a zero is kept."""
    table(tmp_path, {"a": "1"}).write([{"name": "x", "count": 2, "missed": 0, "why": "", "rules": ()}])

    assert table(tmp_path, {"a": "1"}).rows() == [{"name": "x", "count": 2, "missed": 0}]
    assert table(tmp_path, {"a": "1"}).complaint() == ""


@pytest.mark.parametrize(
    ("now", "stale"),
    [
        pytest.param({"a": "2", "b": "1"}, "a", id="changed"),
        pytest.param({"a": "1"}, "b", id="gone"),
        pytest.param({"a": "1", "b": "1", "c": "1"}, "c", id="new"),
    ],
)
def test_a_text_that_is_not_the_one_of_the_rows_makes_them_stale(
    tmp_path: Path, now: dict[str, str], stale: str
) -> None:
    """It is named, with the command that renews the table."""
    table(tmp_path, {"a": "1", "b": "1"}).write([])

    assert table(tmp_path, now).complaint() == f"{tmp_path}/table.json is stale for {stale}: run make tables"


def test_many_stale_texts_are_counted(tmp_path: Path) -> None:
    """The first few are named."""
    table(tmp_path, {}).write([])

    complaint = table(tmp_path, dict.fromkeys("abcdefgh", "1")).complaint()

    assert complaint.endswith("is stale for a, b, c, d, e and 3 more: run make tables")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(None, "is missing: run make tables", id="missing"),
        pytest.param('{"texts": {', "cannot be read", id="half written"),
        pytest.param("[]", "is not a table with texts and rows", id="of another form"),
    ],
)
def test_a_table_that_cannot_be_read_is_one_line(tmp_path: Path, content: str | None, says: str) -> None:
    """For readers, and for `make lint`."""
    if content is not None:
        (tmp_path / "table.json").write_text(content)

    with pytest.raises(BadInput, match=says):
        table(tmp_path, {}).rows()
    complaint = table(tmp_path, {}).complaint()
    assert re.search(says, complaint)
    assert complaint.endswith("run make tables")


def test_an_interrupted_write_leaves_the_table_as_it_was(tmp_path: Path) -> None:
    """The new one takes its place when it is whole."""
    kept = table(tmp_path, {"a": "1"})
    kept.write([{"name": "old"}])

    with pytest.raises(TypeError):
        kept.write([{"name": object()}])

    assert kept.rows() == [{"name": "old"}]


def test_prose_does_not_change_a_digest() -> None:
    """No row depends on comments, docstrings, layout, or the text below a constant."""
    plain = parsed("def f(a):\n    return a < 1\n")
    reported = parsed('def f(a):\n    """Says more."""\n    # and more\n    return (a  <  1)\n')

    assert digest(plain) == digest(reported)
    assert digest(plain) != digest(parsed("def f(a):\n    return a <= 1\n"))
    assert digest(parsed("A = 1\n")) == digest(parsed('A = 1\n"""What it is for."""\n'))


def test_rows_of_changed_texts_are_not_fresh(tmp_path: Path) -> None:
    """The others are; without a table there is none."""
    table(tmp_path, {"a": "1", "b": "1"}).write([{"name": "a"}, {"name": "b"}])
    changed = table(tmp_path, {"a": "2", "b": "1"})

    assert changed.fresh(lambda row: (row["name"],)) == [{"name": "b"}]
    assert changed.fresh(lambda row: (row["name"],), tmp_path / "another.json") == []


def test_a_table_is_written_where_no_folder_is_yet(tmp_path: Path) -> None:
    """As under `build`."""
    table(tmp_path / "build", {}).write([{"name": "x"}])

    assert table(tmp_path / "build", {}).rows() == [{"name": "x"}]


def test_the_rows_of_a_changed_decision_are_no_longer_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nor do they pass for evidence: the table is stale by the decision's name."""
    changed, other = (
        next(m for m in by_name().values() if m.of.name == name) for name in ("lso.smaller", "lso.bounds")
    )
    path = tmp_path / "fates.json"
    write((HuntResult(mutant.name, mutant.kind, MutantFate.GAP) for mutant in (changed, other)), path)
    assert changed.edit is not None
    now = {**texts.of_decisions(), "lso.smaller": digest(changed.edit.instead)}
    monkeypatch.setattr("model_tests.mutants.decisions.table.TABLE", DerivedTable(path, DECISIONS.renew, lambda: now))

    assert [row.mutant for row in read()] == [other.name]
