"""What a test of clusters runs in a process of its own: `python -m model_tests.unit.traces.on_cluster MASTER OUT`.

It says in JSON where executors have the project and a library from, loses one of them while it simulates, and says
what was made.
"""

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from time import sleep

from pyspark import SparkContext

from model_tests.simulate import simulate
from model_tests.spark.session import session

LIBRARY = "library_of_an_archive"
"""A module that only executors have to which it was sent."""


def where(_: int) -> Iterator[tuple[int, str, str]]:
    """On an executor: its process id, where the project is from, and where what `--archives` brought."""
    from importlib import import_module
    from pathlib import Path

    import spec

    sleep(1)  # so that each executor gets one of the tasks
    status = Path(f"/proc/{os.getppid()}/stat").read_text()
    executor = int(status.rpartition(")")[2].split()[1])
    yield executor, str(spec.__file__), str(import_module(LIBRARY).__file__)


def executors(context: SparkContext) -> list[tuple[int, str, str]]:
    """The same of each."""
    return sorted(set(context.parallelize(range(2), 2).flatMap(where).collect()))


def lose(executor: int, out: Path) -> None:
    """End an executor when the first traces are there."""
    while not any(out.glob("*/[0-9]*.parquet")):
        sleep(0.01)
    os.kill(executor, signal.SIGKILL)


def main(master: str, out: Path) -> None:
    """Simulate on a cluster that loses an executor."""
    context = session(master).sparkContext
    found = executors(context)
    Thread(target=lose, args=(found[0][0], out), daemon=True).start()
    report = simulate.run(traces=160, seed=12, out=out, steps=150, master=master)
    reported = {"executors": found, "after": executors(context), "report": report.to_json(), "driver": os.getpid()}
    (out / "_reported.json").write_text(json.dumps(reported))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
