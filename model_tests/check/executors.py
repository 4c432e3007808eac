"""Where the trace check runs: in this process, or on Spark."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, Protocol, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from model_tests.check.local_plan import counted
from model_tests.judging.check_report import Counted, JudgeSample
from model_tests.judging.local_files import read_here
from model_tests.judging.step_table import StepTable
from model_tests.traces.files_at import PARQUET, is_elsewhere, trace_files
from model_tests.traces.schema import Quarantined

LOCAL: Final = "local[*]"
"""Spark of this machine, with all its cores."""

SPARK_FROM: Final = 400_000
"""Steps from which on Spark judges: to start it takes as much of a processor's time, and arrays of more are large."""

SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
"""What `spark-submit` sets for the programs that it starts: these run on the Spark that it was given."""

_BYTES_OF_A_LINE: Final = 4_000
_BYTES_OF_A_PACKED_LINE: Final = 250
"""Of one step as JSON, all of whose columns have names; and compressed. Only to estimate how many there are."""


Judged = TypeVar("Judged")


class CheckExecutor(Protocol):
    """Judges the steps of the traces at a path, and has them."""

    @property
    def steps(self) -> StepTable:
        """Every step."""

    @property
    def files(self) -> Sequence[Quarantined]:
        """Files that hold no step."""

    def judging(self, judge: Callable[[], Judged]) -> Judged:
        """Judge, and once more where a file turns out to be damaged, which is then set aside as a whole."""

    def counted(self, apart: int) -> list[Counted]:
        """How often each verdict came, by all that the report distinguishes, and where first."""

    def samples(self, z3_sample: int, reference_sample: int) -> Iterator[JudgeSample]:
        """Random appends that the solver itself judges, and random traces that the reference makes again."""


def executor_for(path: str, master: str) -> CheckExecutor:
    """Spark where a master is given, the traces are large, elsewhere, or this program was submitted; else this process.

    Raises:
        BadInput: there is no trace file, or none that can be read.
    """
    if not master and SUBMITTED not in os.environ and not is_elsewhere(path) and estimated_steps(path) < SPARK_FROM:
        return InProcess(path)
    from model_tests.check.on_spark import OnSpark  # with pyspark, which takes a second to load

    return OnSpark(path, master or LOCAL)


class InProcess:
    """This process, on arrays."""

    def __init__(self, path: str) -> None:
        """The traces at a path of this machine."""
        self.steps, self.files = (found := read_here(path)).steps, found.files

    def judging(self, judge: Callable[[], Judged]) -> Judged:
        """Judge: every file was read to its end already."""
        return judge()

    def counted(self, apart: int) -> list[Counted]:
        """How often each verdict came, and where first."""
        return counted(self.steps, apart)

    def samples(self, z3_sample: int, reference_sample: int) -> Iterator[JudgeSample]:
        """Random samples for another judge."""
        if z3_sample or reference_sample:
            from model_tests.check import local_samples  # with the solver, or the reference

            yield from local_samples.samples(self.steps, z3_sample, reference_sample)


def estimated_steps(path: str) -> int:
    """About how many steps the trace files at a path of this machine have; what cannot be read counts for nothing."""
    return sum(map(_estimated, trace_files(Path(path.removeprefix("file://")))))


def _estimated(file: Path) -> int:
    try:
        if file.name.endswith(PARQUET):
            return int(pq.read_metadata(file).num_rows)
        return file.stat().st_size // (_BYTES_OF_A_PACKED_LINE if file.suffix == ".gz" else _BYTES_OF_A_LINE)
    except (OSError, pa.ArrowException):
        return 0
