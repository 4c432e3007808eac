"""Requests and answers in bytes: both libraries have the same, and what is none is refused."""

import io
import random
import re
from importlib import import_module
from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.unit.serve.random_messages import VERSIONS, random_fields
from reference.wire.codec import (
    MalformedRequest,
    RequestHeader,
    decode_body,
    decode_header,
    decode_request,
    encode_body,
    encode_request,
    key_of,
)

SEEDS = range(3)
KINDS = ("request", "response")


@pytest.mark.parametrize("kind", KINDS)
def test_another_library_reads_and_writes_the_same_bytes(kind: str) -> None:
    """Random messages of every api and version that is announced: kio reads ours, and writes what it has read."""
    serial = pytest.importorskip("kio.serial", reason="needs kio")
    differing = []
    for api, version in VERSIONS:
        snake = re.sub(r"(?<!^)(?=[A-Z])", "_", api).lower()
        entity = getattr(import_module(f"kio.schema.{snake}.v{version}.{kind}"), f"{api}{kind.title()}")
        for seed in SEEDS:
            fields = random_fields(random.Random(f"{api} {version} {kind} {seed}"), kind, api, version)
            ours, theirs = encode_body(kind, api, version, fields), io.BytesIO()
            read, _ = serial.entity_reader(entity)(memoryview(ours), 0)
            serial.entity_writer(entity)(theirs, read)
            if theirs.getvalue() != ours:
                differing.append((api, version, seed))

    assert [] == differing


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_decoded_is_what_was_encoded(kind: str) -> None:
    """Fields come back by their names, for every api and version."""
    for api, version in VERSIONS:
        fields = random_fields(random.Random(f"{api} {version} {kind}"), kind, api, version)

        found = decode_body(kind, api, version, encode_body(kind, api, version, fields))

        simple = {name: value for name, value in fields.items() if isinstance(value, int | str) and value != ""}
        assert simple == {name: getattr(found, name) for name in simple}, (api, version)


def test_what_is_not_given_is_as_the_schema_says_and_what_is_unknown_is_an_error() -> None:
    """Fields of structures within the message too; a field of another version is passed over."""
    topics = [{"name": "t", "partitions": [{"partition_index": 1}]}]
    listed = encode_body("request", "ListOffsets", 5, {"topics": topics})
    (topic,) = decode_body("request", "ListOffsets", 5, listed).topics
    (partition,) = topic.partitions

    assert ("t", 1, -1) == (topic.name, partition.partition_index, partition.current_leader_epoch)
    assert listed == encode_body("request", "ListOffsets", 5, {"topics": topics, "timeout_ms": 7})
    unknown: tuple[dict[str, Any], ...] = ({"topic": []}, {"topics": [{"nam": "t"}]})
    for fields in unknown:
        with pytest.raises(KeyError):
            encode_body("request", "ListOffsets", 5, fields)


def test_a_header_is_read_with_and_without_tags() -> None:
    """The client's name and the correlation id stand before the body, in both forms of header."""
    for version in (0, 3):
        header = RequestHeader(key_of("ApiVersions"), "ApiVersions", version, 7, "mé")
        software = {"client_software_name": "a", "client_software_version": "1"} if version else {}

        frame = encode_request(header, software)
        found, body = decode_header(frame)

        assert header == found
        assert "1" == decode_request(found, frame, body).client_software_version or not version


def test_an_api_that_is_not_known_keeps_its_number() -> None:
    """Whoever answers can say which it was."""
    header, _ = decode_header(b"\x03\xe8\x00\x05\x00\x00\x00\x09\xff\xff")

    assert (1000, "", 5, 9) == header[:4]


@pytest.mark.parametrize("cut", [1, 7, 9, 12])
def test_half_a_header_is_no_request(cut: int) -> None:
    """A frame that ends within its header is malformed, and not read further."""
    frame = encode_request(RequestHeader(key_of("Metadata"), "Metadata", 9, 1, "client"), {"topics": []})

    with pytest.raises(MalformedRequest):
        decode_header(frame[:cut])


def test_what_is_left_over_is_passed_over_and_what_is_missing_is_malformed() -> None:
    """Kafka looks at no byte behind the body, and librdkafka leaves some there."""
    header = RequestHeader(key_of("FindCoordinator"), "FindCoordinator", 1, 1, "")
    frame = encode_request(header, {"key": "g", "key_type": 0})
    _, body = decode_header(frame)

    assert "g" == decode_request(header, frame + b"left over", body).key
    with pytest.raises(MalformedRequest):
        decode_request(header, frame[:-1], body)


