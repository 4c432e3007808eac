"""Processes of this machine beside this one: started anew, and ended with it."""

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import wait
from threading import Thread

_ABANDONED = 1


def started_anew(processes: int, *, tasks_of_each: int | None = None) -> ProcessPoolExecutor:
    """A pool of processes that begin without the state of this one, and end when it does, however it ends.

    Args:
        processes: at most so many at once.
        tasks_of_each: after so many tasks another process takes over; none for no limit.
    """
    spawning = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(
        processes, mp_context=spawning, initializer=_end_with_parent, max_tasks_per_child=tasks_of_each
    )


def _end_with_parent() -> None:
    Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(_ABANDONED)
