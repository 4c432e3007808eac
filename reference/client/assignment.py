"""Assignments: what members send each other through their coordinator (ConsumerProtocol), and how the leader assigns.

Each partition has one member, so members beyond the number of partitions get nothing.
Sources: RangeAssignor, RoundRobinAssignor, AbstractPartitionAssignor.MemberInfo.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from reference.broker.group_requests import JoinAnswer, JoinedMember
from reference.broker.transaction_bytes import BytesOut, MalformedState, Reader
from reference.broker.transaction_metadata import TopicPartition

# --- subscriptions and assignments as bytes ---------------------------------------------------------------------------


VERSION: Final = 0
"""The version written: topics or partitions, and the assignor's own bytes. Later ones only add fields behind these."""

NO_USER_DATA: Final = -1  # the length of user data that is null


class Subscription(NamedTuple):
    """The topics that a member subscribes to.

    Attributes:
        topics: their names.
        user_data: of the assignor.
    """

    topics: tuple[str, ...]
    user_data: bytes | None = None

    def encode(self) -> bytes:
        """The subscription in bytes."""
        out = BytesOut(flexible=False)
        out.pack(">h", VERSION)
        out.array(self.topics, BytesOut.string)
        _write_user_data(out, self.user_data)
        return out.taken()


class Assignment(NamedTuple):
    """The partitions that a member is assigned.

    Attributes:
        partitions: in order.
        user_data: of the assignor.
    """

    partitions: tuple[TopicPartition, ...]
    user_data: bytes | None = None

    def encode(self) -> bytes:
        """The assignment in bytes, topic by topic."""
        out = BytesOut(flexible=False)
        out.pack(">h", VERSION)
        by_topic = [(topic, [n for _, n in found]) for topic, found in groupby(sorted(self.partitions), lambda p: p[0])]
        out.array(by_topic, _write_topic)
        _write_user_data(out, self.user_data)
        return out.taken()


def decode_subscription(data: bytes) -> Subscription:
    """A member's subscription, of any version.

    Raises:
        MalformedState: the bytes are damaged.
    """
    reader = _versioned(data)
    return Subscription(reader.array(Reader.string) or (), _user_data(reader))


def decode_assignment(data: bytes) -> Assignment:
    """A member's assignment, of any version; no bytes at all assign nothing.

    Raises:
        MalformedState: the bytes are damaged.
    """
    if not data:
        return Assignment(())
    reader = _versioned(data)
    by_topic = reader.array(_read_topic) or ()
    return Assignment(tuple(TopicPartition(topic, n) for topic, ns in by_topic for n in ns), _user_data(reader))


def assignment_of(partitions: Iterable[TopicPartition]) -> bytes:
    """The bytes that assign these partitions."""
    return Assignment(tuple(partitions)).encode()


def _versioned(data: bytes) -> Reader:
    reader = Reader(data, flexible=False)
    (version,) = reader.unpack(">h")
    if version < 0:
        raise MalformedState(f"version {version} of the consumer protocol")
    return reader


def _write_topic(out: BytesOut, topic: tuple[str, list[int]]) -> None:
    name, numbers = topic
    out.string(name)
    out.array(numbers, lambda written, number: written.pack(">i", number))


def _read_topic(reader: Reader) -> tuple[str, tuple[int, ...]]:
    name = reader.string()
    return name, reader.array(lambda each: int(each.unpack(">i")[0])) or ()


def _write_user_data(out: BytesOut, data: bytes | None) -> None:
    if data is None:
        out.pack(">i", NO_USER_DATA)
    else:
        out.sized(data)


def _user_data(reader: Reader) -> bytes | None:
    (length,) = reader.unpack(">i")
    if length == NO_USER_DATA:
        return None
    if length < 0:
        raise MalformedState(f"user data of length {length}")
    (data,) = reader.unpack(f">{length}s")
    return bytes(data)


# --- assignors --------------------------------------------------------------------------------------------------------


Counts: TypeAlias = Mapping[str, int]
"""Partitions of each topic; a topic that is not known has none."""


class Subscriber(NamedTuple):
    """A member as the leader sees it."""

    member_id: str
    topics: tuple[str, ...]
    group_instance_id: str | None = None

    @property
    def rank(self) -> tuple[bool, str]:
        """Its place among the members: static ones by instance come first, so that a restart changes nothing."""
        return self.group_instance_id is None, self.group_instance_id or self.member_id


Assigned: TypeAlias = dict[str, list[TopicPartition]]
"""By member id."""

Assignor: TypeAlias = Callable[[Sequence[Subscriber], Counts], Assigned]


def by_range(members: Sequence[Subscriber], counts: Counts) -> Assigned:
    """Topic by topic, each member gets a run of partitions; the first get one more if they do not divide evenly."""
    assigned: Assigned = {member.member_id: [] for member in members}
    for topic in topics_of(members):
        wanting = sorted((m for m in members if topic in m.topics), key=lambda m: m.rank)
        each, more = divmod(counts.get(topic, 0), len(wanting))
        start = 0
        for place, member in enumerate(wanting):
            end = start + each + (place < more)
            assigned[member.member_id] += [TopicPartition(topic, number) for number in range(start, end)]
            start = end
    return assigned


def by_round_robin(members: Sequence[Subscriber], counts: Counts) -> Assigned:
    """All partitions of all topics in order, each to the next member that subscribes to the topic."""
    assigned: Assigned = {member.member_id: [] for member in members}
    ranked = sorted(members, key=lambda member: member.rank)
    turn = 0
    for topic in topics_of(members):
        for number in range(counts.get(topic, 0)):
            while topic not in ranked[turn % len(ranked)].topics:
                turn += 1
            assigned[ranked[turn % len(ranked)].member_id].append(TopicPartition(topic, number))
            turn += 1
    return assigned


def topics_of(members: Sequence[Subscriber]) -> list[str]:
    """The topics that some member subscribes to, in order."""
    return sorted({topic for member in members for topic in member.topics})


ASSIGNORS: Final[Mapping[str, Assignor]] = MappingProxyType({"range": by_range, "roundrobin": by_round_robin})
"""By the names under which members offer them (partition.assignment.strategy)."""


def assignments(joined: JoinAnswer, counts: Counts) -> dict[str, bytes]:
    """The assignments that a group's leader sends, by member id in bytes; nothing if another member leads."""
    if joined.leader != joined.member_id:
        return {}
    assigned = ASSIGNORS[joined.protocol or "range"]([subscriber(member) for member in joined.members], counts)
    return {member_id: assignment_of(partitions) for member_id, partitions in assigned.items()}


def subscriber(member: JoinedMember) -> Subscriber:
    """A member as the leader gets it."""
    topics = decode_subscription(member.subscription).topics
    return Subscriber(member.member_id, topics, member.group_instance_id)
