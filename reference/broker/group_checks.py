"""Who may commit offsets of a group: members of its generation, or anybody while it has no members (KIP-447)."""

from reference.broker.coordinator_errors import CoordinatorNotAvailable
from reference.broker.group_errors import IllegalGeneration, RebalanceInProgress, UnknownMemberId
from reference.broker.group_metadata import ClassicGroup
from reference.broker.group_requests import NO_GENERATION, NOBODY, Claim
from spec.vocabulary import GroupState


def check_commit(group: ClassicGroup, claim: Claim, transactional: bool) -> None:
    """Whether a request may commit offsets of the group, in Kafka's order.

    A transactional commit that names no member needs none: its transactional id fences it.

    Raises:
        Refusal: it may not.
    """
    if group.state is GroupState.DEAD:
        raise CoordinatorNotAvailable(group=group.group)
    if claim.generation <= NO_GENERATION and group.state is GroupState.EMPTY:
        return
    if claim.generation > NO_GENERATION or claim != NOBODY:
        check_member(group, claim)
    elif not transactional:
        raise UnknownMemberId(group=group.group, member=claim.member_id)
    if not transactional and group.state is GroupState.COMPLETING_REBALANCE:
        raise RebalanceInProgress(group=group.group)


def check_member(group: ClassicGroup, claim: Claim) -> None:
    """The request comes from a member of the current generation.

    Raises:
        UnknownMemberId: the group has no such member.
        FencedInstanceId: another member has its instance id.
        IllegalGeneration: its generation is over.
    """
    group.current(claim.member_id, claim.group_instance_id)

    # [offsets.generation_fence]
    if claim.generation != group.generation:
        raise IllegalGeneration(current=group.generation, got=claim.generation)
