"""A broker's disk: how the broker reads a record by its offset, and, after a crash, its producer state."""

from contextlib import closing
from typing import Final

from model_tests.scenarios.disk_stage import DiskStage, OfDisk
from model_tests.scenarios.producer_stage import broker
from model_tests.scenarios.replicas_stage import OfReplicas, ReplicasStage
from model_tests.scenarios.scenario import Facts, scenario
from model_tests.scenarios.transaction_stage import T0, partition_name
from reference.client.consumer import Consumer
from reference.log.config import LogConfig
from reference.log.damage import RepairKind
from reference.world.replicas_shape import ReplicaProducer, ReplicasShape
from spec.versions import KAFKA_2_4, KAFKA_3_6

SMALL: Final = LogConfig(segment_bytes=300, index_interval_bytes=100)
"""Four batches of one record fill a segment, and the index has an entry for every other one."""
RETENTION_MS: Final = 1_000  # short, so that the story need not wait
SHORT: Final = LogConfig(retention_ms=RETENTION_MS)


@scenario(
    "offset-lookup",
    "A record is found by its offset",
    items=(24, 20),
    story="""A segment is named by its first offset, so that a binary search among the names finds the one that has
    the offset. Its index is sparse: it has an entry only where more than index.interval.bytes were appended since the
    last one. A binary search in it gives a place before the record, and the log is read on from there.""",
    setting=OfDisk(config=SMALL),
    expected={
        "segments": ["00000000000000000000.log", "00000000000000000004.log", "00000000000000000008.log"],
        "segment": "00000000000000000004.log",
        "scan begins at byte": 150,
        "batches passed over": 1,
        "record": "h",
    },
)
def offset_lookup(stage: DiskStage) -> Facts:
    """Ten records in three segments; the one at offset 7 is asked for."""
    with closing(stage):
        with stage.story.offstage():
            for name in "abcdefghij":
                stage.produce(name)
        for name in stage.segments:
            stage.story.remark(partition_name(T0), f"has {name}")
        consumer = Consumer([T0])
        consumer.seek(T0, 7)
        found = stage.look_up(7)
        return {"segments": stage.segments, **found, "record": "".join(stage.reported_read(consumer, T0))}


@scenario(
    "older-snapshot",
    "The newest snapshot is damaged: an older one, and the log behind it",
    items=(7, 24),
    story="""Producer state is in memory, and a snapshot of it is written with each new segment. The broker is killed
    when the answer to its last batch is lost, and finds the newest snapshot damaged. It removes it, loads the one
    before, and reads the log from there on. The retry is recognised: nothing is there twice.""",
    setting=OfDisk(),
    expected={
        "snapshots before": ["00000000000000000002.snapshot", "00000000000000000004.snapshot"],
        "removed": ["00000000000000000004.snapshot"],
        "answer to the retry": "offset 3",
        "log": ["a", "b", "c", "d"],
    },
)
def older_snapshot(stage: DiskStage) -> Facts:
    """Two segments are sealed, and the third is empty."""
    with closing(stage):
        stage.produce("a", "b")
        stage.roll()
        stage.produce("c")
        stage.produce("d", answered=False)
        stage.roll()
        before = stage.snapshots
        stage.damage_snapshot()
        stage.kill()
        removed = stage.repaired(RepairKind.REMOVED_SNAPSHOT)
        answer = stage.retry("d")
        return {"snapshots before": before, "removed": removed, "answer to the retry": answer, "log": stage.written(T0)}


@scenario(
    "window-after-restart",
    "After a restart the window of five has one batch",
    items=(7, 6, 8),
    story="""A snapshot keeps the newest batch of each producer only, and after a crash the state comes from one.
    Of two batches whose answers were lost the second is recognised, and the first is out of order, although both are in
    the log: the producer may not take this error for a sign that its batch is not there.""",
    setting=OfDisk(),
    expected={
        "retry of the one before": "OUT_OF_ORDER_SEQUENCE_NUMBER",
        "retry of the last": "offset 4",
        "log": ["a", "b", "c", "d", "e"],
    },
)
def window_after_restart(stage: DiskStage) -> Facts:
    """Five batches are written, and the broker is killed."""
    with closing(stage):
        stage.produce("a", "b", "c")
        stage.produce("d", "e", answered=False)
        stage.kill()
        before, last = stage.retry("d"), stage.retry("e")
        return {"retry of the one before": before, "retry of the last": last, "log": stage.written(T0)}


@scenario(
    "no-message-left",
    "No message is left, and no state: a retry is appended again",
    items=(7, 8, 9),
    story="""Retention has deleted every segment. While the broker runs it still knows the producer; after a restart
    there is nothing to derive the state from, and it warns. The retry of a record that was written, and deleted since,
    is taken for a first batch: since 2.5 a producer that is not known may begin at any sequence.""",
    setting=OfDisk(config=SHORT),
    expected={
        "warning": ["t-0"],
        "answer to the retry": "offset 2",
        "log": ["b"],
    },
)
@scenario(
    "no-message-left-before-2.5",
    "Before 2.5: no message is left, and the producer is unknown",
    items=(7, 9, 25),
    story="""The same run on a broker before KIP-360. An unknown producer has to begin at 0: the answer is
    UNKNOWN_PRODUCER_ID; other scenarios show how the producer handles it.""",
    setting=OfDisk(KAFKA_2_4, SHORT),
    expected={
        "warning": ["t-0"],
        "answer to the retry": "UNKNOWN_PRODUCER_ID",
        "log": [],
    },
)
def no_message_left(stage: DiskStage) -> Facts:
    """The answer to the second record is lost, and all are deleted before its retry comes."""
    with closing(stage):
        stage.produce("a")
        stage.produce("b", answered=False)
        stage.retain(RETENTION_MS + 1)
        stage.kill()
        warning = stage.repaired(RepairKind.NO_STATE)
        answer = stage.retry("b")
        return {"warning": warning, "answer to the retry": answer, "log": stage.written(T0)}


@scenario(
    "power-lost",
    "All brokers lose power at once, and an acknowledged record with it",
    items=(22, 24),
    story="""An acknowledgement means that every replica in sync has the record, not that it is on a disk: brokers
    leave it to the operating system when to write. What a follower loses it copies again. If all lose it at once no
    replica is left to copy from, whatever acks is.""",
    setting=OfReplicas(KAFKA_3_6, ReplicasShape(writers=(ReplicaProducer(),))),
    expected={"acknowledged": ["a", "b"], "log before": ["a", "b"], "log": ["a"]},
)
def power_lost(stage: ReplicasStage) -> Facts:
    """The last batch is on no disk when the power goes."""
    stage.acknowledged("a", "b")
    before = stage.log
    for node in range(len(stage.nodes)):
        stage.story.remark(broker(node), "loses power")
        stage.crashes(node)
    for node in range(len(stage.nodes)):
        stage.returns(node, lost_batches=1)
    stage.settle()
    return {"acknowledged": stage.promised, "log before": before, "log": stage.log}
