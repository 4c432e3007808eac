"""The speed of simulation on Spark's workers, against this process alone: the same traces, written as the same files.

`python -m model_tests.bench.simulating TRACES ROUNDS DIRECTORY` prints a line of JSON; Spark has one core, so that
the two are alike.
"""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

from model_tests.simulate import simulate
from model_tests.simulate.simulation_job import write_piece
from model_tests.simulate.trace_directory import Piece
from reference.errors import Impossible

_MASTER: Final = "local[1]"
_WARM: Final = 8  # traces that are made before anything is measured: the first ones start Python workers and compile


@dataclass(frozen=True, slots=True)
class SparkSimulationTiming:
    """Steps in a second, of the median round."""

    alone: float
    on_spark: float

    @property
    def ratio(self) -> float:
        """Spark's rate on one core as a part of that of one process."""
        return self.on_spark / self.alone


def timed(traces: int, rounds: int, scratch: Path) -> SparkSimulationTiming:
    """Time so many traces each way, in a process of its own."""
    command = [sys.executable, "-m", "model_tests.bench.simulating", str(traces), str(rounds), str(scratch)]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return SparkSimulationTiming(**json.loads(output.splitlines()[-1]))


def _on_spark(traces: int, out: Path) -> float:
    report = simulate.run(traces, 0, out, master=_MASTER)
    if report.made != traces:
        raise Impossible(f"{report.made} of {traces} traces were made in {out}")
    return report.steps / report.seconds


def _alone(made: Path, out: Path) -> float:
    """The files of a directory, made again by this process."""
    started, steps = perf_counter(), 0
    for file in sorted(made.glob("*/*.parquet")):
        first, last = (int(seed) for seed in file.stem.split("-"))
        seeds = range(first, last + 1, len(simulate.WORKLOADS))
        steps += write_piece(Piece(file.parent.name, seeds), out, simulate.trace_of)
    return steps / (perf_counter() - started)


def main(traces: int, rounds: int, scratch: Path) -> None:
    """Bring session and worker up, and time both in turns."""
    _on_spark(_WARM, scratch / "warm")
    _alone(scratch / "warm", scratch / "warm_again")
    rates = []
    for number in range(rounds):
        on_spark = _on_spark(traces, scratch / f"spark-{number}")
        rates.append((on_spark, _alone(scratch / f"spark-{number}", scratch / f"alone-{number}")))
    timing = SparkSimulationTiming(on_spark=median(rate for rate, _ in rates), alone=median(rate for _, rate in rates))
    print(json.dumps(asdict(timing)))  # noqa: T201  # to who started it


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
