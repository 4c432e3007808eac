"""What listens and is no broker that can be judged: each is said in one line, and nothing hangs."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.common.reports import NOTHING_JUDGED, BadInput
from model_tests.probe.options import ProbeOptions
from model_tests.probe.report import ProbeReport
from model_tests.probe.run import run
from reference.wire.codec import encode_response

PATIENCE_S = 0.3
Behave = Callable[[socket.socket], None]


@contextmanager
def listening(behave: Behave) -> Iterator[str]:
    """Something that takes connections; each is dealt with in a thread, and closed."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    behave(connection)

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


def probed(bootstrap: str) -> ProbeReport:
    return run(
        bootstrap, "4.3", ProbeOptions(sessions=1, patience_s=PATIENCE_S, yes=True), lambda _: None, lambda _: True
    )


def closes(connection: socket.socket) -> None:
    connection.recv(1000)


def alerts(connection: socket.socket) -> None:
    connection.recv(1000)
    connection.sendall(b"\x15\x03\x03\x00\x02\x02\x50")


def chats(connection: socket.socket) -> None:
    connection.recv(1000)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def is_silent(connection: socket.socket) -> None:
    while connection.recv(1000):
        pass


def demands_sasl(connection: socket.socket) -> None:
    """Answers ApiVersions, and closes at whatever comes next, as a SASL listener does."""
    correlation = struct.unpack(">i", connection.recv(1000)[8:12])[0]
    versions = [{"api_key": key, "min_version": 0, "max_version": 2} for key in (3, 18)]
    answer = encode_response("ApiVersions", 0, correlation, {"error_code": 0, "api_keys": versions})
    connection.sendall(struct.pack(">i", len(answer)) + answer)
    connection.recv(1000)


def garbles(connection: socket.socket) -> None:
    correlation = connection.recv(1000)[8:12]
    connection.sendall(struct.pack(">i", 6) + correlation + b"\x00\x00")


@pytest.mark.parametrize(
    ("behave", "message"),
    [
        (closes, "closes the connection before it has answered anything: it may demand TLS"),
        (alerts, "demands TLS"),
        (chats, "is no Kafka broker"),
        (is_silent, "has not answered ApiVersions for 0 s"),
        (demands_sasl, "after ApiVersions: it may demand SASL"),
        (garbles, "answers ApiVersions with what is none"),
    ],
)
def test_what_is_no_broker_is_named_in_one_line(behave: Behave, message: str) -> None:
    """Exit code 2, and one line that says what is wrong."""
    with listening(behave) as bootstrap:
        report = probed(bootstrap)

    assert NOTHING_JUDGED == report.exit_code
    (line,) = report.failures
    assert message in line
    assert "\n" not in line


def test_nothing_listens() -> None:
    """A port without a server is said to be one."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    report = probed(f"127.0.0.1:{port}")

    assert NOTHING_JUDGED == report.exit_code
    assert f"127.0.0.1:{port} cannot be connected to: Connection refused" == report.failures[0]


@pytest.mark.parametrize("bootstrap", ["localhost", "localhost:x", ":9092", "localhost:70000", ""])
def test_what_is_no_address_is_refused(bootstrap: str) -> None:
    """Before anything is connected to."""
    with pytest.raises(BadInput, match="--bootstrap-server is HOST:PORT"):
        probed(bootstrap)
