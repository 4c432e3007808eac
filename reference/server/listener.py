"""The sockets: one listener for each node, and a connection's requests answered one after the other."""

import asyncio
import errno
import os
import resource
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

from reference.server.connections import SIZE, AnswerWriter, Breakable, Connections
from reference.server.faults import NOTHING, Faults, RequestFaults
from reference.server.handlers import check_readable, handle
from reference.server.metadata_api import unsupported_api_versions
from reference.server.nodes import NodeFault
from reference.server.service import ClientRequest, Endpoint, Fields, Service
from reference.wire.codec import (
    MalformedRequest,
    decode_header,
    decode_request,
    encode_response,
)
from reference.wire.versions import ServedApi, served
from spec.vocabulary import Api

LARGEST: Final = 100 * 1024 * 1024
"""Default of socket.request.max.bytes."""

BUFFERED: Final = 1024 * 1024
"""Bytes of a connection that are read before they are asked for, and no more than twice as many."""

BACKLOG: Final = 1024
"""Connections that may wait to be accepted, as far as the system allows it."""

RESERVED_DESCRIPTORS: Final = 128
"""Kept for the files of the nodes, at most a quarter of all: without one a checkpoint could not be written."""

SAID_EVERY_S: Final = 1.0
"""Between two lines that say that no connection is accepted, in seconds."""

ACCEPTED_AT_ONCE: Final = 1
"""How often asyncio accepts in a row: so often, too, it tries again a second later when there is no free descriptor."""

TICK_S: Final = 0.05
"""Between two looks at what is due by now, in seconds."""

UNNAMED: Final = "unknown"
"""The software of a client that has not said what it is."""

OnFrame: TypeAlias = Callable[[int, int, int, bytes], None]
"""Takes what arrives: the time in milliseconds, the node, the number of the connection, and the frame."""

OnFault: TypeAlias = Callable[[int, NodeFault], None]
"""Takes a fault of a node, with the time in milliseconds."""

OnWireFault: TypeAlias = Callable[[int, int, RequestFaults | None], None]
"""Takes what goes wrong on the wire: the time, the number of the connection, and the faults of a request on it.

None says that the connection is closed without a request.
"""

OnClosed: TypeAlias = Callable[[str], None]
"""Takes a line that says why a connection was closed."""


Result = TypeVar("Result")


class RefusedConnection(Exception):
    """What a client sends cannot be answered, and its connection is closed."""


@dataclass(slots=True)
class ClientConnection(Breakable):
    """One client's connection to a node.

    Attributes:
        node: that it is to.
        peer: address of the client.
        software: name and version of the client's software, as far as it has said.
    """

    node: int
    peer: str
    software: str = UNNAMED


