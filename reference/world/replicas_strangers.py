"""Requests between brokers that no broker of the world has sent, each to be refused: too old, too new, or forged.

What is refused changes nothing, so that all that the world claims of its records stays true. A broker that was paused
or cut off for long sends such requests, but too seldom to see every refusal.
"""

from typing import Final

from reference.errors import Refusal
from reference.log.batch import blank_batch
from reference.recording.recorder import batch_columns, reply_columns
from reference.replication.messages import NO_EPOCH, AlterPartition, EpochEndRequest, FetchRequest
from reference.replication.replica import Replica
from reference.tape import Tape
from reference.world.replicas import ReplicasWorld
from reference.world.replicas_nodes import PRODUCE_VERSION, BrokerNode
from spec.vocabulary import ABSENT, Api, LeaderEpoch, Offset, Origin

NUMBER: Final = ABSENT
"""The number of a request whose answer is not awaited."""

NO_SUCH_ACKS: Final = 2
FAR: Final = 7
"""The distance of an epoch or an offset that does not exist from those that do."""

STALE, NEWER, UNKNOWN, BELOW, BEYOND, INCARNATION = range(6)


def stranger_fetches(world: ReplicasWorld, tape: Tape, node: BrokerNode) -> bool:
    """A Fetch that a broker refuses, with what it takes for a reason; whether there was one to send."""
    partition = tape.pick(sorted(node.broker.replicas))
    replica = node.broker.replicas[partition]
    others = [broker for broker in world.shape.assignment(partition) if broker != node.number]
    request = _fetch(replica, tape.pick(others), tape.below(6))
    if request is None:
        return False
    node.broker.answer_fetch(partition, request, node.now)
    return True


def _fetch(replica: Replica, follower: int, reason: int) -> FetchRequest | None:
    profile, log = replica.profile, replica.log
    named = replica.leader_epoch if profile.fetch_names_leader_epoch else NO_EPOCH
    counted = ABSENT if replica.leadership is None else replica.leadership.brokers.get(follower, ABSENT)
    request = FetchRequest(NUMBER, follower, counted, named, Offset(log.log_end), NO_EPOCH)
    if replica.leadership is None:
        return request
    if reason == STALE and named > 0:
        return request._replace(leader_epoch=LeaderEpoch(named - 1))
    if reason == NEWER and named >= 0:
        return request._replace(leader_epoch=LeaderEpoch(named + 1))
    if reason == UNKNOWN and profile.fetch_finds_divergence:
        return request._replace(last_epoch=LeaderEpoch(named + FAR))
    if reason == BELOW and log.log.log_start > 0:
        return request._replace(offset=Offset(log.log.log_start - 1))
    if reason == INCARNATION and profile.incarnations_compared and counted > 0:
        return request._replace(broker_epoch=counted - 1)
    return request._replace(offset=Offset(log.log_end + FAR)) if reason == BEYOND else None


def stranger_asks_for_epoch(world: ReplicasWorld, tape: Tape, node: BrokerNode) -> bool:
    """OffsetsForLeaderEpoch of any epoch, under any leader epoch: an answer changes nothing either."""
    partition = tape.pick(sorted(node.broker.replicas))
    replica = node.broker.replicas[partition]
    others = [broker for broker in world.shape.assignment(partition) if broker != node.number]
    named = NO_EPOCH
    if world.profile.fetch_names_leader_epoch:
        named = LeaderEpoch(max(0, replica.leader_epoch + tape.pick((0, -1, 1))))
    epoch = LeaderEpoch(max(0, replica.leader_epoch + tape.pick((0, -1, FAR))))
    replica.epoch_end(EpochEndRequest(NUMBER, tape.pick(others), named, epoch))
    return True


def stranger_produces(world: ReplicasWorld, tape: Tape, node: BrokerNode) -> bool:
    """A Produce with acks that there are not."""
    partition = tape.pick(sorted(node.broker.replicas))
    replica = node.broker.replicas[partition]
    batch, leadership = blank_batch(1), replica.leadership
    before = replica.watch.before()
    answer = replica.append(partition, batch, NO_SUCH_ACKS, PRODUCE_VERSION)
    replica.watch.decided(
        Api.PRODUCE,
        before,
        **batch_columns(batch),
        **reply_columns(answer.error, answer.base_offset, answer.last_offset, answer.duplicate),
        client="stranger",
        origin=int(Origin.CLIENT),
        api_version=PRODUCE_VERSION,
        acks=NO_SUCH_ACKS,
        batch_count=1,
        leads=leadership is not None,
        leader_epoch=replica.leader_epoch,
        insync_size=0 if leadership is None else len(leadership.insync),
        min_insync=replica.min_insync,
    )
    return True


def stranger_proposes(world: ReplicasWorld, tape: Tape) -> bool:
    """An in-sync set that the controller refuses; whether there was one to send."""
    partition = tape.pick(sorted(world.metadata.partitions))
    state, brokers = world.metadata.partitions[partition], world.metadata.brokers
    if state.leader not in brokers:
        return False
    epochs = {broker: brokers[broker].epoch for broker in sorted(state.insync) if broker in brokers}
    own = brokers[state.leader].epoch
    true = AlterPartition(state.leader, own, state.leader_epoch, state.partition_epoch, epochs)
    other = tape.pick([broker for broker in state.assignment if broker != state.leader])
    strange = (
        true._replace(broker_epoch=own - 1),
        true._replace(leader_epoch=LeaderEpoch(state.leader_epoch + 1)),
        true._replace(partition_epoch=state.partition_epoch + 1),
        true._replace(leader_epoch=LeaderEpoch(max(0, state.leader_epoch - 1))),
        true._replace(broker=other, broker_epoch=brokers[other].epoch if other in brokers else ABSENT),
        true._replace(partition_epoch=max(0, state.partition_epoch - 1)),
        true._replace(insync={other: epochs.get(other, ABSENT)}),
        true._replace(insync={**epochs, other: 0}),
    )
    request = tape.pick(strange)
    try:
        world.controller.check_proposal(state, request)
    except Refusal:
        world.controller.alter_partition(partition, request)
        return True
    return False
