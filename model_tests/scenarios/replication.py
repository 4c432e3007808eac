"""Which setting loses or duplicates what when brokers fail."""

from dataclasses import replace
from typing import Final

from model_tests.scenarios.producer_stage import OfProducers, ProducerStage
from model_tests.scenarios.scenario import Facts, scenario
from reference.shape import Shape

PAIR: Final = Shape(producers=1, nodes=2)
TRIO: Final = Shape(producers=1, nodes=3)
PLAIN: Final = replace(PAIR, idempotent=False)


@scenario(
    "acks-0",
    "acks=0: a record is lost on its way, and nobody knows",
    items=(22,),
    story="""With acks=0 a record that is sent counts as written. The broker answers nothing, so that a lost request
    is never sent again. It is at most once: fast, and good for what may be missing.""",
    setting=OfProducers(shape=replace(PLAIN, acks=0)),
    expected={"told as written": ["a", "b"], "log": ["b"]},
)
def acks_0(stage: ProducerStage) -> Facts:
    """The first of two requests is lost."""
    first, second = stage.send("a", "b")
    stage.request_is_lost(first)
    stage.broker_receives(second)
    stage.settle()
    return {"told as written": stage.promised, "log": stage.log}


@scenario(
    "acks-0-leader-fails",
    "acks=0: the leader fails before anybody has copied the record",
    items=(22,),
    story="""With acks=0 nobody waits for the leader, let alone for a follower. The record is in the log of a leader
    that fails, and nowhere else.""",
    setting=OfProducers(shape=replace(PLAIN, acks=0)),
    expected={"told as written": ["a"], "log": []},
)
@scenario(
    "acks-1",
    "acks=1: the leader acknowledges and fails before anybody has copied the record",
    items=(22,),
    story="""With acks=1 the leader answers as soon as the record is in its own log. If it fails before a follower
    has copied the record, the next leader does not have it, and the old one drops it when it is back. A record is lost
    that was acknowledged.""",
    setting=OfProducers(shape=replace(PLAIN, acks=1)),
    expected={"told as written": ["a"], "log": []},
)
@scenario(
    "acks-all",
    "acks=all: what is acknowledged survives the leader",
    items=(22, 1),
    story="""The same run with acks=all. The leader answers when all replicas in sync have the record, so that it
    has not answered yet when it fails. The producer sends the record to the next leader, and it is there once.""",
    setting=OfProducers(shape=PAIR),
    expected={"told as written": ["a"], "log": ["a"]},
)
def leader_fails_before_copying(stage: ProducerStage) -> Facts:
    """The leader has a record that no follower has, and fails."""
    (first,) = stage.send("a")
    stage.broker_receives(first)
    stage.answer_all()
    stage.leader_fails_over(0, 1)
    stage.settle()
    return {"told as written": stage.promised, "log": stage.log}


@scenario(
    "acks-all-duplicate",
    "acks=all without idempotence: the leader fails between copying and answering",
    items=(22, 1),
    story="""The record is on every replica, but the leader fails before it answers. The producer sends it to the
    next leader, which has it already. With acks=all nothing that is acknowledged is lost; without idempotence it may be
    there twice.""",
    setting=OfProducers(shape=PLAIN),
    expected={"told as written": ["a"], "log": ["a", "a"]},
)
@scenario(
    "acks-all-idempotent",
    "acks=all with idempotence: the next leader knows the record",
    items=(22, 7, 1),
    story="""The same run with idempotence. A follower derives the state of producers from what it copies, so that
    the next leader recognizes the batch, and answers with the offset of the first copy. This is exactly once.""",
    setting=OfProducers(shape=PAIR),
    expected={"told as written": ["a"], "log": ["a"]},
)
def leader_fails_before_answering(stage: ProducerStage) -> Facts:
    """A record is on all replicas, and its answer is lost with the leader."""
    (first,) = stage.send("a")
    stage.broker_receives(first)
    stage.replicate(1)
    stage.lose_answers()
    stage.leader_fails_over(0, 1)
    stage.settle()
    return {"told as written": stage.promised, "log": stage.log}


