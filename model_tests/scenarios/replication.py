"""Settings under which records are lost or duplicated when brokers fail."""

from dataclasses import replace
from typing import Final

from model_tests.scenarios.replicas_stage import OfReplicas, ReplicasStage
from model_tests.scenarios.scenario import Facts, scenario
from reference.world.replicas_shape import ReplicaProducer, ReplicasShape
from spec.versions import KAFKA_0_11, KAFKA_3_6, NEWEST

TRIO: Final = ReplicasShape(writers=(ReplicaProducer(),), request_timeout_ms=100_000)
"""Three brokers, and a producer that waits longer than a follower may lag."""
PLAIN: Final = replace(TRIO, writers=(ReplicaProducer(idempotent=False),))
WITHOUT_ACKS: Final = replace(TRIO, writers=(ReplicaProducer(acks=0, idempotent=False),))
LEADER_ALONE: Final = replace(TRIO, writers=(ReplicaProducer(acks=1, idempotent=False),))
LAG_MS: Final = NEWEST.replica_lag_time_max_ms
FOREVER_MS: Final = 2 * LAG_MS  # twice as long as a follower may lag before it leaves the in-sync set


@scenario(
    "acks-0",
    "acks=0: a record is lost on its way, unnoticed",
    items=(22,),
    story="""With acks=0 a record that is sent counts as written. The broker answers nothing, so that a lost request
    is never sent again. It is at most once: fast, and good for what may be missing.""",
    setting=OfReplicas(shape=WITHOUT_ACKS),
    expected={"acknowledged": ["a", "b"], "log": ["b"]},
)
def acks_0(stage: ReplicasStage) -> Facts:
    """A connection breaks with the first request, and the second goes over the next connection."""
    stage.lose(*stage.send("a"))
    stage.arrives(*stage.send("b"))
    stage.settle()
    return {"acknowledged": stage.promised, "log": stage.log}


@scenario(
    "acks-0-leader-fails",
    "acks=0: the leader fails before the record was copied",
    items=(22,),
    story="""With acks=0 the producer waits neither for the leader nor for a follower. The record is in the log of a
    leader that fails, and nowhere else.""",
    setting=OfReplicas(shape=WITHOUT_ACKS),
    expected={"acknowledged": ["a"], "log": [], "leads": "broker 1"},
)
@scenario(
    "acks-1",
    "acks=1: the leader acknowledges and fails before the record was copied",
    items=(22,),
    story="""With acks=1 the leader answers as soon as the record is in its own log. If it fails before a follower
    has copied the record, the next leader does not have it, and the old one drops it when it is back. A record is
    lost that was acknowledged.""",
    setting=OfReplicas(shape=LEADER_ALONE),
    expected={"acknowledged": ["a"], "log": [], "leads": "broker 1"},
)
@scenario(
    "acks-all",
    "acks=all: what is acknowledged survives the leader",
    items=(22, 1),
    story="""The same run with acks=all. The leader answers when all replicas in sync have the record, so that it
    has not answered yet when it fails. The producer sends the record to the next leader, and it is there once.""",
    setting=OfReplicas(shape=TRIO),
    expected={"acknowledged": ["a"], "log": ["a"], "leads": "broker 1"},
)
def leader_fails_before_copying(stage: ReplicasStage) -> Facts:
    """The leader has a record that no follower has, and fails; then it is back."""
    stage.arrives(*stage.send("a"))
    stage.answered()
    stage.fails(0)
    stage.settle()
    stage.returns(0)
    return {"acknowledged": stage.promised, "log": stage.log, "leads": stage.leader}


@scenario(
    "acks-all-duplicate",
    "acks=all without idempotence: the leader fails between copying and answering",
    items=(22, 1),
    story="""The record is on every replica, but the leader fails before it answers. The producer sends it to the
    next leader, which has it already. With acks=all nothing that is acknowledged is lost; without idempotence it
    may be there twice.""",
    setting=OfReplicas(shape=PLAIN),
    expected={"acknowledged": ["a"], "log": ["a", "a"]},
)
@scenario(
    "acks-all-idempotent",
    "acks=all with idempotence: the next leader knows the record",
    items=(22, 7, 1),
    story="""The same run with idempotence. A follower derives the state of producers from what it copies, so that
    the next leader recognizes the batch, and answers with the offset of the first copy. This is exactly once.""",
    setting=OfReplicas(shape=TRIO),
    expected={"acknowledged": ["a"], "log": ["a"]},
)
def leader_fails_before_answering(stage: ReplicasStage) -> Facts:
    """A record is on all replicas, and its answer is lost with the leader."""
    stage.arrives(*stage.send("a"))
    stage.replicate(1, 2)
    stage.lose_answers()
    stage.fails(0)
    stage.settle()
    return {"acknowledged": stage.promised, "log": stage.log}


