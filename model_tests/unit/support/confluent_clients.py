"""Clients of librdkafka, set up so that a test need not wait."""

import time
from typing import Any

import confluent_kafka

from model_tests.unit.serve.journeys import PATIENCE_S


def producer(servers: str, **settings: Any) -> Any:
    common = {"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 0, "log_level": 0}
    return confluent_kafka.Producer(common | settings)


def reader(servers: str, group: str, **settings: Any) -> Any:
    common = {
        "bootstrap.servers": servers,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
        "heartbeat.interval.ms": 100,
        "fetch.wait.max.ms": 100,
        "log_level": 0,
    }
    return confluent_kafka.Consumer(common | settings)


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
