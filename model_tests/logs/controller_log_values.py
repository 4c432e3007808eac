"""Records of `__cluster_metadata`, as bytes: those about which brokers are alive, lead, or are in sync.

Source: the metadata records of KRaft (KIP-500, KIP-631, KIP-841, KIP-966), by the schemas of 4.3 and 4.4, folder
`metadata/src/main/resources/common/metadata`. A record is framed by a version of the frame, its kind and the version
of its kind.
"""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias
from uuid import UUID

from model_tests.logs.kafka_log_fields import FieldReader, MalformedBytes, UnknownSchema
from spec.vocabulary import ABSENT

NO_LEADER_CHANGE: Final = -2
"""The leader that a record names which leaves it as it is."""

FRAME: Final = 1  # the only frame version of KRaft's records (MetadataRecordSerde)

A_FRAME: Final = "a record in a frame"
"""What is not read, where the version of the frame is not known."""

KINDS: Final = MappingProxyType(
    {
        0: "RegisterBroker",
        1: "UnregisterBroker",
        2: "Topic",
        3: "Partition",
        4: "Config",
        5: "PartitionChange",
        6: "AccessControl",
        7: "FenceBroker",
        8: "UnfenceBroker",
        9: "RemoveTopic",
        10: "DelegationToken",
        11: "UserScramCredential",
        12: "FeatureLevel",
        14: "ClientQuota",
        15: "ProducerIds",
        17: "BrokerRegistrationChange",
        18: "AccessControlEntry",
        19: "RemoveAccessControlEntry",
        20: "NoOp",
        21: "ZkMigrationState",
        22: "RemoveUserScramCredential",
        23: "BeginTransaction",
        24: "EndTransaction",
        25: "AbortTransaction",
        26: "RemoveDelegationToken",
        27: "RegisterController",
        28: "ClearElr",
        29: "UnregisterController",
    }
)
"""Names of all kinds of record."""


class NotRead(UnknownSchema):
    """A record whose kind, or the version of whose kind, is not known.

    Attributes:
        kind: its name, or its number.
        version: of the kind, or of the frame.
        newest: the newest version that is known of it; -1 where the kind is not.
    """

    def __init__(self, kind: str, version: int, newest: int = ABSENT) -> None:
        """The message has all three.

        Args:
            kind: its name, or its number.
            version: of the kind, or of the frame.
            newest: the newest version that is known of it; -1 where the kind is not.
        """
        expected = f"expected at most {newest}" if newest != ABSENT else "a kind that is not known"
        super().__init__(f"{kind} of version {version}, {expected}")
        self.kind, self.version, self.newest = kind, version, newest


