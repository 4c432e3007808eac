"""The offsets of groups, committed and pending (OffsetMetadataManager), and the checks of a commit (KIP-447).

Pending offsets belong to a producer id, whatever its epoch: the marker of the id's transaction decides all of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from reference.broker.coordinator_errors import (
    CoordinatorNotAvailable,
    IllegalGeneration,
    RebalanceInProgress,
    UnknownMemberId,
)
from reference.broker.group_metadata import ClassicGroup, Member
from reference.broker.group_record import OffsetKey, OffsetValue
from reference.broker.group_requests import NO_CLAIM, NO_GENERATION, NO_MEMBER, MemberClaim
from spec.versions import Profile
from spec.vocabulary import GroupState, Offset, ProducerId


@dataclass(frozen=True, slots=True)
class RecordedOffset:
    """A committed or pending offset, and the offset of its record in the offsets partition."""

    value: OffsetValue
    at: Offset


class GroupOffsets:
    """The offsets of the groups of one offsets partition.

    Attributes:
        committed: by group and partition.
        pending: likewise, by producer id.
    """

    __slots__ = ("committed", "pending")

    def __init__(self) -> None:
        """No offsets yet."""
        self.committed: dict[OffsetKey, RecordedOffset] = {}
        self.pending: dict[ProducerId, dict[OffsetKey, RecordedOffset]] = {}

    def commit(self, key: OffsetKey, recorded: RecordedOffset) -> None:
        """Set an offset outside transactions."""
        self.committed[key] = recorded

    def pend(self, producer_id: ProducerId, key: OffsetKey, recorded: RecordedOffset) -> None:
        """Set a pending offset, which waits for the end of the producer's transaction."""
        self.pending.setdefault(producer_id, {})[key] = recorded

    def drop_pending(self, producer_id: ProducerId, keys: Iterable[OffsetKey]) -> None:
        """Drop the pending offsets of the producer's transaction for these keys."""
        waiting = self.pending.get(producer_id, {})
        for key in keys:
            waiting.pop(key, None)
        if not waiting:
            self.pending.pop(producer_id, None)

    def bury(self, key: OffsetKey, with_pending: bool) -> None:
        """Remove a committed offset, and, if `with_pending`, the pending offsets of its key."""
        self.committed.pop(key, None)
        if with_pending:
            for producer_id in tuple(self.pending):
                self.drop_pending(producer_id, (key,))

    def complete(self, producer_id: ProducerId, committed: bool) -> None:
        """End the producer's transaction: its offsets become committed, or are dropped.

        An offset whose key was committed by a later record in the meantime is dropped.
        """
        for key, recorded in self.pending.pop(producer_id, {}).items():
            # [offsets.atomic]
            if committed and not self.is_overtaken(key, recorded):
                self.committed[key] = recorded

    def is_overtaken(self, key: OffsetKey, recorded: RecordedOffset) -> bool:
        """Whether the committed offset of the key has the higher record offset."""
        current = self.committed.get(key)
        return current is not None and current.at >= recorded.at

    def is_unstable(self, key: OffsetKey) -> bool:
        """Whether an open transaction may still change the offset."""
        return any(key in waiting for waiting in self.pending.values())

    def of_group(self, group: str) -> Mapping[OffsetKey, RecordedOffset]:
        """The committed offsets of a group."""
        return {key: recorded for key, recorded in self.committed.items() if key.group == group}

    def known_keys(self) -> tuple[OffsetKey, ...]:
        """The keys with a committed or a pending offset, each once."""
        waiting = (key for pending in self.pending.values() for key in pending)
        return tuple(dict.fromkeys((*self.committed, *waiting)))

    def groups(self) -> set[str]:
        """The groups with a committed or a pending offset."""
        return {key.group for key in self.known_keys()}

    def pending_of(self, group: str) -> Iterator[tuple[ProducerId, OffsetKey]]:
        """The pending offsets of a group."""
        for producer_id, waiting in self.pending.items():
            yield from ((producer_id, key) for key in waiting if key.group == group)


