"""Processes beside this one: none outlives it."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

_STARTS_ONE = """
import os, pathlib, sys, time
from model_tests.common.processes import started_anew
if __name__ == "__main__":
    with started_anew(1) as pool:
        worker = pool.submit(os.getpid).result()
        waiting = pool.submit(time.sleep, 600)
        pathlib.Path(sys.argv[1]).write_text(str(worker))
        waiting.result()
"""
PATIENCE = 60
"""Seconds."""


def is_alive(process: int) -> bool:
    """Whether there is such a process."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_process_ends_with_the_one_that_started_it(tmp_path: Path) -> None:
    """Killed, it can say nothing to those that work for it."""
    script, reported = tmp_path / "starts_one.py", tmp_path / "pid"
    script.write_text(_STARTS_ONE)
    parent = subprocess.Popen([sys.executable, script, reported], env=os.environ | {"PYTHONPATH": str(Path.cwd())})
    until = monotonic() + PATIENCE
    while not (reported.exists() and reported.read_text()) and monotonic() < until:
        sleep(0.05)
    worker = int(reported.read_text())
    assert is_alive(worker)

    parent.send_signal(signal.SIGKILL)
    parent.wait()
    while is_alive(worker) and monotonic() < until:
        sleep(0.05)

    assert not is_alive(worker)


def test_an_interrupted_parent_waits_for_nothing_and_only_it_says_so(tmp_path: Path) -> None:
    """A terminal interrupts every process of the group: the workers say nothing, and end."""
    script, reported = tmp_path / "starts_one.py", tmp_path / "pid"
    script.write_text(_STARTS_ONE)
    parent = subprocess.Popen(
        [sys.executable, script, reported],
        env=os.environ | {"PYTHONPATH": str(Path.cwd())},
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = monotonic() + PATIENCE
    while not (reported.exists() and reported.read_text()) and monotonic() < until:
        sleep(0.05)

    os.killpg(parent.pid, signal.SIGINT)
    _, output = parent.communicate(timeout=PATIENCE)

    assert output.count("Traceback") == 1
    assert output.endswith("KeyboardInterrupt\n")
    assert not is_alive(int(reported.read_text()))
