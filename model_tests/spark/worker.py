"""What one of Spark's Python workers does before its first tasks."""

import gc
from itertools import count
from typing import Final

from pyspark import TaskContext

_UNTIL_LOADED: Final = 2
"""Tasks before which something has been loaded: Arrow imports what it needs when the first one hands over its rows."""

_begun: Final = count()


def begin_task() -> None:
    """Leave out of collections what the worker has loaded; outside a task, nothing.

    A worker collects garbage after each task, and would look at everything that Spark, Arrow and NumPy have made:
    that takes as long as to audit some tens of thousands of batches.
    """
    if TaskContext.get() is not None and next(_begun) < _UNTIL_LOADED:
        gc.freeze()
