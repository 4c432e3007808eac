"""What administrators are shown, by their own tools and in the protocol."""

import time
from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")
pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")

import confluent_kafka
import confluent_kafka.admin

from model_tests.serve.cluster import Cluster
from model_tests.unit.serve.api_bench import Bench
from model_tests.unit.serve.journeys import PATIENCE_S
from model_tests.unit.support.api_requests import add_partition, batch, initialized, join_fields, produce
from reference.server.handlers import HANDLERS
from reference.wire.versions import RANGES, served
from spec.versions import PROFILES
from spec.vocabulary import ErrorCode

ADMIN: Any = confluent_kafka.admin
"""Its annotations leave out what it has from C."""


@pytest.mark.parametrize("profile", PROFILES)
def test_what_is_announced_is_served(profile: str) -> None:
    """Every api has a handler, and no handler is of an api that is never announced."""
    announced = {each.api for each in served(PROFILES[profile])}

    assert announced <= set(HANDLERS) == set(RANGES)


def test_an_administrator_makes_topics_and_sees_the_cluster() -> None:
    """With confluent-kafka's AdminClient."""
    with Cluster("4.3", nodes=3) as cluster:
        admin = ADMIN.AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        new = ADMIN.NewTopic("orders", 4, 3)
        for made in admin.create_topics([new]).values():
            made.result(PATIENCE_S)
        with pytest.raises(confluent_kafka.KafkaException, match="already exists"):
            admin.create_topics([new])["orders"].result(PATIENCE_S)
        seen = admin.describe_cluster().result(PATIENCE_S)
        topic = admin.list_topics(timeout=PATIENCE_S).topics["orders"]

        assert 3 == len(seen.nodes)
        assert [3] * 4 == [len(each.isrs) for each in topic.partitions.values()]


def test_an_administrator_sees_groups_and_their_members() -> None:
    """While a member is there, and when it has left."""
    with Cluster("4.3", topics={"in": 1}) as cluster:
        settings = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "readers"}
        consumer: Any = confluent_kafka.Consumer(settings)
        consumer.subscribe(["in"])
        give_up = time.monotonic() + PATIENCE_S
        while not consumer.assignment() and time.monotonic() < give_up:
            consumer.poll(0.1)
        admin = ADMIN.AdminClient({"bootstrap.servers": cluster.bootstrap_servers})

        (group,) = admin.list_consumer_groups().result(PATIENCE_S).valid
        described = admin.describe_consumer_groups(["readers"])["readers"].result(PATIENCE_S)
        consumer.close()
        after = admin.describe_consumer_groups(["readers"])["readers"].result(PATIENCE_S)

        assert ("readers", "STABLE") == (group.group_id, group.state.name)
        assert [[0]] == [[each.partition for each in m.assignment.topic_partitions] for m in described.members]
        assert ("EMPTY", []) == (after.state.name, after.members)


def test_open_transactions_are_described_and_listed() -> None:
    """By their coordinator and by the leader of the partition."""
    bench = Bench()
    bench.service.create_topic("orders", 2)
    identity = initialized(bench, "app")
    assert 0 == add_partition(bench, identity)
    sent = batch(transactional=True, base_sequence=0, **identity).encode()
    assert 0 == produce(bench, sent, transactional_id="app").error_code

    request = {"transactional_ids": ["app", "nobody"]}
    app, unknown = bench.ask("DescribeTransactions", 0, request).transaction_states
    partitions = {"topics": [{"name": "orders", "partition_indexes": [0, 7]}]}
    known, missing = bench.ask("DescribeProducers", 0, partitions).topics[0].partitions
    filters = {"state_filters": ["Ongoing", "Sleeping"], "producer_id_filters": []}
    listed = bench.ask("ListTransactions", 0, filters)
    everything = bench.ask("ListTransactions", 0, {"state_filters": [], "producer_id_filters": []})

    assert ("Ongoing", identity["producer_id"], [0]) == (
        app.transaction_state,
        app.producer_id,
        app.topics[0].partitions,
    )
    assert ErrorCode.TRANSACTIONAL_ID_NOT_FOUND == unknown.error_code
    assert [(identity["producer_id"], 0)] == [
        (each.producer_id, each.current_txn_start_offset) for each in known.active_producers
    ]
    assert ErrorCode.UNKNOWN_TOPIC_OR_PARTITION == missing.error_code
    assert (["Sleeping"], ["app"]) == (
        listed.unknown_state_filters,
        [each.transactional_id for each in listed.transaction_states],
    )
    assert ["app"] == [each.transactional_id for each in everything.transaction_states]
    assert [] == bench.violations


@pytest.mark.parametrize(("version", "error"), [(5, 0), (6, ErrorCode.GROUP_ID_NOT_FOUND)])
def test_a_group_that_is_not_there_is_dead(version: int, error: int) -> None:
    """Since version 6 it is not found, either (KIP-1043)."""
    (group,) = Bench().ask("DescribeGroups", version, {"groups": ["nobody"]}).groups

    assert ("Dead", error) == (group.group_state, group.error_code)


def test_groups_are_listed_by_state_and_type() -> None:
    """Those of the classic protocol alone."""
    bench = Bench()
    joining = bench.ask("JoinGroup", 5, join_fields())
    bench.send("JoinGroup", 5, join_fields(joining.member_id))

    def listed(states: list[str], types: list[str]) -> list[str]:
        fields = {"states_filter": states, "types_filter": types}
        return [each.group_id for each in bench.ask("ListGroups", 5, fields).groups]

    assert ["readers"] == listed([], []) == listed(["completingrebalance"], ["Classic"])
    assert [] == listed(["Stable"], []) == listed([], ["consumer"])
