"""Elections of leaders, and the fate of those that do not know of them yet."""

from dataclasses import replace
from typing import Final

from model_tests.scenarios.producer_stage import broker
from model_tests.scenarios.replicas_stage import CONTROLLER, STEP_MS, OfReplicas, ReplicasStage
from model_tests.scenarios.replication import LAG_MS, LEADER_ALONE, TRIO
from model_tests.scenarios.scenario import Facts, scenario
from reference.errors import Refusal
from spec.versions import KAFKA_2_5, KAFKA_2_7, NEWEST
from spec.vocabulary import ErrorCode


@scenario(
    "leader-fails",
    "A leader fails: the first replica of the assignment that is in sync leads",
    items=(22, 23),
    story="""Broker 1 is next in the assignment, but out of sync. When the leader fails the controller elects broker
    2. The former leader comes back as a follower, drops records that no replica has copied from it, and returns to the
    in-sync set.""",
    setting=OfReplicas(shape=TRIO),
    expected={
        "in sync when the leader fails": ["broker 0", "broker 2"],
        "leads": "broker 2",
        "acknowledged": ["a", "b"],
        "log of broker 0": ["a", "b"],
        "in sync in the end": ["broker 0", "broker 1", "broker 2"],
    },
)
def leader_fails(stage: ReplicasStage) -> Facts:
    """Broker 1 is slow, the leader has a record that was not copied; then all is well again."""
    stage.arrives(*stage.send("a"))
    stage.passes(LAG_MS + STEP_MS, slow=(1,))
    stage.answered()
    before = stage.insync
    lost = stage.send("b")
    stage.arrives(*lost)
    stage.crashes(0)
    stage.notices(slow=(1,))
    leads = stage.leader
    stage.settle()
    stage.returns(0)
    return {
        "in sync when the leader fails": before,
        "leads": leads,
        "acknowledged": stage.promised,
        "log of broker 0": stage.log_of(0),
        "in sync in the end": stage.insync,
    }


ZOMBIE_STORY: Final = """The leader is paused for longer than its session lasts, as in a long garbage collection.
Another leads by the time it continues, and it does not know so. It takes what it is sent,"""


@scenario(
    "zombie-leader",
    "A leader that was replaced does not know it: acks=all",
    items=(23, 22),
    story=f"""{ZOMBIE_STORY} but no replica copies from it: its followers name a newer leader epoch. With acks=all
    nothing is acknowledged that the next leader does not have. When the zombie learns of its successor, it drops the
    record.""",
    setting=OfReplicas(shape=TRIO),
    expected={
        "brokers that think they lead": ["broker 0", "broker 1"],
        "the zombie has": ["a"],
        "acknowledged by the zombie": [],
        "acknowledged": ["a"],
        "log": ["a"],
        "leads": "broker 1",
    },
)
@scenario(
    "zombie-leader-acks-1",
    "A leader that was replaced does not know it: acks=1",
    items=(23, 22),
    story=f"""{ZOMBIE_STORY} and with acks=1 it acknowledges at once. The record is in no other log, and gone when
    the zombie turns to the new leader.""",
    setting=OfReplicas(shape=LEADER_ALONE),
    expected={
        "brokers that think they lead": ["broker 0", "broker 1"],
        "the zombie has": ["a"],
        "acknowledged by the zombie": ["a"],
        "acknowledged": ["a"],
        "log": [],
        "leads": "broker 1",
    },
)
def zombie_leader(stage: ReplicasStage) -> Facts:
    """A producer that knows no better sends to the former leader."""
    stage.stands_still(0)
    stage.resumes(0)
    stage.story.remark(broker(0), "does not know of its successor")
    stage.arrives(*stage.send("a"))
    leading = [broker(node.number) for node in stage.nodes if node.broker.replicas[0].leadership is not None]
    has = stage.log_of(0)
    stage.answered()
    by_zombie = stage.promised
    stage.passes(2 * STEP_MS)
    stage.settle()
    return {
        "brokers that think they lead": leading,
        "the zombie has": has,
        "acknowledged by the zombie": by_zombie,
        "acknowledged": stage.promised,
        "log": stage.log,
        "leads": stage.leader,
    }


