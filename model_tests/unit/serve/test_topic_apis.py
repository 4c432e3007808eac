"""Topics that are deleted, made again and enlarged, and their settings, as each release does it."""

import uuid
from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.unit.serve.api_bench import Bench
from model_tests.unit.support.api_requests import (
    add_partition,
    batch,
    create,
    fetch_fields,
    fetched,
    initialized,
    latest,
    produce,
)
from model_tests.unit.support.topic_requests import by_name, commit, committed, deleted, grow, made
from reference.server.errors import ServerError
from reference.server.topics import MOST_PARTITIONS
from spec.versions import KAFKA_0_11, KAFKA_1_0, KAFKA_2_0, KAFKA_2_7, NEWEST, Profile
from spec.vocabulary import ErrorCode

# --- DeleteTopics ---------------------------------------------------------------------------------------------


def test_a_topic_goes_and_another_one_of_its_name_is_another() -> None:
    """By name or by id; the new one begins empty, and the old one's id is not known any more."""
    bench = made()
    produce(bench, batch().encode())
    first = bench.service.topics.by_name["orders"].topic_id

    assert [("orders", first, 0)] == deleted(bench, by_name("orders"))
    assert ErrorCode.UNKNOWN_TOPIC_OR_PARTITION == produce(bench, batch().encode()).error_code
    assert 0 == create(bench, "orders").error_code
    second = bench.service.topics.by_name["orders"].topic_id
    assert first != second
    assert 0 == bench.ask("ListOffsets", 2, latest()).topics[0].partitions[0].offset
    assert 0 == produce(bench, batch().encode()).base_offset
    assert [(None, first, ServerError.UNKNOWN_TOPIC_ID)] == deleted(bench, by_name(None, uuid.UUID(first)))
    assert [("orders", second, 0)] == deleted(bench, by_name(None, uuid.UUID(second)))
    assert [] == bench.violations


def test_topics_that_are_named_wrongly_stay() -> None:
    """Twice, by name and id at once, not at all, or not there."""
    bench = made()
    topic_id = bench.service.topics.by_name["orders"].topic_id
    known = uuid.UUID(topic_id)

    assert [("orders", None, ErrorCode.INVALID_REQUEST)] == deleted(bench, by_name("orders"), by_name("orders"))
    assert [("orders", topic_id, ErrorCode.INVALID_REQUEST)] == deleted(bench, by_name("orders", known))
    assert [("orders", topic_id, ErrorCode.INVALID_REQUEST)] == deleted(bench, by_name("orders"), by_name(None, known))
    assert [(None, None, ErrorCode.INVALID_REQUEST)] == deleted(bench, by_name(None))
    assert [("no", None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)] == deleted(bench, by_name("no"))
    assert ["orders"] == list(bench.service.topics.by_name)


@pytest.mark.parametrize(("timeout_ms", "error"), [(1_000, 0), (0, ErrorCode.REQUEST_TIMED_OUT)])
def test_before_kraft_the_controller_deletes(timeout_ms: int, error: int) -> None:
    """Others are not asked; who has no patience hears of no success."""
    bench = made(KAFKA_2_7, nodes=2)
    fields = {"topic_names": ["orders", "no"], "timeout_ms": timeout_ms}

    refused = bench.ask("DeleteTopics", 4, fields, node=1).responses
    assert [ErrorCode.NOT_CONTROLLER] * 2 == [each.error_code for each in refused]
    taken = bench.ask("DeleteTopics", 4, fields).responses
    assert [("orders", error), ("no", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)] == [
        (each.name, each.error_code) for each in taken
    ]
    assert {} == bench.service.topics.by_name
    new = {"topics": [{"name": "new", "num_partitions": 1, "replication_factor": -1, "assignments": [], "configs": []}]}
    assert ErrorCode.NOT_CONTROLLER == bench.ask("CreateTopics", 4, new, node=1).topics[0].error_code
    grown = {"topics": [{"name": "new", "count": 5, "assignments": None}], "timeout_ms": 1}
    assert ErrorCode.NOT_CONTROLLER == bench.ask("CreatePartitions", 1, grown, node=1).results[0].error_code


def test_who_waits_for_records_of_a_topic_hears_that_it_is_gone() -> None:
    """At once."""
    bench = made()
    waiting = bench.send("Fetch", 11, fetch_fields())
    deleted(bench, by_name("orders"))

    assert [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] == [fetched(answer).error_code for answer in waiting]


@pytest.mark.parametrize("profile", [KAFKA_0_11, KAFKA_2_7, NEWEST], ids=lambda each: each.name)
def test_a_transaction_ends_without_the_markers_of_a_topic_that_is_gone(profile: Profile) -> None:
    """Its coordinator passes over the partition, and groups forget what they have committed of it."""
    bench = made(profile)
    bench.service.create_topic("other", 1)
    version = 0 if profile is KAFKA_0_11 else 2
    identity = initialized(bench, "app", version=version)
    assert 0 == add_partition(bench, identity)
    sent = batch(transactional=True, base_sequence=0, **identity).encode()
    assert 0 == produce(bench, sent, version=3, transactional_id="app").error_code
    commit(bench, "readers", 1)
    names = {"topic_names": ["orders"], "timeout_ms": 1}
    assert 0 == bench.ask("DeleteTopics", 1, names).responses[0].error_code

    ending = {"transactional_id": "app", "producer_id": identity["producer_id"], "committed": True}
    assert 0 == bench.ask("EndTxn", 0, ending | {"producer_epoch": identity["epoch"]}).error_code
    assert 0 == initialized(bench, "app", version=version)["epoch"] - identity["epoch"] - 1
    assert [-1] == committed(bench, "readers")
    create(bench, "orders", version=2)
    assert [-1] == committed(bench, "readers")
    commit(bench, "readers", 0)
    assert [0] == committed(bench, "readers")
    assert [] == bench.violations


