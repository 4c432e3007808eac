"""The decisions' own tests as places: of each module of the protocol its file of tests, run in this process."""

from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Final

import pytest

import model_tests
from model_tests.mutants.decisions.call_sites import JudgedCall
from model_tests.mutants.decisions.functions import modules

FOLDER: Final = Path(model_tests.__path__[0]) / "unit" / "spec"

OF_COMPOSITIONS: Final = ("test_judge.py", "test_judge_coordinator.py", "test_releases_differ.py")
"""Tests of what is composed of several modules, and of what releases do otherwise in any of them."""

CORNERS: Final = "test_corners_of_*.py"
"""Tests of what nothing else meets."""


def tested() -> Iterator[JudgedCall]:
    """The files of tests, by the modules' names."""
    own = (f"test_{module.__name__.rpartition('.')[2]}.py" for module in modules())
    for path in (*(FOLDER / name for name in (*own, *OF_COMPOSITIONS)), *sorted(FOLDER.glob(CORNERS))):
        if path.exists():
            yield JudgedCall(path.name, partial(failing, path))


def failing(path: Path) -> tuple[str, ...]:
    """The first test of a file that fails, by its name.

    Raises:
        RuntimeError: no test was run.
    """
    first = _First()
    with redirect_stdout(StringIO()) as printed:
        code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(path)], [first])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise RuntimeError(f"{path.name} was not run: {printed.getvalue()}")
    return first.failed


class _First:
    """Notes the first test that fails."""

    def __init__(self) -> None:
        self.failed: tuple[str, ...] = ()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test was run, or what it needs could not be made."""
        if report.failed and not self.failed:
            self.failed = (report.nodeid.rpartition("/")[2],)