@scenario(
    "zombie-proposal",
    "A leader that was replaced cannot shrink the in-sync set",
    items=(23, 22),
    story="""A zombie that could take its followers out of the in-sync set would be alone in it, and acknowledge
    records that no other replica has. The controller refuses: the proposal names a leader epoch that has passed.""",
    setting=OfReplicas(shape=TRIO),
    expected={
        "the controller answers": ["FENCED_LEADER_EPOCH"],
        "in sync": ["broker 1", "broker 2"],
        "acknowledged": [],
    },
)
@scenario(
    "zombie-proposal-zookeeper",
    "A leader that was replaced cannot shrink the in-sync set: ZooKeeper",
    items=(23, 22, 25),
    story="""Before 2.7 a leader wrote the in-sync set into ZooKeeper itself. What stops the zombie is the version
    of the node: another has written since it read it.""",
    setting=OfReplicas(profile=KAFKA_2_5, shape=TRIO),
    expected={
        "the controller answers": ["INVALID_UPDATE_VERSION"],
        "in sync": ["broker 1", "broker 2"],
        "acknowledged": [],
    },
)
def zombie_proposal(stage: ReplicasStage) -> Facts:
    """The zombie's followers have not fetched from it for a long time."""
    stage.pauses(0)
    stage.passes(LAG_MS + STEP_MS)
    stage.resumes(0)
    stage.story.remark(broker(0), "does not know of its successor")
    stage.arrives(*stage.send("a"))
    seen = len(stage.recorder.rows)
    stage.leader_checks_lag(0)
    stage.proposals_arrive()
    refused = [row for row in stage.recorder.rows[seen:] if row["api"] == "AlterPartition"]
    return {
        "the controller answers": [ErrorCode(int(row["error"])).name for row in refused],
        "in sync": stage.insync,
        "acknowledged": stage.promised,
    }


@scenario(
    "controller-fails",
    "The controller fails while a leader is gone: its successor elects",
    items=(23,),
    story="""Leaders are elected by the controller alone. While there is none the partition has no leader; the next
    controller finds the state that is kept by the quorum, waits for the session of the silent broker, and elects.""",
    setting=OfReplicas(shape=TRIO),
    expected={
        "leads without controller": "broker 0",
        "leads": "broker 1",
        "controller epochs": [0, 1],
        "log": ["a", "b"],
    },
)
@scenario(
    "controller-fails-zookeeper",
    "The controller fails while a leader is gone: ZooKeeper",
    items=(23, 25),
    story="""Under ZooKeeper the controller is the broker that made the node /controller. Its successor raises the
    controller epoch, reads who is there and who led, and elects.""",
    setting=OfReplicas(profile=KAFKA_2_7, shape=TRIO),
    expected={
        "leads without controller": "broker 0",
        "leads": "broker 1",
        "controller epochs": [0, 1],
        "log": ["a", "b"],
    },
)
def controller_fails(stage: ReplicasStage) -> Facts:
    """The leader and the controller fail together."""
    stage.acknowledged("a")
    first = stage.metadata.controller_epoch
    stage.story.remark(CONTROLLER, "fails")
    stage.crashes(0)
    without = stage.leader
    stage.elect_controller(1)
    stage.notices()
    stage.acknowledged("b")
    return {
        "leads without controller": without,
        "leads": stage.leader,
        "controller epochs": [first, stage.metadata.controller_epoch],
        "log": stage.log,
    }


@scenario(
    "stale-controller",
    "A controller that was replaced gives an order: ZooKeeper",
    items=(23, 25),
    story="""The former controller does not know that it was replaced. Brokers remember the highest controller epoch
    that they have received, and refuse its orders with STALE_CONTROLLER_EPOCH; ZooKeeper refuses its writes.""",
    setting=OfReplicas(profile=KAFKA_2_7, shape=TRIO),
    expected={"a broker answers": "STALE_CONTROLLER_EPOCH", "ZooKeeper answers": "NOT_CONTROLLER", "leads": "broker 0"},
)
def stale_controller(stage: ReplicasStage) -> Facts:
    """Controller 1 is elected, and the brokers know it."""
    former = stage.controllers[0]
    late = former.word_of(0)
    stage.elect_controller(1)
    stage.talk()
    stage.orders(0, 1, late)
    outcomes = {"a broker answers": stage.answers_to("LeaderAndIsr")[0]}
    try:
        former.keep(0, former.metadata.partitions[0])
    except Refusal as refusal:
        outcomes["ZooKeeper answers"] = refusal.code.name
    return {**outcomes, "leads": stage.leader}


