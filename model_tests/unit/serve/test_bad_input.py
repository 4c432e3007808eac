"""What comes over a connection and cannot be answered closes it with a line that says why; the others go on."""

import resource
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.serve.cluster import Cluster
from model_tests.unit.serve.fuzzed_frames import FrameOutcomes, Frames, framed, throw
from reference.log.batch import value_batch
from reference.server.listener import LARGEST
from reference.server.service import CHECKPOINT_MS
from reference.wire.codec import RequestHeader, decode_body, encode_request, key_of
from reference.wire.versions import profile_called
from spec.vocabulary import ErrorCode

PATIENCE_S = 30


def connect(cluster: Cluster) -> socket.socket:
    host, _, port = cluster.bootstrap_servers.partition(",")[0].rpartition(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE_S)


def request(api: str, version: int, **fields: object) -> bytes:
    return framed(encode_request(RequestHeader(key_of(api), api, version, 7, "test"), fields))


def answer_of(connection: socket.socket) -> bytes:
    """The next answer without its length; empty where the connection is closed instead."""
    try:
        head = connection.recv(4, socket.MSG_WAITALL)
        return connection.recv(struct.unpack(">i", head)[0], socket.MSG_WAITALL) if len(head) == 4 else b""
    except ConnectionResetError:
        return b""


def says_hello(cluster: Cluster) -> bool:
    """Whether another client is answered."""
    with connect(cluster) as connection:
        connection.sendall(request("ApiVersions", 0))
        return answer_of(connection) != b""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster("4.3", topics={"in": 1}) as running:
        yield running


CLOSING = {
    "an unknown api": (framed(struct.pack(">hhih", 1_000, 0, 1, -1)), "api 1000 of version 0 is not served"),
    "an api between brokers": (framed(struct.pack(">hhih", 4, 0, 1, -1)), "api 4 of version 0 is not served"),
    "a version to come": (framed(struct.pack(">hhihb", 3, 99, 1, -1, 0)), "Metadata of version 99 is not served"),
    "a version before 0": (framed(struct.pack(">hhih", 1, -1, 1, -1)), "Fetch of version -1 is not served"),
    "an old version that is announced": (framed(struct.pack(">hhih", 0, 2, 1, -1)), "Produce of version 2"),
    "a frame of no bytes": (struct.pack(">i", 0), "a request of 0 bytes"),
    "a group of the new protocol": (framed(struct.pack(">hhih", 68, 0, 1, -1)), "api 68 of version 0 is not served"),
    "a negative length": (struct.pack(">i", -5), "a request of -5 bytes"),
    "more than is taken": (struct.pack(">i", 2**31 - 1), f"at most {LARGEST} are taken"),
    "half a header": (framed(b"\0\1\0"), "no header of a request"),
    "a client id that ends later": (framed(struct.pack(">hhih", 3, 1, 1, 500)), "the client id has 500 bytes"),
    "half a body": (framed(struct.pack(">hhih", 3, 1, 1, -1) + b"\0\0"), "no MetadataRequest of version 1"),
    "text": (b"GET / HTTP/1.1\r\n\r\n", "a request of 1195725856 bytes"),
}


@pytest.mark.parametrize("name", CLOSING)
def test_what_cannot_be_answered_closes_its_connection(cluster: Cluster, name: str) -> None:
    """As Kafka does it, with a line that says why; nobody else notices."""
    sent, why = CLOSING[name]
    with connect(cluster) as connection:
        connection.sendall(sent)

        assert b"" == answer_of(connection)
    assert says_hello(cluster)
    assert why in cluster.notices[-1]


@pytest.mark.parametrize("name", CLOSING)
def test_requests_before_it_are_answered(cluster: Cluster, name: str) -> None:
    """What arrives together with requests that can be answered takes nothing from them."""
    with connect(cluster) as connection:
        connection.sendall(request("ApiVersions", 0) * 3 + CLOSING[name][0])
        answers = [answer_of(connection) for _ in range(4)]

    assert all(answers[:3])
    assert b"" == answers[3]


def test_before_2_4_several_batches_close_the_connection() -> None:
    """As Kafka does where it cannot read a request; the server goes on."""
    two = value_batch((b"one",)).encode() * 2
    topics = [{"name": "in", "partition_data": [{"index": 0, "records": two}]}]
    produce = request("Produce", 3, transactional_id=None, acks=-1, timeout_ms=1_000, topic_data=topics)
    with Cluster("2.0", topics={"in": 1}) as old:
        with connect(old) as connection:
            connection.sendall(produce)

            assert b"" == answer_of(connection)
        assert says_hello(old)
    assert "Produce has 2 batches for in-0" in old.notices[-1]


@pytest.mark.parametrize("sent", [b"\0\0", struct.pack(">i", 100) + b"\0\x12\0\0"], ids=["length", "request"])
def test_a_client_that_stops_in_the_middle_is_let_go(cluster: Cluster, sent: bytes) -> None:
    """Half a length or half a request, and the end of the connection: that is said, and all."""
    before = len(cluster.notices)
    with connect(cluster) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        assert b"" == answer_of(connection)

    assert says_hello(cluster)
    assert "it ends" in cluster.notices[before]


