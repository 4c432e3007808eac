"""aiokafka against the server: what was acknowledged is what a reader finds, once."""

import asyncio
from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python (extra `wire`)")
pytest.importorskip("aiokafka", reason="needs aiokafka")

import aiokafka
from aiokafka.errors import KafkaError

from model_tests.serve.cluster import Cluster
from model_tests.unit.serve.journeys import PATIENCE_S, Ledger, judged


@pytest.mark.parametrize(("profile", "nodes"), [("2.7", 1), ("4.3", 3)])
def test_a_journey_of_producers_and_readers(profile: str, nodes: int) -> None:
    """Idempotent batches, transactions that commit and abort, a fenced instance, offsets in a transaction."""
    ledger = Ledger()
    with judged(Cluster(profile, nodes, topics={"in": 1, "out": 1}), ledger) as cluster:
        asyncio.run(asyncio.wait_for(journey(cluster.bootstrap_servers, ledger), PATIENCE_S))


async def journey(servers: str, ledger: Ledger) -> None:
    """Everything in one loop, which says nothing of futures that the fenced producer leaves behind."""
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    async with aiokafka.AIOKafkaProducer(bootstrap_servers=servers, enable_idempotence=True) as plain:
        for number in range(50):
            value = f"plain-{number}".encode()
            await plain.send_and_wait("in", value)
            ledger.acknowledged.append(value)

    first = aiokafka.AIOKafkaProducer(bootstrap_servers=servers, transactional_id="app")
    await first.start()
    for number in range(6):
        value = f"txn-{number}".encode()
        await first.begin_transaction()
        await first.send_and_wait("in", value)
        if number % 3 == 2:
            await first.abort_transaction()
            ledger.aborted.append(value)
        else:
            await first.commit_transaction()
            ledger.committed.append(value)

    consumer = aiokafka.AIOKafkaConsumer(
        "in",
        bootstrap_servers=servers,
        group_id="readers",
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        enable_auto_commit=False,
    )
    await consumer.start()
    while len(ledger.seen) < 54:
        found = await consumer.getmany(timeout_ms=200)
        ledger.seen += [record.value for records in found.values() for record in records]

    second = aiokafka.AIOKafkaProducer(bootstrap_servers=servers, transactional_id="app")
    await second.start()
    with pytest.raises(KafkaError):
        await go_on(first)
    ledger.fenced = True

    await second.begin_transaction()
    await second.send_and_wait("out", b"made of what was read")
    (partition,) = consumer.assignment()
    position = await consumer.position(partition)
    await second.send_offsets_to_transaction({partition: position}, "readers")
    await second.commit_transaction()
    assert position == await consumer.committed(partition)
    for each in (consumer, second, first):
        await each.stop()


async def go_on(producer: Any) -> None:
    """Write one more record in a transaction."""
    await producer.begin_transaction()
    await producer.send_and_wait("in", b"zombie")
    await producer.commit_transaction()
