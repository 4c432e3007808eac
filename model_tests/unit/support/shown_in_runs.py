"""Runs that show something, found by what they show: a test that needs a rare event names the event, and no seed."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from model_tests.monitor.runs import SeededRun
from model_tests.traces.schema import Row


def runs_with(shows: Callable[[Sequence[Row]], bool], runs: Iterable[SeededRun], count: int = 1) -> Iterator[SeededRun]:
    """The first runs that show something.

    Args:
        shows: whether the rows of a run show it.
        runs: those that may; they are made without being judged.
        count: how many are needed.

    Raises:
        LookupError: fewer do.
    """
    found = 0
    for run in islice((run for run in runs if shows(run.play(monitored=False).rows)), count):
        found += 1
        yield run
    if found < count:
        raise LookupError(f"{found} runs show what {count} were to show: {shows.__doc__ or shows}")
