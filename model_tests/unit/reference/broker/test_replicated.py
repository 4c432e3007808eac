from reference.broker.replicated import ReplicatedPartition
from reference.log.batch import blank_batch
from spec.versions import NEWEST
from spec.vocabulary import Timestamp

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

    assert (1, {1, 2}) == (partition.leader_node, partition.insync)
    while partition.behind():
        partition.follow(partition.behind()[0])
    assert {0, 1, 2} == partition.insync
