"""What a result is of: a change of anything that it depends on makes it one of other sources."""

from pathlib import Path

import pytest

from model_tests.verify import results


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name in (
        "spec/a.py",
        "reference/b.py",
        "model_tests/c.json",
        "model_tests/unit/d.py",
        "spec/__pycache__/a.pyc",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "counts"),
    [
        ("spec/a.py", True),
        ("model_tests/c.json", True),
        ("model_tests/new.py", True),
        ("model_tests/unit/d.py", False),
        ("spec/__pycache__/a.pyc", False),
        ("docs/e.md", False),
    ],
)
def test_the_digest_is_of_what_results_depend_on(repository: Path, changed: str, counts: bool) -> None:
    """Code and recordings count; tests, compiled files and pages do not."""
    before = results.digest_of(repository)

    (repository / changed).parent.mkdir(exist_ok=True)
    (repository / changed).write_text("changed")
    assert counts == (before != results.digest_of(repository))


def test_without_git_there_is_no_commit(tmp_path: Path) -> None:
    """An archive has results as well."""
    assert "" == results.commit(tmp_path)
