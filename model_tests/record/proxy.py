"""The proxy: a port for each broker, and for each client's connection one to the broker behind it."""

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from model_tests.common.addresses import LAST_PORT, Address
from model_tests.record.exchange import BrokenConnection, Link
from model_tests.record.passing import Passing
from model_tests.record.recorder import TrafficRecorder
from reference.server.connections import Connections
from reference.server.faults import Faults
from reference.server.listener import BUFFERED, TICK_S

CONNECT_S: Final = 10.0
"""How long a broker may take to accept a connection, in seconds."""

ANY: Final = ("", "0.0.0.0", "::")
"""Hosts that listen at every address: clients are given the one that they came by."""


@dataclass(slots=True)
class Proxy(Connections[Link]):
    """All ports.

    Attributes:
        listen: where the first broker is listened for; port 0 takes any that are free.
        recorder: takes whatever passes.
        faults: what goes wrong on the way, nothing if none are given.
        on_port: takes a broker's address and the port that stands for it.
        began: when it was made, in seconds of the machine's own clock.
    """

    listen: Address
    recorder: TrafficRecorder
    faults: Faults | None = None
    on_port: Callable[[Address, int], None] = lambda *_: None
    began: float = field(default_factory=time.monotonic)
    _ports: dict[Address, int] = field(default_factory=dict)
    _listeners: list[asyncio.Server] = field(default_factory=list)
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    # --- start and stop ---------------------------------------------------------------------------------------

    async def start(self, upstream: Address) -> None:
        """Listen for the first broker.

        Raises:
            OSError: its port cannot be had.
        """
        await self._listen(upstream, self.listen.port)
        if self.faults is not None:
            self._keep(self._tick(self.faults))

    @property
    def ports(self) -> Mapping[Address, int]:
        """The port that stands for each broker."""
        return self._ports

    @property
    def stopped(self) -> bool:
        """Whether the proxy is stopped."""
        return self._stopped.is_set()

    async def open_port(self, broker: Address) -> int:
        """The port that stands for a broker, from now on if there was none.

        Raises:
            BrokenConnection: there is no free one.
        """
        async with self._opening:
            if broker in self._ports:
                return self._ports[broker]
            last = max(self._ports.values()) if self.listen.port else 0
            for port in range(last + 1, LAST_PORT + 1) if last else [0]:
                with suppress(OSError):
                    return await self._listen(broker, port)
        raise BrokenConnection(f"no port is free for the broker at {broker}")

    async def _listen(self, broker: Address, port: int) -> int:
        listener = await asyncio.start_server(self._accepted(broker), self.listen.host or None, port, limit=BUFFERED)
        self._listeners.append(listener)
        self._ports[broker] = int(listener.sockets[0].getsockname()[1])
        self.on_port(broker, self._ports[broker])
        return self._ports[broker]

    async def close(self) -> None:
        """Close every port and connection."""
        await self._close(self._listeners)

    async def _tick(self, faults: Faults) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            number = faults.closed(tuple(self._open))
            if number is not None:
                self.recorder.fault(self._open[number], None)
                self._open[number].close()

    # --- connections ------------------------------------------------------------------------------------------

    def _accepted(self, broker: Address) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._admit(
                writer,
                lambda number, peer: Link(number, peer, broker),
                lambda link: self._serve(link, reader, writer),
            )

        return accepted

    async def _serve(self, link: Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        why = ""
        try:
            self.recorder.opened(link)
            why = await self._passed(link, reader, writer)
        finally:
            self.recorder.closed(link, why)

    async def _passed(self, link: Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        """Pass on what comes until the connection ends; why it does, empty if that need not be said."""
        try:
            async with asyncio.timeout(CONNECT_S):
                upstream = await asyncio.open_connection(*link.broker, limit=BUFFERED)
        except (OSError, TimeoutError) as error:
            return f"the broker cannot be reached: {reason_of(error)}"
        try:
            passing = Passing(link, self.recorder, self.faults, (reader, writer), upstream, self._advertised(writer))
            await passing.run(self.open_port)
        except BrokenConnection as broken:
            return broken.why
        except OSError:  # of a socket: a file that cannot be written is bad input
            return ""
        finally:
            upstream[1].close()
        return ""

    def _advertised(self, writer: asyncio.StreamWriter) -> str:
        """The host by which a client of a connection reaches the proxy."""
        if self.listen.host not in ANY:
            return self.listen.host
        return str((writer.get_extra_info("sockname") or ("127.0.0.1",))[0])


def reason_of(error: Exception) -> str:
    """Why a connection cannot be made, in a few words."""
    if isinstance(error, TimeoutError):
        return f"no answer in {CONNECT_S:.0f} s"
    number = error.errno if isinstance(error, OSError) else None
    return os.strerror(number) if number and number > 0 else str(error)
