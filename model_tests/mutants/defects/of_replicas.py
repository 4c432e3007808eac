"""Defects of brokers that replicate and of their controllers, each with the rule that it breaks and its hunters."""

from collections.abc import Iterable, Sequence
from typing import Final

from model_tests.machines.replica_events import run_replicas
from model_tests.mutants.defects.planted import SEEDS, Patch, Planted, defect, hunted, without_defect
from model_tests.verify.results import PlantedDefect
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
from reference.replication.zookeeper_controller import ZooKeeperController
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