@scenario(
    "unclean-election",
    "Unclean election: a replica that is behind becomes leader",
    items=(22,),
    story="""The followers are behind and leave the in-sync set, so that the leader alone acknowledges with
    acks=all. Then the leader fails. With unclean.leader.election.enable a follower takes over rather than leave the
    partition without leader, and an acknowledged record is lost.""",
    setting=OfReplicas(shape=replace(TRIO, unclean_allowed=True)),
    expected={"acknowledged": ["a", "b"], "in sync before": ["broker 0"], "leads": "broker 1", "log": ["a"]},
)
@scenario(
    "clean-election",
    "Clean election: a partition waits for the replica that has everything",
    items=(22,),
    story="""The same run without unclean elections. The partition has no leader, and no client can write or read,
    until the last broker that was in sync is back with its log. Availability is given up for acknowledged records.""",
    setting=OfReplicas(shape=TRIO),
    expected={
        "acknowledged": ["a", "b"],
        "in sync before": ["broker 0"],
        "leads": "none",
        "leads when broker 0 is back": "broker 0",
        "log": ["a", "b"],
    },
)
def election_without_candidates(stage: ReplicasStage) -> Facts:
    """The second record is acknowledged by the leader alone."""
    stage.acknowledged("a")
    stage.arrives(*stage.send("b"))
    stage.passes(FOREVER_MS, slow=(1, 2))
    stage.answered()
    before = {"acknowledged": stage.promised, "in sync before": stage.insync}
    stage.fails(0)
    leads = stage.leader
    if leads != "none":
        return {**before, "leads": leads, "log": stage.log}
    stage.returns(0)
    return {**before, "leads": leads, "leads when broker 0 is back": stage.leader, "log": stage.log}


@scenario(
    "min-insync-replicas",
    "min.insync.replicas=2: a leader alone accepts nothing",
    items=(22,),
    story="""With min.insync.replicas=2 a leader whose followers are all out of sync refuses acks=all with
    NOT_ENOUGH_REPLICAS. The producer tries again until a follower is back. The partition was not available for a
    while, but whatever is acknowledged is on two replicas.""",
    setting=OfReplicas(shape=replace(TRIO, min_insync=2)),
    expected={
        "first answer": "NOT_ENOUGH_REPLICAS",
        "log while alone": [],
        "acknowledged": ["a"],
        "replicas that have it": 3,
    },
)
def min_insync_replicas(stage: ReplicasStage) -> Facts:
    """Both followers fail, and come back."""
    stage.fails(1)
    stage.fails(2)
    stage.arrives(*stage.send("a"))
    stage.answered()
    alone = stage.log
    stage.returns(1)
    stage.returns(2)
    stage.settle()
    return {
        "first answer": stage.answers[0],
        "log while alone": alone,
        "acknowledged": stage.promised,
        "replicas that have it": sum(stage.log_of(node) == ["a"] for node in range(3)),
    }


@scenario(
    "not-enough-replicas-after-append",
    "min.insync.replicas=2: the followers leave when the record is already written",
    items=(22,),
    story="""The record was admitted and written; then the followers leave the in-sync set. The leader answers
    NOT_ENOUGH_REPLICAS_AFTER_APPEND: it is in the log, and not safe. Without idempotence the retry writes it again.""",
    setting=OfReplicas(profile=KAFKA_3_6, shape=replace(PLAIN, min_insync=2)),
    expected={"first answer": "NOT_ENOUGH_REPLICAS_AFTER_APPEND", "acknowledged": ["a"], "log": ["a", "a"]},
)
def not_enough_replicas_after_append(stage: ReplicasStage) -> Facts:
    """Both followers fail after the append, and come back."""
    stage.arrives(*stage.send("a"))
    stage.crashes(1)
    stage.fails(2)
    stage.answered()
    stage.returns(1)
    stage.returns(2)
    stage.settle()
    return {"first answer": stage.answers[0], "acknowledged": stage.promised, "log": stage.log}


