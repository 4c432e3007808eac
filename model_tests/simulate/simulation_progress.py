"""The progress of a simulation: traces, steps, speed, remaining time; shown after two seconds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

from rich.console import Console

from model_tests.spark.progress import AFTER, followed


@contextmanager
def shown(traces: int, done: Callable[[], tuple[int, int]], console: Console, after: float = AFTER) -> Iterator[None]:
    """Show progress while the body runs.

    Args:
        traces: number of traces to make.
        done: traces and steps made so far.
        console: where; nothing is shown where it is no terminal.
        after: seconds of which nothing is shown.
    """
    started = perf_counter()

    def look() -> tuple[int, str]:
        made, steps = done()
        return made, said(made, traces, steps, perf_counter() - started)

    with followed(traces, look, "simulating", console, after):
        yield


def said(made: int, traces: int, steps: int, seconds: float) -> str:
    """How far it is, in words.

    Args:
        made: traces so far.
        traces: number of traces wanted.
        steps: in those that are made.
        seconds: since it began.
    """
    return f"{made:,} of {traces:,} traces, {steps:,} steps, {steps / max(seconds, 1e-9):,.0f} steps/s"