@dataclass(frozen=True, slots=True)
class BrokerChange:
    """A broker registers or goes, or what is known of it changes; None leaves a fact as it is.

    Attributes:
        fenced: it may not lead, and clients are not sent to it.
        shutting_down: it requested a controlled shutdown.
    """

    broker: int
    registered: bool = True
    fenced: bool | None = None
    shutting_down: bool | None = None


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic, by its id."""

    topic_id: UUID
    name: str


@dataclass(frozen=True, slots=True)
class RemovedTopic:
    """A topic is deleted."""

    topic_id: UUID


@dataclass(frozen=True, slots=True)
class PartitionChange:
    """A partition is made, or changes; None leaves a fact as it is.

    Attributes:
        leader: -1 for no leader, -2 for the leader before.
        recovering: the leader was elected though it may lack what is committed.
        eligible: eligible leader replicas (KIP-966).
        last_known: the last leader, while no replica is in sync or eligible.
        leader_epoch: as the record names it; -1 where it is the one before, or follows it.
    """

    topic_id: UUID
    partition: int
    leader: int = NO_LEADER_CHANGE
    in_sync: tuple[int, ...] | None = None
    replicas: tuple[int, ...] | None = None
    recovering: bool | None = None
    eligible: tuple[int, ...] | None = None
    last_known: tuple[int, ...] | None = None
    leader_epoch: int = ABSENT

    @property
    def creates(self) -> bool:
        """The record has the whole state of the partition."""
        return self.leader_epoch != ABSENT


@dataclass(frozen=True, slots=True)
class ClearedEligible:
    """The eligible leader replicas of a topic are forgotten; those of every topic where it has no name."""

    topic: str


@dataclass(frozen=True, slots=True)
class Bracket:
    """The begin or the end of records that take effect together, or not at all: begin, end or abort."""

    kind: str


Change: TypeAlias = BrokerChange | NewTopic | RemovedTopic | PartitionChange | ClearedEligible | Bracket


def read_change(content: bytes | None) -> tuple[str, Change | None]:
    """The kind of a record, and what it changes; None where that has nothing to do with leaders.

    Raises:
        NotRead: the frame, the kind, or the version of the kind is not known.
        Malformed: the bytes are no record.
    """
    if content is None:
        raise MalformedBytes("no value")
    source = FieldReader(content)
    try:
        frame = source.unsigned()
        if frame != FRAME:
            raise NotRead(A_FRAME, frame, FRAME)
        number, version = source.unsigned(), source.unsigned()
        if number not in KINDS:
            raise NotRead(f"kind {number}", version)
        kind = KINDS[number]
        known = _READ.get(kind)
        if known is None:
            return kind, None
        newest, read = known
        if version > newest:
            raise NotRead(kind, version, newest)
        return kind, read(source, version)
    except (struct.error, UnicodeDecodeError) as error:
        raise MalformedBytes(f"not a record: {error}") from error


def _register(source: FieldReader, version: int) -> BrokerChange:
    broker = source.int32()
    if version >= 2:
        source.int8()  # whether it is a broker of ZooKeeper's, migrating
    source.uuid()  # incarnation
    source.int64()  # broker epoch
    for _ in range(source.unsigned() - 1):
        source.text(flexible=True), source.text(flexible=True)  # name and host
        source.int16(), source.int16(), source.tags()  # port and security protocol
    for _ in range(source.unsigned() - 1):
        source.text(flexible=True), source.int16(), source.int16(), source.tags()  # a feature and its versions
    source.nullable_text(flexible=True)  # rack
    fenced = bool(source.int8())
    return BrokerChange(broker, fenced=fenced, shutting_down=bool(source.int8()) if version >= 1 else False)


def _unregister(source: FieldReader, version: int) -> BrokerChange:
    return BrokerChange(source.int32(), registered=False)


def _fence(source: FieldReader, version: int) -> BrokerChange:
    return BrokerChange(source.int32(), fenced=True)


def _unfence(source: FieldReader, version: int) -> BrokerChange:
    return BrokerChange(source.int32(), fenced=False)


def _registration(source: FieldReader, version: int) -> BrokerChange:
    broker = source.int32()
    source.int64()  # broker epoch
    tags = source.tags()
    return BrokerChange(
        broker,
        fenced={1: True, -1: False}.get(tags[0].int8()) if 0 in tags else None,
        shutting_down={1: True}.get(tags[1].int8()) if 1 in tags else None,
    )


def _topic(source: FieldReader, version: int) -> NewTopic:
    name = source.text(flexible=True)
    return NewTopic(source.uuid(), name)


def _removed_topic(source: FieldReader, version: int) -> RemovedTopic:
    return RemovedTopic(source.uuid())


def _partition(source: FieldReader, version: int) -> PartitionChange:
    number, topic_id = source.int32(), source.uuid()
    replicas, in_sync = source.ints(), source.ints()
    source.ints(), source.ints()  # replicas that are removed and added
    leader, leader_epoch, _ = source.int32(), source.int32(), source.int32()  # and the partition epoch
    if version >= 1:
        for _ in range(source.unsigned() - 1):
            source.uuid()  # directories
    tags = source.tags()
    return PartitionChange(
        topic_id,
        number,
        leader=leader,
        in_sync=in_sync,
        replicas=replicas,
        recovering=bool(tags[0].int8()) if 0 in tags else False,
        eligible=tags[1].ints() if 1 in tags else (),
        last_known=tags[2].ints() if 2 in tags else (),
        leader_epoch=leader_epoch,
    )


def _partition_change(source: FieldReader, version: int) -> PartitionChange:
    number, topic_id = source.int32(), source.uuid()
    tags = source.tags()
    return PartitionChange(
        topic_id,
        number,
        leader=tags[1].int32() if 1 in tags else NO_LEADER_CHANGE,
        in_sync=tags[0].ints() if 0 in tags else None,
        replicas=tags[2].ints() if 2 in tags else None,
        recovering=bool(tags[5].int8()) if 5 in tags else None,
        eligible=tags[6].ints() if 6 in tags else None,
        last_known=tags[7].ints() if 7 in tags else None,
    )


def _cleared(source: FieldReader, version: int) -> ClearedEligible:
    return ClearedEligible(source.text(flexible=True))


def _bracket(kind: str) -> Callable[[FieldReader, int], Change]:
    return lambda source, version: Bracket(kind)


_READ: Final[Mapping[str, tuple[int, Callable[[FieldReader, int], Change]]]] = MappingProxyType(
    {
        "RegisterBroker": (4, _register),
        "UnregisterBroker": (0, _unregister),
        "Topic": (0, _topic),
        "Partition": (2, _partition),
        "PartitionChange": (2, _partition_change),
        "FenceBroker": (0, _fence),
        "UnfenceBroker": (0, _unfence),
        "RemoveTopic": (0, _removed_topic),
        "BrokerRegistrationChange": (3, _registration),
        "ClearElr": (0, _cleared),
        "BeginTransaction": (0, _bracket("begin")),
        "EndTransaction": (0, _bracket("end")),
        "AbortTransaction": (0, _bracket("abort")),
    }
)
"""By kind the newest version that is known, and its reader.

What a newer version adds at the end of a record, or as a tagged field, is left unread: log directories, and those of
them that are cordoned.
"""

OF_BROKERS: Final = frozenset(
    ("RegisterBroker", "UnregisterBroker", "FenceBroker", "UnfenceBroker", "BrokerRegistrationChange")
)
"""Kinds of record that say who is alive, and not who leads."""
