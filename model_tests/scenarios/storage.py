"""A broker's disk: how the broker reads a record by its offset, and, after a crash, its producer state."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from model_tests.monitor.story import Columns, Story
from model_tests.scenarios.producer_stage import broker
from model_tests.scenarios.replicas_stage import OfReplicas, ReplicasStage
from model_tests.scenarios.scenario import Facts, scenario
from reference.errors import Refusal
from reference.log import file_names
from reference.log.batch import value_batch
from reference.log.config import DEFAULT, LogConfig
from reference.log.damage import RepairKind
from reference.log.disk_partition import DiskPartition
from reference.log.reader import Placed
from reference.recording.recorder import Fate, Recorder
from reference.world.replicas_shape import ReplicaProducer, ReplicasShape
from spec.versions import KAFKA_2_4, KAFKA_3_6, NEWEST, Profile
from spec.vocabulary import ProducerId, Timestamp

# --- the stage: a broker over one partition's directory, and an idempotent producer -----------------------------------


PRODUCER: Final = "producer"
BROKER: Final = "broker"
READER: Final = "reader"
PRODUCER_ID: Final = ProducerId(0)  # any producer id


@dataclass(frozen=True, slots=True)
class OfDisk:
    """A setting of one broker with one partition."""

    profile: Profile = NEWEST
    config: LogConfig = field(default=DEFAULT)

    @property
    def words(self) -> str:
        """Releases and settings that are not Kafka's defaults."""
        names = LogConfig._fields
        changed = (name for name in names if getattr(self.config, name) != getattr(DEFAULT, name))
        settings = (f"{name.replace('_', '.')}={getattr(self.config, name)}" for name in changed)
        return ", ".join((f"Kafka {self.profile.name}", "idempotent", *settings))

    def stage(self) -> "DiskStage":
        """A directory that is not there yet."""
        return DiskStage(self.profile, self.config)


class DiskStage:
    """A producer, and a broker that may lose everything but its disk."""

    def __init__(self, profile: Profile, config: LogConfig) -> None:
        """Nothing is on disk."""
        self.story = Story(Recorder(0, profile))
        self.now = Timestamp(0)
        self.partition: DiskPartition
        self._profile = profile
        self._config = config
        self._directory: Path
        self._sent = 0

    @property
    def cast(self) -> tuple[str, ...]:
        """All that may take part."""
        return PRODUCER, BROKER, READER

    @contextmanager
    def on_disk(self) -> Iterator[None]:
        """The broker runs, in a directory that lasts as long as the context."""
        with TemporaryDirectory() as directory:
            self._directory = Path(directory) / "t-0"
            self._open()
            try:
                yield
            finally:
                self.partition.close()

    def _open(self, recovery_point: int = 0) -> None:
        self.partition = DiskPartition(
            self._directory, self._profile, self._config, now=self.now, recovery_point=recovery_point
        )

    # --- what a scenario does -----------------------------------------------------------------------------------

    def produce(self, value: str, sequence: int, *, answer_arrives: bool = True) -> str:
        """One record, as a batch with this sequence; the broker's answer, whether or not the producer gets it."""
        batch = value_batch(
            [value.encode()], producer_id=PRODUCER_ID, epoch=0, base_sequence=sequence, timestamp=self.now
        )
        self.story.records[PRODUCER, sequence] = value
        self._sent += 1
        where: Columns = {"client": PRODUCER, "node": BROKER, "message": self._sent}
        where |= {"writer": PRODUCER, "first_record": sequence}
        answer = Fate.ANSWERED if answer_arrives else Fate.ANSWER_LOST
        try:
            return f"offset {self.story.append(where, self.partition, batch, answer=answer).first_offset}"
        except Refusal as refusal:
            return refusal.code.name

    def roll(self) -> None:
        """A new segment begins, and a snapshot is taken."""
        self.partition.roll()
        self.story.remark(BROKER, f"begins a new segment, and takes a snapshot: {self.snapshots[-1]}")

    def retain(self, milliseconds: int) -> None:
        """So much time passes, and retention does its work."""
        self.now = Timestamp(self.now + milliseconds)
        self.partition.retain(self.now)
        begins = self.partition.log_start
        left = "is empty, and begins" if begins == self.partition.log_end else "begins"
        self.story.remark(BROKER, f"deletes what is too old (retention.ms): the log {left} at {begins}")

    def damage_snapshot(self) -> None:
        """The newest snapshot loses its last byte."""
        path = self.partition.disk.snapshots.path(self.partition.disk.snapshots.offsets()[-1])
        path.write_bytes(path.read_bytes()[:-1])
        self.story.remark(BROKER, f"{path.name} is damaged")

    def crash(self) -> None:
        """The broker is killed, and starts again; what was flushed at the last roll needs no check."""
        self.story.remark(BROKER, "is killed, and starts again")
        flushed = self.partition.disk.active.base_offset
        self.partition.crash()
        self._open(flushed)
        for repair in self.partition.repairs:
            self.story.remark(BROKER, f"{repair.kind} of {repair.file}: {repair.detail}")
        kept = self.partition.state.entry(PRODUCER_ID)
        known = ", ".join(str(batch.last_sequence) for batch in kept.batches)
        self.story.remark(BROKER, f"knows of the producer: {f'sequence {known}' if known else 'nothing'}")

    # --- what a scenario sees -----------------------------------------------------------------------------------

    @property
    def log(self) -> list[str]:
        """The values in the log."""
        records = (record for batch in self.partition.log for record in batch.records())
        return [(record.value or b"").decode() for record in records]

    @property
    def snapshots(self) -> list[str]:
        """Names of the snapshots in the directory."""
        return [path.name for path in file_names.files_of(self._directory, file_names.SNAPSHOT).values()]

    @property
    def segments(self) -> list[str]:
        """Names of the segments in the directory."""
        return [path.name for path in file_names.files_of(self._directory, file_names.LOG).values()]

    def looked_up(self, offset: int) -> dict[str, str | int]:
        """How a Fetch finds its offset: the segment, where its index says to begin, what is read from there on."""
        self.story.say(READER, BROKER, f"Fetch from offset {offset}")
        segment = next(each for each in reversed(self.partition.disk.segments) if each.base_offset <= offset)
        entry = segment.index.entry_before(offset)
        begin = 0 if entry is None else entry.position
        (batch,) = self.partition.disk.read(offset, offset + 1)
        scanned = (found.batch for found in segment.found_from(begin) if isinstance(found, Placed))
        passed = sum(1 for _ in takewhile(lambda found: found != batch, scanned))
        name = segment.path(file_names.LOG).name
        self.story.remark(BROKER, f"opens {name}, at byte {begin} by its index; passes over {passed} batch")
        record = "".join((each.value or b"").decode() for each in batch.records())
        self.story.say(BROKER, READER, record)
        return {"segment": name, "scan begins at byte": begin, "batches passed over": passed, "record": record}

    def repaired(self, kind: RepairKind) -> list[str]:
        """What the last start had to do of that kind: the files, by name."""
        return [repair.file for repair in self.partition.repairs if repair.kind == kind]