# --- CreatePartitions -----------------------------------------------------------------------------------------


def test_a_topic_gets_more_partitions() -> None:
    """Which can be written to, led by whom an assignment names first."""
    bench = made(nodes=2)

    assert 0 == grow(bench, 3, validate_only=True)
    assert 2 == bench.service.topics.by_name["orders"].partitions
    assert 0 == grow(bench, 4, [[1, 0], [1, 0]])
    (described,) = bench.ask("Metadata", 5, {"topics": None}).topics
    assert [0, 1, 1, 1] == [each.leader_id for each in described.partitions]
    fields = {"acks": -1, "timeout_ms": 1, "topic_data": [{"name": "orders", "partition_data": []}]}
    fields["topic_data"][0]["partition_data"] = [{"index": 3, "records": batch().encode()}]  # type: ignore[index]
    assert 0 == bench.ask("Produce", 9, fields, node=1).responses[0].partition_responses[0].error_code
    assert [] == bench.violations


@pytest.mark.parametrize(
    ("count", "assignments", "error"),
    [
        (2, None, ServerError.INVALID_PARTITIONS),
        (1, None, ServerError.INVALID_PARTITIONS),
        (4, [[0]], ServerError.INVALID_REPLICA_ASSIGNMENT),
        (3, [[7]], ServerError.INVALID_REPLICA_ASSIGNMENT),
        (3, [[]], ServerError.INVALID_REPLICA_ASSIGNMENT),
        (2**31 - 1, None, ServerError.POLICY_VIOLATION),
    ],
    ids=["as many", "fewer", "too few assigned", "no such node", "nowhere", "without end"],
)
def test_a_topic_that_cannot_grow_so(count: int, assignments: Any, error: int) -> None:
    """Each by its own error."""
    bench = made()

    assert error == grow(bench, count, assignments)
    assert 2 == bench.service.topics.by_name["orders"].partitions


def test_what_is_not_there_does_not_grow_and_nothing_without_end() -> None:
    """A topic that there is not, one that is named twice, and more than the memory of a server takes."""
    bench = made()
    twice = {"topics": [{"name": "orders", "count": 3, "assignments": None}] * 2, "timeout_ms": 1}

    assert ErrorCode.UNKNOWN_TOPIC_OR_PARTITION == grow(bench, 3, name="no")
    assert [ErrorCode.INVALID_REQUEST] == [e.error_code for e in bench.ask("CreatePartitions", 1, twice).results]
    assert ServerError.POLICY_VIOLATION == create(bench, "huge", num_partitions=MOST_PARTITIONS).error_code
    assert ["orders"] == list(bench.service.topics.by_name)


# --- DescribeConfigs ------------------------------------------------------------------------------------------


def described(bench: Bench, kind: int, name: str, keys: Any = None, version: int = 1) -> Any:
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
    (result,) = bench.ask("DescribeConfigs", version, {"resources": [resource], "include_synonyms": True}).results
    return result


@pytest.mark.parametrize(
    ("profile", "version", "largest"),
    [(KAFKA_0_11, 0, "1000012"), (KAFKA_2_0, 1, "1000012"), (KAFKA_2_7, 3, "1048588"), (NEWEST, 4, "1048588")],
    ids=["0.11", "2.0", "2.7", "4.4"],
)
def test_settings_of_topics_are_those_of_the_release(profile: Profile, version: int, largest: str) -> None:
    """With the node's setting that they come from."""
    (config,) = described(made(profile), 2, "orders", ["max.message.bytes"], version).configs

    assert (largest, False) == (config.value, config.read_only)
    if version:
        assert (5, [("message.max.bytes", largest, 5)]) == (
            config.config_source,
            [(each.name, each.value, each.source) for each in config.synonyms],
        )
    else:
        assert config.is_default


def test_settings_of_a_node_say_what_was_set() -> None:
    """The server has no delay of a first generation, and says so; what cannot change at run time is read-only."""
    bench = made()
    configs = {each.name: each for each in described(bench, 4, "0").configs}

    assert ("0", 4, True) == tuple(
        getattr(configs["group.initial.rebalance.delay.ms"], each) for each in ("value", "config_source", "read_only")
    )
    assert not configs["min.insync.replicas"].read_only
    assert len(configs) > len(described(bench, 2, "orders").configs) == len(described(bench, 2, "orders", []).configs)
    assert [] == list(described(bench, 4, "").configs)


@pytest.mark.parametrize(
    ("profile", "kind", "name", "error"),
    [
        (NEWEST, 4, "5", ErrorCode.INVALID_REQUEST),
        (NEWEST, 4, "first", ErrorCode.INVALID_REQUEST),
        (NEWEST, 8, "0", ErrorCode.INVALID_REQUEST),
        (NEWEST, 2, "no", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (NEWEST, 2, "a b", ServerError.INVALID_TOPIC_EXCEPTION),
        (KAFKA_1_0, 2, "no", ErrorCode.NONE),
        (KAFKA_1_0, 4, "", ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_has_no_settings(profile: Profile, kind: int, name: str, error: int) -> None:
    """Another node, no node, loggers, no topic; up to 1.1 every topic that could be has those of the node."""
    version = 0 if profile is KAFKA_1_0 else 1

    assert error == described(made(profile), kind, name, version=version).error_code
