"""Time and transactions: the timeout of an open one, the expiration of an id, a producer that was idle."""

from dataclasses import replace
from typing import Final

from model_tests.scenarios.fencing import ID, epoch_of, producer_id_of, standing
from model_tests.scenarios.scenario import Facts, scenario
from model_tests.scenarios.transaction_stage import T0, OfTransactions, TransactionStage
from reference.world.transaction_shape import TransactionShape
from spec.versions import KAFKA_2_4, KAFKA_2_5, NEWEST

VERSION_0: Final = OfTransactions(NEWEST.under(0))
VERSION_1: Final = OfTransactions(NEWEST.under(1))
VERSION_2: Final = OfTransactions()


@scenario(
    "transaction-timeout-tv0",
    "Transaction version 0: a producer that was paused for too long is lost",
    items=(17, 15, 25),
    story="""The coordinator aborts a transaction that was open for longer than transaction.timeout.ms, and raises
    the epoch. The producer comes back and aborts, as the protocol requires after an error. Its epoch is too low for
    that: the error is fatal, and the application must be restarted.""",
    setting=VERSION_0,
    expected={
        "state when it comes back": "COMPLETE_ABORT",
        "visible": [],
        "the producer": "FATAL_ERROR: PRODUCER_FENCED",
        "epoch at the coordinator": 1,
    },
)
@scenario(
    "transaction-timeout-tv1",
    "Transaction version 1: the same as version 0",
    items=(17, 25),
    story="""Version 1 changes the format of the coordinator's log, and nothing of the protocol.""",
    setting=VERSION_1,
    expected={
        "state when it comes back": "COMPLETE_ABORT",
        "visible": [],
        "the producer": "FATAL_ERROR: PRODUCER_FENCED",
        "epoch at the coordinator": 1,
    },
)
@scenario(
    "transaction-timeout-tv2",
    "Transaction version 2: a producer that was paused for too long continues",
    items=(17, 25),
    story="""Under version 2 every end of a transaction raises the epoch, so that the abort of the paused producer
    looks like a repetition of the coordinator's own. It is answered with the new epoch, the producer takes it over, and
    its next transaction is committed.""",
    setting=VERSION_2,
    expected={
        "state when it comes back": "COMPLETE_ABORT",
        "visible": ["b"],
        "the producer": "READY",
        "epoch at the coordinator": 2,
    },
)
def transaction_timeout(stage: TransactionStage) -> Facts:
    """The producer pauses, aborts, and tries another transaction if it can."""
    with stage.story.offstage():
        producer = stage.start(ID)
    stage.begin(producer, t0="a")
    stage.pause(producer, stage.shape.transaction_timeout_ms, stage.events.transactions_time_out, 0)
    stage.settle()
    state = stage.known(ID).state.name
    stage.end(producer, commit=False)
    if standing(producer) == "READY":
        stage.begin(producer, t0="b")
        stage.end(producer)
    return {
        "state when it comes back": state,
        "visible": stage.shows(T0),
        "the producer": standing(producer),
        "epoch at the coordinator": int(stage.known(ID).epoch),
    }


@scenario(
    "commit-after-timeout",
    "Transaction version 2: a commit that comes after the timeout is refused",
    items=(17, 15),
    story="""The outcome of a transaction is decided once. The coordinator has aborted it, and the producer wants to
    commit it: under version 2 the producer gets INVALID_TXN_STATE, and nothing becomes visible.""",
    setting=VERSION_2,
    expected={"visible": [], "the producer": "FATAL_ERROR: INVALID_TXN_STATE", "commit acknowledged": False},
)
@scenario(
    "commit-after-timeout-tv0",
    "Transaction version 0: a commit that comes after the timeout is refused",
    items=(17, 15, 25),
    story="""The same run under version 0. The abort has raised the epoch, and that of the producer is too low.""",
    setting=VERSION_0,
    expected={"visible": [], "the producer": "FATAL_ERROR: PRODUCER_FENCED", "commit acknowledged": False},
)
def commit_after_timeout(stage: TransactionStage) -> Facts:
    """The producer pauses, and commits."""
    with stage.story.offstage():
        producer = stage.start(ID)
    stage.begin(producer, t0="a")
    stage.pause(producer, stage.shape.transaction_timeout_ms, stage.events.transactions_time_out, 0)
    stage.settle()
    stage.end(producer)
    return {
        "visible": stage.shows(T0),
        "the producer": standing(producer),
        "commit acknowledged": producer.transaction.is_committed,
    }


