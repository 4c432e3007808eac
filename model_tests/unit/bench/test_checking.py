"""What is timed on so many cores has no more."""

import os
import subprocess
import sys

import pytest

ASKED = "import os, sys; from model_tests.bench.checking import keep_to_cores; keep_to_cores(sys.argv[1]); "
ASKED += "print(len(os.sched_getaffinity(0)))"


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the operating system has no sched_getaffinity")
@pytest.mark.parametrize("requested", [1, 2])
def test_a_process_keeps_to_the_cores_that_spark_is_given(requested: int) -> None:
    """So has the compiler of a JVM that it starts; never more than there are."""
    assert min(requested, len(os.sched_getaffinity(0))) == _cores_under(f"local[{requested}]")


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the operating system has no sched_getaffinity")
@pytest.mark.parametrize("master", ["local[*]", "local-cluster[2,1,2048]"])
def test_other_masters_have_all_cores(master: str) -> None:
    """Their executors say for themselves how many they take."""
    assert len(os.sched_getaffinity(0)) == _cores_under(master)


def _cores_under(master: str) -> int:
    said = subprocess.run([sys.executable, "-c", ASKED, master], stdout=subprocess.PIPE, text=True, check=True)
    return int(said.stdout)
