"""A member of a consumer group: it joins, assigns if it leads, sends heartbeats, and is removed (AbstractCoordinator).

The application's own calls drive `poll`: only there partitions are given up and taken. The heartbeat thread drives
`beat`, also while the application is busy.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto, unique

from reference.broker.group_requests import (
    NO_GENERATION,
    NO_MEMBER,
    JoinAnswer,
    JoinRequest,
    MemberClaim,
    SyncAnswer,
    SyncRequest,
)
from reference.broker.transaction_metadata import TopicPartition
from reference.client.assignment import Counts, Subscription, assignments, decode_assignment
from reference.client.coordinator_channel import NO_NODE, CoordinatorAnswer, CoordinatorType, FindCoordinator
from reference.client.group_exchange import (
    GroupAnswer,
    GroupMeaning,
    GroupOutgoing,
    GroupRequest,
    Heartbeat,
    LeaveGroup,
    asked_of,
    error_of,
    group_meaning,
)
from spec.vocabulary import ErrorCode, Timestamp


@unique
class MemberState(Enum):
    """Where a member stands (AbstractCoordinator.MemberState)."""

    UNJOINED = auto()
    PREPARING_REBALANCE = auto()  # has sent JoinGroup
    COMPLETING_REBALANCE = auto()  # has its generation, and asks for its assignment
    STABLE = auto()


@dataclass(frozen=True, slots=True)
class MemberSettings:
    """Settings of a member, by the names of ConsumerConfig.

    Attributes:
        group: group.id.
        client_id: client.id.
        group_instance_id: of a static member, which keeps its place while it restarts.
        assignors: by name, the preferred one first.
        session_timeout_ms: session.timeout.ms: the longest time without a request from it.
        heartbeat_ms: heartbeat.interval.ms.
        max_poll_ms: max.poll.interval.ms: so long the application may be busy, and a rebalance waits for it.
        retry_backoff_ms: retry.backoff.ms.
    """

    group: str
    client_id: str = "consumer"
    group_instance_id: str | None = None
    assignors: tuple[str, ...] = ("range",)
    session_timeout_ms: int = 45_000
    heartbeat_ms: int = 3000
    max_poll_ms: int = 300_000
    retry_backoff_ms: int = 100


class GroupMember:
    """One member.

    Attributes:
        settings: of the member.
        topics: that it wants.
        state: where it stands.
        claim: who it says it is: generation -1 where it has none.
        assigned: its partitions in this generation.
        node: that coordinates the group, None while it is not known.
        needs_rejoin: it joins with the next `poll`.
        in_flight: the request without an answer.
        failure: what has ended it, NONE while it is of use.
    """

    __slots__ = (
        "_beaten_ms",
        "_counts",
        "_joined",
        "_numbers",
        "_polled_ms",
        "_retry_ms",
        "_sent_as",
        "assigned",
        "claim",
        "failure",
        "in_flight",
        "needs_rejoin",
        "node",
        "settings",
        "state",
        "topics",
    )

    def __init__(
        self, settings: MemberSettings, topics: Sequence[str], counts: Callable[[], Counts], numbers: Iterator[int]
    ) -> None:
        """A consumer that is in no group yet.

        Args:
            settings: of the member.
            topics: that it subscribes to.
            counts: partitions of every topic, as the member knows them when it leads.
            numbers: of its requests.
        """
        self.settings = settings
        self.topics = tuple(topics)
        self.state = MemberState.UNJOINED
        self.claim = MemberClaim(group_instance_id=settings.group_instance_id)
        self.assigned: tuple[TopicPartition, ...] = ()
        self.node: int | None = None
        self.needs_rejoin = True
        self.in_flight: GroupOutgoing | None = None
        self.failure = ErrorCode.NONE
        self._counts = counts
        self._numbers = numbers
        self._joined: JoinAnswer | None = None
        self._sent_as = self.claim
        self._retry_ms = self._polled_ms = self._beaten_ms = 0

    @property
    def has_generation(self) -> bool:
        """Whether it is a member of a generation, as far as it knows."""
        return self.claim.generation > NO_GENERATION

    @property
    def failed(self) -> bool:
        """Whether it is of no use any more."""
        return self.failure is not ErrorCode.NONE

    # --- what is sent -----------------------------------------------------------------------------------------

    def poll(self, now: Timestamp) -> GroupOutgoing | None:
        """The application asks for records: the next request of the membership, None if there is none."""
        self._polled_ms = now
        if self.node is None:
            return self.find(now)
        if not self._may_send(now):
            return None
        request = self._rebalancing() or self._heartbeat(now)
        return None if request is None else self._send(self.node, request)

    def find(self, now: Timestamp) -> GroupOutgoing | None:
        """The question who coordinates the group, if it is not known."""
        if self.node is not None or not self._may_send(now):
            return None
        return self._send(NO_NODE, FindCoordinator(CoordinatorType.GROUP, self.settings.group))

    def beat(self, now: Timestamp) -> GroupOutgoing | None:
        """The heartbeat thread's turn: a heartbeat if one is due; an application that is busy too long has left."""
        if not self._may_send(now) or self.node is None:
            return None
        if now - self._polled_ms >= self.settings.max_poll_ms and self.has_generation:
            return self.leave()
        request = self._heartbeat(now)
        return None if request is None else self._send(self.node, request)

    def leave(self) -> GroupOutgoing | None:
        """Leave the group; a static member keeps its place, and says nothing."""
        claim, node = self.claim, self.node
        was_member = self.has_generation
        self.forget(keep_id=self.settings.group_instance_id is not None)
        if node is None or not was_member or self.settings.group_instance_id is not None:
            return None
        return self._send(node, LeaveGroup(self.settings.group, claim))

    def _may_send(self, now: Timestamp) -> bool:
        return self.in_flight is None and not self.failed and now >= self._retry_ms

    def _rebalancing(self) -> GroupRequest | None:
        if self.needs_rejoin:
            self.state = MemberState.PREPARING_REBALANCE
            return self._join_request()
        if self.state is MemberState.COMPLETING_REBALANCE and self._joined is not None:
            return SyncRequest(self.settings.group, self.claim, assignments(self._joined, self._counts()))
        return None

    def _heartbeat(self, now: Timestamp) -> GroupRequest | None:
        if self.state is not MemberState.STABLE or now - self._beaten_ms < self.settings.heartbeat_ms:
            return None
        self._beaten_ms = now
        return Heartbeat(self.settings.group, self.claim)

    def _join_request(self) -> JoinRequest:
        subscription = Subscription(self.topics).encode()
        return JoinRequest(
            self.settings.group,
            self.claim.member_id,
            self.settings.group_instance_id,
            self.settings.client_id,
            protocols=tuple((name, subscription) for name in self.settings.assignors),
            session_timeout_ms=self.settings.session_timeout_ms,
            rebalance_timeout_ms=self.settings.max_poll_ms,
        )

    def _send(self, node: int, request: GroupRequest) -> GroupOutgoing:
        self._sent_as = self.claim
        self.in_flight = GroupOutgoing(next(self._numbers), node, request)
        return self.in_flight

    # --- answers ----------------------------------------------------------------------------------------------

    def answer(self, number: int, answer: GroupAnswer, now: Timestamp) -> bool:
        """Handle an answer; whether it was to a request of this member that waits for one."""
        if self.in_flight is None or self.in_flight.number != number:
            return False
        request, self.in_flight = self.in_flight.request, None
        error = error_of(answer)
        outcome = group_meaning(asked_of(request), error)
        if outcome is GroupMeaning.DONE:
            self._succeed(answer, now)
            return True
        if isinstance(request, SyncRequest):
            self.needs_rejoin = True
        if outcome is GroupMeaning.TAKE_ID and isinstance(answer, JoinAnswer):
            self.claim = self.claim._replace(generation=NO_GENERATION, member_id=answer.member_id)
        else:
            self.react(outcome, error, self._sent_as, now)
        return True

    def lose(self, number: int, now: Timestamp) -> bool:
        """The connection broke or the request timed out."""
        return self.answer(number, ErrorCode.NETWORK_EXCEPTION, now)

    def react(self, outcome: GroupMeaning, error: ErrorCode, sent_as: MemberClaim, now: Timestamp) -> None:
        """Do what an error means, whichever request it answers.

        Args:
            outcome: its meaning.
            error: itself.
            sent_as: who the member was when it asked; what is said about a former generation changes nothing.
            now: milliseconds.
        """
        match outcome:
            case GroupMeaning.REFIND:
                self.node = None
                self._retry_ms = now + self.settings.retry_backoff_ms
            case GroupMeaning.RETRY:
                self._retry_ms = now + self.settings.retry_backoff_ms
            case GroupMeaning.REJOIN if self.state is not MemberState.PREPARING_REBALANCE:
                self.needs_rejoin = True
            case GroupMeaning.NO_GENERATION | GroupMeaning.NO_MEMBER if sent_as == self.claim:
                self.forget(keep_id=outcome is GroupMeaning.NO_GENERATION)
            case GroupMeaning.FATAL:
                self.failure = error

    def forget(self, *, keep_id: bool) -> None:
        """The generation is over for this member; its partitions are lost, and it joins again."""
        member_id = self.claim.member_id if keep_id else NO_MEMBER
        self.claim = MemberClaim(member_id=member_id, group_instance_id=self.settings.group_instance_id)
        self.state = MemberState.UNJOINED
        self.needs_rejoin = True
        self._joined = None

    def _succeed(self, answer: GroupAnswer, now: Timestamp) -> None:
        match answer:
            case CoordinatorAnswer(node=node):
                self.node = node
            case JoinAnswer():
                self._has_joined(answer)
            case SyncAnswer(assignment=assignment):
                self._has_synced(assignment, now)

    def _has_joined(self, answer: JoinAnswer) -> None:
        if self.state is not MemberState.PREPARING_REBALANCE:
            return  # it has left meanwhile
        self.claim = self.claim._replace(generation=answer.generation, member_id=answer.member_id)
        self.state = MemberState.COMPLETING_REBALANCE
        self.needs_rejoin = False
        self._joined = answer

    def _has_synced(self, assignment: bytes, now: Timestamp) -> None:
        if self.state is not MemberState.COMPLETING_REBALANCE:
            self.needs_rejoin = True  # the generation was lost meanwhile
            return
        self.state = MemberState.STABLE
        self.assigned = decode_assignment(assignment).partitions
        self._joined = None
        self._beaten_ms = now
