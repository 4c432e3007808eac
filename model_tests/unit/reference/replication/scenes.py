"""Replicas to try: logs that leaders wrote, leaders and followers with a history."""

from collections.abc import Sequence

from reference.log.batch import blank_batch
from reference.log.partition import Partition
from reference.replication.following import Following
from reference.replication.leadership import ReplicaConfig
from reference.replication.messages import (
    UNDEFINED,
    EpochEndRequest,
    FetchRequest,
    FollowerFetchResult,
    LeaderAndIsr,
    PartitionState,
)
from reference.replication.replica import Replica
from reference.replication.watch import Report
from spec.versions import NEWEST, Profile
from spec.vocabulary import ErrorCode, LeaderEpoch, Offset, Timestamp

NOW = Timestamp(1_000_000)
LATER = Timestamp(NOW + 40_000)
THREE = (0, 1, 2)
EPOCHS = {0: 10, 1: 11, 2: 12}
"""Broker epochs of three brokers."""


def state(leader: int, epoch: int, version: int = 0, insync: Sequence[int] = THREE) -> PartitionState:
    """A partition of three replicas."""
    return PartitionState(THREE, leader, LeaderEpoch(epoch), version, frozenset(insync))


def word(leader: int, epoch: int, version: int = 0, insync: Sequence[int] = THREE) -> LeaderAndIsr:
    """A controller's message about it, in a version of its metadata in which all brokers are registered."""
    return LeaderAndIsr(0, max(EPOCHS.values()) + version, state(leader, epoch, version, insync), EPOCHS)


def replica(
    node: int, profile: Profile = NEWEST, config: ReplicaConfig | None = None, report: Report | None = None
) -> Replica:
    """A replica that has heard of no leader."""
    return Replica(profile, node, Partition(profile), config or ReplicaConfig(), report)


def leader(
    node: int = 0,
    epoch: int = 0,
    profile: Profile = NEWEST,
    config: ReplicaConfig | None = None,
    report: Report | None = None,
) -> Replica:
    """A leader with all in sync and an empty log."""
    made = replica(node, profile, config, report)
    made.take_over(word(node, epoch), NOW)
    return made


def write(made: Replica, epoch: int, batches: int) -> None:
    """Give a replica batches of one record each, as it copies them from a leader of that epoch."""
    for _ in range(batches):
        made.replica_log.copy(blank_batch(1).at(made.log.log_end, LeaderEpoch(epoch)))


def produce(made: Replica, batches: int = 1) -> None:
    """Clients write to a leader."""
    for _ in range(batches):
        made.append(0, blank_batch(1), -1, 11)


def fetch(follower: int, offset: int, leader_epoch: int = 0, last_epoch: int = -1, number: int = 1) -> FetchRequest:
    """A follower's Fetch."""
    return FetchRequest(
        number, follower, EPOCHS[follower], LeaderEpoch(leader_epoch), Offset(offset), LeaderEpoch(last_epoch)
    )


def catch_up(follower: Replica, from_leader: Replica, now: Timestamp = NOW, rounds: int = 20) -> list[str]:
    """A follower fetches until it has all, knows the high watermark and is known to have it; its requests."""
    requested = []
    for _ in range(rounds):
        following = follower.following
        request = None if following is None else following.next_request(EPOCHS[follower.node])
        if following is None or request is None:
            break
        requested.append(type(request).__name__)
        if isinstance(request, EpochEndRequest):
            following.receive_end(request, from_leader.epoch_end(request), now)
            continue
        answer: FollowerFetchResult = from_leader.fetch(request, now)[0]
        following.receive(request, answer, now)
        knows = answer.high_watermark == from_leader.log.high_watermark and answer.diverging == UNDEFINED
        if knows and not answer.batches and answer.error is ErrorCode.NONE:
            break
    return requested


def followed(made: Replica) -> Following:
    """What a replica does as follower."""
    assert made.following is not None
    return made.following


def fetch_of(made: Replica) -> FetchRequest:
    """The next Fetch of a follower."""
    request = followed(made).next_request(EPOCHS[made.node])
    assert isinstance(request, FetchRequest)
    return request


def epochs_of(made: Replica) -> list[int]:
    """The leader epoch of each batch of a log."""
    return [batch.leader_epoch for batch in made.log.log]
