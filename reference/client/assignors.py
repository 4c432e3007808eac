"""Assignors: the leader of a group computes which member gets which partitions.

Each partition has one member, so that members beyond the number of partitions get nothing.
Sources: RangeAssignor, RoundRobinAssignor, AbstractPartitionAssignor.MemberInfo.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from reference.broker.group_requests import JoinAnswer, JoinedMember
from reference.broker.transaction_metadata import TopicPartition
from reference.client.consumer_protocol import assignment_of, decode_subscription

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
    """Topic by topic, each member a run of partitions; the first ones get one more where it does not come out even."""
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
    """All partitions of all topics in order, each to the next member that wants its topic."""
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
