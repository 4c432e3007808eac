"""Atomic writing is not atomic reading: what a consumer may miss of a committed transaction."""

from collections.abc import Iterator
from contextlib import closing
from typing import Final

from model_tests.scenarios.disk_stage import DiskStage, OfDisk
from model_tests.scenarios.scenario import Facts, scenario
from model_tests.scenarios.transaction_stage import T0, T1, OfTransactions, TransactionStage, partition_name
from reference.broker.transaction_metadata import TopicPartition
from reference.client.consumer import Consumer, Delivered, ends_aborted, records_from
from reference.log.config import LogConfig
from reference.log.partition import READ_COMMITTED, READ_UNCOMMITTED, FetchResult
from reference.log.record import Record
from reference.log.txn_index import AbortedTxn
from spec.vocabulary import Offset, ProducerId


class OneRangeConsumer(Consumer):
    """A read_committed reader that keeps one aborted range for each producer id."""

    __slots__ = ()

    def receive(self, partition: TopicPartition, result: FetchResult) -> tuple[Delivered, ...]:
        """Deliver what is in no range that it has kept of the answer, and continue behind it."""
        self.seek(partition, result.batches[-1].last_offset + 1)
        return tuple(Delivered(partition, offset, record) for offset, record in kept_by_one_range(result))


def kept_by_one_range(result: FetchResult) -> Iterator[tuple[Offset, Record]]:
    """The records that such a reader returns of one answer, with their offsets.

    The range goes from the first offset of the last transaction that the answer lists for a producer id to the last
    ABORT marker of that producer in the answer; where there is none, nothing is left out.
    """
    first = {each.producer_id: int(each.first_offset) for each in result.aborted or ()}
    end: dict[ProducerId, int] = {
        batch.producer_id: batch.base_offset for batch in result.batches if ends_aborted(batch)
    }
    for batch in result.batches:
        since, until = first.get(batch.producer_id), end.get(batch.producer_id)
        left_out = since is not None and until is not None and since <= batch.base_offset < until
        if not batch.is_control and not left_out:
            yield from records_from(batch, batch.base_offset)


ID: Final = "payments"
SETTING: Final = OfTransactions()
RETENTION_MS: Final = 1_000  # short, so that the story need not wait


@scenario(
    "read-uncommitted",
    "A read_uncommitted reader sees what is aborted, and what is still open",
    items=(12, 14),
    story="""isolation.level=read_uncommitted is the default of consumers. Such a reader gets every record below the
    high watermark, whatever its transaction's outcome. A read_committed reader waits at the last stable offset, and
    passes over aborted records.""",
    setting=SETTING,
    expected={
        "while it is open, read_uncommitted": ["a"],
        "while it is open, read_committed": [],
        "aborted, read_uncommitted": ["a"],
        "aborted, read_committed": [],
    },
)
def read_uncommitted(stage: TransactionStage) -> Facts:
    """One transaction, read while it is open and after its abort."""
    with stage.story.offstage():
        producer = stage.start(ID)
    stage.begin(producer, t0="a")
    seen: Facts = {
        "while it is open, read_uncommitted": stage.shows(T0, READ_UNCOMMITTED),
        "while it is open, read_committed": stage.shows(T0, reader="another reader"),
    }
    stage.end(producer, commit=False)
    return {
        **seen,
        "aborted, read_uncommitted": stage.shows(T0, READ_UNCOMMITTED),
        "aborted, read_committed": stage.shows(T0, reader="another reader"),
    }


@scenario(
    "last-stable-offset",
    "An open transaction holds readers back, and an aborted one is in a list",
    items=(12, 24),
    story="""Two transactions are interleaved on one partition. The later one is committed, and no reader sees it: the
    last stable offset stays where the earlier one began. When that is aborted everything is decided. Its record is
    still in the log; the broker's answer lists, with the batches, from which offset on which producer id is aborted,
    and a read_committed reader passes it over up to the ABORT marker.""",
    setting=SETTING,
    expected={
        "both are open: last stable offset": 0,
        "the later one is committed: last stable offset": 0,
        "visible meanwhile": [],
        "the earlier one is aborted: last stable offset": 4,
        "log": ["a", "b", "COMMIT", "ABORT"],
        "aborted": ["producer id 0: offsets 0 to 3"],
        "visible": ["b"],
    },
)
def last_stable_offset(stage: TransactionStage) -> Facts:
    """One record each, and the ends in the other order."""
    with stage.story.offstage():
        earlier, later = stage.start(ID), stage.start("refunds")
    stage.begin(earlier, t0="a")
    stage.begin(later, t0="b")
    leader = stage.brokers.partitions[T0].leader
    both_open = stage.stable(T0)
    stage.end(later)
    one_open, meanwhile = stage.stable(T0), stage.shows(T0)
    stage.end(earlier, commit=False)
    listed = leader.fetch(0, READ_COMMITTED).aborted or ()
    stage.story.remark(partition_name(T0), f"aborted: {', '.join(map(in_the_index, listed))}")
    return {
        "both are open: last stable offset": both_open,
        "the later one is committed: last stable offset": one_open,
        "visible meanwhile": meanwhile,
        "the earlier one is aborted: last stable offset": stage.stable(T0),
        "log": stage.written(T0),
        "aborted": [in_the_index(each) for each in listed],
        "visible": stage.shows(T0, reader="another reader"),
    }


