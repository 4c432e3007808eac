"""kafka-python against the server: what was acknowledged is what a reader finds, once; a group shares partitions."""

import time
from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python (extra `wire`)")

import kafka
from kafka.errors import KafkaError

from model_tests.serve.cluster import Cluster
from model_tests.unit.serve.journeys import PATIENCE_S, Ledger, judged


def producer(servers: str, **settings: Any) -> Any:
    return kafka.KafkaProducer(bootstrap_servers=servers, enable_idempotence=True, **settings)


def reader(servers: str, topic: str, group: str, **settings: Any) -> Any:
    common = {"auto_offset_reset": "earliest", "isolation_level": "read_committed", "enable_auto_commit": False}
    return kafka.KafkaConsumer(topic, bootstrap_servers=servers, group_id=group, **common, **settings)


def take(consumers: list[Any], count: int) -> list[bytes]:
    """The next records of a group, as many as there should be."""
    taken: list[bytes] = []
    give_up = time.monotonic() + PATIENCE_S
    while len(taken) < count and time.monotonic() < give_up:
        for consumer in consumers:
            taken += [record.value for records in consumer.poll(100).values() for record in records]
    return taken


def go_on(producer: Any) -> None:
    """Write one more record in a transaction."""
    producer.begin_transaction()
    producer.send("in", b"zombie")
    producer.commit_transaction()


@pytest.mark.parametrize(("profile", "nodes"), [("1.0", 1), ("4.3", 3)])
def test_a_journey_of_producers_and_readers(profile: str, nodes: int) -> None:
    """Idempotent batches, transactions that commit and abort, a fenced instance, offsets in a transaction."""
    ledger = Ledger()
    with judged(Cluster(profile, nodes, topics={"in": 1, "out": 1}), ledger) as cluster:
        servers = cluster.bootstrap_servers
        plain = producer(servers)
        sent = [plain.send("in", f"plain-{number}".encode()) for number in range(100)]
        assert list(range(100)) == [each.get(PATIENCE_S).offset for each in sent]
        ledger.acknowledged = [f"plain-{number}".encode() for number in range(100)]
        plain.close()

        first = producer(servers, transactional_id="app")
        first.init_transactions()
        for number in range(6):
            value = f"txn-{number}".encode()
            first.begin_transaction()
            first.send("in", value).get(PATIENCE_S)
            if number % 3 == 2:
                first.abort_transaction()
                ledger.aborted.append(value)
            else:
                first.commit_transaction()
                ledger.committed.append(value)

        consumer = reader(servers, "in", "readers")
        ledger.seen = take([consumer], 104)

        second = producer(servers, transactional_id="app")
        second.init_transactions()
        with pytest.raises(KafkaError):
            go_on(first)
        ledger.fenced = True

        second.begin_transaction()
        second.send("out", b"made of what was read")
        partition = kafka.TopicPartition("in", 0)
        position = consumer.position(partition)
        offsets = {partition: kafka.OffsetAndMetadata(position, "", -1)}
        second.send_offsets_to_transaction(offsets, consumer.group_metadata())
        second.commit_transaction()
        assert position == consumer.committed(partition)
        for each in (consumer, first, second):
            each.close()


def test_a_group_shares_partitions_and_loses_a_member() -> None:
    """Two members read what one of them alone would read; what one leaves, the other goes on with."""
    with Cluster("4.3", topics={"in": 4}) as cluster:
        servers = cluster.bootstrap_servers
        plain = producer(servers)
        for number in range(40):
            plain.send("in", str(number).encode(), partition=number % 4)
        plain.flush(PATIENCE_S)
        members = [reader(servers, "in", "sharers", heartbeat_interval_ms=100) for _ in range(2)]
        seen: list[bytes] = []
        give_up = time.monotonic() + PATIENCE_S
        while not all(len(member.assignment()) == 2 for member in members) and time.monotonic() < give_up:
            for member in members:
                seen += [record.value for records in member.poll(50).values() for record in records]
                member.commit()
        assert [2, 2] == [len(member.assignment()) for member in members]
        seen += take(members, 40 - len(set(seen)))
        for member in members:
            member.commit()
        members[0].close()
        for number in range(40, 60):
            plain.send("in", str(number).encode(), partition=number % 4)
        plain.flush(PATIENCE_S)
        seen += take(members[1:], 20)
        members[1].close()
        plain.close()

    assert {str(number).encode() for number in range(60)} == set(seen)
    assert cluster.report is not None
    assert {"offsets.atomic", "offsets.stable_fetch"} & {rule.rule for rule in cluster.report.rules}
