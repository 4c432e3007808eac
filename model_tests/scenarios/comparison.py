"""Kafka's transactions beside two-phase commit, snapshots and atomic broadcast: the same run, and what is different."""

from typing import Final

from model_tests.scenarios.coordinators import ID, opened
from model_tests.scenarios.scenario import Facts, scenario
from model_tests.scenarios.transaction_stage import (
    T0,
    T1,
    OfTransactions,
    TransactionStage,
    coordinator,
    is_marker_for,
)
from reference.log.partition import READ_UNCOMMITTED
from reference.world.transaction_shape import TransactionShape

SETTING: Final = OfTransactions()
THREE: Final = TransactionShape(nodes=3)
"""Data on node 0, coordinators on the other two."""


@scenario(
    "beside-two-phase-commit",
    "The coordinator never returns after the decision; two-phase commit would block",
    items=(19, 16),
    story="""In two-phase commit every participant votes, and from then on holds its locks until it learns the
    outcome: if the coordinator is gone, they wait for it to come back. Kafka's partitions do not vote and lock nothing.
    The decision is a record in a replicated log, so that another coordinator reads and completes it while the first one
    never returns; meanwhile others write to the same partitions, and only read_committed readers wait.""",
    setting=OfTransactions(shape=THREE),
    expected={
        "coordinators meanwhile": 0,
        "visible meanwhile": [],
        "others can write meanwhile": True,
        "state that the next coordinator reads": "PREPARE_COMMIT",
        "visible in the end": ["a", "plain", "b"],
        "coordinators in the end": ["coordinator 2"],
    },
)
def beside_two_phase_commit(stage: TransactionStage) -> Facts:
    """Node 1 decides, sends no marker, and fails; no node is elected for a while, and then node 2."""
    with stage.story.offstage():
        stage.move_coordinator(1)
    producer = opened(stage)
    stage.decide(producer)
    stage.story.remark(coordinator(1), "fails before it has sent any marker")
    stage.events.let(stage.events.broker_restarts, 1)
    stage.write_plainly(T0, "plain")
    meanwhile: Facts = {
        "coordinators meanwhile": len(stage.brokers.log_leaders),
        "visible meanwhile": stage.shows(T0) + stage.shows(T1),
        "others can write meanwhile": "plain" in stage.read(T0, READ_UNCOMMITTED),
    }
    stage.move_coordinator(2)
    read = stage.known(ID).state.name
    stage.settle()
    return {
        **meanwhile,
        "state that the next coordinator reads": read,
        "visible in the end": stage.shows(T0) + stage.shows(T1),
        "coordinators in the end": [coordinator(node) for node in stage.brokers.log_leaders.values()],
    }


@scenario(
    "beside-snapshots",
    "A reader sees one half of a transaction before the other; a snapshot would show both or none",
    items=(19, 12),
    story="""PostgreSQL gives each reader a snapshot (MVCC): a transaction is in it as a whole or not at all. In
    Kafka every partition gets a marker of its own, and they arrive one by one. A reader of both partitions sees the
    half on t-0 already and that on t-1 not yet. Nothing is lost or stays torn, but reading is not isolated.""",
    setting=SETTING,
    expected={
        "first look, t-0": ["a"],
        "first look, t-1": [],
        "second look, t-0": ["a"],
        "second look, t-1": ["b"],
    },
)
def beside_snapshots(stage: TransactionStage) -> Facts:
    """Read while one marker is written and the other is under way."""
    producer = opened(stage)
    stage.decide(producer)
    stage.coordinator_sends_markers(0)
    stage.deliver(is_marker_for(T0))
    first: Facts = {"first look, t-0": stage.shows(T0), "first look, t-1": stage.shows(T1)}
    stage.settle()
    return {**first, "second look, t-0": stage.shows(T0), "second look, t-1": stage.shows(T1)}


@scenario(
    "beside-atomic-broadcast",
    "Two transactions are in opposite order on two partitions; atomic broadcast has one order",
    items=(19, 20),
    story="""ZooKeeper's atomic broadcast (Zab) gives all changes one order, and every server applies them in it.
    Kafka orders the records of one partition, and nothing across partitions: of two transactions that write to both,
    one may be first here and the other there, and readers of both see it so. Both are atomic all the same.""",
    setting=SETTING,
    expected={"order on t-0": ["x", "y"], "order on t-1": ["y", "x"], "both committed": True},
)
def beside_atomic_broadcast(stage: TransactionStage) -> Facts:
    """Two producers write to two partitions in opposite order."""
    with stage.story.offstage():
        one, other = stage.start("one"), stage.start("other")
    stage.begin(one, t0="x")
    stage.begin(other, t1="y")
    stage.send(one, T1, "x")
    stage.send(other, T0, "y")
    stage.settle()
    stage.end(one)
    stage.end(other)
    return {
        "order on t-0": stage.shows(T0),
        "order on t-1": stage.shows(T1),
        "both committed": one.transaction.is_committed and other.transaction.is_committed,
    }