@dataclass(slots=True)
class Server(Connections[ClientConnection]):
    """All listeners.

    Attributes:
        service: the nodes.
        faults: what goes wrong, nothing if none are given.
        on_frame: takes every frame that arrives, before it is dealt with.
        on_closed: takes a line for each connection that is closed because of what came over it.
        on_tick: takes the time of each look at what was due, in milliseconds.
        on_fault: takes every fault of a node, before it happens.
        on_wire_fault: takes what goes wrong with connections, which changes no node.
        on_gone: takes the time and the number of a connection that has ended while a request of it waited.
        on_settled: is called after each step, when nothing is under way.
        suffered: how many faults there were, by name.
        closed: how many connections were closed so.
        requests: how many came, by api and the client's software.
    """

    service: Service
    faults: Faults | None = None
    on_frame: OnFrame = lambda *_: None
    on_closed: OnClosed = lambda _: None
    on_tick: Callable[[int], None] = lambda _: None
    on_fault: OnFault = lambda *_: None
    on_wire_fault: OnWireFault = lambda *_: None
    on_gone: Callable[[int, int], None] = lambda *_: None
    on_settled: Callable[[], None] = lambda: None
    suffered: Counter[str] = field(default_factory=Counter)
    requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    closed: int = 0
    _served: dict[str, ServedApi] = field(default_factory=dict)
    _listeners: dict[int, asyncio.Server] = field(default_factory=dict)
    _reserved: dict[int, asyncio.Server] = field(default_factory=dict)
    _waiting: dict[int, tuple[asyncio.StreamReader, asyncio.Future[Fields | None]]] = field(default_factory=dict)
    _resumed: asyncio.Event = field(default_factory=asyncio.Event)
    _descriptors: int = 0
    _said_s: float = -SAID_EVERY_S

    # --- start and stop ---------------------------------------------------------------------------------------

    async def start(self, host: str, port: int) -> None:
        """Listen: node 0 on the port, the others on those after it; port 0 takes any that are free.

        Raises:
            OSError: a port cannot be had.
        """
        self._served = {each.api: each for each in served(self.service.settings.profile)}
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._descriptors = limit - min(RESERVED_DESCRIPTORS, limit // 4)
        asyncio.get_running_loop().set_exception_handler(self._not_accepted)
        for node in range(self.service.settings.nodes):
            listener = await self._bind(node, host, port + node if port else 0, listens=True)
            self._listeners[node] = listener
            self.service.endpoints.append(Endpoint(host, listener.sockets[0].getsockname()[1]))
        self._keep(self._tick())

    def _not_accepted(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Without free descriptors no connection is accepted for a second; those that there are go on."""
        if isinstance(context.get("exception"), OSError) and "accept" in context["message"]:
            self._turn_away(context["exception"].strerror)
        else:
            loop.default_exception_handler(context)

    def _turn_away(self, why: str) -> None:
        """Say that connections are turned away; not for each of them."""
        now = asyncio.get_running_loop().time()
        if now - self._said_s >= SAID_EVERY_S:
            self._said_s = now
            self.on_closed(f"no connection is accepted for now: {why}")

    @property
    def bootstrap_servers(self) -> str:
        """Where clients connect: every node, as their setting of that name takes it."""
        return ",".join(f"{host}:{port}" for host, port in self.service.endpoints)

    async def close(self) -> None:
        """Close every listener and connection."""
        await self._close((*self._listeners.values(), *self._reserved.values()))

    # --- time -------------------------------------------------------------------------------------------------

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            self._guarded(self._due)
            await self._follow_nodes()

    def _due(self) -> None:
        for reader, answered in tuple(self._waiting.values()):
            if reader.at_eof():
                answered.cancel()
        self.service.pass_time()
        self.on_tick(self.service.now)
        self.on_settled()
        if self.faults is not None:
            self._draw(self.faults)

    # --- faults -----------------------------------------------------------------------------------------------

    def _draw(self, faults: Faults) -> None:
        faults.of_nodes(self.service.nodes, self._suffer)
        number = faults.closed(tuple(self._open))
        if number is not None:
            self.on_wire_fault(self.service.now, number, None)
            self.suffered["connection closed"] += 1
            self._open[number].close()

    async def suffer(self, fault: NodeFault) -> None:
        """Have a fault happen to a node now.

        Raises:
            ImpossibleFault: the node is in no state for it.
        """
        self.service.nodes.check(fault)
        self._guarded(lambda: self._suffer(fault))
        await self._follow_nodes()

    def close_connections(self, node: int | None = None) -> int:
        """Break the connections to a node, or all; how many there were."""
        closing = [each for each in self._open.values() if node in (None, each.node)]
        for connection in closing:
            connection.close()
        return len(closing)

    def _suffer(self, fault: NodeFault) -> None:
        self.service.begin()
        self.on_fault(self.service.now, fault)
        self.service.suffer(fault)
        self.suffered[fault.kind.value] += 1
        self.on_settled()

    async def _follow_nodes(self) -> None:
        """A node that is down takes no connections and loses those that it has; its port is kept until it is back."""
        nodes = self.service.nodes
        for node in [node for node in self._listeners if nodes.is_down(node)]:
            self._listeners.pop(node).close()
            self.close_connections(node)
            self._reserved[node] = await self._bind(node, *self.service.endpoint(node), listens=False)
        for node in [node for node in self._reserved if not nodes.is_down(node)]:
            listener = self._listeners[node] = self._reserved.pop(node)
            await self._listen(listener)
        self._resumed.set()
        self._resumed = asyncio.Event()

    async def _bind(self, node: int, host: str, port: int, *, listens: bool) -> asyncio.Server:
        listener = await asyncio.start_server(
            self._accepted(node), host, port, limit=BUFFERED, backlog=ACCEPTED_AT_ONCE, start_serving=False
        )
        if listens:
            await self._listen(listener)
        return listener

    async def _listen(self, listener: asyncio.Server) -> None:
        await listener.start_serving()
        for each in listener.sockets:
            with each.dup() as same:
                same.listen(BACKLOG)

    async def _until_it_runs(self, node: int) -> None:
        """A node that stands still takes requests, and sends answers, when it goes on."""
        while not self.service.nodes.runs(node):
            await self._resumed.wait()

    def _guarded(self, step: Callable[[], Result]) -> Result:
        """Make one step; an error of our own stops the server, and is not lost."""
        try:
            return step()
        except Exception as failure:
            self.stop(failure)
            raise

    # --- connections ------------------------------------------------------------------------------------------

    def _accepted(self, node: int) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if writer.get_extra_info("socket").fileno() >= self._descriptors:
                writer.transport.abort()
                self._turn_away(os.strerror(errno.EMFILE))
                return
            self._admit(
                writer,
                lambda number, peer: ClientConnection(number, node, peer),
                lambda connection: self._serve(connection, reader, writer),
            )

        return accepted

    async def _serve(
        self, connection: ClientConnection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        answers = AnswerWriter(writer)
        try:
            spared = True
            while frame := await self._frame(reader):
                faults = NOTHING if spared else self._faults_of(connection, frame)
                spared = False
                if faults.stray_ms:
                    self._keep(self._stray(connection, frame, reader, faults.stray_ms))
                if faults.lost:
                    return
                await self._delayed(connection.node, faults.late_ms)
                answer = await self._answer(connection, frame, reader)
                if faults.doubled:
                    await self._answer(connection, frame, reader)
                await self._delayed(connection.node, faults.answer_late_ms)
                if faults.answer_lost:
                    return
                if answer is not None:
                    await answers.write(answer)
        except (RefusedConnection, MalformedRequest) as refusal:
            self.closed += 1
            self.on_closed(f"connection {connection.number} from {connection.peer} is closed: {refusal}")
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            answers.flush()

    def _faults_of(self, connection: ClientConnection, frame: bytes) -> RequestFaults:
        if self.faults is None:
            return NOTHING
        header, _ = decode_header(frame)
        faults = self.faults.of_request(header.api, header.version)
        if faults != NOTHING:
            self.on_wire_fault(self.service.now, connection.number, faults)
            self.suffered.update(faults.names())
        return faults

    async def _delayed(self, node: int, milliseconds: int) -> None:
        if milliseconds:
            await asyncio.sleep(milliseconds / 1_000)
        await self._until_it_runs(node)

    async def _stray(
        self, connection: ClientConnection, frame: bytes, reader: asyncio.StreamReader, milliseconds: int
    ) -> None:
        """A request of a broken connection arrives all the same, and its answer is lost."""
        await asyncio.sleep(milliseconds / 1_000)
        if self.service.nodes.is_down(connection.node):
            return
        await self._until_it_runs(connection.node)
        with suppress(RefusedConnection, MalformedRequest, ConnectionError):
            await self._answer(connection, frame, reader)

    async def _frame(self, reader: asyncio.StreamReader) -> bytes:
        """The next frame, without its length; empty at the end of the connection."""
        try:
            (size,) = SIZE.unpack(await reader.readexactly(SIZE.size))
        except asyncio.IncompleteReadError as end:
            if end.partial:
                raise RefusedConnection("it ends within the length of a request") from end
            return b""
        if not 0 < size <= LARGEST:
            raise RefusedConnection(f"a request of {size} bytes; at most {LARGEST} are taken")
        try:
            return await reader.readexactly(size)
        except asyncio.IncompleteReadError as end:
            raise RefusedConnection(f"it ends after {len(end.partial)} of the {size} bytes of a request") from end

    async def _answer(self, connection: ClientConnection, frame: bytes, reader: asyncio.StreamReader) -> bytes | None:
        """The answer to a frame, None if it is never answered."""
        header, body = decode_header(frame)
        api = self._served.get(header.api)
        if api is not None and not api.oldest <= header.version <= api.newest and header.api == Api.API_VERSIONS:
            return encode_response(Api.API_VERSIONS, 0, header.correlation, unsupported_api_versions(self.service))
        if api is None or not api.oldest <= header.version <= api.newest:
            named = header.api or f"api {header.api_key}"
            raise RefusedConnection(f"{named} of version {header.version} is not served")
        message = decode_request(header, frame, body)
        check_readable(self.service, header.api, message)
        if header.api == Api.API_VERSIONS and header.version >= 3:
            connection.software = f"{message.client_software_name} {message.client_software_version}"
        self.requests[header.api, connection.software] += 1
        answered: asyncio.Future[Fields | None] = asyncio.get_running_loop().create_future()

        def reply(fields: Fields | None) -> None:
            if not answered.done():
                answered.set_result(fields)

        def close(why: str) -> None:
            if not answered.done():
                answered.set_exception(RefusedConnection(why))

        call = ClientRequest(connection.number, connection.node, header, message, reply, connection.peer, close)
        self._guarded(lambda: self._step(call, frame))
        self._waiting[connection.number] = reader, answered
        try:
            fields = await answered
        except asyncio.CancelledError:
            self.service.forget(connection.number)
            self.on_gone(self.service.now, connection.number)
            raise ConnectionAbortedError("the client is gone") from None
        finally:
            del self._waiting[connection.number]
        if fields is None:
            return None
        return self._guarded(lambda: encode_response(header.api, header.version, header.correlation, fields))

    def _step(self, call: ClientRequest, frame: bytes) -> None:
        self.service.begin()
        self.on_frame(self.service.now, call.node, call.connection, frame)
        handle(self.service, call)
        self.on_settled()
