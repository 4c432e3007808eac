"""Keys and values of `__consumer_offsets`, in Kafka's own bytes.

Key versions 0 and 1 name a committed offset, 2 names a group (OffsetCommitKey, GroupMetadataKey). Both values are
read and written in the versions 0 to 3 (OffsetCommitValue, GroupMetadataValue).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from reference.broker.transaction_bytes import BytesOut, MalformedState, Reader
from reference.broker.transaction_metadata import TopicPartition
from spec.vocabulary import ABSENT, NO_TIMESTAMP, Offset, Timestamp

OFFSET_KEYS: Final = (0, 1)

GROUP_KEY: Final = 2
NEWEST_VALUE: Final = 3
"""Versions of GroupMetadataKey, and of the newest GroupMetadataValue that the reference writes."""

EXPIRY_IN: Final = 1
"""The one version of an offset's value that holds the time when the offset expires."""

LEADER_EPOCH_SINCE: Final = 3
REBALANCE_TIMEOUT_SINCE: Final = 1
CHANGED_SINCE: Final = 2
INSTANCE_SINCE: Final = 3
"""First versions of OffsetCommitValue and GroupMetadataValue that have these fields (Kafka's message schemas)."""


@dataclass(frozen=True, slots=True)
class OffsetKey:
    """A group's offset of one partition; equal whatever the version of the key."""

    group: str
    partition: TopicPartition
    version: int = field(default=OFFSET_KEYS[-1], compare=False)


@dataclass(frozen=True, slots=True)
class GroupKey:
    """A group."""

    group: str


Key: TypeAlias = OffsetKey | GroupKey


@dataclass(frozen=True, slots=True)
class OffsetValue:
    """A committed offset, field by field.

    Attributes:
        leader_epoch: of the last record that was consumed, -1 none; since version 3.
        committed_ms: when it was committed.
        expires_ms: when it expires, -1 if the broker's setting decides; in version 1 only.
    """

    offset: Offset
    metadata: str = ""
    committed_ms: Timestamp = NO_TIMESTAMP
    leader_epoch: int = ABSENT
    expires_ms: Timestamp = NO_TIMESTAMP
    version: int = NEWEST_VALUE

    def encode(self) -> bytes:
        """The value in bytes."""
        out = BytesOut(flexible=False)
        out.pack(">h", self.version)
        out.pack(">q", self.offset)
        if self.version >= LEADER_EPOCH_SINCE:
            out.pack(">i", self.leader_epoch)
        out.string(self.metadata)
        out.pack(">q", self.committed_ms)
        if self.version == EXPIRY_IN:
            out.pack(">q", self.expires_ms)
        return out.taken()


@dataclass(frozen=True, slots=True)
class MemberValue:
    """One member of a group; subscription and assignment are bytes of the members' own protocol.

    Attributes:
        group_instance_id: of a static member, else None; since version 3.
        rebalance_timeout_ms: since version 1.
    """

    member_id: str
    client_id: str
    client_host: str
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes
    rebalance_timeout_ms: int = ABSENT
    group_instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class GroupValue:
    """A generation of a group, field by field.

    Attributes:
        changed_ms: when the group came into its state; since version 2.
    """

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    members: tuple[MemberValue, ...]
    changed_ms: Timestamp = NO_TIMESTAMP
    version: int = NEWEST_VALUE

    def encode(self) -> bytes:
        """The value in bytes."""
        out = BytesOut(flexible=False)
        out.pack(">h", self.version)
        out.string(self.protocol_type)
        out.pack(">i", self.generation)
        out.string_or_none(self.protocol)
        out.string_or_none(self.leader)
        if self.version >= CHANGED_SINCE:
            out.pack(">q", self.changed_ms)
        out.array(self.members, self._write_member)
        return out.taken()

    def _write_member(self, out: BytesOut, member: MemberValue) -> None:
        out.string(member.member_id)
        if self.version >= INSTANCE_SINCE:
            out.string_or_none(member.group_instance_id)
        out.string(member.client_id)
        out.string(member.client_host)
        if self.version >= REBALANCE_TIMEOUT_SINCE:
            out.pack(">i", member.rebalance_timeout_ms)
        out.pack(">i", member.session_timeout_ms)
        out.sized(member.subscription)
        out.sized(member.assignment)


def encode_key(key: Key) -> bytes:
    """The key in bytes."""
    out = BytesOut(flexible=False)
    out.pack(">h", GROUP_KEY if isinstance(key, GroupKey) else key.version)
    out.string(key.group)
    if isinstance(key, OffsetKey):
        out.string(key.partition.topic)
        out.pack(">i", key.partition.partition)
    return out.taken()


def decode_key(data: bytes) -> Key:
    """The offset or group that a key names.

    Raises:
        MalformedState: the key is of another version (as those of the groups of KIP-848), or damaged.
    """
    reader = Reader(data, flexible=False)
    (version,) = reader.unpack(">h")
    if version not in (*OFFSET_KEYS, GROUP_KEY):
        raise MalformedState(f"key version {version}")
    group = reader.string()
    if version == GROUP_KEY:
        reader.end()
        return GroupKey(group)
    topic = reader.string()
    (number,) = reader.unpack(">i")
    reader.end()
    return OffsetKey(group, TopicPartition(topic, number), version)


def decode_offset(data: bytes) -> OffsetValue:
    """The value of an offset.

    Raises:
        MalformedState: the version is unknown, or the bytes are damaged.
    """
    reader, version = _versioned(data)
    (offset,) = reader.unpack(">q")
    leader_epoch = _number(reader, ">i", version >= LEADER_EPOCH_SINCE)
    metadata = reader.string()
    (committed_ms,) = reader.unpack(">q")
    expires_ms = _number(reader, ">q", version == EXPIRY_IN)
    reader.end()
    return OffsetValue(offset, metadata, committed_ms, leader_epoch, Timestamp(expires_ms), version)


def decode_group(data: bytes) -> GroupValue:
    """The value of a group.

    Raises:
        MalformedState: the version is unknown, or the bytes are damaged.
    """
    reader, version = _versioned(data)
    protocol_type = reader.string()
    (generation,) = reader.unpack(">i")
    protocol, leader = reader.string_or_none(), reader.string_or_none()
    changed_ms = _number(reader, ">q", version >= CHANGED_SINCE)
    members = reader.array(_member_of(version))
    if members is None:
        raise MalformedState("a group without a list of members")
    reader.end()
    return GroupValue(protocol_type, generation, protocol, leader, members, Timestamp(changed_ms), version)


def _versioned(data: bytes) -> tuple[Reader, int]:
    reader = Reader(data, flexible=False)
    (version,) = reader.unpack(">h")
    if not 0 <= version <= NEWEST_VALUE:
        raise MalformedState(f"value version {version}")
    return reader, version


def _number(reader: Reader, form: str, written: bool) -> int:
    """A number that only some versions have, else -1."""
    return int(reader.unpack(form)[0]) if written else ABSENT


def _member_of(version: int) -> Callable[[Reader], MemberValue]:
    def read(reader: Reader) -> MemberValue:
        member_id = reader.string()
        instance = reader.string_or_none() if version >= INSTANCE_SINCE else None
        client_id, client_host = reader.string(), reader.string()
        rebalance_ms = _number(reader, ">i", version >= REBALANCE_TIMEOUT_SINCE)
        (session_ms,) = reader.unpack(">i")
        subscription, assignment = reader.sized(), reader.sized()
        return MemberValue(
            member_id, client_id, client_host, session_ms, subscription, assignment, rebalance_ms, instance
        )

    return read
