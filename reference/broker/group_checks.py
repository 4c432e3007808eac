"""Checks of a commit of offsets: a member of the generation, or any client while the group is empty (KIP-447)."""

from reference.broker.coordinator_errors import CoordinatorNotAvailable
from reference.broker.group_errors import IllegalGeneration, RebalanceInProgress, UnknownMemberId
from reference.broker.group_metadata import ClassicGroup, Member
from reference.broker.group_requests import NO_CLAIM, NO_GENERATION, NO_MEMBER, MemberClaim
from spec.versions import Profile
from spec.vocabulary import GroupState


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
    """Each of instance, member and generation counts where it is named, in an empty group too."""
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
    """Releases that send members of a dead group to look for its coordinator check that first.

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
