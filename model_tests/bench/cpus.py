"""The CPUs that a measured process may run on, where the system allows to choose them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


def keep_to_cpus(count: int) -> None:
    """This process, and those that it starts from now on, run on the first of the CPUs that it may use."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])


@contextmanager
def on_cpus(count: int) -> Iterator[None]:
    """Keep to so many CPUs within; this process may use all of its CPUs again afterwards."""
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set[int]()
    keep_to_cpus(count)
    try:
        yield
    finally:
        if before:
            os.sched_setaffinity(0, before)
