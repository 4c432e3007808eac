"""`eos new-rule`: it writes all parts of a rule or none, and the checks then name exactly what is left to fill in."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from runpy import run_path
from typing import Final

import pytest
from typer.testing import CliRunner

from model_tests.cli import app
from model_tests.common.reports import NOTHING_JUDGED, BadInput
from model_tests.new_rule import UNSTATED, new_rule, write
from model_tests.unit.source_files import PACKAGES, ROOT
from spec.rules import RULES

pytestmark = pytest.mark.xdist_group("new rule")  # one worker makes the copy

ID: Final = "ids.gaps_are_harmless"
CHECK: Final = "model_tests/machines/ids_gaps_are_harmless.py"
TEST: Final = "model_tests/unit/machines/test_ids_gaps_are_harmless.py"

LOOK: Final = f"""
import json, sys
sys.path.insert(0, "docs/_ext")
import rule_code
from model_tests.verify.coverage import uncontrolled, uncovered
try:
    rule_code.excerpts()
    code = ""
except ValueError as error:
    code = str(error)
lines = [line for line in (*uncovered(()), *uncontrolled((), ())) if line.startswith("{ID}:")]
print(json.dumps([*lines, code]))
"""
"""What `eos verify` says of a rule that no part has brought anything for, and `make docs` of the reference."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The files of a clone that the command reads and writes."""
    for folder in ("spec", "docs/chapters", "model_tests/machines", "model_tests/unit/machines"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / "spec" / "rules.py", tmp_path / "spec")
    for chapter in (ROOT / "docs" / "chapters").glob("*.md"):
        shutil.copy(chapter, tmp_path / "docs" / "chapters")
    return tmp_path


def held(tree: Path) -> dict[str, str]:
    return {str(path.relative_to(tree)): path.read_text("utf-8") for path in sorted(tree.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("ids.unique", "ids.unique is taken: ids are never reused"),
        ("ids", "'ids' is no id for a rule"),
        ("acl.denied", "'acl.denied' is no id for a rule: one of ids, seq, fence, txn, lso, offsets, repl"),
        ("ids.Gaps", "no id for a rule"),
        ("ids.gaps_", "no id for a rule"),
        ("ids.gaps_2", "no id for a rule"),
        ("ids.gaps\n", "no id for a rule"),
        (f"ids.{'long' * 15}", "no id for a rule"),
    ],
)
def test_a_bad_or_taken_id_is_one_line(given: str, message: str, tree: Path) -> None:
    """And nothing is written."""
    before = held(tree)

    done = CliRunner().invoke(app, ["new-rule", given, "--tree", str(tree)])

    assert NOTHING_JUDGED == done.exit_code
    assert message in done.output
    assert 1 == len(done.output.splitlines())
    assert before == held(tree)


def test_a_folder_that_is_no_clone_is_refused(tmp_path: Path) -> None:
    """By the first file that it lacks."""
    with pytest.raises(BadInput, match="no clone of this project: it has no spec/rules"):
        write(ID, tmp_path)


def test_a_file_that_is_there_is_not_overwritten(tree: Path) -> None:
    """Nor is any other part written."""
    (tree / TEST).write_text("mine")
    before = held(tree)

    with pytest.raises(BadInput, match=f"{TEST} is there already"):
        write(ID, tree)

    assert before == held(tree)


@pytest.mark.parametrize("family", list(dict.fromkeys(rule.family for rule in RULES.values())))
def test_a_rule_comes_last_of_its_family(family: str, tree: Path) -> None:
    """In the registry, with a constant of its id, and on its page; the rest of both stays as it was."""
    rule = new_rule(f"{family}.made_up")
    before = held(tree)

    write(rule.id, tree)

    after = held(tree)
    registry = run_path(str(tree / "spec" / "rules.py"))
    ids = list(registry["RULES"])
    own = [each for each in ids if each.startswith(f"{family}.")]
    assert list(RULES) == [each for each in ids if each != rule.id]
    assert rule.id == own[-1]
    assert rule.id == registry[rule.constant].id
    page = f"docs/chapters/{family}.md"
    assert f"{before[page]}\n```{{eos:rule}} {rule.id}\n```\n" == after[page]


@pytest.fixture(scope="module")
def scaffolded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree, with the parts of a new rule."""
    copy = tmp_path_factory.mktemp("tree")
    for name in (*PACKAGES, "docs"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.xz", "*.gz"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    command = CliRunner().invoke(app, ["new-rule", ID, "--tree", str(copy)])
    assert 0 == command.exit_code, command.output
    return copy


def run_in(tree: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A command of Python's in a tree."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "EOS_PROFILE": "quick"}
    return subprocess.run(
        [sys.executable, *command], check=False, capture_output=True, text=True, cwd=tree, env=environment
    )


@pytest.mark.slow
def test_lint_has_nothing_to_say_of_what_was_written(scaffolded: Path) -> None:
    """Neither of the order of imports nor of the layout; the types were checked by hand."""
    written = ("spec/rules.py", CHECK, TEST)

    for check in (("check",), ("format", "--check")):
        done = run_in(scaffolded, "-m", "ruff", *check, "--no-cache", *written)
        assert 0 == done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_the_tests_name_what_is_left(scaffolded: Path) -> None:
    """The statement, the check and the control; the mark and the page are there."""
    found = run_in(
        scaffolded, "-m", "pytest", "-q", "-p", "no:cacheprovider", "model_tests/unit/test_evidence_marks.py", TEST
    )

    failed = {line.split()[1].rpartition("::")[2] for line in found.stdout.splitlines() if line.startswith("FAILED ")}
    assert failed == {
        f"test_a_rule_is_stated_and_has_a_source[{ID}]",
        "test_the_rule_is_at_stake_and_holds",
        "test_the_control_breaks_the_rule",
    }
    assert UNSTATED in found.stdout


@pytest.mark.slow
def test_verify_and_docs_name_what_is_left(scaffolded: Path) -> None:
    """A result, something that violates the rule, and a function of the reference that keeps it."""
    done = run_in(scaffolded, "-c", LOOK)

    assert 0 == done.returncode, done.stderr
    assert json.loads(done.stdout) == [
        f"{ID}: stateful is owed and has no result",
        f"{ID}: no control and no mutant violates it",
        f"no function of the reference serves {ID}",
    ]
