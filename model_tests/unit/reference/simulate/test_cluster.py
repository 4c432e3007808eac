from collections import defaultdict

import pytest

from reference.broker.ids import ProducerIdentity
from reference.event import STATE_RETAINED
from reference.simulate.cluster import SimulatedCluster
from reference.simulate.scheduler import ProducerScheduler
from reference.simulate.shape import Shape
from reference.tape import Tape
from reference.world.history import producer_name
from spec.versions import KAFKA_0_11, KAFKA_2_4, NEWEST, Profile
from spec.vocabulary import Epoch, ErrorCode, ProducerId


def logged(cluster: SimulatedCluster) -> dict[str, list[object]]:
    """Ordinals of the batches in the leader's log, in log order, by producer."""
    appended = {
        (row["producer_id"], row["producer_epoch"], row["base_sequence"]): (str(row["client"]), row["batch"])
        for row in cluster.recorder.rows
        if row["api"] == "Produce" and row["appended"]
    }
    found: defaultdict[str, list[object]] = defaultdict(list)
    for batch in cluster.partitions[0].leader.log:
        client, ordinal = appended[batch.producer_id, batch.producer_epoch, batch.base_sequence]
        found[client].append(ordinal)
    return found


@pytest.mark.parametrize("profile", [NEWEST, KAFKA_2_4, KAFKA_0_11], ids=lambda profile: profile.name)
@pytest.mark.parametrize("seed", range(6))
def test_while_state_is_retained_every_batch_is_there_once_and_in_order(seed: int, profile: Profile) -> None:
    """Breaks, copies and failovers: what was acknowledged is in the log exactly once, in the order of sending."""
    cluster = SimulatedCluster(profile, trace=seed)
    scheduler = ProducerScheduler(cluster, Tape.seeded(seed), STATE_RETAINED)
    for _ in range(800):
        scheduler.turn()

    settled = scheduler.settle()

    assert settled
    found = logged(cluster)
    for number, producer in enumerate(cluster.producers):
        acknowledged = [batch.ordinal for _, batch in producer.history if batch.outcome]
        assert len(acknowledged) > 20
        assert acknowledged == found[producer_name(number)]


def acknowledged(cluster: SimulatedCluster) -> bool | None:
    """The answer that the first producer's application got for its newest batch, with every answer delivered."""
    for message in tuple(cluster.replies.in_transit):
        cluster.producer_receives(message)
    return cluster.producers[0].history[-1][1].outcome


def appended(cluster: SimulatedCluster) -> None:
    """One batch is in the leader's log, and on no follower."""
    if cluster.producers[0].needs_producer_id:
        cluster.producer_asks_for_id(0)
    cluster.application_makes(0, 0, 1)
    cluster.broker_receives(cluster.producer_sends(0, 0))


def test_a_follower_out_of_sync_causes_no_delay_and_may_return() -> None:
    """The answer goes out when the last follower that lacks the batch leaves; who has caught up is in sync."""
    cluster = SimulatedCluster(shape=Shape(producers=1, nodes=2))
    appended(cluster)
    waiting = acknowledged(cluster)
    cluster.follower_leaves_insync(0, 1)

    assert (None, True, {0}) == (waiting, acknowledged(cluster), set(cluster.partitions[0].insync))

    cluster.follower_fetches(0, 1)

    assert {0, 1} == cluster.partitions[0].insync


def test_an_unclean_election_loses_what_the_new_leader_lacks() -> None:
    """The old leader drops it when it comes back, and the new one is alone in the in-sync set until it is followed."""
    cluster = SimulatedCluster(shape=Shape(producers=1, nodes=2))
    appended(cluster)
    cluster.follower_leaves_insync(0, 1)
    reported = acknowledged(cluster)

    cluster.unclean_leader_election(0, 1)

    partition = cluster.partitions[0]
    assert (True, [0, 0]) == (reported, [replica.log_end for replica in partition.replicas])
    assert (1, {1}) == (partition.leader_node, set(partition.insync))
    assert "UncleanLeaderElection" == cluster.recorder.rows[-1]["api"]


def test_a_batch_that_its_broker_refuses_is_in_no_log() -> None:
    """The application gets the failure, and the producer goes up one epoch."""
    cluster = SimulatedCluster(NEWEST, Shape(producers=1, nodes=1))
    cluster.producer_asks_for_id(0)
    cluster.application_makes(0, 0, 1)

    cluster.broker_refuses(cluster.producer_sends(0, 0), ErrorCode.MESSAGE_TOO_LARGE)

    assert acknowledged(cluster) is False
    assert [] == list(cluster.partitions[0].leader.log)
    assert cluster.producers[0].identity == ProducerIdentity(ProducerId(0), Epoch(1))


def test_deleted_records_are_gone_on_every_replica() -> None:
    """Below the high watermark alone; each replica leaves a row."""
    cluster = SimulatedCluster(NEWEST, Shape(producers=1, nodes=2))
    appended(cluster)
    cluster.follower_fetches(0, 1)
    appended(cluster)

    cluster.leader_deletes_records(0)

    assert [1, 1] == [replica.log_start for replica in cluster.partitions[0].replicas]
    assert 2 == sum(row["api"] == "DeleteRecords" for row in cluster.recorder.rows)
