"""A writer and members of a group with aiokafka, as a journey needs them."""

import asyncio
import threading
from collections.abc import Awaitable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")
pytest.importorskip("aiokafka", reason="needs aiokafka")

import aiokafka
from aiokafka.errors import KafkaError

from model_tests.unit.serve.client_journey import JourneyRecord
from model_tests.unit.serve.journeys import PATIENCE_S


class Aiokafka:
    """The library, in a loop of its own that goes on between the calls."""

    error = KafkaError
    of_threads = False

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(lambda *_: None)  # futures that a fenced producer leaves behind
        threading.Thread(target=self._loop.run_forever, name="aiokafka", daemon=True).start()

    def wait(self, work: Awaitable[Any]) -> Any:
        """What comes of something that is awaited in the loop."""

        async def awaited() -> Any:
            return await work

        return asyncio.run_coroutine_threadsafe(awaited(), self._loop).result(PATIENCE_S)

    def writer(self, transactional_id: str | None) -> "AiokafkaWriter":
        return AiokafkaWriter(self, transactional_id)

    def member(self, group: str, topics: list[str]) -> "AiokafkaMember":
        return AiokafkaMember(self, group, topics)

    def reader(self, topics: list[str]) -> "AiokafkaMember":
        return self.member("readers", topics)

    def stop(self) -> None:
        """End the loop."""
        self._loop.call_soon_threadsafe(self._loop.stop)


class AiokafkaWriter:
    """A producer whose calls return when they are answered."""

    def __init__(self, library: Aiokafka, transactional_id: str | None) -> None:
        self._wait = library.wait

        async def made() -> Any:
            return aiokafka.AIOKafkaProducer(
                bootstrap_servers=library.servers, enable_idempotence=True, transactional_id=transactional_id
            )

        self._producer = self._wait(made())
        self._wait(self._producer.start())

    def begin(self) -> None:
        self._wait(self._producer.begin_transaction())

    def send(self, topic: str, partition: int, value: bytes) -> int:
        return int(self._wait(self._producer.send_and_wait(topic, value, partition=partition)).offset)

    def send_offsets(self, member: Any) -> None:
        self._wait(self._producer.send_offsets_to_transaction(member.positions(), member.group))

    def commit(self) -> None:
        self._wait(self._producer.commit_transaction())

    def abort(self) -> None:
        self._wait(self._producer.abort_transaction())

    def close(self) -> None:
        self._wait(self._producer.stop())


class AiokafkaMember:
    """A member of a group."""

    def __init__(self, library: Aiokafka, group: str, topics: list[str]) -> None:
        self.group = group
        self._wait = library.wait

        async def made() -> Any:
            return aiokafka.AIOKafkaConsumer(
                *topics,
                bootstrap_servers=library.servers,
                group_id=group,
                auto_offset_reset="earliest",
                isolation_level="read_committed",
                enable_auto_commit=False,
                heartbeat_interval_ms=100,
                fetch_max_wait_ms=100,
            )

        self._consumer = self._wait(made())
        self._wait(self._consumer.start())

    def poll(self) -> list[JourneyRecord]:
        found = self._wait(self._consumer.getmany(timeout_ms=100))
        return [
            JourneyRecord(each.topic, each.partition, each.offset, each.value) for got in found.values() for each in got
        ]

    def positions(self) -> dict[Any, int]:
        """Where it stands, by partition."""
        return {each: self._wait(self._consumer.position(each)) for each in self._consumer.assignment()}

    def partitions(self) -> int:
        return len(self._consumer.assignment())

    def rewind(self, records: Sequence[JourneyRecord]) -> None:
        for record in reversed(records):
            partition = aiokafka.TopicPartition(record.topic, record.partition)
            if partition in self._consumer.assignment():
                self._consumer.seek(partition, record.offset)

    def close(self) -> None:
        with suppress(CancelledError):  # of 0.14, if a connection breaks meanwhile
            self._wait(self._consumer.stop())
