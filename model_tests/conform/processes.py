"""Sessions are independent: several processes work on their lines, and the results are in order.

A process that dies takes nothing with it: what it had begun is done again, line by line, and only the line on which
a process dies alone is given up, by name.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from typing import Final, TypeAlias, TypeVar

from model_tests.common.processes import started_anew
from model_tests.conform.files import SessionLine

Made = TypeVar("Made")
"""What is made of a line."""

Work: TypeAlias = Callable[[SessionLine], Made]
"""Makes something of a line; a function of a module, so that other processes know it."""

FEW: Final = 300
"""Fewer lines are not worth the start of another process."""

TOGETHER: Final = 8
"""Lines that are handed to a process at once."""

AHEAD: Final = 4
"""How many such handfuls each process may have before it."""


def cores() -> int:
    """How many processes the machine has room for."""
    return os.cpu_count() or 1


def in_order(work: Work[Made], lost: Work[Made], lines: Iterable[SessionLine], jobs: int) -> Iterator[tuple[int, Made]]:
    """The number of each line's file and what the work makes of the line, in order, by so many processes.

    Args:
        work: what is done, without memory of other lines.
        lost: what is made instead, here, of a line on which a process died.
        lines: on which.
        jobs: number of processes; with one, with few lines, and where no other can start, this one does it all.
    """
    remaining = iter(lines)
    first = list(islice(remaining, FEW))
    everything = chain(first, remaining)
    if jobs <= 1 or len(first) < FEW:
        return ((line.file, work(line)) for line in everything)
    return _spread(work, lost, everything, jobs)


def _spread(work: Work[Made], lost: Work[Made], lines: Iterator[SessionLine], jobs: int) -> Iterator[tuple[int, Made]]:
    workers = _Workers(jobs)
    if not workers.can_start():
        yield from ((line.file, work(line)) for line in lines)
        return
    begun: deque[tuple[list[SessionLine], Future[list[Made]]]] = deque()
    try:
        while together := list(islice(lines, TOGETHER)):
            begun.append((together, workers.begin(work, together)))
            if len(begun) > jobs * AHEAD:
                yield from _finished(work, lost, *begun.popleft())
        while begun:
            yield from _finished(work, lost, *begun.popleft())
    finally:
        workers.close()


class _Workers:
    """Processes, which are replaced when one of them has died."""

    def __init__(self, jobs: int) -> None:
        """So many processes, as soon as there is work."""
        self._jobs = jobs
        self._pool = started_anew(jobs)

    def can_start(self) -> bool:
        """Whether a process comes to work at all: not where the program cannot be imported, as from standard input."""
        try:
            return self._pool.submit(os.getpid).result() > 0
        except BrokenProcessPool:
            return False

    def begin(self, work: Work[Made], lines: list[SessionLine]) -> Future[list[Made]]:
        """Have one of them work on lines."""
        try:
            return self._pool.submit(_made, work, lines)
        except BrokenProcessPool:
            self.close()
            self._pool = started_anew(self._jobs)
            return self._pool.submit(_made, work, lines)

    def close(self) -> None:
        """Nothing more is to do."""
        self._pool.shutdown(cancel_futures=True)


def _made(work: Work[Made], lines: list[SessionLine]) -> list[Made]:
    return [work(line) for line in lines]


def _finished(
    work: Work[Made], lost: Work[Made], lines: list[SessionLine], future: Future[list[Made]]
) -> Iterator[tuple[int, Made]]:
    try:
        yield from zip((line.file for line in lines), future.result(), strict=True)
    except BrokenProcessPool:
        yield from _one_by_one(work, lost, lines)


def _one_by_one(work: Work[Made], lost: Work[Made], lines: list[SessionLine]) -> Iterator[tuple[int, Made]]:
    """The same by a process that has nothing else to do; it may have been another line that killed one."""
    worker = _Workers(1)
    try:
        for line in lines:
            try:
                made = worker.begin(work, [line]).result()[0]
            except BrokenProcessPool:
                made = lost(line)
            yield line.file, made
    finally:
        worker.close()
