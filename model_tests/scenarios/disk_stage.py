"""Where a partition on disk plays: what its broker does to the files, beside applications and readers."""

from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from model_tests.scenarios.transaction_stage import PLAIN, T0, TransactionStage, partition_name
from reference.broker.transaction_metadata import TopicPartition
from reference.client.consumer import Consumer
from reference.log import file_names
from reference.log.config import DEFAULT, LogConfig
from reference.log.damage import RepairKind
from reference.log.disk_partition import DiskPartition
from reference.log.reader import Placed
from reference.replication.replicated import ReplicatedPartition
from reference.world.instances import ApplicationRun
from reference.world.messages import Request
from reference.world.node import Storage
from reference.world.transaction_shape import TransactionShape
from spec.versions import NEWEST, Profile
from spec.vocabulary import ErrorCode, Timestamp

ALONE: Final = TransactionShape(nodes=1, partitions=1)


@dataclass(frozen=True, slots=True)
class OfDisk:
    """A setting of one broker with one partition, which is on disk."""

    profile: Profile = NEWEST
    config: LogConfig = field(default=DEFAULT)

    @property
    def words(self) -> str:
        """Releases and settings that are not Kafka's defaults."""
        known = zip(LogConfig._fields, self.config, DEFAULT, strict=True)
        changed = (setting_in_words(name, value) for name, value, default in known if value != default)
        return ", ".join((f"Kafka {self.profile.name}", *changed))

    def stage(self) -> "DiskStage":
        """A world in which nothing has happened."""
        return DiskStage(self.profile, self.config)


def setting_in_words(name: str, value: int) -> str:
    """A setting of a log as Kafka's configuration has it."""
    return "cleanup.policy=compact" if name == "compacts" else f"{name.replace('_', '.')}={value}"


class KilledPartition(DiskPartition):
    """A replica whose broker is killed where others are stopped."""

    def restart(self, now: Timestamp) -> None:
        """Come back from the directory as it is; what was flushed with the last roll needs no check."""
        flushed = self.disk.active.base_offset
        self.crash()
        self._open(self.disk.directory, now, clean=False, log_start=0, recovery_point=flushed)


class DirectoryStorage(Storage):
    """Data partitions of one replica, each in a folder of a temporary directory.

    Attributes:
        opened: the replicas by name.
    """

    def __init__(self, profile: Profile, config: LogConfig) -> None:
        """A new directory, for logs with these settings."""
        super().__init__(profile)
        self.opened: dict[TopicPartition, DiskPartition] = {}
        self._config = config
        self._directory = TemporaryDirectory()

    def partition(self, name: TopicPartition, replicas: int, expiration_ms: int) -> ReplicatedPartition:
        """A data partition in a folder of its own."""
        folder = Path(self._directory.name) / partition_name(name)
        self.opened[name] = KilledPartition(folder, self.profile, self._config, expiration_ms=expiration_ms)
        return ReplicatedPartition(self.profile, replicas, expiration_ms, [self.opened[name]])

    def close(self) -> None:
        """The directory goes."""
        for each in self.opened.values():
            each.crash()
        self._directory.cleanup()