# --- the checks of a commit -------------------------------------------------------------------------------------------


def check_commit(group: ClassicGroup, claim: MemberClaim, transactional: bool, profile: Profile) -> None:
    """Whether a request may commit offsets of the group, in the release's order.

    A transactional commit that names no member needs none: its transactional id fences it.

    Args:
        group: that the request names.
        claim: the member and generation in the request.
        transactional: it is a TxnOffsetCommit.
        profile: of the broker.

    Raises:
        Refusal: it may not.
    """
    check_alive(group, profile)
    if transactional:
        _check_transactional(group, claim, profile)
        return
    if claim.generation <= NO_GENERATION and group.state is GroupState.EMPTY:
        return
    if profile.rebalance_checked_last:
        check_member(group, claim, profile)
        check_assigned(group)
    else:
        check_assigned(group)
        check_member(group, claim, profile)


def _check_transactional(group: ClassicGroup, claim: MemberClaim, profile: Profile) -> None:
    if not profile.commits_fenced_by_generation:
        return
    if not profile.current_member_validated:
        _check_named(group, seen(group, claim, profile))
    elif claim != NO_CLAIM and (claim.generation > NO_GENERATION or group.state is not GroupState.EMPTY):
        check_member(group, claim, profile)


def _check_named(group: ClassicGroup, claim: MemberClaim) -> None:
    """Check instance, member and generation, each if the request names it; in an empty group too."""
    if claim.group_instance_id is not None or claim.member_id != NO_MEMBER:
        group.current(claim.member_id, claim.group_instance_id)
    if claim.generation > NO_GENERATION:
        check_generation(group, claim)


def check_member(group: ClassicGroup, claim: MemberClaim, profile: Profile) -> Member:
    """Check the request's member, in the current generation.

    Raises:
        UnknownMemberId: the group has no such member.
        FencedInstanceId: another member has its instance id.
        IllegalGeneration: its generation is over.
    """
    claim = seen(group, claim, profile)
    member = group.current(claim.member_id, claim.group_instance_id)
    check_generation(group, claim)
    return member


def check_generation(group: ClassicGroup, claim: MemberClaim) -> None:
    """Check that the request is of the current generation.

    Raises:
        IllegalGeneration: it is of another.
    """
    # [offsets.generation_fence]
    if claim.generation != group.generation:
        raise IllegalGeneration(current=group.generation, got=claim.generation)


def seen(group: ClassicGroup, claim: MemberClaim, profile: Profile) -> MemberClaim:
    """The claim as the release sees it: before 3.0 an unknown instance does not count, and the member id decides."""
    if profile.current_member_validated or claim.group_instance_id is None:
        return claim
    return claim if group.static_member(claim.group_instance_id) else claim._replace(group_instance_id=None)


def check_assigned(group: ClassicGroup) -> None:
    """Check that the members of the generation have their assignment, or are about to join the next one.

    Raises:
        RebalanceInProgress: the assignment is awaited.
    """
    if group.state is GroupState.COMPLETING_REBALANCE:
        raise RebalanceInProgress(group=group.group)


def check_available(group: ClassicGroup, profile: Profile) -> None:
    """Check that the group is not dead, in releases that then make its members look for the coordinator.

    Raises:
        CoordinatorNotAvailable: the group is dead.
    """
    if group.state is GroupState.DEAD and profile.dead_group_is_unavailable:
        raise CoordinatorNotAvailable(group=group.group)


def check_alive(group: ClassicGroup, profile: Profile) -> None:
    """Check that the group exists, on this coordinator.

    Raises:
        CoordinatorNotAvailable: it is dead.
        UnknownMemberId: the same, in older releases.
    """
    check_available(group, profile)
    if group.state is GroupState.DEAD:
        raise UnknownMemberId(group=group.group)
