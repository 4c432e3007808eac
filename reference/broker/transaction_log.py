"""`__transaction_state`: the coordinator's durable memory, one record for every change of an id (TransactionLog)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from reference.broker.transaction_bytes import MalformedState
from reference.broker.transaction_metadata import TransactionMetadata
from reference.broker.transaction_record import (
    FIXED,
    FLEXIBLE,
    decode_key,
    decode_value,
    encode_key,
    value_of,
)
from reference.errors import Refusal, UnsupportedCodec, UnsupportedVersion
from reference.log.batch import RecordBatch, data_batch
from reference.log.partition_log import PartitionLog
from reference.log.record import MalformedRecords, Record
from spec.versions import Profile
from spec.vocabulary import LeaderEpoch, Offset, Timestamp

PARTITIONS: Final = 50
"""Default of transaction.state.log.num.partitions."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A record of the log that could not be read."""

    offset: Offset
    reason: str


@dataclass(slots=True)
class Loaded:
    """The contents of a partition of the log: the newest record of each id, and what could not be read."""

    ids: dict[str, TransactionMetadata] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AppendFault:
    """The next append fails; `written` leaves the record in the log all the same, ahead of the coordinator's memory."""

    refusal: Refusal
    written: bool = False


class TransactionLog:
    """The partitions of `__transaction_state`, in real bytes; it outlives its coordinators.

    Attributes:
        profile: decides the version of written values, and their fields.
        partitions: logs by number.
        faults: results of the next appends, oldest first; empty once they are used up.
        unsure: partition and offset of the records that are there although their append was refused.
    """

    __slots__ = ("faults", "partitions", "profile", "unsure")

    def __init__(self, profile: Profile, partitions: int = PARTITIONS, opened: Sequence[PartitionLog] = ()) -> None:
        """So many empty partitions, or those that are `opened` already."""
        self.profile = profile
        self.partitions = tuple(opened) or tuple(PartitionLog() for _ in range(partitions))
        self.faults: list[AppendFault] = []
        self.unsure: set[tuple[int, int]] = set()

    @property
    def value_version(self) -> int:
        """Version of the values that are written: flexible once `transaction.version` is at least 1."""
        return FLEXIBLE if self.profile.transaction_version >= 1 else FIXED

    def partition_of(self, transactional_id: str) -> int:
        """The partition whose leader coordinates an id."""
        return partition_for(transactional_id, len(self.partitions))

    def leader_epoch_of(self, partition: int) -> LeaderEpoch:
        """The epoch that is stamped on what is appended to a partition."""
        return LeaderEpoch(0)

    def write(self, transactional_id: str, metadata: TransactionMetadata, now: Timestamp) -> None:
        """Append the record of a change.

        Raises:
            UnsupportedVersion: its values cannot hold the transaction version of the client; nothing was appended.
            Refusal: the append failed.
        """
        if metadata.client_version and self.value_version < FLEXIBLE:
            raise UnsupportedVersion(client_version=metadata.client_version, value_version=self.value_version)
        value = value_of(metadata, self.value_version, self.profile.rotation_persisted)
        self.append(transactional_id, value.encode(), now)

    def bury(self, transactional_id: str, now: Timestamp) -> None:
        """Append the tombstone of an id.

        Raises:
            Refusal: the append failed.
        """
        self.append(transactional_id, None, now)

    def append(self, transactional_id: str, value: bytes | None, now: Timestamp) -> None:
        """Append one record as a batch of its own.

        Raises:
            Refusal: the append failed.
        """
        fails = bool(self.faults)
        if not fails or self.faults[0].written:
            partition = self.partition_of(transactional_id)
            log = self.partitions[partition]
            if fails:
                self.unsure.add((partition, log.log_end))
            record = Record(0, 0, encode_key(transactional_id), value)
            log.append(data_batch((record,), timestamp=now).at(log.log_end, self.leader_epoch_of(partition)))
        if fails:
            raise self.faults.pop(0).refusal  # a variable would hold it, and it this frame

    def load(self, partition: int) -> Loaded:
        """Read a partition from its start to its end: the last record of an id wins, a tombstone removes it."""
        loaded = Loaded()
        for batch in self.partitions[partition]:
            if not batch.is_control:
                _load_batch(batch, loaded)
        return loaded


def _load_batch(batch: RecordBatch, loaded: Loaded) -> None:
    try:
        for offset, record in _records(batch):
            _load_record(offset, record, loaded)
    except (MalformedRecords, UnsupportedCodec) as damage:
        loaded.skipped.append(Skipped(batch.base_offset, str(damage)))


def _records(batch: RecordBatch) -> Iterator[tuple[Offset, Record]]:
    return ((Offset(batch.base_offset + record.offset_delta), record) for record in batch.records())


def _load_record(offset: Offset, record: Record, loaded: Loaded) -> None:
    whose = ""
    try:
        transactional_id = decode_key(record.key or b"")
        whose = f"{transactional_id}: "
        if record.value is None:
            loaded.ids.pop(transactional_id, None)
        else:
            loaded.ids[transactional_id] = _metadata_in(record.value)
    except MalformedState as damage:
        loaded.skipped.append(Skipped(offset, f"{whose}{damage}"))


@lru_cache(maxsize=4096)  # a log is read again at every election
def _metadata_in(value: bytes) -> TransactionMetadata:
    return decode_value(value).metadata()


@lru_cache(maxsize=1024)
def partition_for(name: str, partitions: int) -> int:
    """The partition of an internal topic that a transactional id or group belongs to: Java's hash of the name."""
    hashed = java_hash(name)
    return (0 if hashed == -(2**31) else abs(hashed)) % partitions


def java_hash(text: str) -> int:
    """String.hashCode: polynomial of 31 over UTF-16 units, in 32 signed bits."""
    data = text.encode("utf-16-be", "surrogatepass")
    hashed = 0
    for unit in range(0, len(data), 2):
        hashed = (31 * hashed + int.from_bytes(data[unit : unit + 2], "big")) & 0xFFFFFFFF
    return hashed - 2**32 if hashed >= 2**31 else hashed