class DiskStage(TransactionStage):
    """A world with one broker, whose partition t-0 is on disk until the stage is closed.

    Attributes:
        partition: the only one.
        writer: an idempotent producer.
        sent: what it has sent of each record.
    """

    def __init__(self, profile: Profile, config: LogConfig) -> None:
        """No application has started."""
        self._storage = DirectoryStorage(profile, config)
        super().__init__(profile, ALONE, self._storage)
        self.partition = self._storage.opened[T0]
        self.writer = self.plain.start()
        self.story.participants[self.writer.client] = PLAIN
        self.sent: dict[str, Request] = {}

    def close(self) -> None:
        """The directory goes."""
        self._storage.close()

    # --- what a scenario does -----------------------------------------------------------------------------------

    def write(self, instance: ApplicationRun, **values: str) -> None:
        """Records of the transaction by key, each a batch of its own, are acknowledged."""
        for key, name in values.items():
            sent = self.application_sends(instance, T0)
            sent.batch.keys = (key.encode(),)
            self.story.call(sent.batch.values[0], name)
            self.story.records[instance.client, sent.first_record] = f"{key} = {name}"
        self.settle()

    def produce(self, *names: str, answered: bool = True) -> None:
        """Records, each a batch of its own, are sent; they arrive one by one, and the answers arrive or are lost."""
        if self.writer.producer.needs_producer_id:
            with self.story.offstage():
                self.plain.ask_for_id(self.writer)
        for name in names:
            sent = self.plain.send(self.writer, T0)
            self.story.call(sent.batch.values[0], name)
            self.sent[name] = self.plain.produce(self.writer, T0)
        for name in names:
            self.round_trip(self.sent[name], answered=answered)

    def retry(self, name: str) -> str:
        """The batch of a record is sent again as it was; what the broker answers."""
        sent = self.sent[name]
        self.round_trip(self.wires.send(sent.sender, sent.node, sent.body))
        answer = self.recorder.rows[-1]
        error = ErrorCode(int(answer["error"]))
        return f"offset {answer['first_offset']}" if error is ErrorCode.NONE else error.name

    def roll(self) -> None:
        """A new segment begins, and a snapshot is taken."""
        self.partition.roll()
        self._remark(f"begins a new segment, and takes a snapshot: {self.snapshots[-1]}")

    def retain(self, milliseconds: int) -> None:
        """So much time passes, and retention does its work."""
        self.clock.advance(milliseconds)
        self.partition.retain(self.clock.now)
        begins = self.partition.log_start
        left = "is empty, and begins" if begins == self.partition.log_end else "begins"
        self._remark(f"deletes what is too old (retention.ms): the log {left} at {begins}")

    def clean(self) -> None:
        """A new segment begins, and those before it are compacted."""
        self.roll()
        self.partition.clean(self.clock.now)
        self._remark("is compacted")

    def damage_snapshot(self) -> None:
        """The newest snapshot loses its last byte."""
        path = self.partition.disk.directory / self.snapshots[-1]
        path.write_bytes(path.read_bytes()[:-1])
        self._remark(f"{path.name} is damaged")

    def kill(self) -> None:
        """The broker is killed, and starts again."""
        self._remark("its broker is killed, and starts again")
        self.events.let(self.events.broker_restarts)
        for repair in self.partition.repairs:
            self._remark(f"{repair.kind} of {repair.file}: {repair.detail}")
        kept = (batch for entry in self.partition.state.producers.values() for batch in entry.batches)
        known = ", ".join(f"sequence {batch.last_sequence}" for batch in kept)
        self._remark(f"knows of the producer: {known or 'nothing'}")

    def look_up(self, offset: int) -> dict[str, str | int]:
        """How a fetch finds its offset: the segment, where its index says to begin, and what is read from there on."""
        segment = next(each for each in reversed(self.partition.disk.segments) if each.base_offset <= offset)
        entry = segment.index.entry_before(offset)
        begin = 0 if entry is None else entry.position
        scanned = (found.batch for found in segment.found_from(begin) if isinstance(found, Placed))
        passed = sum(1 for _ in takewhile(lambda batch: batch.last_offset < offset, scanned))
        name = segment.path(file_names.LOG).name
        how = f"opens {name}, at byte {begin} by its index; passes over {passed} batch"
        self._remark(f"looks for offset {offset}: {how}")
        return {"segment": name, "scan begins at byte": begin, "batches passed over": passed}

    def _remark(self, text: str) -> None:
        self.story.remark(partition_name(T0), text)

    # --- what a scenario sees -----------------------------------------------------------------------------------

    @property
    def snapshots(self) -> list[str]:
        """Names of the snapshots in the directory."""
        return self._files(file_names.SNAPSHOT)

    @property
    def segments(self) -> list[str]:
        """Names of the segments in the directory."""
        return self._files(file_names.LOG)

    def _files(self, suffix: str) -> list[str]:
        return [path.name for path in file_names.files_of(self.partition.disk.directory, suffix).values()]

    def repaired(self, kind: RepairKind) -> list[str]:
        """What the last start had to do of that kind: the files, by name."""
        return [repair.file for repair in self.partition.repairs if repair.kind == kind]

    def reads(self) -> list[str]:
        """What a new read_committed consumer receives from the log start on; a fetch is answered from one segment."""
        consumer, names = Consumer([T0]), list[str]()
        while self.readers.is_due(consumer, T0):
            names += self.reported_read(consumer, T0)
        return names
