"""What a Python worker of Spark does once, before its first task."""

import gc


def settle() -> None:
    """Have what is loaded by now passed over where garbage is looked for, which a worker does after each task.

    The specification and the libraries are hundreds of thousands of objects that stay as long as the process.
    """
    if not gc.get_freeze_count():
        gc.collect()
        gc.freeze()
