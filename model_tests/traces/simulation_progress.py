"""How far a simulation is: traces, steps, how fast, how much longer; shown where it takes longer than two seconds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import perf_counter
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

AFTER: Final = 2.0
"""Seconds of which nothing is shown."""

_EVERY: Final = 0.5


@contextmanager
def shown(traces: int, done: Callable[[], tuple[int, int]], console: Console, after: float = AFTER) -> Iterator[None]:
    """Show progress while the body runs.

    Args:
        traces: how many are to be made.
        done: traces and steps made so far.
        console: where; nothing is shown where nobody looks.
        after: seconds of which nothing is shown.
    """
    ended = Event()
    thread = Thread(target=_show, args=(traces, done, console, after, ended), daemon=True)
    if console.is_terminal:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        if thread.is_alive():
            thread.join()


def _show(traces: int, done: Callable[[], tuple[int, int]], console: Console, after: float, ended: Event) -> None:
    started = perf_counter()
    if ended.wait(after):
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("simulating", total=traces)
        while True:
            made, steps = done()
            progress.update(task, completed=made, description=said(made, traces, steps, perf_counter() - started))
            if ended.wait(_EVERY):
                return


def said(made: int, traces: int, steps: int, seconds: float) -> str:
    """How far it is, in words."""
    return f"{made:,} of {traces:,} traces, {steps:,} steps, {steps / max(seconds, 1e-9):,.0f} steps/s"
