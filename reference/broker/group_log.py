"""`__consumer_offsets`: offsets and groups in real bytes, on partitions that take markers as any other does."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from reference.broker.group_offsets import GroupOffsets, RecordedOffset
from reference.broker.group_record import (
    GroupKey,
    GroupValue,
    Key,
    OffsetKey,
    decode_group,
    decode_key,
    decode_offset,
    encode_key,
)
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_api import OFFSETS_TOPIC, offsets_partition_of
from reference.broker.transaction_bytes import MalformedState
from reference.broker.transaction_log import Skipped
from reference.broker.transaction_metadata import TopicPartition
from reference.errors import UnsupportedCodec
from reference.log.batch import RecordBatch, data_batch
from reference.log.partition import Partition
from reference.log.record import MalformedRecords, Record
from spec.versions import Profile
from spec.vocabulary import NO_EPOCH, NO_PRODUCER_ID, ControlType, Offset, ProducerId, Sequence, Timestamp

PARTITIONS: Final = 50
"""Default of offsets.topic.num.partitions."""

NOT_TRANSACTIONAL: Final = ProducerIdentity(NO_PRODUCER_ID, NO_EPOCH)

FIRST_SEQUENCE: Final = Sequence(0)
"""Base sequence of every transactional batch of offsets; it is not checked."""


@dataclass(slots=True)
class LoadedGroups:
    """The contents of an offsets partition.

    Attributes:
        groups: the newest generation of each.
        met: every group with an offset in the log, aborted ones included.
        skipped: what could not be read.
    """

    offsets: GroupOffsets = field(default_factory=GroupOffsets)
    groups: dict[str, GroupValue] = field(default_factory=dict)
    met: set[str] = field(default_factory=set)
    skipped: list[Skipped] = field(default_factory=list)


class OffsetsTopic:
    """The partitions of `__consumer_offsets`; they outlive the coordinators of their groups.

    Attributes:
        partitions: by number.
    """

    __slots__ = ("_members", "_profile", "partitions")

    def __init__(
        self, profile: Profile, partitions: int = PARTITIONS, opened: tuple[Partition, ...] = (), members: int = 0
    ) -> None:
        """So many empty partitions, or those that are `opened` already; so many members have had their ids."""
        self._profile = profile
        self._members = members
        self.partitions = opened or tuple(Partition(profile) for _ in range(partitions))

    def number_of(self, group: str) -> int:
        """The partition whose leader coordinates a group."""
        return offsets_partition_of(group, len(self.partitions)).partition

    def names(self) -> dict[int, TopicPartition]:
        """Topic and number of each partition, by number."""
        return {number: TopicPartition(OFFSETS_TOPIC, number) for number in range(len(self.partitions))}

    def new_member_id(self, client_id: str) -> str:
        """A new member id; Kafka draws it at random."""
        self._members += 1
        return f"{client_id}-{self._members}"

    def load(self, number: int) -> LoadedGroups:
        """Read a partition from its start to its end."""
        loaded = LoadedGroups()
        for batch in self.partitions[number].log:
            replay(batch, loaded, self._profile)
        return loaded


def records_batch(
    written: Iterable[tuple[Key, bytes | None]], now: Timestamp, producer: ProducerIdentity = NOT_TRANSACTIONAL
) -> RecordBatch:
    """One batch of keys and values, None for a tombstone; in a transaction if a producer is given."""
    records = (Record(delta, 0, encode_key(key), value) for delta, (key, value) in enumerate(written))
    if producer == NOT_TRANSACTIONAL:
        return data_batch(records, timestamp=now)
    return data_batch(
        records,
        producer_id=producer.producer_id,
        epoch=producer.epoch,
        base_sequence=FIRST_SEQUENCE,
        timestamp=now,
        transactional=True,
    )


def replay(batch: RecordBatch, loaded: LoadedGroups, profile: Profile) -> None:
    """Take over one batch of the log; unreadable records are listed and skipped."""
    try:
        if batch.is_control:
            _replay_marker(batch, loaded)
            return
        for record in batch.records():
            _replay_record(batch, record, loaded, profile)
    except (MalformedRecords, UnsupportedCodec) as damage:
        loaded.skipped.append(Skipped(batch.base_offset, str(damage)))


def _replay_marker(batch: RecordBatch, loaded: LoadedGroups) -> None:
    marker = batch.marker()
    if marker is not None:  # else cleaning has removed the whole transaction
        loaded.offsets.complete(batch.producer_id, marker.control_type == ControlType.COMMIT)


def _replay_record(batch: RecordBatch, record: Record, loaded: LoadedGroups, profile: Profile) -> None:
    at = Offset(batch.base_offset + record.offset_delta)
    try:
        match decode_key(record.key or b""):
            case GroupKey(group):
                _replay_group(group, record.value, loaded)
            case OffsetKey() as key:
                producer_id = batch.producer_id if batch.is_transactional else NO_PRODUCER_ID
                _replay_offset(key, record.value, at, producer_id, loaded, profile)
    except MalformedState as damage:
        loaded.skipped.append(Skipped(at, str(damage)))


def _replay_group(group: str, value: bytes | None, loaded: LoadedGroups) -> None:
    if value is None:
        loaded.groups.pop(group, None)
        loaded.met.discard(group)
    else:
        loaded.groups[group] = decode_group(value)


def _replay_offset(
    key: OffsetKey, value: bytes | None, at: Offset, producer_id: ProducerId, loaded: LoadedGroups, profile: Profile
) -> None:
    offsets = loaded.offsets
    if value is None:
        if producer_id == NO_PRODUCER_ID or profile.tombstone_drops_pending:
            offsets.bury(key, profile.tombstone_drops_pending)
        else:
            offsets.drop_pending(producer_id, (key,))
        return
    recorded = RecordedOffset(decode_offset(value), at)
    loaded.met.add(key.group)
    if producer_id == NO_PRODUCER_ID:
        offsets.commit(key, recorded)
    else:
        offsets.pend(producer_id, key, recorded)
