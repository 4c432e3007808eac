"""The verdicts on logs, read by the tasks of an audit in this process or in children of it, without Spark."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from rich.console import Console

from model_tests.audit.combine_parts import collected
from model_tests.audit.options import AuditOptions
from model_tests.audit.partition_verdict import Judged
from model_tests.audit.progress import shown
from model_tests.audit.reread import RereadRequest
from model_tests.audit.verdict_tasks import PLAN, TASK, AuditPlan, Task, TaskResult, VerdictTasks, bytes_of
from model_tests.logs.kafka_log_folders import LogFolder

CHILDREN_FROM: Final = 96 << 20
"""Bytes from which on children pay: to start one takes about as long as to read so much by half."""


def judged_in_process(
    logs: Sequence[LogFolder], paths: Sequence[str], options: AuditOptions, children_from: int = CHILDREN_FROM
) -> dict[int, Judged]:
    """The verdict on every log of a listing, by its number.

    Args:
        logs: what is listed under the paths.
        paths: where the logs are.
        options: of the audit.
        children_from: bytes of all segments from which on children of this process read them.
    """
    size = sum(map(bytes_of, logs))
    processes = (os.cpu_count() or 1) if size >= children_from else 1
    plan = AuditPlan(options, tuple(paths), 2 * processes if processes > 1 else 1)

    def read(rereads: Mapping[int, RereadRequest]) -> list[TaskResult]:
        planned = VerdictTasks(replace(plan, rereads=rereads), logs)
        progress = _Progress(tasks := planned.tasks())
        with shown(size, len(logs), progress, Console(stderr=True)):
            return [row for rows in progress.counting(_rows(planned, tasks, processes)) for row in rows]

    return collected(read, logs, VerdictTasks(plan, logs).wanted)


def _rows(planned: VerdictTasks, tasks: Sequence[Task], processes: int) -> Iterator[list[TaskResult]]:
    """The rows of each task."""
    if processes == 1 or len(tasks) == 1:
        yield from (list(planned.run(task)) for task in tasks)
        return
    from model_tests.common.processes import started_anew  # which a small input needs not

    with started_anew(min(processes, len(tasks))) as pool:
        yield from pool.map(partial(_run, PLAN.encode(planned.plan)), map(TASK.encode, tasks))


def _run(plan: bytes, task: bytes) -> list[TaskResult]:
    return list(VerdictTasks(PLAN.decode(plan), ()).run(TASK.decode(task)))


@dataclass(slots=True)
class _Progress:
    """The number of finished tasks, with the names of Spark's status of the one running stage."""

    tasks: Sequence[Task]
    done: int = 0

    @property
    def numTasks(self) -> int:  # noqa: N802  # Spark's name
        """The number of tasks."""
        return len(self.tasks)

    @property
    def numCompletedTasks(self) -> int:  # noqa: N802  # likewise
        """The number of finished tasks."""
        return self.done

    def getActiveStageIds(self) -> list[int]:  # noqa: N802  # likewise
        """The only stage."""
        return [0]

    def getStageInfo(self, stageId: int) -> "_Progress":  # noqa: N802, N803  # likewise
        """The same."""
        return self

    def counting(self, found: Iterable[list[TaskResult]]) -> Iterator[list[TaskResult]]:
        """The rows of each task, counted when they come."""
        for rows in found:
            self.done += 1
            yield rows
