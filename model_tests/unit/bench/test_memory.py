import subprocess
import sys
from math import isnan
from pathlib import Path
from time import process_time

import pytest

from model_tests.bench import memory
from model_tests.bench.memory import computed_seconds, peak_mebibytes

BUSY = """
import sys, time
while time.process_time() < 0.3:
    pass
held = b"x" * (60 << 20)
print(held[0], flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(
    not memory.PROCESSES.exists(),
    reason="memory and time of other processes are read from /proc, which this system does not have",
)
def test_time_and_memory_of_what_was_started_count() -> None:
    """What a process of ours computes and holds is ours; and what was computed before is not counted again."""
    before, peak = computed_seconds(), peak_mebibytes()

    with subprocess.Popen([sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        at_the_child = computed_seconds() - before
        with_the_child = peak_mebibytes() - peak
        child.communicate()

    assert 0.25 <= at_the_child
    assert 60 <= with_the_child
    started = process_time()
    while process_time() - started < 0.2:
        pass
    assert 0.45 <= computed_seconds() - before < 5


def test_nothing_is_known_without_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere both are no number, which meets no target."""
    monkeypatch.setattr(memory, "PROCESSES", tmp_path / "none")

    assert isnan(peak_mebibytes())
    assert isnan(computed_seconds())
    assert not peak_mebibytes() <= 4096
