"""Defects of replication: of brokers that replicate, of failover and restart, and of controllers."""

from collections.abc import Iterable, Sequence
from typing import Final

from model_tests.machines.replica_events import run_replicas
from model_tests.mutants.defects.planted import SEEDS, Patch, Planted, defect, hunted, without_defect
from model_tests.verify.results import PlantedDefect
from reference.broker.produce import PartitionAnswer
from reference.client.producer import AttemptReply
from reference.log.batch import RecordBatch
from reference.log.partition import Partition
from reference.log.producer_state import ProducerState, Snapshot
from reference.replication import elections
from reference.replication.controller import Controller
from reference.replication.elections import ElectionCandidate
from reference.replication.follower_progress import FollowerProgress
from reference.replication.following import Following
from reference.replication.kraft_controller import KRaftController
from reference.replication.leadership import Leadership
from reference.replication.messages import AlterPartition, EpochEnd, FetchRequest, FollowerFetchResult, PartitionState
from reference.replication.replica import Delayed, Replica
from reference.replication.replica_log import ReplicaLog
from reference.replication.replicated import ReplicatedPartition
from reference.replication.zookeeper_controller import ZooKeeperController
from reference.simulate.cluster import SentProduce, SentReply, SimulatedCluster
from spec import rules
from spec.vocabulary import ErrorCode, Offset, Timestamp

_restart = ReplicaLog.restart
_go_on = Leadership.go_on


def wait_for_confirmed_alone(leadership: Leadership, _: Timestamp) -> list[int]:
    """Only who is confirmed in sync holds the high watermark back; the controller may have let in another."""
    return [broker for broker in leadership.followers if broker in leadership.insync]


def wait_for_no_replica(_: Leadership, __: Timestamp) -> list[int]:
    """The high watermark is the leader's log end."""
    return []


def return_at_once(_: Leadership, __: FollowerProgress) -> bool:
    """A follower joins the in-sync set with its first fetch."""
    return True


def read_without_history(leadership: Leadership, requested: FetchRequest, known: EpochEnd) -> FollowerFetchResult:
    """A leader sends what comes after an offset, whatever the follower has before it."""
    log = leadership.replica.log
    start = min(requested.offset, log.log_end)
    return FollowerFetchResult(ErrorCode.NONE, tuple(log.log.walk(start, log.log_end)), *leadership.bounds())


def anyone_alive(candidates: Sequence[ElectionCandidate]) -> list[int]:
    """Who is alive may lead, in sync or not."""
    return [candidate.broker for candidate in candidates if candidate.alive]


def accept_every_proposal(_: Controller, __: PartitionState, ___: AlterPartition) -> None:
    """The controller takes any leader's word for the in-sync set."""


def keep_existing_log(following: Following, answer: EpochEnd, now: Timestamp) -> None:
    """A follower does not cut what its leader does not have."""
    following._truncate(answer, following._replica.log.log_end, now)


def cut_to_the_high_watermark(following: Following, answer: EpochEnd, now: Timestamp) -> None:
    """A follower cuts its log at its own high watermark (before KIP-101), and may lose what is committed."""
    following._truncate(answer, following._replica.log.high_watermark, now)


def acknowledge_at_once(replica: Replica, _: Delayed, __: Timestamp) -> ErrorCode | None:
    """An acks=all answer goes out as soon as the leader has the batch."""
    return ErrorCode.NONE if replica.leadership else ErrorCode.NOT_LEADER_OR_FOLLOWER


def trust_the_checkpoint(log: ReplicaLog, kept_end: Offset, now: Timestamp) -> None:
    """After a restart the high watermark is what it was, though the log may have less."""
    watermark = log.log.high_watermark
    _restart(log, kept_end, now)
    log.log.high_watermark = Offset(watermark + 1)


def fall_back(leadership: Leadership, now: Timestamp) -> bool:
    """The high watermark is the least log end, even where that is lower than before."""
    log = leadership.replica.log
    least = min((log.log_end, *(leadership.followers[each].log_end for each in leadership.holding_back(now))))
    rises = least > log.high_watermark
    log.high_watermark = Offset(least)
    return rises


def count_unfetched(
    progress: FollowerProgress, offset: Offset, end: Offset, now: Timestamp, epoch: int
) -> FollowerProgress:
    """A fetch is counted as if the follower had already what it is sent."""
    return FollowerProgress(end, end, now, now, epoch)


OF_REPLICAS: Final = (
    defect(
        "proposed members hold nothing back", rules.REPL_HW_BOUNDS, Leadership, "holding_back", wait_for_confirmed_alone
    ),
    defect(
        "nobody holds the high watermark back", rules.REPL_HW_BOUNDS, Leadership, "holding_back", wait_for_no_replica
    ),
    defect("the high watermark falls", rules.REPL_HW_BOUNDS, Leadership, "raise_high_watermark", fall_back),
    defect("a high watermark beyond the log", rules.REPL_HW_BOUNDS, ReplicaLog, "restart", trust_the_checkpoint),
    defect("what is sent counts as fetched", rules.REPL_HW_BOUNDS, FollowerProgress, "fetched", count_unfetched),
    defect("a follower returns with its first fetch", rules.REPL_HW_BOUNDS, Leadership, "has_enough", return_at_once),
    defect("anybody alive may lead", rules.REPL_COMMITTED_SURVIVES, elections, "valid_leaders", anyone_alive),
    Planted(
        "every proposal is accepted",
        rules.REPL_COMMITTED_SURVIVES,
        tuple(Patch(each, "check_proposal", accept_every_proposal) for each in (KRaftController, ZooKeeperController)),
    ),
    defect("acks=all without replication", rules.REPL_COMMITTED_SURVIVES, Replica, "verdict", acknowledge_at_once),
    defect(
        "truncation to the high watermark",
        rules.REPL_HW_BOUNDS,
        Following,
        "_truncate_to",
        cut_to_the_high_watermark,
    ),
    defect(
        "a follower keeps what its leader lacks",
        rules.REPL_PREFIX_AGREEMENT,
        Following,
        "_truncate_to",
        keep_existing_log,
    ),
    defect("histories are not compared", rules.REPL_PREFIX_AGREEMENT, Leadership, "read", read_without_history),
)
"""By the rule that must see it."""


def hunt_in_replicas(planted: Planted, seeds: Iterable[int] = SEEDS) -> PlantedDefect:
    """Run worlds of replicas with the defect, until an invariant of the rule that it breaks has seen it."""
    return hunted(planted, run_replicas, seeds)


def true_replicas(runs: int) -> tuple[str, ...]:
    """Run worlds of replicas without any defect: what broke."""
    return without_defect(run_replicas, runs, "replicas")


_replicate = Partition.replicate
_restart_of_partition = Partition.restart
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
    _restart_of_partition(replica, now)


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
