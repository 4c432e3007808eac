"""What passes between a client and a broker: addresses change, the order stays, and all else is as it was."""

import socket
from pathlib import Path
from typing import Any, Final

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.record.recording import Recording
from model_tests.unit.record.brokers import broker, frame_of, silent
from model_tests.unit.record.recorded import report_of
from model_tests.unit.serve.fuzzed_frames import framed
from reference.log.batch import value_batch
from reference.wire.codec import (
    RequestHeader,
    decode_body,
    decode_header,
    encode_request,
    encode_response,
    key_of,
    known_versions,
    response_body,
)
from spec.vocabulary import Api, ErrorCode

OTHER: Final = {"host": "203.0.113.7", "port": 9092}
NODE: Final = {"node_id": 3, **OTHER}
ANSWERS: Final[dict[str, dict[str, Any]]] = {
    "Metadata": {"brokers": [NODE], "topics": []},
    "DescribeCluster": {"brokers": [{"broker_id": 3, **OTHER}]},
    "Produce": {"responses": [], "node_endpoints": [NODE]},
    "Fetch": {"responses": [], "node_endpoints": [NODE]},
}
"""Answers that name another broker."""

FIRST: Final = {"Metadata": 0, "FindCoordinator": 0, "DescribeCluster": 0, "Produce": 10, "Fetch": 16}
"""The first version of each whose answers have an address, by the schemas of Kafka's messages."""

CASES = [
    (api, version) for api, first in FIRST.items() for version in range(first, (known_versions(api) or (0, 0))[1] + 1)
]


def requested(api: str, version: int, correlation: int = 7, **fields: Any) -> bytes:
    return framed(encode_request(RequestHeader(key_of(api), api, version, correlation, "test"), fields))


def answers(connection: socket.socket) -> None:
    """Answer every request, with the other broker in it if there can be one."""
    while frame := frame_of(connection):
        header, _ = decode_header(frame)
        fields = ANSWERS.get(header.api, {})
        if header.api == "FindCoordinator":
            fields = {"coordinators": [{"key": "app", **NODE}]} if header.version >= 4 else NODE
        connection.sendall(framed(encode_response(header.api, header.version, header.correlation, fields)))


def connected(recording: Recording) -> socket.socket:
    host, _, port = recording.bootstrap_servers.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=30)


def decoded(api: str, version: int, frame: bytes) -> Any:
    return decode_body("response", api, version, frame, response_body(api, version, frame))


def test_every_address_is_that_of_a_port_of_the_recording(tmp_path: Path) -> None:
    """In each version of each api; the broker that it names gets one port."""
    with broker(answers) as servers, Recording(servers, tmp_path) as recording, connected(recording) as connection:
        found = set()
        for api, version in CASES:
            connection.sendall(requested(api, version, **({"acks": -1} if api == "Produce" else {})))
            answer = decoded(api, version, frame_of(connection))
            parts = answer.brokers if api in ("Metadata", "DescribeCluster") else None
            if api == "FindCoordinator":
                parts = answer.coordinators if version >= 4 else [answer]
            found |= {(part.host, part.port) for part in parts or answer.node_endpoints}

    assert {("127.0.0.1", report_of(recording).brokers["203.0.113.7:9092"])} == found


def test_requests_that_do_not_wait_for_each_other_keep_their_order(tmp_path: Path) -> None:
    """Also around a request that is never answered, and an answer that is changed."""
    records = value_batch([b"one"]).encode()
    parts = [{"name": "in", "partition_data": [{"index": 0, "records": records}]}]
    unanswered = requested("Produce", 9, 2, acks=0, topic_data=parts)

    def answering(connection: socket.socket) -> None:
        for number in range(4):
            frame = frame_of(connection)
            header, _ = decode_header(frame)
            if number != 1:
                fields = ANSWERS.get(header.api, {})
                connection.sendall(framed(encode_response(header.api, header.version, header.correlation, fields)))
        silent(connection)

    with broker(answering) as servers, Recording(servers, tmp_path) as recording, connected(recording) as connection:
        connection.sendall(
            requested("Metadata", 9, 1) + unanswered + requested(Api.API_VERSIONS, 3, 3) + requested("Metadata", 9, 4)
        )
        correlations = [int.from_bytes(frame_of(connection)[:4]) for _ in range(3)]

    assert [1, 3, 4] == correlations


def test_a_version_of_api_versions_to_come_is_answered_as_an_older_broker_does(tmp_path: Path) -> None:
    """With those that are known (KIP-511), after what was asked before; the broker does not hear of it."""
    heard: list[str] = []

    def answering(connection: socket.socket) -> None:
        while frame := frame_of(connection):
            header, _ = decode_header(frame)
            heard.append(header.api)
            connection.sendall(framed(encode_response(header.api, header.version, header.correlation, {})))

    _, newest = known_versions(Api.API_VERSIONS) or (0, 0)
    to_come = bytearray(requested(Api.API_VERSIONS, newest, 9))
    to_come[6:8] = (newest + 1).to_bytes(2)
    with broker(answering) as servers, Recording(servers, tmp_path) as recording, connected(recording) as connection:
        connection.sendall(requested("InitProducerId", 0, 8) + bytes(to_come))
        assert 8 == int.from_bytes(frame_of(connection)[:4])
        frame = frame_of(connection)

    answer = decode_body("response", Api.API_VERSIONS, 0, frame, 4)
    assert (9, ErrorCode.UNSUPPORTED_VERSION) == (int.from_bytes(frame[:4]), answer.error_code)
    assert [(key_of(Api.API_VERSIONS), newest)] == [(each.api_key, each.max_version) for each in answer.api_keys]
    assert ["InitProducerId"] == heard


def test_an_older_broker_s_refusal_of_a_version_passes(tmp_path: Path) -> None:
    """It is of version 0, whatever was asked."""

    def answering(connection: socket.socket) -> None:
        header, _ = decode_header(frame_of(connection))
        refusal = {"error_code": int(ErrorCode.UNSUPPORTED_VERSION), "api_keys": []}
        connection.sendall(framed(encode_response(Api.API_VERSIONS, 0, header.correlation, refusal)))
        silent(connection)

    with broker(answering) as servers, Recording(servers, tmp_path) as recording, connected(recording) as connection:
        connection.sendall(requested(Api.API_VERSIONS, 3))
        frame = frame_of(connection)

    assert encode_response(Api.API_VERSIONS, 0, 7, {"error_code": 35, "api_keys": []}) == frame
    assert {("test", Api.API_VERSIONS, "UNSUPPORTED_VERSION"): 1} == report_of(recording).counts.errors
