"""Where a partition on disk plays: what its broker does to the files, beside applications and readers."""

from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from model_tests.scenarios.transaction_stage import T0, TransactionStage, partition_name
from reference.broker.transaction_metadata import TopicPartition
from reference.client.consumer import Consumer
from reference.log.config import DEFAULT, LogConfig
from reference.log.disk_partition import DiskPartition
from reference.replication.replicated import ReplicatedPartition
from reference.world.instances import ApplicationRun
from reference.world.node import Storage
from reference.world.transaction_shape import TransactionShape
from spec.versions import NEWEST, Profile

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
        return ", ".join((f"Kafka {self.profile.name}", "idempotent", *changed))

    def stage(self) -> "DiskStage":
        """A world in which nothing has happened."""
        return DiskStage(self.profile, self.config)


def setting_in_words(name: str, value: int) -> str:
    """A setting of a log as Kafka's configuration has it."""
    return "cleanup.policy=compact" if name == "compacts" else f"{name.replace('_', '.')}={value}"


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
        self.opened[name] = DiskPartition(folder, self.profile, self._config, expiration_ms=expiration_ms)
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
    """

    def __init__(self, profile: Profile, config: LogConfig) -> None:
        """No application has started."""
        self._storage = DirectoryStorage(profile, config)
        super().__init__(profile, ALONE, self._storage)
        self.partition = self._storage.opened[T0]

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

    def roll(self) -> None:
        """A new segment begins, and a snapshot is taken."""
        self.partition.roll()
        self._remark("begins a new segment")

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

    def _remark(self, text: str) -> None:
        self.story.remark(partition_name(T0), text)

    # --- what a scenario sees -----------------------------------------------------------------------------------

    def reads(self) -> list[str]:
        """What a new read_committed consumer receives from the log start on; a fetch is answered from one segment."""
        consumer, names = Consumer([T0]), list[str]()
        while self.readers.is_due(consumer, T0):
            names += self.reported_read(consumer, T0)
        return names