# --- the scenarios ----------------------------------------------------------------------------------------------------


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
        "scan begins at byte": 138,
        "batches passed over": 1,
        "record": "h",
    },
)
def offset_lookup(stage: DiskStage) -> Facts:
    """Ten records in three segments; the one at offset 7 is asked for."""
    with stage.on_disk():
        with stage.story.offstage():
            for sequence, value in enumerate("abcdefghij"):
                stage.produce(value, sequence)
        for name in stage.segments:
            stage.story.remark(BROKER, f"has {name}")
        return {"segments": stage.segments, **stage.looked_up(7)}


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
    with stage.on_disk():
        for sequence, value in enumerate("abcd"):
            stage.produce(value, sequence, answer_arrives=value < "d")
            if sequence % 2:
                stage.roll()
        before = stage.snapshots
        stage.damage_snapshot()
        stage.crash()
        removed = stage.repaired(RepairKind.REMOVED_SNAPSHOT)
        answer = stage.produce("d", 3)
        return {"snapshots before": before, "removed": removed, "answer to the retry": answer, "log": stage.log}


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
    with stage.on_disk():
        for sequence, value in enumerate("abcde"):
            stage.produce(value, sequence, answer_arrives=value < "d")
        stage.crash()
        before = stage.produce("d", 3)
        last = stage.produce("e", 4)
        return {"retry of the one before": before, "retry of the last": last, "log": stage.log}


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
    with stage.on_disk():
        stage.produce("a", 0)
        stage.produce("b", 1, answer_arrives=False)
        stage.retain(RETENTION_MS + 1)
        stage.crash()
        warning = stage.repaired(RepairKind.NO_STATE)
        answer = stage.produce("b", 1)
        return {"warning": warning, "answer to the retry": answer, "log": stage.log}


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
        stage.broker_crashes(node)
    for node in range(len(stage.nodes)):
        stage.returns(node, lost_batches=1)
    stage.settle()
    return {"acknowledged": stage.promised, "log before": before, "log": stage.log}
