"""A coordinator fails at each point of a commit; a partition is away during one."""

from typing import Final

from model_tests.scenarios.scenario import Facts, scenario
from model_tests.scenarios.transaction_stage import (
    T0,
    T1,
    OfTransactions,
    TransactionStage,
    is_end,
    is_marker_for,
)
from reference.log.partition import READ_UNCOMMITTED
from reference.recording.recorder import FATE
from reference.world.instances import ApplicationRun
from spec.vocabulary import Api, ControlType, ErrorCode

ID: Final = "payments"
SETTING: Final = OfTransactions()


@scenario(
    "coordinator-before-prepare",
    "The coordinator fails before the commit is in its log",
    items=(16, 11),
    story="""The EndTxn is lost with the coordinator. The next one reads the log, in which the transaction is
    ongoing, and does nothing about it. The producer finds the new coordinator, asks again, and the transaction is
    committed.""",
    setting=SETTING,
    expected={
        "state that the next coordinator reads": "ONGOING",
        "visible": ["a", "b"],
        "commit acknowledged": True,
        "markers": ["COMMIT", "COMMIT"],
    },
)
def before_prepare(stage: TransactionStage) -> Facts:
    """The request is lost."""
    producer = opened(stage)
    stage.ask_to_end(producer)
    stage.producer_asks(producer)
    (request,) = stage.wires.requests.in_transit
    stage.lose(request)
    stage.replace_coordinator()
    read = stage.known(ID).state.name
    stage.settle()
    return {"state that the next coordinator reads": read, **outcome(stage, producer)}