@scenario(
    "unclean-election",
    "Unclean election: a replica that is behind becomes leader",
    items=(22,),
    story="""The follower is behind and leaves the in-sync set, so that the leader alone acknowledges with acks=all.
    Then the leader fails. With unclean.leader.election.enable the follower takes over rather than leave the partition
    without leader, and an acknowledged record is lost.""",
    setting=OfProducers(shape=PAIR),
    expected={"told as written": ["a", "b"], "log": ["a"], "candidates for a clean election": 0},
)
def unclean_election(stage: ProducerStage) -> Facts:
    """The second record is acknowledged by the leader alone."""
    stage.acknowledged("a")
    (second,) = stage.send("b")
    stage.broker_receives(second)
    stage.follower_leaves_insync(0, 1)
    stage.answer_all()
    candidates = len(stage.partitions[0].candidates())
    stage.unclean_leader_election(0, 1)
    stage.settle()
    return {"told as written": stage.promised, "log": stage.log, "candidates for a clean election": candidates}


@scenario(
    "min-insync-replicas",
    "min.insync.replicas=2: a leader alone accepts nothing",
    items=(22,),
    story="""With min.insync.replicas=2 a leader whose followers are all out of sync refuses acks=all with
    NOT_ENOUGH_REPLICAS. The producer tries again until a follower is back. The partition was not available for a while,
    but whatever is acknowledged is on two replicas.""",
    setting=OfProducers(shape=replace(PAIR, min_insync=2)),
    expected={
        "first answer": "NOT_ENOUGH_REPLICAS",
        "log while alone": [],
        "told as written": ["a"],
        "replicas that have it": 2,
    },
)
def min_insync_replicas(stage: ProducerStage) -> Facts:
    """The only follower leaves the in-sync set, and comes back."""
    stage.follower_leaves_insync(0, 1)
    (first,) = stage.send("a")
    stage.broker_receives(first)
    stage.answer_all()
    alone = stage.log
    stage.follower_fetches(0, 1)
    stage.settle()
    return {
        "first answer": stage.answers[0],
        "log while alone": alone,
        "told as written": stage.promised,
        "replicas that have it": sum(replica.log_end > 0 for replica in stage.partitions[0].replicas),
    }


@scenario(
    "slow-follower",
    "A slow follower holds everybody up, leaves the in-sync set, and returns",
    items=(22,),
    story="""With acks=all the high watermark is the smallest log end of the replicas in sync, so that one slow
    follower delays every acknowledgement and every reader. After replica.lag.time.max.ms it leaves the set and delays
    nobody. When it has caught up, it is in sync again.""",
    setting=OfProducers(shape=TRIO),
    expected={
        "acknowledged while it is slow": [],
        "readable while it is slow": [],
        "acknowledged when it has left": ["a"],
        "in sync when it has left": ["broker 0", "broker 1"],
        "in sync in the end": ["broker 0", "broker 1", "broker 2"],
        "log": ["a"],
    },
)
def slow_follower(stage: ProducerStage) -> Facts:
    """Broker 2 does not copy for a while."""
    (first,) = stage.send("a")
    stage.broker_receives(first)
    stage.replicate(1)
    stage.answer_all()
    slow = {"acknowledged while it is slow": stage.promised, "readable while it is slow": stage.readable}
    stage.follower_leaves_insync(0, 2)
    stage.answer_all()
    left = {"acknowledged when it has left": stage.promised, "in sync when it has left": stage.insync}
    stage.replicate(2)
    return {**slow, **left, "in sync in the end": stage.insync, "log": stage.log}


@scenario(
    "follower-fails",
    "A follower fails, comes back, and catches up",
    items=(22, 7),
    story="""A follower that restarts leaves the in-sync set, and the leader goes on without it. It comes back with
    the log that it has on disk, copies what it lacks, and is in sync again. No acknowledgement was missed, none was
    wrong.""",
    setting=OfProducers(shape=PAIR),
    expected={"told as written": ["a", "b"], "in sync in the end": ["broker 0", "broker 1"], "log of broker 1": 2},
)
def follower_fails(stage: ProducerStage) -> Facts:
    """The follower restarts between two records."""
    stage.acknowledged("a")
    stage.broker_restarts(1)
    stage.story.remark("broker 1", "restarts, and is out of sync")
    stage.acknowledged("b")
    return {
        "told as written": stage.promised,
        "in sync in the end": stage.insync,
        "log of broker 1": int(stage.partitions[0].replicas[1].log_end),
    }
