"""The repository's own order: names, folders, docstrings, and nothing of the place where it was made."""

import ast
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Final

import pytest

from model_tests.unit.source_files import IN_ONE_WORKER, PACKAGES, ROOT, Module, modules, production, tracked
from spec.protocol.coordinator_steps import DECISIONS
from spec.vocabulary import Api

pytestmark = IN_ONE_WORKER

TOP_LEVEL: Final = {
    *PACKAGES,
    "docs",
    "pyproject.toml",
    "Makefile",
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "LICENSE",
    "constraints.txt",
    ".ci",
    ".github",
    ".gitignore",
    ".editorconfig",
    ".pre-commit-config.yaml",
    "CONTRIBUTING.md",
    "SECURITY.md",
}

PLACES: Final = tuple(f"/{name}/" for name in ("work", "tmp", "root"))
"""Folders that a reader of the repository does not have."""

BINARY: Final = {".xz", ".png", ".gz", ".parquet"}


def test_the_top_level_is_the_table_of_contents() -> None:
    """Nothing lies at the top level but what the architecture names."""
    assert set() == {path.relative_to(ROOT).parts[0] for path in tracked()} - TOP_LEVEL


def test_the_architecture_is_read_in_one_sitting() -> None:
    """Structure alone: decisions and measurements have pages of their own."""
    assert len((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()) <= 200


def test_decision_records_have_the_same_parts() -> None:
    """Numbered from 1 without gaps, each with its date, context, decision, alternatives and consequences."""
    records = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    parts = ["## Context", "## Decision", "## Alternatives", "## Consequences"]

    assert list(range(1, len(records) + 1)) == [int(record.name[:4]) for record in records]
    for record in records:
        lines = record.read_text(encoding="utf-8").splitlines()
        assert lines[0].startswith(f"# {int(record.name[:4])}. ")
        assert lines[2].startswith("Recorded 20")
        assert parts == [line for line in lines if line.startswith("## ")]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_other_distribution_claims_our_names(package: str) -> None:
    """An installed distribution with a package `spec` would shadow ours, or be shadowed."""
    claimed = set(packages_distributions().get(package, ()))

    assert claimed <= {"kafka-exactly-once"}


def test_every_folder_of_python_is_a_package() -> None:
    """A folder of tests without `__init__.py` would import its tests by their bare names, over ours."""
    folders = {module.path.parent for module in modules()}

    assert [] == sorted(str(f.relative_to(ROOT)) for f in folders if not (f / "__init__.py").is_file())


def test_files_name_no_place_of_their_making() -> None:
    """A path of one machine in a tracked file is of no use on another."""
    texts = {path: path.read_text(encoding="utf-8") for path in tracked() if path.suffix not in BINARY}

    assert [] == sorted(str(path.relative_to(ROOT)) for path, text in texts.items() if any(p in text for p in PLACES))


def test_every_test_says_what_behaviour_it_shows() -> None:
    """A test's docstring is one sentence: it is what a reader has when the test fails."""
    silent = [
        f"{m.name}.{test.name}"
        for m in modules()
        if m.is_test
        for test in functions_of_tests(m)
        if not is_reported(test)
    ]

    assert [] == silent


def test_no_test_is_imported() -> None:
    """What tests share stands in modules of its own, as in `support`: a test may be renamed or cut up at will."""
    names = {module.name for module in modules() if module.path.name.startswith("test_")}

    assert [] == sorted(f"{module.name} imports {name}" for module in modules() for name in module.imports & names)


def test_recordings_say_where_they_are_from() -> None:
    """Each folder of recordings, or one above it in its package, has a README of provenance."""
    folders = {path.parent for path in tracked() if path.suffix == ".xz"}

    assert [] == sorted(str(folder.relative_to(ROOT)) for folder in folders if not has_readme(folder))


def test_requests_are_named_once() -> None:
    """The name of a request is a member of the vocabulary, not a text that may be misspelled."""
    judged = (module for module in production() if module.name != Api.__module__)

    assert [] == [f"{module.name}: {text}" for module in judged for text in texts_of(module) if text in set(Api)]


def test_decisions_of_requests_are_under_their_names() -> None:
    """The four requests that a transaction coordinator decides are called as everywhere else."""
    requests = {Api.INIT_PRODUCER_ID, Api.ADD_PARTITIONS_TO_TXN, Api.ADD_OFFSETS_TO_TXN, Api.END_TXN}

    assert requests == DECISIONS.keys() & set(Api)


def texts_of(module: Module) -> Iterator[str]:
    """Its literals, but for pieces of sentences that are put together (f-strings)."""
    nodes = list(ast.walk(module.tree))
    pieces = {id(piece) for node in nodes if isinstance(node, ast.JoinedStr) for piece in node.values}
    literals = (node for node in nodes if isinstance(node, ast.Constant) and id(node) not in pieces)
    return (literal.value for literal in literals if isinstance(literal.value, str))


def functions_of_tests(module: Module) -> Iterator[ast.FunctionDef]:
    functions = (node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef))
    return (function for function in functions if function.name.startswith("test_"))


def is_reported(test: ast.FunctionDef) -> bool:
    return bool(ast.get_docstring(test))


def has_readme(folder: Path) -> bool:
    inside = [above for above in (folder, *folder.parents) if above.is_relative_to(ROOT) and above != ROOT]
    return any((above / "README.md").is_file() for above in inside)
