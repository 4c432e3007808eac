"""The producer without idempotence: at least once, or with acks=0 at most once."""

from dataclasses import replace

import pytest

from reference.client.record_producer import PlainProducer
from reference.errors import Impossible
from reference.simulate.cluster import SimulatedCluster
from reference.simulate.shape import Shape
from spec.vocabulary import NO_PRODUCER_ID, NO_SEQUENCE

PLAIN = Shape(producers=1, nodes=1, idempotent=False)


def sent(cluster: SimulatedCluster, batches: int) -> None:
    """As many batches of one record are handed over and sent."""
    for _ in range(batches):
        cluster.application_makes(0, 0, 1)
    while cluster.producers[0].may_drain(0):
        cluster.producer_sends(0, 0)


def batches_of(cluster: SimulatedCluster) -> list[tuple[int, int]]:
    """Producer id and sequence of each batch in the log."""
    return [(batch.producer_id, batch.base_sequence) for batch in cluster.partitions[0].leader.log]


def test_nothing_reports_its_batches_apart() -> None:
    """It needs no producer id, and a batch whose answer is lost is appended again."""
    cluster = SimulatedCluster(shape=PLAIN, ordered=False)
    sent(cluster, 1)
    cluster.broker_receives(cluster.requests.in_transit[0])
    cluster.reply_is_lost(cluster.replies.in_transit[0])
    sent(cluster, 0)
    cluster.broker_receives(cluster.requests.in_transit[0])
    cluster.producer_receives(cluster.replies.in_transit[0])

    assert not cluster.producers[0].needs_producer_id
    assert [(NO_PRODUCER_ID, NO_SEQUENCE)] * 2 == batches_of(cluster)
    assert [True] == [batch.outcome for _, batch in cluster.producers[0].history]


def test_no_more_than_five_are_in_flight() -> None:
    """The sixth waits, and asking for it all the same is a mistake."""
    cluster = SimulatedCluster(shape=PLAIN, ordered=False)

    sent(cluster, 6)

    assert 5 == len(cluster.requests.in_transit)
    with pytest.raises(Impossible, match="nothing may be sent to partition 0"):
        cluster.producers[0].drain(0)


def test_a_batch_that_takes_too_long_delays_no_other() -> None:
    """Nothing is unresolved: the next batch is sent at once."""
    cluster = SimulatedCluster(shape=PLAIN, ordered=False)
    sent(cluster, 1)
    cluster.clock.advance(PLAIN.delivery_timeout_ms)

    cluster.producer_ticks(0)
    sent(cluster, 1)

    assert [False, None] == [batch.outcome for _, batch in cluster.producers[0].history]
    assert 2 == len(cluster.requests.in_transit)


def test_an_error_that_no_retry_can_help_is_reported() -> None:
    """Acks of 2 are refused for good."""
    cluster = SimulatedCluster(shape=replace(PLAIN, acks=2), ordered=False)
    sent(cluster, 1)
    cluster.broker_receives(cluster.requests.in_transit[0])
    cluster.producer_receives(cluster.replies.in_transit[0])

    producer = cluster.producers[0]

    assert isinstance(producer, PlainProducer)
    assert ([False], False) == ([batch.outcome for _, batch in producer.history], producer.may_drain(0))


def test_with_acks_0_what_is_sent_is_written() -> None:
    """The broker answers nothing, and a lost request is not sent again."""
    cluster = SimulatedCluster(shape=replace(PLAIN, acks=0), ordered=False)
    sent(cluster, 2)
    cluster.request_is_lost(cluster.requests.in_transit[0])
    cluster.broker_receives(cluster.requests.in_transit[0])

    assert [True, True] == [batch.outcome for _, batch in cluster.producers[0].history]
    assert ([], 1) == (cluster.replies.in_transit, len(batches_of(cluster)))
    assert not cluster.producers[0].may_drain(0)
