"""Controls: a client's run against a broken server is judged red, by the rule that the defect breaks."""

import time
from contextlib import suppress
from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")
pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")

from confluent_kafka import KafkaException

from model_tests.common.reports import BadInput
from model_tests.serve.cluster import Cluster, SpecificationViolated
from model_tests.serve.defects import DEFECTS
from model_tests.unit.support.confluent_clients import producer, reader

PATIENCE_S = 10
"""How long a call may take, in seconds: what a broken server never answers is given up."""

SLOWEST_S = 60
"""After which a group that has not formed is given up, in seconds."""

IDLE_POLLS = 30
"""So many polls of 0.1 s without a record are the end of what a broken server gives a reader."""

RECORDS = 34
"""Those that a reader of what is committed finds, if the server is right."""


def use(servers: str) -> None:
    """Transactions on two partitions, an instance that takes over an open one, offsets in transactions."""
    plain = producer(servers)
    for number in range(30):
        plain.produce("in", str(number), partition=0)
    plain.flush(PATIENCE_S)
    first = start(servers)
    begin(first, "left open", (0,))
    second = start(servers)
    with suppress(KafkaException):
        first.commit_transaction(PATIENCE_S)
    consumer = reader(servers, "readers")
    consumer.subscribe(["in"])
    read(consumer)
    for end in (second.commit_transaction, second.abort_transaction):
        begin(second, "made of what was read")
        positions = consumer.position(consumer.assignment())
        second.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), PATIENCE_S)
        end(PATIENCE_S)
    consumer.close()


def read(consumer: Any) -> None:
    """Read until all is there, or nothing more comes; a group that is slow to form is waited for."""
    taken, idle, give_up = 0, 0, time.monotonic() + SLOWEST_S
    while taken < RECORDS and idle < IDLE_POLLS and time.monotonic() < give_up:
        message = consumer.poll(0.1)
        arrived = message is not None and message.error() is None
        taken += arrived
        idle = 0 if arrived or not consumer.assignment() else idle + 1


def start(servers: str) -> Any:
    """An instance that has committed and aborted."""
    started = producer(servers, **{"transactional.id": "app", "transaction.timeout.ms": 10_000})
    started.init_transactions(PATIENCE_S)
    for end in (started.commit_transaction, started.abort_transaction):
        begin(started, "value")
        end(PATIENCE_S)
    return started


def begin(instance: Any, value: str, partitions: tuple[int, ...] = (0, 1)) -> None:
    """Write to partitions in a transaction."""
    instance.begin_transaction()
    for partition in partitions:
        instance.produce("in", value, partition=partition)
    instance.flush(PATIENCE_S)


@pytest.mark.parametrize("name", DEFECTS)
def test_a_broken_server_is_convicted_by_the_rule_that_it_breaks(name: str) -> None:
    """Whatever becomes of the client."""
    cluster = Cluster("4.3", topics={"in": 2}, defect=name)
    with suppress(KafkaException, SpecificationViolated), cluster:
        use(cluster.bootstrap_servers)
    cluster.stop()

    assert cluster.report is not None
    assert DEFECTS[name].rule.id in {violation.rule for violation in cluster.report.violations}


def test_the_same_run_breaks_nothing_without_a_defect() -> None:
    """What is seen above is the defect's."""
    with Cluster("4.3", topics={"in": 2}) as cluster:
        use(cluster.bootstrap_servers)

    assert cluster.report is not None
    assert 0 == cluster.report.violated


def test_a_defect_that_there_is_not_is_bad_input() -> None:
    """With those that there are."""
    with pytest.raises(BadInput, match="any-epoch-ends-a-transaction"):
        Cluster(defect="lazy")
