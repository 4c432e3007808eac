"""What cannot be passed on closes its connection with a line that says why; the recording goes on."""

import resource
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.common.reports import BadInput
from model_tests.record import command
from model_tests.record.recording import Recording
from model_tests.record.wire_log import WIRE_LOG
from model_tests.serve.cluster import Cluster
from model_tests.unit.record.brokers import broker, echoes, frame_of, silent
from model_tests.unit.record.recorded import report_of
from model_tests.unit.serve.fuzzed_frames import framed
from reference.server.connections import SIZE
from reference.server.listener import LARGEST
from reference.wire.codec import RequestHeader, encode_request, encode_response, key_of

PATIENCE_S = 30
TLS_HELLO = bytes.fromhex("16030100f4010000f00303")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    """Before a broker that answers everything with its own bytes."""
    with broker(echoes) as servers, Recording(servers, tmp_path_factory.mktemp("recording")) as running:
        yield running


def connect(recording: Recording) -> socket.socket:
    host, _, port = recording.bootstrap_servers.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE_S)


def request(api: str, version: int, **fields: object) -> bytes:
    return framed(encode_request(RequestHeader(key_of(api), api, version, 7, "test"), fields))


def output(recording: Recording, why: str) -> bool:
    return any(why in notice for notice in recording.notices)


CLOSING = {
    "a hello of TLS": (TLS_HELLO, "the client speaks TLS, which cannot be recorded"),
    "text": (b"GET / HTTP/1.1\r\n\r\n", "the client sends no request: 1195725856 bytes"),
    "more than is taken": (struct.pack(">i", LARGEST + 1), f"8 to {LARGEST} are taken"),
    "a negative length": (struct.pack(">i", -5), "the client sends no request: -5 bytes"),
    "a frame without header": (framed(b"\0\1\0"), "the client sends no request: 3 bytes"),
    "a client id that ends later": (framed(struct.pack(">hhih", 3, 1, 1, 500)), "the client id has 500 bytes"),
    "half a Produce": (framed(struct.pack(">hhih", 0, 9, 1, -1) + b"\0\0"), "no ProduceRequest of version 9"),
    "addresses of a version to come": (
        framed(struct.pack(">hhihb", 3, 99, 1, -1, 0)),
        "Metadata of version 99 names brokers by address, and cannot be read here",
    ),
    "a Produce of a version to come": (framed(struct.pack(">hhihb", 0, 99, 1, -1, 0)), "Produce of version 99"),
    "an answer that cannot be read": (
        request("Metadata", 9, topics=None),
        "the broker's answer cannot be read: no MetadataResponse of version 9",
    ),
}


@pytest.mark.parametrize("name", CLOSING)
def test_what_cannot_be_passed_on_closes_its_connection(recording: Recording, name: str) -> None:
    """With a line that says why; the next client is served."""
    sent, why = CLOSING[name]
    with connect(recording) as connection:
        connection.sendall(sent)
        assert b"" == frame_of(connection)

    assert output(recording, why), recording.notices
    with connect(recording) as connection:
        connection.sendall(framed(struct.pack(">hhi", 999, 3, 8)))
        assert struct.pack(">i", 8) == frame_of(connection)


def test_a_frame_that_ends_early_closes_its_connection(recording: Recording) -> None:
    """In its length, or in what comes after."""
    for part, why in ((b"\0\0", "within the length of a frame"), (framed(bytes(50))[:20], "after 16 of the 50 bytes")):
        with connect(recording) as connection:
            connection.sendall(part)
            connection.shutdown(socket.SHUT_WR)
            assert b"" == frame_of(connection)
        assert output(recording, why)


def test_the_same_is_said_once_in_a_while(recording: Recording) -> None:
    """A client that tries again for ever does not fill the terminal."""
    for _ in range(12):
        with connect(recording) as connection:
            connection.sendall(struct.pack(">i", -77))
            assert b"" == frame_of(connection)

    assert 2 == sum("-77 bytes" in notice for notice in recording.notices)
    assert output(recording, "(10 times)")


def test_what_is_not_known_passes_byte_for_byte(recording: Recording) -> None:
    """Also a known api of a version to come, if it has no addresses, and requests that cannot be read."""
    for frame in (
        struct.pack(">hhi", 999, 3, 8) + b"anything",
        struct.pack(">hhihb", 22, 99, 8, -1, 0) + b"InitProducerId to come",
        struct.pack(">hhih", 22, 0, 8, -1) + b"\xff",
    ):
        with connect(recording) as connection:
            connection.sendall(framed(frame))
            assert frame[4:] == frame_of(connection)


