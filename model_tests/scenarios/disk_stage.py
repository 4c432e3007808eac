"""A broker that crashes and restarts over one partition's directory, with an idempotent producer."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from model_tests.monitor.story import Columns, Story
from reference.errors import Refusal
from reference.log import file_names
from reference.log.batch import value_batch
from reference.log.config import DEFAULT, LogConfig
from reference.log.damage import RepairKind
from reference.log.disk_partition import DiskPartition
from reference.log.reader import Placed
from reference.recording.recorder import Fate, Recorder
from spec.versions import NEWEST, Profile
from spec.vocabulary import ProducerId, Timestamp

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
