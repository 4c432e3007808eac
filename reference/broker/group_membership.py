"""The generations of a group: members join, the leader assigns, sessions expire (GroupCoordinator)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from reference.broker.coordinator_errors import InconsistentGroupProtocol, MemberIdRequired, RebalanceInProgress
from reference.broker.group_metadata import ClassicGroup, Member
from reference.broker.group_offsets import check_alive, check_available, check_member, seen
from reference.broker.group_requests import (
    NO_MEMBER,
    JoinAnswer,
    JoinReply,
    JoinRequest,
    MemberClaim,
    SyncAnswer,
    SyncReply,
    SyncRequest,
)
from reference.clock import Clock
from reference.errors import Refusal
from spec.versions import Profile
from spec.vocabulary import ErrorCode, GroupState

INITIAL_DELAY_MS: Final = 3000
"""Default of group.initial.rebalance.delay.ms."""

Store: TypeAlias = Callable[[ClassicGroup], None]
"""Writes a generation into the log, or refuses."""


@dataclass(slots=True)
class Membership:
    """The members of the groups of one coordinator.

    Attributes:
        profile: the coordinator's release.
        store: writes a generation into the log.
        new_member_id: makes an unused member id for a client.
        initial_delay_ms: how long a first generation waits for more members.
    """

    profile: Profile
    clock: Clock
    store: Store
    new_member_id: Callable[[str], str]
    initial_delay_ms: int = INITIAL_DELAY_MS

    # --- JoinGroup --------------------------------------------------------------------------------------------

    def join(self, group: ClassicGroup, request: JoinRequest, reply: JoinReply) -> None:
        """A member joins, or joins again; the answer comes when the generation is complete.

        Raises:
            MemberIdRequired: a new member gets its id.
            Refusal: it cannot be a member.
        """
        check_available(group, self.profile)
        if not group.supports(request.protocol_type, tuple(name for name, _ in request.protocols)):
            raise InconsistentGroupProtocol(group=group.group, protocol_type=request.protocol_type)
        check_alive(group, self.profile)
        if request.member_id == NO_MEMBER:
            self._join_new(group, request, reply)
        elif group.promised.pop(request.member_id, None) is not None:
            self._add(group, request.member_id, request, reply)
        else:
            self._join_again(group, group.current(request.member_id, request.group_instance_id), request, reply)

    def _join_new(self, group: ClassicGroup, request: JoinRequest, reply: JoinReply) -> None:
        member_id = self.new_member_id(request.group_instance_id or request.client_id)
        if request.group_instance_id is not None:
            replaced = group.static_member(request.group_instance_id)
            if replaced is not None:
                self._replace(group, replaced, member_id, request, reply)
                return
        elif request.must_know_id:
            group.promised[member_id] = self.clock.now + request.session_timeout_ms
            raise MemberIdRequired(member_id=member_id)
        self._add(group, member_id, request, reply)

    def _add(self, group: ClassicGroup, member_id: str, request: JoinRequest, reply: JoinReply) -> None:
        member = Member(
            member_id,
            request.group_instance_id,
            request.client_id,
            request.client_host,
            request.session_timeout_ms,
            request.rebalance_timeout_ms,
            request.protocols,
            joining=reply,
        )
        if not group.members:
            group.protocol_type = request.protocol_type
        group.grew = group.state is GroupState.PREPARING_REBALANCE and group.initial_until_ms >= 0
        group.members[member_id] = member
        group.leader = group.leader or member_id
        self._prepare(group)

    def _replace(
        self, group: ClassicGroup, replaced: Member, member_id: str, request: JoinRequest, reply: JoinReply
    ) -> None:
        """A static instance comes back as a new member; the old one is fenced, and the rest of its state stays."""
        self._give_up(replaced, ErrorCode.FENCED_INSTANCE_ID)
        before = replaced.member_id
        group.rename(replaced, member_id)
        replaced.note_heartbeat(self.clock.now)
        if group.state is GroupState.STABLE and replaced.protocols == request.protocols:
            try:
                self.store(group)
            except Refusal:
                group.rename(replaced, before)
                raise
            reply(self._joined(group, replaced))
            return
        replaced.protocols, replaced.joining = request.protocols, reply
        self._prepare(group)

    def _join_again(self, group: ClassicGroup, member: Member, request: JoinRequest, reply: JoinReply) -> None:
        unchanged = member.protocols == request.protocols
        known_generation = group.state is GroupState.COMPLETING_REBALANCE or (
            group.state is GroupState.STABLE and not group.is_leader(member)
        )
        if known_generation and unchanged:
            reply(self._joined(group, member))
            return
        member.protocols, member.joining = request.protocols, reply
        self._prepare(group)

    def _joined(self, group: ClassicGroup, member: Member) -> JoinAnswer:
        reported = group.reported() if group.is_leader(member) else ()
        return JoinAnswer(
            ErrorCode.NONE, member.member_id, group.generation, group.protocol, group.leader or NO_MEMBER, reported
        )

    def _give_up(self, member: Member, error: ErrorCode) -> None:
        """Answer a member's waiting requests with an error."""
        if member.joining is not None:
            member.joining(JoinAnswer(error, member.member_id))
        if member.syncing is not None:
            member.syncing(SyncAnswer(error))
        member.joining = member.syncing = None

    # --- the rebalance ----------------------------------------------------------------------------------------

    def _prepare(self, group: ClassicGroup) -> None:
        """A new generation begins; members that have joined wait for the others."""
        now = self.clock.now
        if group.state is not GroupState.PREPARING_REBALANCE:
            if group.state is GroupState.COMPLETING_REBALANCE:
                self._propagate(group, ErrorCode.REBALANCE_IN_PROGRESS)
            first = group.state is GroupState.EMPTY
            patience = group.rebalance_timeout_ms
            group.initial_until_ms = now + max(patience, self.initial_delay_ms) if first else -1
            group.deadline_ms = now + (self.initial_delay_ms if first else patience)
            group.enter(GroupState.PREPARING_REBALANCE, now)
        self._try_complete(group)

    def _try_complete(self, group: ClassicGroup) -> None:
        """Complete the generation once every member has joined."""
        if group.state is not GroupState.PREPARING_REBALANCE:
            return
        due = self.clock.now >= group.deadline_ms
        if due and group.grew and self.clock.now < group.initial_until_ms:
            group.grew = False
            group.deadline_ms = min(self.clock.now + self.initial_delay_ms, group.initial_until_ms)
        elif due or (group.initial_until_ms < 0 and group.have_all_joined):
            self._complete(group)

    def _complete(self, group: ClassicGroup) -> None:
        """The members that have joined form the next generation; a static member may still come."""
        now = self.clock.now
        group.members = {
            member_id: member
            for member_id, member in group.members.items()
            if member.joining is not None or member.group_instance_id is not None
        }
        joined = [member for member in group.members.values() if member.joining is not None]
        if group.members and not joined:
            group.deadline_ms = now + group.rebalance_timeout_ms
            return
        if group.leader not in {member.member_id for member in joined}:
            group.leader = joined[0].member_id if joined else None
        group.generation += 1
        group.protocol = group.vote() if joined else None
        group.topics = group.subscribed_topics()
        group.enter(GroupState.COMPLETING_REBALANCE if joined else GroupState.EMPTY, now)
        if not joined:
            self._store_empty(group)
        self._answer_joined(group, joined)

    def _store_empty(self, group: ClassicGroup) -> None:
        try:
            self.store(group)
        except Refusal:
            return  # the next generation says it again

    def _answer_joined(self, group: ClassicGroup, joined: list[Member]) -> None:
        for member in joined:
            reply, member.joining = member.joining, None
            member.note_heartbeat(self.clock.now)
            if reply is not None:
                reply(self._joined(group, member))

    # --- SyncGroup --------------------------------------------------------------------------------------------

    def sync(self, group: ClassicGroup, request: SyncRequest, reply: SyncReply) -> None:
        """A member asks for its assignment; the leader sends all assignments.

        Raises:
            Refusal: it is no member of this generation, or a rebalance is under way.
        """
        check_available(group, self.profile)
        member = check_member(group, request.claim, self.profile)
        check_alive(group, self.profile)
        if group.state is GroupState.PREPARING_REBALANCE:
            raise RebalanceInProgress(group=group.group)
        if group.state is GroupState.STABLE:
            member.note_heartbeat(self.clock.now)
            reply(SyncAnswer(ErrorCode.NONE, member.assignment))
            return
        member.syncing = reply
        if group.is_leader(member):
            self._assign(group, request)

    def _assign(self, group: ClassicGroup, request: SyncRequest) -> None:
        """Write down the leader's assignment; then every member gets its own."""
        for member in group.members.values():
            member.assignment = request.assignments.get(member.member_id, b"")
        before = group.state
        group.enter(GroupState.STABLE, self.clock.now)
        try:
            self.store(group)
        except Refusal as refusal:
            group.state = before
            for member in group.members.values():
                member.assignment = b""
            self._propagate(group, refusal.code)
            self._prepare(group)
            return
        self._propagate(group, ErrorCode.NONE)

    def _propagate(self, group: ClassicGroup, error: ErrorCode) -> None:
        for member in group.members.values():
            reply, member.syncing = member.syncing, None
            if reply is not None:
                member.note_heartbeat(self.clock.now)
                reply(SyncAnswer(error, member.assignment if error is ErrorCode.NONE else b""))

    # --- Heartbeat, LeaveGroup, time --------------------------------------------------------------------------

    def heartbeat(self, group: ClassicGroup, claim: MemberClaim) -> None:
        """Renew a member's session.

        Raises:
            RebalanceInProgress: it must join again.
            Refusal: it is no member of this generation.
        """
        check_alive(group, self.profile)
        member = check_member(group, claim, self.profile)
        member.note_heartbeat(self.clock.now)
        if group.state is GroupState.PREPARING_REBALANCE:
            raise RebalanceInProgress(group=group.group)

    def leave(self, group: ClassicGroup, member_id: str, group_instance_id: str | None = None) -> None:
        """A member leaves; a static one may be named by its instance alone.

        Raises:
            Refusal: there is no such member.
        """
        check_alive(group, self.profile)
        if group_instance_id is None and group.promised.pop(member_id, None) is not None:
            self._try_complete(group)
            return
        static = None if group_instance_id is None or member_id else group.static_member(group_instance_id)
        claim = seen(group, MemberClaim(member_id=member_id, group_instance_id=group_instance_id), self.profile)
        self._remove(group, static or group.current(claim.member_id, claim.group_instance_id))

    def _remove(self, group: ClassicGroup, member: Member) -> None:
        self._give_up(member, ErrorCode.UNKNOWN_MEMBER_ID)
        del group.members[member.member_id]
        if group.is_leader(member):
            group.leader = next(iter(group.members), None)
        if group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            self._prepare(group)
        else:
            self._try_complete(group)

    def dismiss(self, group: ClassicGroup, error: ErrorCode) -> None:
        """Every waiting request gets this answer."""
        for member in group.members.values():
            self._give_up(member, error)

    def pass_time(self, group: ClassicGroup) -> None:
        """Do what is due by now: sessions expire, a rebalance continues without members that are late."""
        now = self.clock.now
        group.promised = {member_id: until for member_id, until in group.promised.items() if until > now}
        for member in tuple(group.members.values()):
            still_there = group.members.get(member.member_id) is member  # a generation made meanwhile may be without it
            if still_there and member.deadline_ms <= now and not member.is_waiting:
                self._remove(group, member)
        self._try_complete(group)
