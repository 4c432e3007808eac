"""Administrators with the clients that people have: kafka-python, confluent-kafka and aiokafka, on one cluster."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")
pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")
pytest.importorskip("aiokafka", reason="needs aiokafka")

import aiokafka.admin
import confluent_kafka
import confluent_kafka.admin
import kafka
import kafka.admin
from aiokafka.structs import TopicPartition as AioPartition

from model_tests.serve.cluster import Cluster
from model_tests.unit.serve.journeys import PATIENCE_S

ADMIN: Any = confluent_kafka.admin
PYTHON: Any = kafka.admin
AIO: Any = aiokafka.admin
"""Their annotations leave out some of what they have."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster("4.3", nodes=2, topics={"in": 3, "kept": 1}) as running:
        producer: Any = kafka.KafkaProducer(bootstrap_servers=running.bootstrap_servers)
        for number in range(18):
            producer.send("in", str(number).encode(), partition=number % 3)
        producer.flush(PATIENCE_S)
        producer.close()
        yield running


def commit(cluster: Cluster, group: str, topic: str) -> None:
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": group}
    consumer: Any = confluent_kafka.Consumer(settings)
    consumer.commit(offsets=[confluent_kafka.TopicPartition(topic, 0, 3)], asynchronous=False)
    consumer.close()


def test_confluent_kafka(cluster: Cluster) -> None:
    """Topics that grow and go, settings, records, offsets by time, groups that go."""
    admin = ADMIN.AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.create_topics([ADMIN.NewTopic("new", 1)])["new"].result(PATIENCE_S)
    admin.create_partitions([ADMIN.NewPartitions("new", 3)])["new"].result(PATIENCE_S)
    assert 3 == len(admin.list_topics("new", PATIENCE_S).topics["new"].partitions)
    admin.delete_topics(["new"])["new"].result(PATIENCE_S)
    with pytest.raises(confluent_kafka.KafkaException, match="UNKNOWN_TOPIC_OR_PART"):
        admin.delete_topics(["new"])["new"].result(PATIENCE_S)

    resource = ADMIN.ConfigResource(ADMIN.ResourceType.TOPIC, "in")
    described = admin.describe_configs([resource])[resource].result(PATIENCE_S)
    assert ("delete", True) == (described["cleanup.policy"].value, described["cleanup.policy"].is_default)

    partition = confluent_kafka.TopicPartition("in", 2, 2)
    (deleted,) = admin.delete_records([partition]).values()
    assert 2 == deleted.result(PATIENCE_S).low_watermark
    spec = {partition: ADMIN.OffsetSpec.earliest()}
    assert 2 == next(iter(admin.list_offsets(spec).values())).result(PATIENCE_S).offset
    spec = {partition: ADMIN.OffsetSpec.max_timestamp()}
    assert 5 >= next(iter(admin.list_offsets(spec).values())).result(PATIENCE_S).offset >= 2

    commit(cluster, "confluent", "in")
    request = confluent_kafka.ConsumerGroupTopicPartitions("confluent")
    (answer,) = admin.list_consumer_group_offsets([request]).values()
    assert [("in", 0, 3)] == [(p.topic, p.partition, p.offset) for p in answer.result(PATIENCE_S).topic_partitions]
    admin.delete_consumer_groups(["confluent"])["confluent"].result(PATIENCE_S)
    with pytest.raises(confluent_kafka.KafkaException, match="GROUP_ID_NOT_FOUND"):
        admin.delete_consumer_groups(["confluent"])["confluent"].result(PATIENCE_S)


def test_kafka_python(cluster: Cluster) -> None:
    """The same as far as it has the calls."""
    admin = PYTHON.KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
    admin.create_topics([PYTHON.NewTopic("python", 1, 2)])
    admin.create_partitions({"python": 2})
    assert [0, 1] == [each["partition_index"] for each in admin.describe_topics(["python"])[0]["partitions"]]
    admin.delete_topics(["python"])
    assert "python" not in admin.list_topics()

    partition = kafka.TopicPartition("in", 1)
    assert 4 == admin.delete_records({partition: 4})[partition]["low_watermark"]
    commit(cluster, "python", "in")
    commit(cluster, "python", "kept")
    admin.delete_group_offsets("python", [kafka.TopicPartition("in", 0)])
    kept = admin.list_group_offsets("python")["python"]
    assert [("kept", 0)] == [(each.topic, each.partition) for each in kept]
    admin.delete_groups(["python"])
    assert "python" not in str(admin.list_groups())
    admin.close()


def test_aiokafka(cluster: Cluster) -> None:
    """Likewise."""
    asyncio.run(administer(cluster.bootstrap_servers))


async def administer(servers: str) -> None:
    admin = AIO.AIOKafkaAdminClient(bootstrap_servers=servers)
    await admin.start()
    await admin.create_topics([AIO.NewTopic("aio", 1, 2)])
    await admin.create_partitions({"aio": AIO.NewPartitions(2)})
    assert "aio" in await admin.list_topics()
    await admin.delete_topics(["aio"])
    assert "aio" not in await admin.list_topics()
    (described,) = await admin.describe_configs([AIO.config_resource.ConfigResource("topic", "in")])
    assert "cleanup.policy" in str(described)
    partition = AioPartition("in", 0)
    assert {partition: 5} == await admin.delete_records({partition: AIO.RecordsToDelete(before_offset=5)})
    await admin.close()
