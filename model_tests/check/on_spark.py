"""The trace check on Spark."""

from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from pyspark.errors import PySparkException

from model_tests.check import spark_plan
from model_tests.check.cross_check import to_the_reference, to_the_solver
from model_tests.common.reports import BadInput
from model_tests.judging import trace_files
from model_tests.judging.check_report import Counted, JudgeSample
from model_tests.spark.session import session

_UNREADABLE: Final = "FAILED_READ_FILE"
"""How Spark's conditions begin where a file's content does not have the form that it declares."""

Judged = TypeVar("Judged")


class OnSpark:
    """Spark, on the executors of a master."""

    def __init__(self, path: str, master: str) -> None:
        """The traces at a path or URL."""
        self._path, self._spark = path, session(master)
        self._read(thoroughly=False)

    def _read(self, *, thoroughly: bool) -> None:
        found = trace_files.read(self._spark, self._path, thoroughly=thoroughly)
        self.steps, self.files = found.steps, found.files

    def judging(self, judge: Callable[[], Judged]) -> Judged:
        """Judge, and once more where a file turns out to be damaged, which is then set aside as a whole."""
        try:
            return judge()
        except PySparkException as error:
            if not str(error.getCondition()).startswith(_UNREADABLE):
                raise
            self._read(thoroughly=True)
            if not self.files:
                raise BadInput(f"{self._path}: Spark cannot read it: {str(error).splitlines()[0]}") from error
            return judge()

    def counted(self, apart: int) -> list[Counted]:
        """How often each verdict came, and where first."""
        return [row.asDict() for row in spark_plan.counted(self.steps.steps, apart).collect()]

    def samples(self, z3_sample: int, reference_sample: int) -> Iterator[JudgeSample]:
        """Random samples for another judge, on the executors."""
        if z3_sample:
            yield to_the_solver(self.steps.steps, z3_sample)
        if reference_sample:
            yield to_the_reference(self.steps.steps, reference_sample)
