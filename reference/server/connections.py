"""Connections that are served until all stops: what a server and a proxy have in common."""

import asyncio
import struct
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

SIZE: Final = struct.Struct(">i")
"""Of a frame in bytes, which comes before it."""

WRITTEN_AT_ONCE: Final = 64 * 1024
"""Bytes of answers that may wait for those to the requests behind them: what a socket takes at once."""


@dataclass(slots=True)
class Breakable:
    """A client's connection.

    Attributes:
        number: among all connections.
        close: breaks it.
    """

    number: int
    close: Callable[[], None] = field(default=lambda: None, kw_only=True)


Kind = TypeVar("Kind", bound=Breakable)


@dataclass(slots=True, kw_only=True)
class Connections(Generic[Kind]):
    """Those that are open, each with the task that serves it.

    Attributes:
        failure: the error that stopped all, None if there is none.
    """

    failure: Exception | None = None
    _open: dict[int, Kind] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _connections: int = 0
    _stopped: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self) -> None:
        """Until all is stopped."""
        await self._stopped.wait()

    def stop(self, failure: Exception | None = None) -> None:
        """Have all stop, because of a failure if there is one."""
        self.failure = self.failure or failure
        self._stopped.set()

    async def _close(self, listeners: Iterable[asyncio.Server]) -> None:
        """Close every listener and connection."""
        for listener in listeners:
            listener.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _keep(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _admit(
        self,
        writer: asyncio.StreamWriter,
        made: Callable[[int, str], Kind],
        serve: Callable[[Kind], Coroutine[None, None, None]],
    ) -> None:
        """A client has connected.

        Args:
            writer: to the client.
            made: from the connection's number and the client's address.
            serve: until it ends; an error of our own stops all, and is not lost.
        """
        self._connections += 1
        peer = writer.get_extra_info("peername") or ("", 0)
        connection = made(self._connections, str(peer[0]))
        self._open[connection.number] = connection
        task = self._keep(self._until_it_ends(connection, writer, serve))

        def close() -> None:
            writer.transport.abort()
            task.cancel()

        connection.close = close

    async def _until_it_ends(
        self, connection: Kind, writer: asyncio.StreamWriter, serve: Callable[[Kind], Coroutine[None, None, None]]
    ) -> None:
        try:
            await serve(connection)
        except Exception as failure:
            self.stop(failure)
            raise
        finally:
            self._open.pop(connection.number, None)
            writer.close()


class AnswerWriter:
    """The answers on one connection; those to requests that arrived together leave in one write."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        """Nothing is written yet."""
        self._writer = writer
        self._waiting = bytearray()

    async def write(self, frame: bytes) -> None:
        """Write a frame with its length in front, at the end of this turn of the loop at the latest.

        Raises:
            ConnectionError: the client is gone.
        """
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self.flush)
        self._waiting += SIZE.pack(len(frame)) + frame
        if len(self._waiting) >= WRITTEN_AT_ONCE:
            self.flush()
        await self._writer.drain()

    def flush(self) -> None:
        """Hand over to the connection what waits."""
        if self._waiting and not self._writer.is_closing():
            self._writer.write(bytes(self._waiting))
        self._waiting.clear()
