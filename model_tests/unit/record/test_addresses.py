"""Answers with addresses: nothing else changes in them, and nothing leads past the proxy."""

import random
from collections.abc import Sequence
from typing import Any, Final

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.record.exchange import HIDDEN, SINCE, has_addresses, limit_versions, nodes_in
from model_tests.unit.serve.random_messages import VERSIONS, random_fields
from reference.wire.codec import (
    MalformedRequest,
    decode_body,
    encode_again,
    encode_body,
    key_of,
    known_versions,
    messages,
    response_body,
)
from spec.vocabulary import Api

CHANGED = [(api, version) for api, version in VERSIONS if has_addresses(api, version) or api == Api.API_VERSIONS]
NODES: Final[list[dict[str, Any]]] = [
    {"node_id": 3, "host": "broker", "port": 9092},
    {"node_id": 4, "host": "other", "port": 1},
]


@pytest.mark.parametrize(("api", "version"), CHANGED)
def test_an_answer_that_is_not_changed_has_the_same_bytes_again(api: str, version: int) -> None:
    """Whatever is in it."""
    chance = random.Random(version)
    for _ in range(20):
        body = encode_body("response", api, version, random_fields(chance, "response", api, version))
        assert body == encode_again(decode_body("response", api, version, body))


def test_every_answer_with_a_broker_in_it_is_known() -> None:
    """Each api of the codec whose answers have a host and a port, and no other."""
    assert set(SINCE) == {api for api, found in messages("response").items() if has_host(found._struct)} - NO_CLIENT


NO_CLIENT = {"DescribeAcls", "DeleteAcls", "DescribeQuorum"}
"""Hosts of users; listeners of controllers, which clients are not sent to."""


def has_host(struct_of: Any) -> bool:
    fields = struct_of.fields
    return "host" in fields or any(
        has_host(field.data_class._struct) for field in fields.values() if field.is_struct_array() or field.is_struct()
    )


@pytest.mark.parametrize(
    ("api", "version", "fields"),
    [
        ("Metadata", 1, {"brokers": NODES, "topics": []}),
        ("Metadata", 13, {"brokers": NODES, "topics": []}),
        ("FindCoordinator", 3, NODES[0]),
        ("FindCoordinator", 6, {"coordinators": [{"key": "app", **each} for each in NODES]}),
        (
            "DescribeCluster",
            2,
            {"brokers": [{"broker_id": each["node_id"], "host": each["host"], "port": each["port"]} for each in NODES]},
        ),
        ("Produce", 10, {"responses": [], "node_endpoints": NODES}),
        ("Fetch", 16, {"responses": [], "node_endpoints": NODES}),
    ],
)
def test_brokers_are_found_wherever_they_are(api: str, version: int, fields: dict[str, Any]) -> None:
    """And what is put in their place is what the client reads; the nodes stay."""
    answer = decode_body("response", api, version, encode_body("response", api, version, fields))
    found = nodes_in(api, answer)
    assert [("broker", 9092), ("other", 1)][: len(found)] == [(each.host, each.port) for each in found]
    for each in found:
        each.host, each.port = "localhost", each.port + 1

    again = decode_body("response", api, version, encode_again(answer))
    assert ["localhost"] * len(found) == [each.host for each in nodes_in(api, again)]
    same = ("broker_id" if api == "DescribeCluster" else "node_id", "rack")
    assert fields_but_address(found, same) == fields_but_address(nodes_in(api, again), same)
    assert len(found) == (1 if api == "FindCoordinator" and version < 4 else 2)


def fields_but_address(parts: Sequence[Any], names: Sequence[str]) -> list[list[Any]]:
    return [[getattr(each, name) for name in names if name in each._struct.fields] for each in parts]


def test_an_answer_without_a_broker_is_left_alone() -> None:
    """A coordinator that is not available has neither host nor port."""
    body = encode_body("response", "FindCoordinator", 3, {"error_code": 15, "node_id": -1, "host": "", "port": -1})

    assert [] == list(nodes_in("FindCoordinator", decode_body("response", "FindCoordinator", 3, body)))


def test_versions_that_cannot_be_read_are_not_shown() -> None:
    """Of the apis with addresses alone; those of share groups are hidden, and all others stay."""
    keys = {key_of(api): known_versions(api) for api in SINCE}
    other = key_of("InitProducerId")
    output = [{"api_key": key, "min_version": 0, "max_version": 99} for key in (*keys, other, *HIDDEN)]
    answer = decode_body(
        "response", Api.API_VERSIONS, 3, encode_body("response", Api.API_VERSIONS, 3, {"api_keys": output})
    )

    assert limit_versions(answer)
    newest = {each.api_key: each.max_version for each in decode_again(answer).api_keys}
    assert {**{key: known[1] for key, known in keys.items() if known}, other: 99} == newest
    assert not limit_versions(answer)


def test_versions_of_which_none_can_be_read_are_hidden() -> None:
    """The client learns that the api is not there, and not by a connection that breaks."""
    output = [{"api_key": key_of("Metadata"), "min_version": 98, "max_version": 99}]
    answer = decode_body(
        "response", Api.API_VERSIONS, 0, encode_body("response", Api.API_VERSIONS, 0, {"api_keys": output})
    )

    assert limit_versions(answer)
    assert [] == list(decode_again(answer).api_keys)


def decode_again(answer: Any) -> Any:
    return decode_body("response", Api.API_VERSIONS, answer.version, encode_again(answer))


def test_the_header_of_an_answer_may_have_tagged_fields() -> None:
    """Its body is what comes behind them; that of ApiVersions never has any."""
    correlation = bytes(4)

    assert 4 == response_body("Metadata", 8, correlation)
    assert 5 == response_body("Metadata", 9, correlation + b"\0")
    assert 9 == response_body("Metadata", 9, correlation + b"\1\x63\2hi")
    assert 4 == response_body(Api.API_VERSIONS, 3, correlation)
    with pytest.raises(MalformedRequest, match="no header of an answer"):
        response_body("Metadata", 9, correlation + b"\1\x63\5hi")