def test_null_stands_only_where_the_schema_has_it() -> None:
    """A group without a name is no JoinGroup, though the library reads one."""
    header = RequestHeader(key_of("Heartbeat"), "Heartbeat", 0, 1, "")
    body = b"\xff\xff" + b"\0\0\0\1" + b"\0\1m"

    with pytest.raises(MalformedRequest, match="group_id is null"):
        decode_request(header, body, 0)


def test_garbage_is_never_anything_but_malformed() -> None:
    """Whatever bytes a frame has: it is read, or refused by that name."""
    chance = random.Random(1)
    for _ in range(3_000):
        api, version = chance.choice(VERSIONS)
        header = RequestHeader(key_of(api), api, version, 1, "")
        if chance.random() < 0.5:
            body = chance.randbytes(chance.randrange(60))
        else:
            whole = bytearray(encode_body("request", api, version, random_fields(chance, "request", api, version)))
            for _ in range(chance.randrange(1, 4) if whole else 0):
                whole[chance.randrange(len(whole))] = chance.randrange(256)
            body = bytes(whole)
        try:
            decode_request(header, body, 0)
        except MalformedRequest:
            continue


OLDEST_BYTES: dict[tuple[str, str], tuple[dict[str, Any], str]] = {
    ("request", "DeleteTopics"): ({"topic_names": ["a"], "timeout_ms": 5}, "00000001 000161 00000005"),
    ("response", "DeleteTopics"): ({"responses": [{"name": "a", "error_code": 3}]}, "00000001 000161 0003"),
    ("request", "DescribeConfigs"): (
        {"resources": [{"resource_type": 2, "resource_name": "a", "configuration_keys": ["n"]}]},
        "00000001 02 000161 00000001 00016e",
    ),
    ("response", "DescribeConfigs"): (
        {
            "throttle_time_ms": 0,
            "results": [
                {
                    "error_code": 0,
                    "error_message": None,
                    "resource_type": 2,
                    "resource_name": "a",
                    "configs": [
                        {"name": "n", "value": "v", "read_only": False, "is_default": True, "is_sensitive": False}
                    ],
                }
            ],
        },
        "00000000 00000001 0000 ffff 02 000161 00000001 00016e 000176 00 01 00",
    ),
    ("request", "OffsetForLeaderEpoch"): (
        {"topics": [{"topic": "a", "partitions": [{"partition": 1, "leader_epoch": 2}]}]},
        "00000001 000161 00000001 00000001 00000002",
    ),
    ("response", "OffsetForLeaderEpoch"): (
        {"topics": [{"topic": "a", "partitions": [{"error_code": 0, "partition": 1, "end_offset": 9}]}]},
        "00000001 000161 00000001 0000 00000001 0000000000000009",
    ),
    ("request", "WriteTxnMarkers"): (
        {
            "markers": [
                {
                    "producer_id": 1,
                    "producer_epoch": 2,
                    "transaction_result": True,
                    "topics": [{"name": "a", "partition_indexes": [1]}],
                    "coordinator_epoch": 3,
                }
            ]
        },
        "00000001 0000000000000001 0002 01 00000001 000161 00000001 00000001 00000003",
    ),
    ("response", "WriteTxnMarkers"): (
        {
            "markers": [
                {
                    "producer_id": 1,
                    "topics": [{"name": "a", "partitions": [{"partition_index": 1, "error_code": 0}]}],
                }
            ]
        },
        "00000001 0000000000000001 00000001 000161 00000001 00000001 0000",
    ),
}
"""Version 0 in bytes, as `Protocol.java` of 0.11 has it: field by field, lengths before strings and lists."""


@pytest.mark.parametrize(("kind", "api"), OLDEST_BYTES)
def test_the_oldest_version_is_as_the_oldest_release_has_it(kind: str, api: str) -> None:
    """The libraries say of these that they begin later; no other one is at hand to compare."""
    fields, expected = OLDEST_BYTES[kind, api]

    data = encode_body(kind, api, 0, fields)

    assert bytes.fromhex(expected) == data
    assert data == encode_body(kind, api, 0, decoded(decode_body(kind, api, 0, data), fields))


def decoded(found: Any, like: Any) -> Any:
    """The fields of a message that was read, those that `like` has."""
    if isinstance(like, list):
        return [decoded(each, like[0]) for each in found]
    if isinstance(like, dict):
        return {name: decoded(getattr(found, name), value) for name, value in like.items()}
    return found
