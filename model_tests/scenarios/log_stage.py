"""One partition's log on disk: what cleaning and retention leave of transactions."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from model_tests.monitor.story import Columns, Story
from reference.broker.marker_channel import TxnMarker, write_marker
from reference.broker.transaction_metadata import TopicPartition
from reference.client.consumer import Consumer
from reference.log.batch import data_batch
from reference.log.config import LogConfig
from reference.log.disk_partition import DiskPartition
from reference.log.partition import READ_COMMITTED
from reference.log.record import Record
from reference.recording.recorder import Recorder
from spec.versions import NEWEST, Profile
from spec.vocabulary import CoordinatorEpoch, Epoch, ProducerId, Sequence, Timestamp

PRODUCER: Final = "producer"
LOG: Final = "log of t-0"
READER: Final = "reader"
T0: Final = TopicPartition("t", 0)

PRODUCER_ID: Final = ProducerId(0)
EPOCH: Final = Epoch(0)
"""Any identity."""


@dataclass(frozen=True, slots=True)
class OfLog:
    """A setting of one log on disk, with one producer."""

    config: LogConfig
    profile: Profile = NEWEST

    @property
    def words(self) -> str:
        """Releases and settings."""
        policy = "compact" if self.config.compacts else f"delete, retention.ms={self.config.retention_ms}"
        return f"Kafka {self.profile.name}, cleanup.policy={policy}"

    def stage(self) -> "LogStage":
        """A log that is not open yet."""
        return LogStage(self.profile, self.config)


class LogStage:
    """A log, its only producer, and a reader."""

    def __init__(self, profile: Profile, config: LogConfig) -> None:
        """Nothing is on disk."""
        self.story = Story(Recorder(0, profile))
        self.now = Timestamp(0)
        self._profile = profile
        self._config = config
        self._sequence = 0

    @property
    def cast(self) -> tuple[str, ...]:
        """All that may take part."""
        return PRODUCER, LOG, READER

    @contextmanager
    def on_disk(self) -> Iterator[DiskPartition]:
        """The log, in a directory that lasts as long as the context."""
        with TemporaryDirectory() as directory:
            partition = DiskPartition(Path(directory), self._profile, self._config)
            try:
                yield partition
            finally:
                partition.close()

    def write(self, partition: DiskPartition, **values: str) -> None:
        """Records, each a batch of its own, by key."""
        for key, value in values.items():
            record = Record(0, 0, key.encode(), value.encode())
            batch = data_batch(
                (record,),
                producer_id=PRODUCER_ID,
                epoch=EPOCH,
                base_sequence=self._sequence,
                timestamp=self.now,
                transactional=True,
            )
            self.story.records[PRODUCER, self._sequence] = f"{key} = {value}"
            where: Columns = {"client": PRODUCER, "node": LOG, "writer": PRODUCER, "first_record": self._sequence}
            self.story.append(where, partition, batch, self._verified(partition))
            self._sequence += 1

    def _verified(self, partition: DiskPartition) -> int:
        """The coordinator has agreed that the producer's transaction has the partition."""
        sequence = Sequence(self._sequence)
        return partition.state.start_verification(PRODUCER_ID, sequence, EPOCH, bumps=False, now=self.now)

    def commit(self, partition: DiskPartition) -> None:
        """The marker of the transaction."""
        write_marker(partition, TxnMarker(PRODUCER_ID, EPOCH, True, CoordinatorEpoch(0)), 1, self.now)
        self.story.say(PRODUCER, LOG, "COMMIT marker")

    def roll(self, partition: DiskPartition) -> None:
        """A new segment begins."""
        partition.roll()
        self.story.remark(LOG, "begins a new segment")

    def wait(self, milliseconds: int) -> None:
        """Time passes."""
        self.now = Timestamp(self.now + milliseconds)

    def read(self, partition: DiskPartition) -> list[str]:
        """What a new read_committed consumer receives from the beginning."""
        consumer, values = Consumer([T0], READ_COMMITTED), list[str]()
        while True:
            offset = consumer.fetch_offset(T0, partition.log_start, partition.last_stable)
            result = partition.fetch(offset, READ_COMMITTED)
            if not result.batches:
                break
            values += [(each.record.value or b"").decode() for each in consumer.receive(T0, result)]
        self.story.say(LOG, READER, ", ".join(values) or "nothing")
        return values
