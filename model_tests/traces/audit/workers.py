"""What one of Spark's Python workers does once, before its first task."""

import gc
from functools import lru_cache

from pyspark import TaskContext


def begin_task() -> None:
    """Prepare the worker that this task runs in; outside a task, nothing."""
    if TaskContext.get() is not None:
        _keep_what_is_loaded()


@lru_cache(maxsize=1)
def _keep_what_is_loaded() -> None:
    """Leave all that has been imported out of collections.

    A worker collects garbage after each task, and would look at everything that Spark, Arrow and NumPy have made:
    that takes about as long as to judge some tens of thousands of batches.
    """
    gc.collect()
    gc.freeze()
