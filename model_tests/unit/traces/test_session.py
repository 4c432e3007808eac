"""The configuration of the session's JVM and of its Python workers, whatever the environment is."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from model_tests.common import java

pytestmark = pytest.mark.xdist_group("spark")

COUNTED = """
import sys
from model_tests.spark.session import session
spark = session(sys.argv[1])
print(spark.sparkContext.parallelize(range(6), 3).map(str).count())
print(spark.conf.get("spark.python.unix.domain.socket.enabled", "false"))
"""

COLLECTED = """
from model_tests.spark.session import session
beans = session("local[1]")._jvm.java.lang.management.ManagementFactory.getGarbageCollectorMXBeans()
print(*sorted(bean.getName() for bean in beans))
"""


@pytest.mark.parametrize(
    ("length", "master", "here"),
    [(1, "local[1]", "true"), (90, "local[1]", "false"), (1, "local-cluster[1,1,1024]", "false")],
)
def test_workers_answer_by_sockets_of_this_machine(length: int, master: str, here: str) -> None:
    """But for other machines, and where a socket's path would be longer than systems let it be; nothing is left."""
    with TemporaryDirectory(prefix="e" * length) as directory:
        output = subprocess.run(
            [sys.executable, "-c", COUNTED, master],
            env=os.environ | {"TMPDIR": directory},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout

        assert ["6", here] == output.split()
        assert not list(Path(directory).glob("eos-sockets-*"))


@pytest.mark.parametrize(
    ("variable", "collector"), [("JAVA_TOOL_OPTIONS", "G1"), ("SPARK_SUBMIT_OPTS", "Copy"), ("", "PS")]
)
def test_a_collector_that_the_environment_chooses_stays(variable: str, collector: str) -> None:
    """Two of them would keep Java from starting; where none is chosen, it is the one that computes least."""
    options = {"G1": "-XX:+UseG1GC", "Copy": "-XX:+UseSerialGC"}
    others = {name: value for name, value in os.environ.items() if name not in java.VARIABLES}

    output = subprocess.run(
        [sys.executable, "-c", COLLECTED],
        env=others | ({variable: options[collector]} if variable else {}),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout

    assert output.split()[0] == collector


def test_spark_writes_nothing_by_itself() -> None:
    """Neither of modules and log levels, nor of workers whose query needed no more of them."""
    ended_early = "session('local[2]').sparkContext.parallelize(range(100_000), 4).map(str).take(1)"

    done = subprocess.run(
        [sys.executable, "-c", f"from model_tests.spark.session import session\nprint(len({ended_early}))"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert (done.stdout.split(), done.stderr) == (["1"], "")


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
