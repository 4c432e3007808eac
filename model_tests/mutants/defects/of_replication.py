"""Defects of followers, failover, restart, and of when an answer goes out."""

from typing import Final

from model_tests.mutants.defects.planted import Patch, Planted
from reference.broker.produce import PartitionAnswer
from reference.client.producer import AttemptReply
from reference.log.batch import RecordBatch
from reference.log.partition import Partition
from reference.log.producer_state import ProducerState, Snapshot
from reference.replication.leadership import Leadership
from reference.replication.replica_log import ReplicaLog
from reference.replication.replicated import ReplicatedPartition
from reference.simulate.cluster import SentProduce, SentReply, SimulatedCluster
from spec import rules
from spec.vocabulary import Offset, Timestamp

_replicate = Partition.replicate
_restart = Partition.restart
_fail_over = ReplicatedPartition.fail_over


def copy_the_log_alone(replica: Partition, batch: RecordBatch) -> None:
    """A follower does not keep producer state."""
    replica.write((batch,), ())


def copy_without_window(replica: Partition, batch: RecordBatch) -> None:
    """A follower keeps the newest batch of a producer only."""
    _replicate(replica, batch)
    replica.state.producers[batch.producer_id] = replica.state.entry(batch.producer_id).shrunk(1)


def forget_everything(replica: Partition, now: Timestamp) -> None:
    """A restart forgets all producers."""
    replica.state.restore({}, now)


def snapshot_without_batches(state: ProducerState) -> Snapshot:
    """A snapshot keeps epochs, and no batch."""
    return {producer_id: entry.shrunk(0) for producer_id, entry in state.producers.items()}


def snapshot_of_the_window(state: ProducerState) -> Snapshot:
    """A snapshot keeps the oldest batch of the window instead of the newest."""
    return {producer_id: entry._replace(batches=entry.batches[:1]) for producer_id, entry in state.producers.items()}


def lose_the_tail(replica: Partition, now: Timestamp) -> None:
    """A restart loses the last batch of the log."""
    if len(replica.log):
        replica.truncate(replica.log.batches[-1].base_offset, now)
    _restart(replica, now)


def anyone(replicated: ReplicatedPartition) -> list[int]:
    """Every follower may become leader, in sync or not."""
    return [node for node in range(len(replicated.replicas)) if node != replicated.leader_node]


def start_below_the_high_watermark(replicated: ReplicatedPartition, node: int, now: Timestamp) -> None:
    """A new leader drops its last batch."""
    chosen = replicated.replicas[node]
    if len(chosen.log):
        chosen.truncate(chosen.log.batches[-1].base_offset, now)
    _fail_over(replicated, node, now)


def rebuild_nothing(replica: ReplicaLog, offset: Offset, now: Timestamp) -> None:
    """A follower whose log and the new leader's part truncates its log, but not its producer state."""
    replica.log.log.truncate(offset)
    replica.epochs.truncate_end(replica.log.log_end)


def count_the_leader_alone(leadership: Leadership, now: Timestamp) -> bool:
    """The high watermark is the leader's log end."""
    leadership.replica.log.advance_high_watermark(leadership.replica.log.log_end)
    return True


def answer_at_once(
    cluster: SimulatedCluster, request: SentProduce, replica: Partition, answer: PartitionAnswer
) -> None:
    """An answer does not wait until its batch is replicated."""
    cluster._reply(SentReply(request, AttemptReply(answer.error, answer.base_offset, answer.log_start)))


def answer_one_early(cluster: SimulatedCluster, partition: int) -> None:
    """Once anything new is replicated, all that waits is answered."""
    waiting, cluster._waiting[partition] = cluster._waiting[partition], []
    for done in waiting:
        cluster._reply(done.response)


def acknowledge_on_failover(cluster: SimulatedCluster, partition: int) -> None:
    """What waits at a leader that fails is acknowledged."""
    answer_one_early(cluster, partition)


def _once(name: str, owner: object, method: str, instead: object) -> Planted:
    return Planted(name, rules.SEQ_EXACTLY_ONCE, (Patch(owner, method, instead),))


def _window(name: str, owner: object, method: str, instead: object) -> Planted:
    return Planted(name, rules.SEQ_DUPLICATE_WINDOW, (Patch(owner, method, instead),))


OF_REPLICATION: Final = (
    _window("follower keeps no producer state", Partition, "replicate", copy_the_log_alone),
    _window("follower keeps no window", Partition, "replicate", copy_without_window),
    _window("restart forgets producers", Partition, "restart", forget_everything),
    _window("snapshot without batches", ProducerState, "snapshot", snapshot_without_batches),
    Planted(
        "snapshot keeps the oldest batch",
        rules.SEQ_SUCCESSOR,
        (Patch(ProducerState, "snapshot", snapshot_of_the_window),),
    ),
    _window("producer state not truncated", ReplicaLog, "truncate", rebuild_nothing),
    _once("restart loses the last batch", Partition, "restart", lose_the_tail),
    _once("replica out of sync becomes leader", ReplicatedPartition, "candidates", anyone),
    _once("new leader drops its last batch", ReplicatedPartition, "fail_over", start_below_the_high_watermark),
    _once("high watermark of the leader alone", Leadership, "raise_high_watermark", count_the_leader_alone),
    _once("answered before it is replicated", SimulatedCluster, "_answer", answer_at_once),
    _once("answered when something is replicated", SimulatedCluster, "_release", answer_one_early),
    _once("acknowledged by a leader that fails", SimulatedCluster, "_turn_away", acknowledge_on_failover),
)
