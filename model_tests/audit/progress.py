"""The progress of an audit: bytes, partitions, speed, remaining time."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Protocol

from rich.console import Console
from rich.filesize import decimal

from model_tests.spark.progress import AFTER, followed


class StageInfo(Protocol):
    """Spark's status of a stage."""

    @property
    def numTasks(self) -> int:  # noqa: N802  # Spark's name
        """The number of its tasks."""

    @property
    def numCompletedTasks(self) -> int:  # noqa: N802  # likewise
        """The number of finished tasks."""


class Tracker(Protocol):
    """Spark's status of what it runs."""

    def getActiveStageIds(self) -> list[int]:  # noqa: N802  # likewise
        """The stages that run."""

    def getStageInfo(self, stageId: int) -> StageInfo | None:  # noqa: N802, N803  # likewise
        """One of them."""


@contextmanager
def shown(size: int, partitions: int, tracker: Tracker, console: Console, after: float = AFTER) -> Iterator[None]:
    """Show progress while the body runs. Tasks are about as large as each other: those that are done say how far it is.

    Args:
        size: bytes of all segments.
        partitions: number of logs.
        tracker: of the running Spark.
        console: where; nothing is shown where it is no terminal.
        after: seconds of which nothing is shown.
    """
    started = perf_counter()

    def look() -> tuple[int, str]:
        done, tasks = tasks_done(tracker)
        read = size * done // tasks if tasks else 0
        return read, progress_line(read, size, partitions, (done, tasks), perf_counter() - started)

    with followed(size, look, "auditing", console, after):
        yield


def tasks_done(tracker: Tracker) -> tuple[int, int]:
    """Tasks that are done and tasks in all, of the stages that run."""
    stages = [stage for one in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(one)) is not None]
    return sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)


def progress_line(read: int, size: int, partitions: int, tasks: tuple[int, int], seconds: float) -> str:
    """How far it is, in words.

    Args:
        read: bytes so far.
        size: bytes in all.
        partitions: number of logs.
        tasks: numbers of finished tasks and of all tasks.
        seconds: since it began.
    """
    bytes_read = f"about {decimal(read)} of {decimal(size)} in {partitions:,} partitions"
    return f"{bytes_read}, {tasks[0]} of {tasks[1]} tasks, {decimal(int(read / max(seconds, 1e-9)))}/s"
