"""An event loop in a thread of its own: it is waited for until it is ready, and again until it has ended."""

import asyncio
import threading
from collections.abc import Callable


class LoopThread:
    """Runs something that has an event loop.

    Attributes:
        loop: the loop, once it is ready.
        failure: what the thread ended with, None if that was nothing.
    """

    def __init__(self, name: str, run: Callable[[], None], patience_s: float) -> None:
        """A thread that has not started.

        Args:
            name: of the thread.
            run: what it does; calls `ready` in its loop.
            patience_s: how long it may take to be ready, and to end.
        """
        self.loop: asyncio.AbstractEventLoop | None = None
        self.failure: Exception | None = None
        self._name, self._run, self._patience_s = name, run, patience_s
        self._thread = threading.Thread(target=self._guarded, name=name, daemon=True)
        self._started = threading.Event()

    def start(self) -> None:
        """Start, and wait until it is ready.

        Raises:
            TimeoutError: it is not for too long.
            Exception: what it has failed with before it was ready.
        """
        self._thread.start()
        if not self._started.wait(self._patience_s):
            raise TimeoutError(f"{self._name} has not started in {self._patience_s:.0f} s")
        if self.failure is not None:
            raise self.failure

    def ready(self) -> None:
        """In the loop: who waits may go on."""
        self.loop = asyncio.get_running_loop()
        self._started.set()

    def end(self, stop: Callable[[], object] | None) -> None:
        """Have the loop stop itself, if it runs, and wait until the thread has ended."""
        if self.loop is not None and stop is not None and self._thread.is_alive():
            self.loop.call_soon_threadsafe(stop)
        self._thread.join(self._patience_s)

    def _guarded(self) -> None:
        try:
            self._run()
        except Exception as failure:  # noqa: BLE001  # raised again in the thread that asks
            self.failure = failure
        finally:
            self._started.set()
