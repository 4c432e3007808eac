"""A writer and members of a group with confluent-kafka, as a journey needs them."""

from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")
pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")

import confluent_kafka

from model_tests.unit.serve.client_journey import JourneyRecord, Writer
from model_tests.unit.serve.journeys import PATIENCE_S
from model_tests.unit.support.confluent_clients import producer, reader


class ConfluentWriter:
    """A producer whose calls return when they are answered."""

    def __init__(self, servers: str, transactional_id: str | None) -> None:
        self._producer = producer(servers, **({"transactional.id": transactional_id} if transactional_id else {}))
        if transactional_id:
            self._producer.init_transactions(PATIENCE_S)
        self.begin = self._producer.begin_transaction

    def send(self, topic: str, partition: int, value: bytes) -> int:
        answers: list[Any] = []
        self._producer.produce(topic, value, partition=partition, callback=lambda *answer: answers.append(answer))
        while not answers:
            self._producer.poll(PATIENCE_S)
        ((error, message),) = answers
        if error is not None:
            raise confluent_kafka.KafkaException(error)
        return int(message.offset())

    def send_offsets(self, member: Any) -> None:
        consumer = member.consumer
        positions = consumer.position(consumer.assignment())
        self._producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), PATIENCE_S)

    def commit(self) -> None:
        self._producer.commit_transaction(PATIENCE_S)

    def abort(self) -> None:
        self._producer.abort_transaction(PATIENCE_S)

    def close(self) -> None:
        self._producer.purge()


class ConfluentMember:
    """A member of a group."""

    def __init__(self, servers: str, group: str, topics: list[str]) -> None:
        self.consumer = reader(servers, group)
        self.consumer.subscribe(topics)
        self.close = self.consumer.close

    def poll(self) -> list[JourneyRecord]:
        found = []
        message = self.consumer.poll(0.1)
        while message is not None:
            if message.error() is None:
                found.append(JourneyRecord(message.topic(), message.partition(), message.offset(), message.value()))
            message = self.consumer.poll(0)
        return found

    def partitions(self) -> int:
        return len(self.consumer.assignment())

    def rewind(self, records: Sequence[JourneyRecord]) -> None:
        first = {(record.topic, record.partition): record.offset for record in reversed(records)}
        for each in self.consumer.assignment():
            if (each.topic, each.partition) in first:
                offset = first[each.topic, each.partition]
                self.consumer.seek(confluent_kafka.TopicPartition(each.topic, each.partition, offset))


class ConfluentKafka:
    """The library."""

    error = confluent_kafka.KafkaException
    of_threads = False

    def __init__(self, servers: str) -> None:
        self._servers = servers

    def writer(self, transactional_id: str | None) -> Writer:
        return ConfluentWriter(self._servers, transactional_id)

    def member(self, group: str, topics: list[str]) -> ConfluentMember:
        return ConfluentMember(self._servers, group, topics)

    def reader(self, topics: list[str]) -> ConfluentMember:
        return self.member("readers", topics)