@scenario(
    "controlled-shutdown",
    "A broker shuts down in order, and gets back what it led",
    items=(23, 22),
    story="""A broker that is shut down asks the controller first. Another leads before it goes, so that no client
    waits for a session to expire. When it is back and in sync, the election of preferred leaders gives it back what
    it led.""",
    setting=OfReplicas(shape=TRIO),
    expected={
        "leads before it goes": "broker 1",
        "acknowledged": ["a", "b"],
        "leads when it is back": "broker 1",
        "leads after the preferred election": "broker 0",
        "log": ["a", "b"],
    },
)
def controlled_shutdown(stage: ReplicasStage) -> Facts:
    """The preferred leader is restarted."""
    stage.acknowledged("a")
    stage.begins_shutdown(0)
    stage.talk()
    before = stage.leader
    stage.broker_ends_shutdown(0)
    stage.acknowledged("b")
    stage.returns(0)
    back = stage.leader
    stage.elect_preferred_leader()
    stage.talk()
    return {
        "leads before it goes": before,
        "acknowledged": stage.promised,
        "leads when it is back": back,
        "leads after the preferred election": stage.leader,
        "log": stage.log,
    }


@scenario(
    "eligible-leader",
    "Since 4.1: who left an in-sync set that was too small may lead",
    items=(23, 22, 25),
    story="""With min.insync.replicas=2 a leader that is alone acknowledges nothing with acks=all. A replica that left
    the set when it became too small therefore has all that was acknowledged, and may lead if the last one does not come
    back, unless it was killed and may have lost the end of its log (KIP-966).""",
    setting=OfReplicas(profile=NEWEST, shape=replace(TRIO, min_insync=2)),
    expected={"acknowledged": ["a"], "in sync at last": [], "leads": "broker 2", "log": ["a"]},
)
@scenario(
    "last-in-sync",
    "Before 4.1: the partition waits for the last that was in sync",
    items=(23, 22, 25),
    story="""The same run without eligible leaders. Only the last of the in-sync set may lead, although broker 2 has
    everything; while it is gone, the partition has no leader.""",
    setting=OfReplicas(
        profile=replace(NEWEST, eligible_leader_replicas=False),
        shape=replace(TRIO, min_insync=2),
        beside="eligible.leader.replicas.version=0 as before 4.1",
    ),
    expected={"acknowledged": ["a"], "in sync at last": ["broker 0"], "leads": "none", "log": ["a"]},
)
def last_in_sync(stage: ReplicasStage) -> Facts:
    """The brokers go one after another, the leader last; broker 2, which stood still, is back."""
    stage.acknowledged("a")
    stage.fails(1)
    stage.stands_still(2)
    stage.fails(0)
    last = stage.insync
    stage.goes_on(2)
    return {"acknowledged": stage.promised, "in sync at last": last, "leads": stage.leader, "log": stage.log}


@scenario(
    "eligible-waits",
    "Since 4.1: who is eligible waits while another is in sync",
    items=(23, 22, 25),
    story="""Broker 2 alone is in sync, the others are eligible, and broker 0, which the assignment prefers, is back.
    The preferred election is refused: an in-sync set that has a member is not passed over, although broker 0 has all
    that was acknowledged. When broker 2 shuts down the set is empty, and broker 0 leads at once, in sync alone.""",
    setting=OfReplicas(profile=NEWEST, shape=replace(TRIO, min_insync=3)),
    expected={
        "eligible": ["broker 0", "broker 1"],
        "leads after the preferred election": "broker 2",
        "leads when broker 2 shuts down": "broker 0",
        "in sync then": ["broker 0"],
        "log": ["a"],
    },
)
def eligible_waits(stage: ReplicasStage) -> Facts:
    """Broker 0 has sent a heartbeat, and has not fetched yet."""
    stage.acknowledged("a")
    stage.stands_still(0)
    stage.stands_still(1)
    eligible = [broker(node) for node in sorted(stage.metadata.partitions[0].eligible)]
    stage.resumes(0)
    stage.broker_heartbeats(0)
    stage.talk()
    stage.story.remark(CONTROLLER, "is asked for the preferred leader")
    stage.elect_preferred_leader()
    waiting = stage.leader
    stage.begins_shutdown(2)
    stage.talk()
    return {
        "eligible": eligible,
        "leads after the preferred election": waiting,
        "leads when broker 2 shuts down": stage.leader,
        "in sync then": stage.insync,
        "log": stage.log,
    }