def test_a_version_of_api_versions_that_is_not_known_is_answered_in_the_oldest(cluster: Cluster) -> None:
    """UNSUPPORTED_VERSION with the versions that are (KIP-511), and the connection goes on."""
    with connect(cluster) as connection:
        connection.sendall(framed(struct.pack(">hhihb", 18, 99, 7, -1, 0) + b"\xff\xff"))
        answer = answer_of(connection)
        connection.sendall(request("ApiVersions", 0))
        again = answer_of(connection)

    found = decode_body("response", "ApiVersions", 0, answer[4:])
    assert ErrorCode.UNSUPPORTED_VERSION == found.error_code
    assert [(18, 0, 4)] == [(each.api_key, each.min_version, each.max_version) for each in found.api_keys]
    assert 0 == decode_body("response", "ApiVersions", 0, again[4:]).error_code


def test_software_that_cannot_be_called_so_is_refused(cluster: Cluster) -> None:
    """INVALID_REQUEST, as Kafka answers it."""
    with connect(cluster) as connection:
        connection.sendall(request("ApiVersions", 3, client_software_name="a b", client_software_version="1"))

        assert (
            ErrorCode.INVALID_REQUEST == decode_body("response", "ApiVersions", 3, answer_of(connection)[4:]).error_code
        )


def test_requests_in_one_piece_are_answered_in_their_order(cluster: Cluster) -> None:
    """A client need not wait for an answer before it asks again."""
    pipelined = [encode_request(RequestHeader(18, "ApiVersions", 0, number, ""), {}) for number in range(20)]
    with connect(cluster) as connection:
        connection.sendall(b"".join(map(framed, pipelined)))

        assert list(range(20)) == [struct.unpack(">i", answer_of(connection)[:4])[0] for _ in range(20)]


def test_many_connections_are_held_at_once(cluster: Cluster) -> None:
    """Clients that say nothing keep nobody else from an answer."""
    idle = [connect(cluster) for _ in range(300)]
    try:
        assert says_hello(cluster)
    finally:
        for connection in idle:
            connection.close()


def test_a_request_that_waits_is_forgotten_with_its_client(cluster: Cluster) -> None:
    """Nobody would hear the answer, and it may be due in days."""
    partitions = [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1, "current_leader_epoch": -1}]
    topics = [{"topic": "in", "partitions": partitions}]
    bounds = {"max_wait_ms": 2**31 - 1, "min_bytes": 1, "max_bytes": 1, "isolation_level": 0, "session_id": 0}
    lines = len(cluster.notices)
    with connect(cluster) as connection:
        connection.sendall(request("Fetch", 11, topics=topics, **bounds))
        connection.shutdown(socket.SHUT_WR)

        assert b"" == answer_of(connection)
    assert says_hello(cluster)
    assert lines == len(cluster.notices)


@pytest.mark.parametrize("profile", ["2.0", "4.3"])
def test_damaged_frames_are_answered_or_close_their_connection_with_a_line(profile: str) -> None:
    """Valid frames with damage, garbage, halves, lengths and versions that there are not; memory does not grow."""
    throw_all(profile, 1_000, most_mib=40)


@pytest.mark.slow
def test_a_hundred_thousand_damaged_frames() -> None:
    """The same, for a long time."""
    throw_all("4.3", 100_000, most_mib=60)


def throw_all(profile: str, count: int, most_mib: int) -> None:
    """Throw frames at a server, which breaks no rule by it, and is there in the end."""
    outcomes = FrameOutcomes()
    found = profile_called(profile)
    assert found is not None
    with Cluster(profile, topics={"a": 2, "orders": 1}) as target:
        frames = iter(Frames(found, seed=1))
        throw(target, frames, count // 10, outcomes)
        before = resident_mib()
        throw(target, frames, count - count // 10, outcomes)
        grown = resident_mib() - before
        assert says_hello(target)

    assert [] == outcomes.wrong
    assert count == outcomes.total
    assert outcomes.answered > count // 10
    assert grown < most_mib


def resident_mib(process: int | str = "self") -> float:
    """Memory of a process, where the system has it; else 0."""
    status = Path(f"/proc/{process}/statm")
    return int(status.read_text().split()[1]) * resource.getpagesize() / 2**20 if status.exists() else 0


@pytest.mark.slow
@pytest.mark.parametrize(("count", "descriptors"), [(10_000, 12_000), (600, 600)], ids=["held", "too many"])
def test_connections_up_to_the_limit_of_the_system_and_beyond(count: int, descriptors: int) -> None:
    """Ten thousand are held and answered; where descriptors run out more are closed, and the nodes' files stay open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < count + 100:
        pytest.skip(f"no more than {hard} descriptors are allowed here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    command = (
        f"import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_NOFILE, ({descriptors}, {descriptors}));"
        "sys.argv = ['eos', 'serve', '--listen', '127.0.0.1:0']; runpy.run_module('model_tests', run_name='__main__')"
    )
    server = subprocess.Popen([sys.executable, "-c", command], stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        port = int(server.stderr.readline().rpartition(":")[2])
        before = resident_mib(server.pid)
        clients = [socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) for _ in range(count)]
        answered = [client for client in clients if greeted(client)]
        assert resident_mib(server.pid) - before < 150
        if descriptors > count:
            assert count == len(answered)
        else:
            assert descriptors // 5 < len(answered) < count
            assert "no connection is accepted for now: Too many open files" == server.stderr.readline().strip()
        time.sleep(1.5 * CHECKPOINT_MS / 1_000)  # files are opened while the connections are there
        assert all(greeted(client) for client in answered)
        for client in clients:
            client.close()
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as last:
            assert greeted(last)
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=PATIENCE_S)
    finally:
        server.kill()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def greeted(client: socket.socket) -> bool:
    """Whether a server answers a client."""
    try:
        client.sendall(request("ApiVersions", 0))
    except (BrokenPipeError, ConnectionResetError):
        return False
    return answer_of(client) != b""
