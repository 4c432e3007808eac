"""Tests that share a Spark session, or a fixture of their module, run in one worker: pytest-xdist sees to it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

_GROUP = """
import pytest

@pytest.mark.xdist_group("together")
@pytest.mark.parametrize("number", range(8))
def test_any(number):
    pass
"""


def test_a_group_of_tests_stays_in_one_worker(tmp_path: Path) -> None:
    """Versions of the two that do not agree on it deal the group to both, without a word: a session for each."""
    (tmp_path / "test_group.py").write_text(_GROUP)
    command = [sys.executable, "-m", "pytest", "-v", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider"]

    output = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    workers = re.findall(r"^\[(gw\d)\].*PASSED", output, re.MULTILINE)
    assert (len(workers), len(set(workers))) == (8, 1)


@pytest.fixture(scope="module")
def shared() -> int:
    """What is made once for this module."""
    return 1


def test_tests_that_share_a_fixture_of_their_module_are_a_group(shared: int, request: pytest.FixtureRequest) -> None:
    """Each worker would make it anew."""
    group = request.node.get_closest_marker("xdist_group")

    assert shared == 1
    assert group.args == ("model_tests/unit/test_groups.py",)


def test_a_test_of_its_own_is_in_no_group(request: pytest.FixtureRequest) -> None:
    """Any worker may run it."""
    assert request.node.get_closest_marker("xdist_group") is None
