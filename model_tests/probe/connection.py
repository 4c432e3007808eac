"""One connection to a broker: requests in, decoded answers out, and what can go wrong with it in one line each."""

import socket
import struct
from collections import deque
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from model_tests.common.addresses import Address
from reference.server.service import Fields
from reference.wire.codec import MalformedRequest, RequestHeader, decode_response, encode_request, key_of

CLIENT: Final = "eos-conform"
SIZE: Final = struct.Struct(">i")
CORRELATION: Final = struct.Struct(">i")
CORRELATED: Final = 4
"""Bytes of a request before its correlation id: the api and its version."""

MOST_BYTES: Final = 100 * 2**20
"""Of one answer; more is the length of no answer that a session asks for."""

TLS_ALERT: Final = b"\x15\x03"
"""How a record begins with which a TLS server refuses what is no handshake."""


class BrokerFailure(Exception):
    """The broker cannot be judged further; the message is one line."""


class ConnectionLost(BrokerFailure):
    """The broker has closed the connection, or it broke."""


class NoAnswer(BrokerFailure):
    """The broker has answered nothing for too long."""


class UnreadableAnswer(BrokerFailure):
    """An answer is not of Kafka's protocol."""


class Prepared(NamedTuple):
    """A request in bytes, which may be sent again and again.

    Attributes:
        head: what comes before the correlation id, with the length of the frame.
        rest: what comes after it.
    """

    api: str
    version: int
    head: bytes
    rest: bytes


def prepared(api: str, version: int, fields: Fields) -> Prepared:
    """A request in bytes."""
    frame = encode_request(RequestHeader(key_of(api), api, version, 0, CLIENT), fields)
    head = SIZE.pack(len(frame)) + frame[:CORRELATED]
    return Prepared(api, version, head, frame[CORRELATED + CORRELATION.size :])


class _Waiting(NamedTuple):
    correlation: int
    api: str
    version: int


class BrokerConnection:
    """A connection; requests may be sent before the answers to those before them are there."""

    def __init__(self, address: Address, patience_s: float) -> None:
        """Connect.

        Args:
            address: of the broker.
            patience_s: seconds after which a silent broker is given up.

        Raises:
            ConnectionLost: nothing listens there.
        """
        self.address = address
        self._patience_s = patience_s
        self._waiting: deque[_Waiting] = deque()
        self._sent = 0
        self._received = 0
        self._buffer = b""
        try:
            self._socket = socket.create_connection(address, timeout=patience_s)
        except TimeoutError as error:
            raise NoAnswer(f"{address} does not take a connection within {patience_s:.0f} s") from error
        except OSError as error:
            raise ConnectionLost(f"{address} cannot be connected to: {error.strerror or error}") from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Self:
        """The connection itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def request(self, api: str, version: int, fields: Fields) -> Any:
        """The answer to a request.

        Raises:
            BrokerFailure: there is none, or none that can be read.
        """
        self.send(prepared(api, version, fields))
        return self.receive()

    def send(self, *requests: Prepared) -> None:
        """Send requests at once, whose answers are then waited for.

        Args:
            requests: each in bytes.

        Raises:
            ConnectionLost: the connection is closed.
        """
        frames = b"".join(self._frame_of(request) for request in requests)
        try:
            self._socket.sendall(frames)
        except OSError as error:
            raise self._lost(self._waiting[0].api) from error

    def _frame_of(self, request: Prepared) -> bytes:
        self._sent += 1
        self._waiting.append(_Waiting(self._sent, request.api, request.version))
        return request.head + CORRELATION.pack(self._sent) + request.rest

    def receive(self) -> Any:
        """The answer to the oldest request that has none yet.

        Raises:
            BrokerFailure: there is none, or none that can be read.
        """
        waiting = self._waiting[0]
        frame = self._frame(waiting.api)
        try:
            correlation, answer = decode_response(waiting.api, waiting.version, frame)
        except MalformedRequest as damage:
            raise UnreadableAnswer(f"{self.address} answers {waiting.api} with what is none: {damage}") from damage
        if correlation != waiting.correlation:
            raise UnreadableAnswer(
                f"{self.address} answers {waiting.api} under correlation id {correlation}, not {waiting.correlation}"
            )
        self._waiting.popleft()
        self._received += 1
        return answer

    def _frame(self, api: str) -> bytes:
        head = self._read(SIZE.size, api)
        if head.startswith(TLS_ALERT):
            raise ConnectionLost(f"{self.address} demands TLS, which is not spoken here; use a PLAINTEXT listener")
        (length,) = SIZE.unpack(head)
        if not 0 <= length <= MOST_BYTES:
            raise UnreadableAnswer(f"{self.address} is no Kafka broker: its answer begins with {head!r}")
        return self._read(length, api)

    def _read(self, count: int, api: str) -> bytes:
        while len(self._buffer) < count:
            try:
                found = self._socket.recv(2**16)
            except TimeoutError as error:
                raise NoAnswer(f"{self.address} has not answered {api} for {self._patience_s:.0f} s") from error
            except OSError as error:
                raise self._lost(api) from error
            if not found:
                raise self._lost(api)
            self._buffer += found
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken

    def _lost(self, api: str) -> ConnectionLost:
        """What a closed connection says, by how far it had come."""
        if not self._received:
            why = "before it has answered anything: it may demand TLS, or be no Kafka broker"
        elif self._received == 1:
            why = "after ApiVersions: it may demand SASL, which is not spoken here; use a PLAINTEXT listener"
        else:
            why = f"instead of answering {api}"
        return ConnectionLost(f"{self.address} closes the connection {why}")
