"""A bad wire: what was acknowledged is in the log once, whatever was lost on the way."""

from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")
pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")

from model_tests.common.reports import BadInput
from model_tests.serve.cluster import Cluster
from model_tests.unit.serve.journeys import PATIENCE_S
from model_tests.unit.support.confluent_clients import producer, reader, take
from reference.server.faults import PROFILES, Faults


@pytest.mark.parametrize("faults", PROFILES)
def test_idempotent_batches_are_there_once(faults: str) -> None:
    """Each record that was acknowledged is read once, in its order, and every retry was judged."""
    acknowledged: list[bytes] = []

    def delivered(error: Any, message: Any) -> None:
        if error is None:
            acknowledged.append(message.value())

    with Cluster("4.3", nodes=3, topics={"in": 1}, faults=faults, seed=7) as cluster:
        settings = {"reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 50, "retry.backoff.ms": 10, "linger.ms": 1}
        writer = producer(cluster.bootstrap_servers, **settings)
        for number in range(400):
            writer.produce("in", str(number).encode(), callback=delivered)
            writer.poll(0.002)
        assert 0 == writer.flush(PATIENCE_S)
        seen = take(reader(cluster.bootstrap_servers, "readers"), "in", 400)

    assert [str(number).encode() for number in range(400)] == acknowledged == seen


def test_faults_are_those_of_their_seed() -> None:
    """The same draws for the same seed; what would end another transaction than its own is never late."""
    one, other = (Faults(PROFILES["harsh"], 3) for _ in "ab")
    drawn = [one.of_request("Produce", 10) for _ in range(300)]

    assert drawn == [other.of_request("Produce", 10) for _ in range(300)]
    assert {"request lost", "request stray", "request doubled", "request late", "answer lost", "answer late"} == {
        name for faults in drawn for name in faults.names()
    }
    assert not any(one.of_request("EndTxn", 4).stray_ms for _ in range(300))
    assert any(one.of_request("EndTxn", 5).stray_ms for _ in range(300))
    assert not any(one.of_request("JoinGroup", 9).doubled for _ in range(300))


def test_faults_that_there_are_not_are_bad_input() -> None:
    """With those that there are."""
    with pytest.raises(BadInput, match="gentle, harsh"):
        Cluster(faults="none at all")
