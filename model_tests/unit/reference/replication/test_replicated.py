import pytest

from reference.errors import Refusal
from reference.log.batch import blank_batch, marker_batch
from reference.replication.replicated import ReplicatedPartition
from spec.versions import KAFKA_2_0, NEWEST, Profile
from spec.vocabulary import ControlType, LeaderEpoch, Timestamp

NOW = Timestamp(0)


def filled(batches: int) -> ReplicatedPartition:
    partition = ReplicatedPartition(NEWEST, 3)
    for base in range(batches):
        partition.leader.append(blank_batch(1, producer_id=1, epoch=0, base_sequence=base))
    return partition


def test_the_high_watermark_waits_for_all_in_sync() -> None:
    """It is the smallest log end among the replicas in sync."""
    partition = filled(2)

    partition.follow(1)
    assert 0 == partition.leader.high_watermark

    partition.follow(2)
    assert 1 == partition.leader.high_watermark


def test_what_is_below_the_high_watermark_survives_a_failover() -> None:
    """The new leader has it; the old leader drops what the new one does not have."""
    partition = filled(3)
    for node in (1, 2, 1):
        partition.follow(node)

    partition.fail_over(1, NOW)

    assert [2, 2, 1] == [replica.log_end for replica in partition.replicas]
    assert 1 == partition.leader.high_watermark
    assert not partition.replicas[0].leads


def test_a_follower_knows_the_whole_window() -> None:
    """A new leader recognises what its predecessor acknowledged."""
    partition = filled(5)
    while partition.behind():
        partition.follow(partition.behind()[0])

    partition.fail_over(2, NOW)

    assert all(
        partition.leader.append(blank_batch(1, producer_id=1, epoch=0, base_sequence=base)).duplicate
        for base in range(5)
    )


def test_a_restarted_leader_comes_back_as_a_follower() -> None:
    """It is out of sync until it has caught up."""
    partition = filled(2)
    partition.follow(1)

    partition.restart(0, NOW)

    assert (1, {1, 2}) == (partition.leader_node, set(partition.insync))
    while partition.behind():
        partition.follow(partition.behind()[0])
    assert {0, 1, 2} == partition.insync


def written_twice(profile: Profile) -> ReplicatedPartition:
    """A partition whose replicas have a falling producer epoch, and a leader with one batch more."""
    partition = ReplicatedPartition(profile, 2)
    for replica in partition.replicas:
        for epoch in (5, 4):
            batch = marker_batch(1, epoch, ControlType.COMMIT, 0)
            replica.write((batch.at(replica.log_end, LeaderEpoch(0)),), ())
    partition.leader.append(blank_batch(1))
    return partition


@pytest.mark.parametrize(("profile", "failed", "end"), [(KAFKA_2_0, {0}, 2), (NEWEST, set(), 2)])
def test_a_former_leader_that_cannot_replay_its_log_stops(profile: Profile, failed: set[int], end: int) -> None:
    """It cuts its log, and before 2.4 cannot derive producers from what is left; the others go on."""
    partition = written_twice(profile)

    partition.fail_over(1, NOW)

    assert (failed, end) == (partition.failed, partition.replicas[0].log_end)
    assert 1 == partition.leader_node


def test_a_follower_that_cannot_copy_stops_with_the_reason() -> None:
    """And holds the high watermark back no longer."""
    partition = ReplicatedPartition(KAFKA_2_0, 2)
    for epoch in (5, 4):
        batch = marker_batch(1, epoch, ControlType.COMMIT, 0)
        partition.leader.write((batch.at(partition.leader.log_end, LeaderEpoch(0)),), ())
    partition.follow(1)

    with pytest.raises(Refusal):
        partition.follow(1)

    assert ({1}, {0}, []) == (partition.failed, set(partition.insync), partition.behind())
    assert 2 == partition.leader.high_watermark


def test_an_unclean_election_loses_what_only_the_leader_had() -> None:
    """The former leader drops it, and the new one is alone in the in-sync set."""
    partition = filled(3)
    partition.follow(2)
    partition.leave_insync(1)
    partition.leave_insync(2)

    partition.elect_uncleanly(2, NOW)

    assert (2, {2}) == (partition.leader_node, set(partition.insync))
    assert [1, 0, 1] == [replica.log_end for replica in partition.replicas]
    assert 1 == partition.leader.high_watermark
