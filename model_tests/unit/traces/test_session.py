"""Where the session's Python workers answer, whatever the directory for temporary files is called."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

pytestmark = pytest.mark.xdist_group("spark")

COUNTED = """
import sys
from model_tests.traces.session import session
spark = session(sys.argv[1])
print(spark.sparkContext.parallelize(range(6), 3).map(str).count())
print(spark.conf.get("spark.python.unix.domain.socket.enabled", "false"))
"""


@pytest.mark.parametrize(
    ("length", "master", "here"),
    [(1, "local[1]", "true"), (90, "local[1]", "false"), (1, "local-cluster[1,1,1024]", "false")],
)
def test_workers_answer_by_sockets_of_this_machine(length: int, master: str, here: str) -> None:
    """But for other machines, and where a socket's path would be longer than systems let it be; nothing is left."""
    with TemporaryDirectory(prefix="e" * length) as directory:
        said = subprocess.run(
            [sys.executable, "-c", COUNTED, master],
            env=os.environ | {"TMPDIR": directory},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout

        assert ["6", here] == said.split()
        assert not list(Path(directory).glob("eos-sockets-*"))