@scenario(
    "idle-transactional-producer-before-2.5",
    "Before 2.5: a transactional producer that was idle for long loses a transaction",
    items=(9, 15, 25),
    story="""The partition has forgotten the producer, which continues at sequence 1. A broker before KIP-360 answers
    UNKNOWN_PRODUCER_ID. What the producer has written before is still in the log, so that it may not number again: the
    transaction must be aborted, although nothing was wrong.""",
    setting=OfTransactions(KAFKA_2_4),
    expected={"visible": ["a"], "the producer": "ABORTABLE_ERROR: UNKNOWN_PRODUCER_ID"},
)
@scenario(
    "idle-transactional-producer-since-2.5",
    "Since 2.5: a transactional producer that was idle for long continues",
    items=(9, 25),
    story="""The same run since KIP-360: the partition takes the sequence that comes.""",
    setting=OfTransactions(KAFKA_2_5),
    expected={"visible": ["a", "b"], "the producer": "READY"},
)
def idle_transactional_producer(stage: TransactionStage) -> Facts:
    """The partition forgets the producer between two transactions."""
    with stage.story.offstage():
        producer = stage.start(ID)
    stage.begin(producer, t0="a")
    stage.end(producer)
    stage.pause(producer, stage.shape.producer_expiration_ms, stage.events.producer_state_expires)
    stage.begin(producer, t0="b")
    if standing(producer) == "IN_TRANSACTION":
        stage.end(producer)
    return {"visible": stage.shows(T0), "the producer": standing(producer)}


@scenario(
    "timeout-too-long",
    "A transaction timeout above the broker's limit",
    items=(15, 17),
    story="""A producer may not ask for a longer timeout than transaction.max.timeout.ms, since an open transaction
    holds up every read_committed reader of its partitions. The coordinator answers INVALID_TRANSACTION_TIMEOUT, and the
    producer cannot be used.""",
    setting=OfTransactions(shape=replace(TransactionShape(), transaction_timeout_ms=2_000, max_timeout_ms=1_000)),
    expected={"the producer": "FATAL_ERROR: INVALID_TRANSACTION_TIMEOUT"},
)
def timeout_too_long(stage: TransactionStage) -> Facts:
    """The producer starts."""
    return {"the producer": standing(stage.start(ID))}


@scenario(
    "id-expiration",
    "A transactional id is forgotten after a week at rest",
    items=(17, 11, 15),
    story="""The coordinator forgets an id that was at rest for transactional.id.expiration.ms, and writes a
    tombstone. Its producer is refused with INVALID_PRODUCER_ID_MAPPING, which is fatal. The next instance gets another
    producer id and epoch 0: nothing is left that would fence the old one by its epoch.""",
    setting=VERSION_2,
    expected={
        "visible": ["a"],
        "the producer": "FATAL_ERROR: INVALID_PRODUCER_ID_MAPPING",
        "producer ids": [0, 1],
        "epoch of the next instance": 0,
    },
)
def id_expiration(stage: TransactionStage) -> Facts:
    """The producer pauses for a week between two transactions."""
    with stage.story.offstage():
        producer = stage.start(ID)
    first = producer_id_of(producer)
    stage.begin(producer, t0="a")
    stage.end(producer)
    stage.pause(producer, stage.shape.id_expiration_ms, stage.events.ids_expire)
    stage.begin(producer, t0="b")
    following = stage.start(ID)
    return {
        "visible": stage.shows(T0),
        "the producer": standing(producer),
        "producer ids": [first, producer_id_of(following)],
        "epoch of the next instance": epoch_of(following),
    }
