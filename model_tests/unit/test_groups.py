"""Tests that share a Spark session run in one worker, which pytest and pytest-xdist see to together."""

import re
import subprocess
import sys
from pathlib import Path

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