@scenario(
    "slow-follower",
    "A slow follower delays all requests, leaves the in-sync set, and returns",
    items=(22,),
    story="""With acks=all the high watermark is the smallest log end of the replicas in sync, so that one slow
    follower delays every acknowledgement and every reader. After replica.lag.time.max.ms it leaves the set and
    delays no request. When it has caught up, it is in sync again.""",
    setting=OfReplicas(shape=TRIO),
    expected={
        "acknowledged while it is slow": [],
        "readable while it is slow": [],
        "acknowledged when it has left": ["a"],
        "in sync when it has left": ["broker 0", "broker 1"],
        "in sync in the end": ["broker 0", "broker 1", "broker 2"],
        "log": ["a"],
    },
)
def slow_follower(stage: ReplicasStage) -> Facts:
    """Broker 2 does not copy for a while."""
    stage.arrives(*stage.send("a"))
    stage.passes(LAG_MS // 3, slow=(2,))
    stage.answered()
    slow = {"acknowledged while it is slow": stage.promised, "readable while it is slow": stage.readable}
    stage.passes(LAG_MS, slow=(2,))
    stage.answered()
    left = {"acknowledged when it has left": stage.promised, "in sync when it has left": stage.insync}
    stage.replicate(2)
    return {**slow, **left, "in sync in the end": stage.insync, "log": stage.log}


@scenario(
    "follower-fails",
    "A follower fails, comes back, and catches up",
    items=(22, 7),
    story="""A follower that fails is fenced and leaves the in-sync set, and the leader continues without it. It comes
    back with the log that it has on disk, copies what it lacks, and is in sync again. No acknowledgement was
    missed, none was wrong.""",
    setting=OfReplicas(shape=TRIO),
    expected={
        "in sync without it": ["broker 0", "broker 2"],
        "acknowledged": ["a", "b"],
        "in sync in the end": ["broker 0", "broker 1", "broker 2"],
        "log of broker 1": ["a", "b"],
    },
)
def follower_fails(stage: ReplicasStage) -> Facts:
    """The follower is down between two records."""
    stage.acknowledged("a")
    stage.fails(1)
    without = stage.insync
    stage.acknowledged("b")
    stage.returns(1)
    return {
        "in sync without it": without,
        "acknowledged": stage.promised,
        "in sync in the end": stage.insync,
        "log of broker 1": stage.log_of(1),
    }


@scenario(
    "truncation-high-watermark",
    "Before 0.11: a follower drops an acknowledged record, and becomes leader",
    items=(22, 25),
    story="""A follower gets the high watermark one fetch late. Before KIP-101 it cut its log there whenever it
    turned to another leader, and copied the rest again. If the new leader failed meanwhile, the follower, still in
    the in-sync set, took over without a record that all replicas had acknowledged.""",
    setting=OfReplicas(
        profile=replace(KAFKA_0_11, truncates_by_leader_epoch=False),
        shape=PLAIN,
        beside="truncation to the high watermark as before it",
    ),
    expected={"acknowledged": ["a"], "broker 2 has": [], "leads": "broker 2", "log": []},
)
@scenario(
    "truncation-leader-epoch",
    "Since 0.11: a follower cuts its log where the leader says that an epoch ended",
    items=(22, 25),
    story="""The same run with leader epochs (KIP-101). The follower asks the new leader where the last epoch that
    it knows ended, and keeps what the leader has too. What was acknowledged is in the log of every later leader.""",
    setting=OfReplicas(profile=KAFKA_0_11, shape=PLAIN),
    expected={"acknowledged": ["a"], "broker 2 has": ["a"], "leads": "broker 2", "log": ["a"]},
)
def truncation(stage: ReplicasStage) -> Facts:
    """All replicas have the record when the leader fails, and only the leader knows so; then its successor fails."""
    stage.arrives(*stage.send("a"))
    stage.replicate(1, 2, rounds=1)
    stage.follower_fetches(1, 0)
    stage.follower_fetches(2, 0)
    stage.requests_alone()
    stage.answered()
    stage.crashes(0)
    stage.notices(slow=(1, 2))
    has = stage.log_of(2)
    stage.story.remark("broker 1", "is killed before its log was copied")
    stage.crashes(1)
    stage.notices(slow=(2,))
    return {"acknowledged": stage.promised, "broker 2 has": has, "leads": stage.leader, "log": stage.log}