def in_the_index(aborted: AbortedTxn) -> str:
    """An entry of the index of aborted transactions."""
    return f"producer id {aborted.producer_id}: offsets {aborted.first_offset} to {aborted.last_offset}"


@scenario(
    "one-range-per-producer",
    "A reader that keeps one aborted range for each producer id returns what is aborted",
    items=(12, 5),
    story="""Two transactions of a producer are aborted, a third is committed, and one answer has all of it: with the
    batches the broker lists two aborted transactions of the same producer id. Kafka's consumer takes them one after the
    other. A client that keeps them in a map from producer id to range has the last one alone, and returns the record
    of the first: an aborted record under read_committed. Found in @platformatic/kafka.""",
    setting=SETTING,
    expected={
        "log": ["a", "ABORT", "b", "ABORT", "c", "COMMIT"],
        "aborted in the answer": ["producer id 0: offsets 0 to 1", "producer id 0: offsets 2 to 3"],
        "read by Kafka's consumer": ["c"],
        "read with one range for each producer id": ["a", "c"],
    },
)
def one_range_per_producer(stage: TransactionStage) -> Facts:
    """The same answer, read in two ways."""
    with stage.story.offstage():
        producer = stage.start(ID)
    for name, commit in (("a", False), ("b", False), ("c", True)):
        stage.begin(producer, t0=name)
        stage.end(producer, commit=commit)
    answer = stage.brokers.partitions[T0].leader.fetch(0, READ_COMMITTED)
    listed = [in_the_index(each) for each in answer.aborted or ()]
    stage.story.remark(partition_name(T0), f"aborted: {', '.join(listed)}")
    right = stage.shows(T0)
    stage.story.remark("another reader", "keeps one aborted range for each producer id")
    wrong = stage.reported_read(OneRangeConsumer([T0]), T0, "another reader")
    return {
        "log": stage.written(T0),
        "aborted in the answer": listed,
        "read by Kafka's consumer": right,
        "read with one range for each producer id": wrong,
    }


@scenario(
    "seek-into-the-middle",
    "A reader that seeks into the middle of a transaction",
    items=(14,),
    story="""A consumer may begin wherever it likes. The broker gives it the committed records from there on; the
    answer does not show that earlier records belong to the same transaction.""",
    setting=SETTING,
    expected={"from the beginning": ["a", "b", "c"], "from offset 1": ["b", "c"]},
)
def seek_into_the_middle(stage: TransactionStage) -> Facts:
    """Three records are committed, and one reader begins at the second."""
    committed(stage, t0="abc")
    consumer = Consumer([T0])
    consumer.seek(T0, 1)
    return {
        "from the beginning": stage.shows(T0),
        "from offset 1": stage.reported_read(consumer, T0, "another reader"),
    }


@scenario(
    "partial-subscription",
    "A reader of one of the transaction's two partitions",
    items=(14,),
    story="""A transaction may span partitions of which a consumer reads only some, because it subscribes to no
    others or because they are assigned to other members of its group. It sees its part of the transaction.""",
    setting=SETTING,
    expected={"on t-0": ["a"], "on t-1": ["b"]},
)
def partial_subscription(stage: TransactionStage) -> Facts:
    """Two readers, each of one partition."""
    committed(stage, t0="a", t1="b")
    return {"on t-0": stage.shows(T0), "on t-1": stage.shows(T1, reader="another reader")}


@scenario(
    "compaction",
    "Compaction removes a part of a committed transaction",
    items=(14,),
    story="""In a compacted topic only the newest record of each key stays. The first transaction has written k1 and
    k2, a later one k1 again. A reader that comes after the cleaner finds of the first transaction only k2.""",
    setting=OfDisk(config=LogConfig(compacts=True)),
    expected={"before": ["a", "b", "c"], "after": ["b", "c"]},
)
def compaction(stage: DiskStage) -> Facts:
    """Two transactions, and a pass of the cleaner."""
    with closing(stage):
        with stage.story.offstage():
            producer = stage.start(ID)
        stage.begin(producer)
        stage.write(producer, k1="a", k2="b")
        stage.end(producer)
        stage.begin(producer)
        stage.write(producer, k1="c")
        stage.end(producer)
        before = stage.reads()
        stage.clean()
        return {"before": before, "after": stage.reads()}


@scenario(
    "deleted-segments",
    "Retention removes the first half of a committed transaction",
    items=(14, 24),
    story="""Retention deletes whole segments, and does not care about transactions. The records of one transaction
    are in two segments; when the first one goes, a reader that begins at the log start finds the second half only.""",
    setting=OfDisk(config=LogConfig(retention_ms=RETENTION_MS)),
    expected={"before": ["a", "b"], "after": ["b"], "log start": 1},
)
def deleted_segments(stage: DiskStage) -> Facts:
    """A segment ends in the middle of a transaction, and gets too old."""
    with closing(stage):
        with stage.story.offstage():
            producer = stage.start(ID)
        stage.begin(producer)
        stage.write(producer, k1="a")
        stage.roll()
        stage.clock.advance(RETENTION_MS)
        stage.write(producer, k2="b")
        stage.end(producer)
        before = stage.reads()
        stage.retain(1)
        return {"before": before, "after": stage.reads(), "log start": int(stage.partition.log_start)}


def committed(stage: TransactionStage, **values: str) -> None:
    """A committed transaction."""
    with stage.story.offstage():
        producer = stage.start(ID)
    stage.begin(producer, **values)
    stage.end(producer)