def test_many_large_lengths_are_not_reserved(recording: Recording) -> None:
    """A frame takes memory as it comes, not as it says."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    connections = [connect(recording) for _ in range(50)]
    for connection in connections:
        connection.sendall(SIZE.pack(LARGEST) + bytes(1_000))
    with connect(recording) as asking:
        asking.sendall(framed(struct.pack(">hhi", 999, 3, 8)))
        assert frame_of(asking)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    for connection in connections:
        connection.close()

    assert grown < 50 * 1024  # KiB; what they say is 5,000 MiB


ANSWERS = {
    "TLS": (bytes.fromhex("15030300020228"), "the broker speaks TLS"),
    "text": (b"HTTP/1.1 400 Bad Request\r\n\r\n", "the broker sends no answer"),
    "half an answer": (SIZE.pack(20) + b"\0\0\0\7", "the broker ends after 4 of the 20 bytes"),
    "another answer": (framed(struct.pack(">ih", 8, 0)), "the broker answers request 8 in place of 7"),
    "nothing": (b"", "the broker ends before it has answered ApiVersions"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_broker_that_is_none_closes_the_connection(name: str, tmp_path: Path) -> None:
    """With a line that says why."""
    answer, why = ANSWERS[name]

    def answering(connection: socket.socket) -> None:
        if frame_of(connection):
            connection.sendall(answer)

    with broker(answering) as servers, Recording(servers, tmp_path) as recording, connect(recording) as connection:
        connection.sendall(request("ApiVersions", 0))
        assert b"" == frame_of(connection)

    assert output(recording, why), recording.notices


def test_an_answer_to_nothing_closes_the_connection(tmp_path: Path) -> None:
    """The broker speaks first."""

    def answering(connection: socket.socket) -> None:
        connection.sendall(framed(encode_response("ApiVersions", 0, 7, {})))
        silent(connection)

    with broker(answering) as servers, Recording(servers, tmp_path) as recording, connect(recording) as connection:
        assert b"" == frame_of(connection)

    assert output(recording, "the broker has sent an answer without a request")


def test_no_broker_is_bad_input(tmp_path: Path) -> None:
    """In one line, before anything is listened for."""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with pytest.raises(BadInput, match=rf"no broker at 127\.0\.0\.1:{port}: .*refused"):
        command.run("127.0.0.1:0", f"127.0.0.1:{port}", tmp_path)


def test_a_broker_that_goes_away_closes_its_connections(tmp_path: Path) -> None:
    """Those that wait and those that come; the report is made all the same."""
    with Cluster("4.3", topics={"in": 1}) as cluster, Recording(cluster.bootstrap_servers, tmp_path) as recording:
        with connect(recording) as connection:
            connection.sendall(request("ApiVersions", 0))
            assert frame_of(connection)
            cluster.stop()
            assert b"" == frame_of(connection)
        with connect(recording) as connection:
            assert b"" == frame_of(connection)

    assert output(recording, "the broker cannot be reached")
    assert {("test", "ApiVersions"): 1} == report_of(recording).counts.requests


@pytest.mark.parametrize("text", ["9092", "host:", "host:http", "host:65536", ""])
def test_an_address_is_a_host_and_a_port(text: str, tmp_path: Path) -> None:
    """Of both sides."""
    with pytest.raises(BadInput, match="--listen is HOST:PORT"):
        command.run(text, "127.0.0.1:9092", tmp_path)
    with pytest.raises(BadInput, match="--upstream is HOST:PORT"):
        command.run("127.0.0.1:0", text, tmp_path)


def test_files_that_cannot_be_written_are_bad_input(tmp_path: Path) -> None:
    """A file in the way of the directory."""
    (tmp_path / "file").write_text("")
    with broker(silent) as servers, pytest.raises(BadInput, match="cannot be written"):
        command.run("127.0.0.1:0", servers, tmp_path / "file" / "recording")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_ends_the_recording_in_one_line(tmp_path: Path) -> None:
    """What passes is not lost silently."""
    (tmp_path / WIRE_LOG).symlink_to("/dev/full")
    with broker(echoes) as servers, pytest.raises(BadInput, match=r"wire\.ndjson cannot be written: No space left"):
        ask_for_ever(servers, tmp_path)


def ask_for_ever(servers: str, directory: Path) -> None:
    with Recording(servers, directory) as recording, connect(recording) as connection, suppress(ConnectionError):
        for _ in range(1_000):
            connection.sendall(framed(struct.pack(">hhi", 999, 3, 8)))
