"""One group of the classic protocol: its state, its generation, its members (GroupMetadata, ClassicGroup)."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from reference.broker.coordinator_errors import FencedInstanceId, UnknownMemberId
from reference.broker.group_record import GroupValue, MemberValue
from reference.broker.group_requests import JoinedMember, JoinReply, SyncReply
from reference.broker.transaction_bytes import MalformedState, Reader
from spec.vocabulary import NO_TIMESTAMP, GroupState, Timestamp

CONSUMER: Final = "consumer"
"""The protocol type of consumers."""


def subscribed_in(subscription: bytes) -> tuple[str, ...]:
    """The topics at the beginning of a consumer's subscription, of whichever version.

    Raises:
        MalformedState: it is none.
    """
    reader = Reader(subscription, flexible=False)
    (version,) = reader.unpack(">h")
    if version < 0:
        raise MalformedState(f"version {version} of a subscription")
    return reader.array(Reader.string) or ()


@dataclass(slots=True)
class Member:
    """A member of a group.

    Attributes:
        protocols: names with the member's subscription, the preferred one first.
        deadline_ms: when its session expires without a request from it.
        joining: takes the answer to its JoinGroup, None if it has not joined the coming generation.
        syncing: takes the answer to its SyncGroup, None if it does not wait for one.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    assignment: bytes = b""
    deadline_ms: int = 0
    joining: JoinReply | None = None
    syncing: SyncReply | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether the coordinator owes it an answer, so that its session cannot expire."""
        return self.joining is not None or self.syncing is not None

    def note_heartbeat(self, now: Timestamp) -> None:
        """Its session begins anew."""
        self.deadline_ms = now + self.session_timeout_ms

    def subscription(self, protocol: str | None) -> bytes:
        """Its subscription under a protocol."""
        return dict(self.protocols).get(protocol or "", b"")

    def recorded(self, protocol: str | None) -> MemberValue:
        """The member as the log keeps it."""
        return MemberValue(
            self.member_id,
            self.client_id,
            self.client_host,
            self.session_timeout_ms,
            self.subscription(protocol),
            self.assignment,
            self.rebalance_timeout_ms,
            self.group_instance_id,
        )


@dataclass(slots=True)
class ClassicGroup:
    """A group, as its coordinator has it in memory.

    Attributes:
        members: by member id, in the order in which they joined.
        promised: ids that new members got and have not yet joined with, with the time until which they hold.
        deadline_ms: when the rebalance under way continues without those who have not joined.
        initial_until_ms: up to when a first generation waits for more members; -1 if it is not the first.
        grew: whether a member came while a first generation waited.
        topics: those that members of the latest generation have subscribed to, as far as can be known; else None.
    """

    group: str
    state: GroupState = GroupState.EMPTY
    generation: int = 0
    protocol_type: str = ""
    protocol: str | None = None
    leader: str | None = None
    members: dict[str, Member] = field(default_factory=dict)
    promised: dict[str, int] = field(default_factory=dict)
    changed_ms: Timestamp = NO_TIMESTAMP
    deadline_ms: int = 0
    initial_until_ms: int = -1
    grew: bool = False
    topics: frozenset[str] | None = None

    @classmethod
    def loaded(cls, group: str, value: GroupValue, now: Timestamp) -> "ClassicGroup":
        """A group from its record; every session begins anew."""
        found = cls(group, GroupState.STABLE if value.members else GroupState.EMPTY, value.generation)
        found.protocol_type, found.protocol, found.leader = value.protocol_type, value.protocol, value.leader
        found.changed_ms = value.changed_ms
        for each in value.members:
            protocols = ((value.protocol or "", each.subscription),)
            member = Member(
                each.member_id,
                each.group_instance_id,
                each.client_id,
                each.client_host,
                each.session_timeout_ms,
                each.rebalance_timeout_ms,
                protocols,
                each.assignment,
            )
            member.note_heartbeat(now)
            found.members[each.member_id] = member
        found.topics = found.subscribed_topics()
        return found

    def recorded(self) -> GroupValue:
        """The generation as the log keeps it."""
        members = tuple(member.recorded(self.protocol) for member in self.members.values())
        return GroupValue(self.protocol_type, self.generation, self.protocol, self.leader, members, self.changed_ms)

    def enter(self, state: GroupState, now: Timestamp) -> None:
        """Change to a state."""
        self.state = state
        self.changed_ms = now

    # --- members ----------------------------------------------------------------------------------------------

    def static_member(self, group_instance_id: str) -> Member | None:
        """The present member of a static instance."""
        return next((each for each in self.members.values() if each.group_instance_id == group_instance_id), None)

    def current(self, member_id: str, group_instance_id: str | None) -> Member:
        """The member that a request names.

        Raises:
            UnknownMemberId: there is none.
            FencedInstanceId: another one is the static instance by now.
        """
        if group_instance_id is not None:
            return self._current_static(member_id, group_instance_id)

        # [offsets.generation_fence]
        if member_id not in self.members:
            raise UnknownMemberId(group=self.group, member=member_id)
        return self.members[member_id]

    def _current_static(self, member_id: str, group_instance_id: str) -> Member:
        member = self.static_member(group_instance_id)

        # [offsets.generation_fence]
        if member is None:
            raise UnknownMemberId(group=self.group, instance=group_instance_id)

        # [offsets.generation_fence]
        if member.member_id != member_id:
            raise FencedInstanceId(group=self.group, instance=group_instance_id, current=member.member_id)
        return member

    def rename(self, member: Member, member_id: str) -> None:
        """Give a member another id, and keep the rest of its state."""
        if self.is_leader(member):
            self.leader = member_id
        member.member_id = member_id
        self.members = {each.member_id: each for each in self.members.values()}

    def is_leader(self, member: Member) -> bool:
        """Whether the member is the leader, which assigns."""
        return member.member_id == self.leader

    def reported(self) -> tuple[JoinedMember, ...]:
        """The members as the leader gets them."""
        return tuple(
            JoinedMember(each.member_id, each.group_instance_id, each.subscription(self.protocol))
            for each in self.members.values()
        )

    # --- subscriptions ----------------------------------------------------------------------------------------

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether members may read a topic: of consumers whose subscriptions are not known, any."""
        if self.topics is not None:
            return topic in self.topics
        return self.protocol_type == CONSUMER and self.state is not GroupState.EMPTY

    def subscribed_topics(self) -> frozenset[str] | None:
        """The topics that the members say, if they are consumers and say it as consumers do (ConsumerProtocol)."""
        if self.protocol_type != CONSUMER or (self.members and self.protocol is None):
            return None
        try:
            subscriptions = [subscribed_in(member.subscription(self.protocol)) for member in self.members.values()]
        except MalformedState:
            return None
        return frozenset(topic for topics in subscriptions for topic in topics)

    # --- the coming generation --------------------------------------------------------------------------------

    @property
    def have_all_joined(self) -> bool:
        """Whether every member has joined the coming generation, including members that were only promised an id."""
        return not self.promised and all(member.joining is not None for member in self.members.values())

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long a rebalance waits: the longest rebalance timeout of its members."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def supports(self, protocol_type: str, names: Iterator[str] | tuple[str, ...]) -> bool:
        """Whether a member with these protocols and the present ones have one in common."""
        offered = set(names)
        if not self.members:
            return bool(protocol_type) and bool(offered)
        return protocol_type == self.protocol_type and bool(offered & self.candidates())

    def candidates(self) -> set[str]:
        """The protocols that every member supports."""
        known = [{name for name, _ in member.protocols} for member in self.members.values()]
        return set.intersection(*known) if known else set()

    def vote(self) -> str:
        """The protocol that most members prefer among those that all support."""
        candidates = self.candidates()
        preferred = (
            next(name for name, _ in member.protocols if name in candidates) for member in self.members.values()
        )
        return Counter(preferred).most_common(1)[0][0]
