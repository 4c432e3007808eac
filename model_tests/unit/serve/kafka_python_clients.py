"""A writer and members of a group with kafka-python, as a journey needs them."""

from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

import kafka
from kafka.errors import KafkaError

from model_tests.unit.serve.client_journey import PARTITIONS, JourneyRecord
from model_tests.unit.serve.journeys import PATIENCE_S

POLL_MS = 2_000
"""How long a member polls for nothing, milliseconds: a rebalance that does not end within a poll is given up,
and kafka-python 3.0.12 may then never take the partitions that it is assigned."""


class KafkaPythonWriter:
    """A producer whose calls return when they are answered."""

    def __init__(self, servers: str, transactional_id: str | None) -> None:
        self._producer = kafka.KafkaProducer(
            bootstrap_servers=servers, enable_idempotence=True, transactional_id=transactional_id
        )
        if transactional_id:
            self._producer.init_transactions()
        self.begin = self._producer.begin_transaction
        self.commit = self._producer.commit_transaction
        self.abort = self._producer.abort_transaction

    def send(self, topic: str, partition: int, value: bytes) -> int:
        return int(self._producer.send(topic, value, partition=partition).get(PATIENCE_S).offset)

    def send_offsets(self, member: Any) -> None:
        consumer = member.consumer
        offsets = {each: kafka.OffsetAndMetadata(consumer.position(each), "", -1) for each in consumer.assignment()}
        self._producer.send_offsets_to_transaction(offsets, consumer.group_metadata())

    def close(self) -> None:
        self._producer.close(timeout=1)


class KafkaPythonMember:
    """A member of a group."""

    def __init__(self, servers: str, group: str | None, topics: list[str]) -> None:
        self.consumer = kafka.KafkaConsumer(
            bootstrap_servers=servers,
            group_id=group,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            enable_auto_commit=False,
            heartbeat_interval_ms=100,
            fetch_max_wait_ms=100,
        )
        self.close = self.consumer.close
        if group is not None:
            self.consumer.subscribe(topics)
            return
        every = [kafka.TopicPartition(topic, number) for topic in topics for number in range(PARTITIONS)]
        self.consumer.assign(every)

    def poll(self) -> list[JourneyRecord]:
        found = self.consumer.poll(POLL_MS)
        return [
            JourneyRecord(each.topic, each.partition, each.offset, each.value) for got in found.values() for each in got
        ]

    def partitions(self) -> int:
        return len(self.consumer.assignment())

    def rewind(self, records: Sequence[JourneyRecord]) -> None:
        for record in reversed(records):
            partition = kafka.TopicPartition(record.topic, record.partition)
            if partition in self.consumer.assignment():
                self.consumer.seek(partition, record.offset)


class KafkaPython:
    """The library."""

    error = KafkaError
    of_threads = True

    def __init__(self, servers: str) -> None:
        self._servers = servers

    def writer(self, transactional_id: str | None) -> KafkaPythonWriter:
        return KafkaPythonWriter(self._servers, transactional_id)

    def member(self, group: str, topics: list[str]) -> KafkaPythonMember:
        return KafkaPythonMember(self._servers, group, topics)

    def reader(self, topics: list[str]) -> KafkaPythonMember:
        return KafkaPythonMember(self._servers, None, topics)
