"""Processes of this machine beside this one: started anew, and ended with it."""

import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import wait
from threading import Thread
from typing import Any

_ABANDONED = 1  # the exit code of a worker whose parent has ended; it is not read


class _Pool(ProcessPoolExecutor):
    """Ends what is under way when this process is interrupted, instead of waiting for it."""

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> bool | None:
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            for process in list((self._processes or {}).values()):
                process.terminate()
        return super().__exit__(kind, *rest)


def started_anew(processes: int, *, tasks_of_each: int | None = None) -> ProcessPoolExecutor:
    """A pool of processes that begin without the state of this one, and end when it does, however it ends.

    Args:
        processes: at most so many at once.
        tasks_of_each: after so many tasks another process takes over; none for no limit.
    """
    spawning = multiprocessing.get_context("spawn")
    return _Pool(processes, mp_context=spawning, initializer=_end_with_parent, max_tasks_per_child=tasks_of_each)


def _end_with_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal interrupts the whole group: the parent ends its pool
    Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(_ABANDONED)
