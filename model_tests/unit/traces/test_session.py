"""The configuration of the session's JVM and of its Python workers, whatever the environment is."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from model_tests.common import java
from model_tests.spark.session import _to_python_workers

pytestmark = pytest.mark.xdist_group("spark")

BRIEF: Final = "-XX:TieredStopAtLevel=1"
"""To compile code a second time takes half of a start."""

STARTED = """
import sys
from model_tests.spark.session import session
spark = session(sys.argv[1])
context = spark.sparkContext
print(context.parallelize(range(6), 3).map(str).count())
print(len(context.parallelize(range(100_000), 4).map(str).take(1)))  # workers whose query needed no more of them
print(spark.conf.get("spark.python.unix.domain.socket.enabled", "false"))
beans = spark._jvm.java.lang.management.ManagementFactory.getGarbageCollectorMXBeans()
print(min(bean.getName() for bean in beans).split()[0])
"""


@pytest.mark.parametrize(
    ("length", "master", "options", "here", "collector"),
    [
        (1, "local[1]", f"{BRIEF} -XX:+UseSerialGC", "true", "Copy"),
        (1, "local-cluster[1,1,1024]", BRIEF, "false", "PS"),
        pytest.param(90, "local[1]", "", "false", "PS", marks=pytest.mark.slow),
    ],
)
def test_a_session_starts(length: int, master: str, options: str, here: str, collector: str) -> None:
    """Its workers answer by sockets of this machine, unless they are elsewhere or the path would be too long.

    The garbage collector is the one that computes least, unless the environment chooses one. Nothing is written to
    the terminal, and nothing is left behind.
    """
    others = {name: value for name, value in os.environ.items() if name not in java.VARIABLES}
    with TemporaryDirectory(prefix="e" * length) as directory:
        done = subprocess.run(
            [sys.executable, "-c", STARTED, master],
            env=others | {"TMPDIR": directory} | ({"SPARK_SUBMIT_OPTS": options} if options else {}),
            capture_output=True,
            text=True,
            check=True,
        )

        assert (done.stdout.split(), done.stderr) == (["6", "1", here, collector], "")
        assert not list(Path(directory).glob("eos-sockets-*"))


@pytest.mark.parametrize(("length", "usable"), [(1, "true"), (90, "false")])
def test_a_path_that_is_too_long_is_no_socket(length: int, usable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers answer over TCP then, as those of a cluster do."""
    with TemporaryDirectory(prefix="e" * length) as directory:
        monkeypatch.setattr(tempfile, "tempdir", directory)

        settings = _to_python_workers("local[1]")

        assert settings["spark.python.unix.domain.socket.enabled"] == usable
        assert Path(settings["spark.python.unix.domain.socket.dir"]).parent == Path(directory)
    assert _to_python_workers("local-cluster[1,1,1024]") == {}


@pytest.mark.parametrize("variable", java.VARIABLES)
def test_a_collector_that_the_environment_chooses_stays(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of them would keep Java from starting, by whichever variable one is chosen."""
    for each in java.VARIABLES:
        monkeypatch.delenv(each, raising=False)
    assert java.collector() == "-XX:+UseParallelGC"

    monkeypatch.setenv(variable, "-Xmx1g -XX:+UseG1GC")

    assert java.collector() == ""


def test_a_session_that_does_not_start_says_where_spark_wrote(tmp_path: Path) -> None:
    """The file has what Java said."""
    tried = "from model_tests.spark.session import session\nsession('local[none]')"

    done = subprocess.run(
        [sys.executable, "-c", tried],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode
    assert "what Spark wrote is in " in done.stderr
    (log,) = tmp_path.glob("eos-spark-*/spark-*.log")
    assert str(log) in done.stderr