@scenario(
    "coordinator-moves",
    "The coordinator is another, and is still reading its log",
    items=(15, 11, 16),
    story="""A coordinator that was replaced answers NOT_COORDINATOR, and the producer asks any broker for the
    coordinator. The new one must first read its partition of __transaction_state; until then it answers
    COORDINATOR_LOAD_IN_PROGRESS. Both errors are retriable. The application sees neither, and nothing is decided
    meanwhile.""",
    setting=SETTING,
    expected={
        "answers to EndTxn": ["NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "NONE"],
        "state of the producer meanwhile": "COMMITTING_TRANSACTION",
        "visible": ["a", "b"],
        "commit acknowledged": True,
        "markers": ["COMMIT", "COMMIT"],
    },
)
def coordinator_moves(stage: TransactionStage) -> Facts:
    """The commit is asked of the one that was, then of the one that is not ready, then of one that is."""
    producer = opened(stage)
    stage.move_coordinator(1, loads=False)
    stage.ask_to_end(producer)
    stage.settle(3)
    state = producer.producer.manager.machine.state.name
    stage.events.let(stage.events.fault_is_mended, stage.events.coordinator_loads)
    stage.settle()
    ends = (row for row in stage.recorder.rows if row["api"] == Api.END_TXN and FATE not in row)
    answers = [ErrorCode(int(row["error"])).name for row in ends]
    return {"answers to EndTxn": answers, "state of the producer meanwhile": state, **outcome(stage, producer)}


@scenario(
    "coordinator-after-prepare",
    "The coordinator fails when the commit is decided and one partition has its marker",
    items=(16, 11, 12),
    story="""The PREPARE_COMMIT record in the coordinator's log is the decision; any later coordinator carries it
    out. The next coordinator reads the record and sends the markers to all partitions again. The partition that
    has its marker already gets a second one, which changes nothing.""",
    setting=SETTING,
    expected={
        "visible before": ["a"],
        "state that the next coordinator reads": "PREPARE_COMMIT",
        "visible": ["a", "b"],
        "commit acknowledged": True,
        "markers": ["COMMIT", "COMMIT", "COMMIT"],
    },
)
def after_prepare(stage: TransactionStage) -> Facts:
    """The marker of t-0 is written, that of t-1 is lost."""
    producer = opened(stage)
    stage.decide(producer)
    stage.coordinator_sends_markers(0)
    stage.deliver(is_marker_for(T0))
    visible = stage.read(T0) + stage.read(T1)
    for message in tuple(stage.wires.requests.in_transit):
        stage.lose(message)
    stage.lose_answers()
    stage.replace_coordinator()
    read = stage.known(ID).state.name
    stage.settle()
    return {"visible before": visible, "state that the next coordinator reads": read, **outcome(stage, producer)}


@scenario(
    "coordinator-after-complete",
    "The coordinator fails when everything is done, and the answer is lost",
    items=(16, 11),
    story="""The markers are written and COMPLETE_COMMIT is in the log, but the producer has no answer. It finds the
    next coordinator and sends the request again. The state and the epoch in the log show that this is a repetition, and
    the answer is the outcome; no marker is written again.""",
    setting=SETTING,
    expected={
        "state that the next coordinator reads": "COMPLETE_COMMIT",
        "visible": ["a", "b"],
        "commit acknowledged": True,
        "markers": ["COMMIT", "COMMIT"],
    },
)
def after_complete(stage: TransactionStage) -> Facts:
    """The answer to EndTxn is lost, and the markers are written meanwhile."""
    producer = opened(stage)
    stage.ask_to_end(producer)
    stage.producer_asks(producer)
    stage.deliver(is_end)
    stage.lose_answers()
    stage.write_markers()
    stage.replace_coordinator()
    read = stage.known(ID).state.name
    stage.settle()
    return {"state that the next coordinator reads": read, **outcome(stage, producer)}


@scenario(
    "late-marker",
    "A marker of the former coordinator arrives late",
    items=(16, 15),
    story="""The coordinator fails while its marker for t-1 is under way, and the next one sends its own. Each
    election raises the coordinator epoch, which every marker carries. The late marker has the lower one, and the
    partition answers TRANSACTION_COORDINATOR_FENCED. Its outcome would have been the same: both coordinators read one
    log.""",
    setting=SETTING,
    expected={
        "answer to the late marker": "TRANSACTION_COORDINATOR_FENCED",
        "visible": ["a", "b"],
        "commit acknowledged": True,
        "markers": ["COMMIT", "COMMIT", "COMMIT"],
    },
)
def late_marker(stage: TransactionStage) -> Facts:
    """The marker for t-1 is delayed until all is done."""
    producer = opened(stage)
    stage.decide(producer)
    stage.coordinator_sends_markers(0)
    stage.deliver(is_marker_for(T0))
    with stage.delayed():
        stage.replace_coordinator()
        stage.settle()
    stage.deliver(is_marker_for(T1))
    answer = ErrorCode(int(stage.recorder.rows[-1]["error"])).name
    stage.settle()
    return {"answer to the late marker": answer, **outcome(stage, producer)}


@scenario(
    "partition-away",
    "A partition is away during the commit, and delays only itself",
    items=(18, 11),
    story="""The commit is decided, and the leader of t-1 is gone. The application gets a success, t-0 gets its
    marker, its records are visible, and others write there. Only t-1 and the producer's own next transaction
    wait, until the leader is back and the coordinator's next attempt succeeds.""",
    setting=SETTING,
    expected={
        "commit acknowledged, meanwhile": True,
        "visible on t-0, meanwhile": ["a"],
        "visible on t-1, meanwhile": [],
        "others write to t-0, meanwhile": ["a", "other"],
        "its next record is in the log, meanwhile": False,
        "state, meanwhile": "PREPARE_COMMIT",
        "visible": ["a", "other", "next", "b"],
        "commit acknowledged": True,
        "markers": ["COMMIT", "COMMIT", "COMMIT", "COMMIT"],
    },
)
def partition_away(stage: TransactionStage) -> Facts:
    """The leader of t-1 goes away before the marker comes, and returns."""
    producer = opened(stage)
    with stage.story.offstage():
        other = stage.start("other")
    stage.events.let(stage.events.partition_loses_leader, T1)
    stage.decide(producer)
    stage.settle(2)
    meanwhile: Facts = {
        "commit acknowledged, meanwhile": producer.transaction.is_committed,
        "visible on t-0, meanwhile": stage.shows(T0),
        "visible on t-1, meanwhile": stage.shows(T1),
    }
    with stage.story.offstage():
        stage.application_begins(other)
        stage.send(other, T0, "other")
        stage.ask_to_end(other)
        stage.application_begins(producer)
        stage.send(producer, T0, "next")
        stage.settle(6)
    stage.story.remark(stage.name_of(producer), "begins its next transaction, and gets CONCURRENT_TRANSACTIONS")
    waiting: Facts = {
        "others write to t-0, meanwhile": stage.shows(T0),
        "its next record is in the log, meanwhile": "next" in stage.read(T0, READ_UNCOMMITTED),
        "state, meanwhile": stage.known(ID).state.name,
    }
    stage.events.let(stage.events.fault_is_mended, stage.events.partitions_come_back)
    stage.settle()
    stage.end(producer)
    return {**meanwhile, **waiting, **outcome(stage, producer)}


def opened(stage: TransactionStage) -> ApplicationRun:
    """A producer with acknowledged records on two partitions."""
    with stage.story.offstage():
        producer = stage.start(ID)
        stage.begin(producer, t0="a", t1="b")
    stage.story.remark(stage.name_of(producer), "has written a to t-0 and b to t-1")
    return producer


def outcome(stage: TransactionStage, producer: ApplicationRun) -> Facts:
    """The outcome of the transaction."""
    return {
        "visible": stage.shows(T0) + stage.shows(T1),
        "commit acknowledged": producer.transaction.is_committed,
        "markers": markers(stage),
    }


def markers(stage: TransactionStage) -> list[str]:
    """The outcomes that stand in the logs of the data partitions."""
    logs = (stage.brokers.partitions[partition].leader.log for partition in stage.partitions)
    found = (batch.marker() for log in logs for batch in log if batch.is_control)
    return [ControlType(marker.control_type).name for marker in found if marker is not None]
