"""Consume, transform, produce: a crash in the middle, with offsets in the transaction and outside of it."""

from typing import Final

from model_tests.scenarios.scenario import Facts, scenario
from model_tests.scenarios.transaction_stage import T0, T1, OfTransactions, TransactionStage
from reference.client.consumer import Consumer
from reference.log.partition import READ_UNCOMMITTED
from reference.world.instances import ApplicationRun
from spec.versions import NEWEST

GROUP: Final = "workers"
ID: Final = "transformer"
EXACTLY_ONCE: Final[Facts] = {
    "output, read committed": ["f(a)", "f(b)"],
    "output, read uncommitted": ["f(a)", "f(b)", "f(a)", "f(b)"],
    "input left": [],
}


@scenario(
    "exactly-once-pipeline",
    "Offsets in the transaction: exactly once",
    items=(13, 1, 10, 11, 12),
    story="""A transformer reads a and b from t-0 and writes f(a) and f(b) to t-1. The offsets that it has read up
    to are part of the same transaction. It crashes before the commit; the next instance has the open transaction
    aborted, starts at the group's committed offset, and does it all again. A read_committed reader sees each result
    once.""",
    setting=OfTransactions(),
    expected=EXACTLY_ONCE,
)
@scenario(
    "exactly-once-pipeline-tv0",
    "Offsets in the transaction, with the requests of transaction version 0",
    items=(13, 11, 25),
    story="""The same run as before KIP-890: partitions join a transaction by AddPartitionsToTxn, and the offsets by
    AddOffsetsToTxn. The result is the same.""",
    setting=OfTransactions(NEWEST.under(0)),
    expected=EXACTLY_ONCE,
)
def offsets_in_the_transaction(stage: TransactionStage) -> Facts:
    """The first instance crashes with everything sent and nothing committed."""
    first = prepared(stage)
    transform_in_transaction(stage, first, consumed(stage))
    stage.crash(first)
    second = stage.start(ID)
    transform_in_transaction(stage, second, consumed(stage))
    stage.end(second)
    return output(stage)


@scenario(
    "offsets-first",
    "Offsets before the output: at most once",
    items=(13,),
    story="""The transformer commits its offsets first and then writes its output. It crashes in between. The next
    instance starts after what was read, and the results of a and b never come.""",
    setting=OfTransactions(),
    expected={"output, read committed": [], "output, read uncommitted": [], "input left": []},
)
def offsets_first(stage: TransactionStage) -> Facts:
    """Commit, crash, start again."""
    first = prepared(stage)
    commit_offsets(stage, consumed(stage))
    stage.crash(first)
    transform(stage, stage.start(ID), consumed(stage))
    return output(stage)


@scenario(
    "output-first",
    "Output before the offsets: at least once",
    items=(13,),
    story="""The transformer writes its output, in a transaction of its own, and commits its offsets afterwards. It
    crashes in between. The next instance starts where the first one did, and every result is there twice, also for a
    read_committed reader: both transactions are committed.""",
    setting=OfTransactions(),
    expected={
        "output, read committed": ["f(a)", "f(b)", "f(a)", "f(b)"],
        "output, read uncommitted": ["f(a)", "f(b)", "f(a)", "f(b)"],
        "input left": [],
    },
)
def output_first(stage: TransactionStage) -> Facts:
    """Write, crash, start again."""
    first = prepared(stage)
    transform(stage, first, consumed(stage))
    stage.crash(first)
    second, again = stage.start(ID), consumed(stage)
    transform(stage, second, again)
    commit_offsets(stage, again)
    return output(stage)


def prepared(stage: TransactionStage) -> ApplicationRun:
    """Records a and b are on the input partition, and a transformer has started."""
    with stage.story.offstage():
        source = stage.start("source")
        stage.begin(source, t0="ab")
        stage.end(source)
        return stage.start(ID)


def consumed(stage: TransactionStage) -> Consumer:
    """A consumer that starts where its group is, and reads to the end."""
    consumer = Consumer([T0])
    stage.readers.consumer_starts(consumer, GROUP)
    stage.reported_read(consumer, T0, stage.name_of(stage.instances[-1]))
    return consumer


def transform(stage: TransactionStage, transformer: ApplicationRun, consumer: Consumer) -> None:
    """Write the output for the input, and commit it without offsets."""
    if consumer.received:
        write_results(stage, transformer, consumer)
        stage.end(transformer)


def transform_in_transaction(stage: TransactionStage, transformer: ApplicationRun, consumer: Consumer) -> None:
    """Write the output for the input, and send the offsets along; nothing is committed yet."""
    write_results(stage, transformer, consumer)
    stage.application_sends_offsets(transformer, GROUP, consumer.consumed())
    stage.settle()


def write_results(stage: TransactionStage, transformer: ApplicationRun, consumer: Consumer) -> None:
    """One result for each record."""
    stage.application_begins(transformer)
    for each in consumer.received:
        stage.send(transformer, T1, f"f({stage.story.name_of(each.record)})")
    stage.settle()


def commit_offsets(stage: TransactionStage, consumer: Consumer) -> None:
    """Commit what was read, outside of any transaction."""
    stage.readers.consumer_commits(consumer, GROUP, consumer.consumed())


def output(stage: TransactionStage) -> Facts:
    """What readers see, and what the group would read next."""
    left = Consumer([T0])
    seen: Facts = {
        "output, read committed": stage.shows(T1),
        "output, read uncommitted": stage.read(T1, READ_UNCOMMITTED),
    }
    with stage.story.offstage():
        stage.readers.consumer_starts(left, GROUP)
        return {**seen, "input left": stage.fetch(left, T0)}
