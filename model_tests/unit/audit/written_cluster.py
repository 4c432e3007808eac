"""A broker's log directory for tests, given as a sequence of transactions, written with the reference's bytes."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from reference.broker.transaction_metadata import TopicPartition
from reference.broker.transaction_record import TransactionValue, by_topic, encode_key
from reference.log.batch import RecordBatch, blank_batch, data_batch, marker_batch
from reference.log.checkpoint_file import CLEANED, PartitionOffset, encode_offsets
from reference.log.record import Record
from spec.vocabulary import ABSENT, ControlType, Epoch, LeaderEpoch, Offset, ProducerId, Timestamp, TransactionState

COMMIT, ABORT = ControlType.COMMIT, ControlType.ABORT
STATES = TransactionState
Name = tuple[str, int]
NOWHERE: Mapping[Name, int] = MappingProxyType({})


@dataclass(slots=True)
class WrittenCluster:
    """What each partition and the coordinator append; time advances by 10 ms with every record.

    Attributes:
        version: transaction version, 0 or 2.
    """

    version: int = 0
    now: int = 1_000_000
    logs: dict[Name, list[RecordBatch]] = field(default_factory=dict)
    coordinator: list[RecordBatch] = field(default_factory=list)
    values: dict[str, TransactionValue] = field(default_factory=dict)
    sequences: dict[tuple[Name, int, int], int] = field(default_factory=dict)

    def init(self, name: str, producer_id: int, epoch: int = 0) -> None:
        """InitProducerId."""
        value = TransactionValue(
            1 if self.version else 0,
            ProducerId(producer_id),
            Epoch(epoch),
            60_000,
            STATES.EMPTY.value,
            None,
            Timestamp(self.now),
            Timestamp(ABSENT),
        )
        self.record(name, value)

    def add(self, name: str, *partitions: Name) -> None:
        """AddPartitionsToTxn."""
        old = self.values[name]
        ongoing = old.status == STATES.ONGOING.value
        started = old.started_ms if ongoing else Timestamp(self.now)
        listed = {TopicPartition(*partition) for partition in partitions}
        if ongoing:
            listed |= {TopicPartition(each.topic, n) for each in old.partitions or () for n in each.partitions}
        new = replace(old, status=STATES.ONGOING.value, partitions=by_topic(listed), started_ms=started)
        self.record(name, replace(new, client_version=0))

    def prepare(self, name: str, outcome: ControlType, *, fenced: bool = False) -> None:
        """EndTxn, or the coordinator's own abort."""
        old = self.values[name]
        state = STATES.PREPARE_COMMIT if outcome == COMMIT else STATES.PREPARE_ABORT
        rises = self.version == 2 or fenced
        new = replace(old, status=state.value, epoch=Epoch(old.epoch + rises), client_version=self.version)
        self.record(name, new)

    def complete(self, name: str) -> None:
        """All markers are written."""
        old = self.values[name]
        self.record(name, replace(old, status=old.status + 2, partitions=()))

    def complete_again(self, name: str) -> None:
        """The append of the Complete record was refused though it is in the log."""
        self.record(name, self.values[name])

    def record(self, name: str, value: TransactionValue | None, content: bytes | None = None) -> None:
        """One record of the coordinator's log, its leader at epoch 0."""
        self.now += 10
        if value is not None:
            self.values[name] = value = replace(value, updated_ms=Timestamp(self.now))
        encoded = content if content is not None else value.encode() if value is not None else None
        batch = data_batch([Record(0, 0, encode_key(name), encoded)], timestamp=self.now)
        self.coordinator.append(batch)

    def send(self, name: str, partition: Name, records: int = 1, *, epoch: int | None = None) -> None:
        """Transactional data of the id's producer."""
        value = self.values[name]
        used = value.epoch if epoch is None else epoch
        key = (partition, value.producer_id, used)
        sequence = self.sequences.get(key, 0)
        self.sequences[key] = sequence + records
        self._append(
            partition,
            blank_batch(
                records,
                producer_id=value.producer_id,
                epoch=used,
                base_sequence=sequence,
                timestamp=self.now,
                transactional=True,
            ),
        )

    def mark(self, name: str, *partitions: Name, outcome: ControlType | None = None, epoch: int | None = None) -> None:
        """Markers with the outcome of the Prepare record, or otherwise."""
        value = self.values[name]
        decided = COMMIT if value.status == STATES.PREPARE_COMMIT.value else ABORT
        kind = decided if outcome is None else outcome
        for partition in partitions:
            self.now += 1
            used = value.epoch if epoch is None else epoch
            self._append(partition, marker_batch(value.producer_id, used, kind, 0, self.now))

    def transaction(
        self, name: str, partitions: Iterable[Name], outcome: ControlType = COMMIT, *, fenced: bool = False
    ) -> None:
        """A whole one, as it should be; ended by its client, or by the coordinator where it is fenced."""
        listed = list(partitions)
        self.add(name, *listed)
        for partition in listed:
            self.send(name, partition)
        self.prepare(name, outcome, fenced=fenced)
        self.mark(name, *listed)
        self.complete(name)

    def _append(self, partition: Name, batch: RecordBatch) -> None:
        self.logs.setdefault(partition, []).append(batch)

    def write(self, directory: Path, starts: Mapping[Name, int] = NOWHERE, *, closed: bool = True) -> Path:
        """All logs, the coordinator's last; each in one segment, which begins where retention has left it.

        Args:
            directory: of the broker.
            starts: where retention has left the begin of a log.
            closed: the logs of partitions were flushed up to their ends, so that they have nothing more to come.
        """
        ends: list[PartitionOffset] = []
        for (topic, number), batches in self.logs.items():
            end = _write(directory / f"{topic}-{number}", batches, starts.get((topic, number), 0))
            ends.append(PartitionOffset(topic, number, Offset(end)))
        if closed:
            (directory / "recovery-point-offset-checkpoint").write_bytes(encode_offsets(ends))
        if self.coordinator:
            _write(directory / "__transaction_state-0", self.coordinator)
        return directory

    def write_cleaned(self, directory: Path, kept: Collection[int], *, closed: bool = True) -> Path:
        """The same where the cleaner has left only these records of the coordinator's log, its active segment apart."""
        self.write(directory, closed=closed)
        folder, end = directory / "__transaction_state-0", len(self.coordinator)
        left = (self.coordinator[at].at(Offset(at), LeaderEpoch(0)) for at in kept)
        (folder / f"{0:020}.log").write_bytes(b"".join(batch.encode() for batch in left))
        (folder / f"{end:020}.log").write_bytes(b"")
        checkpoint = encode_offsets([PartitionOffset("__transaction_state", 0, Offset(end))])
        (directory / CLEANED).write_bytes(checkpoint)
        return directory


def _write(folder: Path, batches: list[RecordBatch], start: int = 0) -> int:
    """One log; its end."""
    folder.mkdir(parents=True, exist_ok=True)
    offset, content = 0, b""
    for batch in batches:
        content += batch.at(Offset(offset), LeaderEpoch(0)).encode() if offset >= start else b""
        offset += batch.last_offset_delta + 1
    (folder / f"{start:020}.log").write_bytes(content)
    return offset
