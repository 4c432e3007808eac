"""Brokers that are none: a port on which a test says what is answered."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from reference.server.connections import SIZE
from reference.wire.codec import MalformedRequest

Answering = Callable[[socket.socket], None]
"""What a broker does with a connection; it is closed afterwards."""


@contextmanager
def broker(answering: Answering) -> Iterator[str]:
    """A port whose connections are dealt with, each in a thread of its own; its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def deal(connection: socket.socket) -> None:
            with connection, suppress(OSError, MalformedRequest):
                answering(connection)

        def serve() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=deal, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        host, port = listener.getsockname()[:2]
        yield f"{host}:{port}"
        listener.shutdown(socket.SHUT_RDWR)


def frame_of(connection: socket.socket) -> bytes:
    """The next frame without its length; empty where the connection ends."""
    try:
        head = connection.recv(SIZE.size, socket.MSG_WAITALL)
        return connection.recv(SIZE.unpack(head)[0], socket.MSG_WAITALL) if len(head) == SIZE.size else b""
    except ConnectionResetError:
        return b""


def echoes(connection: socket.socket) -> None:
    """Answer each frame with what comes behind api and version: its correlation id, and the rest."""
    while frame := frame_of(connection):
        connection.sendall(SIZE.pack(len(frame) - 4) + frame[4:])


def silent(connection: socket.socket) -> None:
    """Answer nothing, until the client goes."""
    while connection.recv(65_536):
        pass
