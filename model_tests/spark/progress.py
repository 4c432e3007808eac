"""The progress of work on Spark: a bar with words and the remaining time; shown after two seconds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

AFTER: Final = 2.0
"""Seconds of which nothing is shown."""

_EVERY: Final = 0.5  # seconds between two looks at the progress


@contextmanager
def followed(
    total: int, look: Callable[[], tuple[int, str]], title: str, console: Console, after: float = AFTER
) -> Iterator[None]:
    """Show progress while the body runs.

    Args:
        total: how much there is to do.
        look: how much of it is done, and how far that is in words.
        title: what is shown before it is known.
        console: where; nothing is shown where it is no terminal.
        after: seconds of which nothing is shown.
    """
    ended = Event()
    thread = Thread(target=_show, args=(total, look, title, console, after, ended), daemon=True)
    if console.is_terminal:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        if thread.is_alive():
            thread.join()


def _show(
    total: int, look: Callable[[], tuple[int, str]], title: str, console: Console, after: float, ended: Event
) -> None:
    if ended.wait(after):
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(title, total=total)
        while True:
            done, words = look()
            progress.update(task, completed=done, description=words)
            if ended.wait(_EVERY):
                return
