"""One transactional id, several instances: which may still write, and the fate of open transactions."""

from typing import Final

from model_tests.scenarios.scenario import Facts, scenario
from model_tests.scenarios.transaction_stage import T0, OfTransactions, TransactionStage
from reference.log.partition import READ_UNCOMMITTED
from reference.world.instances import ApplicationRun

ID: Final = "payments"
SETTING: Final = OfTransactions()


@scenario(
    "zombie-fencing",
    "An instance that was taken for dead comes back",
    items=(10, 15),
    story="""An instance is paused with an open transaction, and another one starts with the same transactional id.
    Its InitProducerId aborts what was open and raises the epoch. When the first instance wakes up and commits, its
    epoch is too low: it is fenced, and nothing that it wrote ever becomes visible.""",
    setting=SETTING,
    expected={
        "visible": ["new"],
        "epochs": [0, 3],
        "the paused instance": "FATAL_ERROR: PRODUCER_FENCED",
    },
)
def zombie_fencing(stage: TransactionStage) -> Facts:
    """Two instances with one id."""
    with stage.story.offstage():
        paused = stage.start(ID)
    stage.application_begins(paused)
    stage.send(paused, T0, "old")
    stage.settle()
    stage.story.remark(stage.name_of(paused), "is paused")
    current = stage.start(ID)
    stage.application_begins(current)
    stage.send(current, T0, "new")
    stage.end(current)
    stage.story.remark(stage.name_of(paused), "wakes up, and commits")
    stage.end(paused)
    return {
        "visible": stage.shows(T0),
        "epochs": [epoch_of(paused), epoch_of(current)],
        "the paused instance": standing(paused),
    }


@scenario(
    "late-data-of-a-zombie",
    "A record of a fenced instance is still under way",
    items=(10, 15),
    story="""A request of the old instance reaches the partition after the new instance has started. The ABORT
    marker has brought the new epoch to the partition, and the leader refuses the record with INVALID_PRODUCER_EPOCH. It
    is not in the log at all, so that no later transaction can make it visible.""",
    setting=SETTING,
    expected={"in the log": ["old"], "visible": [], "answer": "INVALID_PRODUCER_EPOCH"},
)
def late_data_of_a_zombie(stage: TransactionStage) -> Facts:
    """The second record of the transaction is delayed."""
    with stage.story.offstage():
        paused = stage.start(ID)
    stage.application_begins(paused)
    stage.send(paused, T0, "old")
    stage.settle()
    stage.send(paused, T0, "late")
    stage.producer_sends(paused, T0)
    stage.story.remark(stage.name_of(paused), "sends 'late', which is delayed, and is paused")
    with stage.delayed():
        stage.start(ID)
    stage.settle()
    return {
        "in the log": stage.read(T0, READ_UNCOMMITTED),
        "visible": stage.shows(T0),
        "answer": paused.producer.manager.machine.error.name,
    }


@scenario(
    "unfinished-transaction",
    "The next instance ends what the last one left open",
    items=(10, 16),
    story="""An instance crashes in the middle of a transaction. Until the transaction is ended, a read_committed reader
    waits at the last stable offset, also for records of other producers that come after it. The next instance's
    InitProducerId aborts it, long before the transaction timeout, and the reader continues.""",
    setting=SETTING,
    expected={
        "visible while it is open": [],
        "visible afterwards": ["other"],
        "state": "EMPTY",
    },
)
def unfinished_transaction(stage: TransactionStage) -> Facts:
    """Another producer's committed record waits behind the open transaction."""
    with stage.story.offstage():
        crashed, other = stage.start(ID), stage.start("other")
    stage.begin(crashed, t0="a")
    stage.crash(crashed)
    with stage.story.offstage():
        stage.application_begins(other)
        stage.send(other, T0, "other")
        stage.end(other)
    stage.story.remark(stage.name_of(other), "commits a record behind it")
    waiting = stage.shows(T0)
    stage.start(ID)
    return {
        "visible while it is open": waiting,
        "visible afterwards": stage.shows(T0),
        "state": stage.known(ID).state.name,
    }


def standing(instance: ApplicationRun) -> str:
    """State of a producer, and its error if it is in one."""
    machine = instance.producer.manager.machine
    return f"{machine.state.name}: {machine.error.name}" if machine.error else machine.state.name


def epoch_of(instance: ApplicationRun) -> int:
    """Epoch of a producer, -1 if it has none."""
    identity = instance.producer.manager.identity
    return -1 if identity is None else int(identity.epoch)


def producer_id_of(instance: ApplicationRun) -> int:
    """Producer id of a producer, -1 if it has none."""
    identity = instance.producer.manager.identity
    return -1 if identity is None else int(identity.producer_id)
