"""confluent-kafka (librdkafka) against the server: what was acknowledged is what a reader finds, once."""

import time
from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python (extra `wire`)")
pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")

import confluent_kafka

from model_tests.serve.cluster import Cluster
from model_tests.unit.serve.journeys import PATIENCE_S, Ledger, judged

CASES = [("0.11", 1), ("2.4", 3), ("3.9", 1), ("4.3", 1), ("4.4", 3)]


def producer(servers: str, **settings: Any) -> Any:
    common = {"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 0, "log_level": 0}
    return confluent_kafka.Producer(common | settings)


def reader(servers: str, group: str) -> Any:
    settings = {
        "bootstrap.servers": servers,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
    }
    return confluent_kafka.Consumer(settings)


def take(consumer: Any, topic: str, count: int) -> list[bytes]:
    """The next records of a topic, as many as there should be."""
    consumer.subscribe([topic])
    taken: list[bytes] = []
    give_up = time.monotonic() + PATIENCE_S
    while len(taken) < count and time.monotonic() < give_up:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            taken.append(message.value())
    return taken


def go_on(producer: Any) -> None:
    """Write one more record in a transaction."""
    producer.begin_transaction()
    producer.produce("in", b"zombie")
    producer.commit_transaction(PATIENCE_S)


@pytest.mark.parametrize(("profile", "nodes"), CASES)
def test_a_journey_of_producers_and_readers(profile: str, nodes: int) -> None:
    """Idempotent batches, transactions that commit and abort, a fenced instance, offsets in a transaction."""
    ledger = Ledger()
    with judged(Cluster(profile, nodes, topics={"in": 1, "out": 3}), ledger) as cluster:
        servers = cluster.bootstrap_servers
        plain = producer(servers)

        def delivered(error: Any, message: Any) -> None:
            if error is None:
                ledger.acknowledged.append(message.value())

        for number in range(200):
            plain.produce("in", f"plain-{number}", callback=delivered)
        assert 0 == plain.flush(PATIENCE_S)

        first = producer(servers, **{"transactional.id": "app"})
        first.init_transactions(PATIENCE_S)
        for number in range(9):
            value = f"txn-{number}".encode()
            first.begin_transaction()
            first.produce("in", value)
            assert 0 == first.flush(PATIENCE_S)
            if number % 3 == 2:
                first.abort_transaction(PATIENCE_S)
                ledger.aborted.append(value)
            else:
                first.commit_transaction(PATIENCE_S)
                ledger.committed.append(value)

        consumer = reader(servers, "readers")
        ledger.seen = take(consumer, "in", 206)

        second = producer(servers, **{"transactional.id": "app"})
        second.init_transactions(PATIENCE_S)
        with pytest.raises(confluent_kafka.KafkaException) as refused:
            go_on(first)
        ledger.fenced = refused.value.args[0].fatal()

        second.begin_transaction()
        second.produce("out", b"made of what was read")
        positions = consumer.position(consumer.assignment())
        second.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), PATIENCE_S)
        second.commit_transaction(PATIENCE_S)
        (committed,) = consumer.committed(consumer.assignment(), PATIENCE_S)
        assert positions[0].offset == committed.offset
        consumer.close()

    assert cluster.report is not None
    assert {"committed": 7, "aborted": 3} == dict(cluster.report.outcomes)
