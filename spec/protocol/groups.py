"""Membership of a classic group: which members may commit offsets, and how a generation begins and ends.

The groups here have at most one member, as the recorded ones have: a rebalance that waits for others is not
modelled. Of a consumer group (KIP-848) only the commit is modelled, not how its members get their
assignments.
"""

from dataclasses import dataclass, replace

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol.guards import PASSED, Guard, branch, error_of
from spec.versions import Profile
from spec.vocabulary import ErrorCode, GroupState

ID_REQUIRED_SINCE = 4
"""First version of JoinGroup that makes a member without id join again with the id that it gets (KIP-394)."""


@dataclass(frozen=True, slots=True)
class GroupEntry:
    """A coordinator's state of a group; generations count from 1, and 0 is before the first."""

    known: Term = False
    state: Term = GroupState.EMPTY.value
    generation: Term = 0


@dataclass(frozen=True, slots=True)
class KnownClaim:
    """The identity in a request, and what the group knows of it.

    Attributes:
        generation: -1 where the request has none.
        member_given: the request has a member id.
        instance_given: the request has the instance id of a static member (KIP-345).
        member_known: a member of the group has this id, or it was handed out to a member that is about to join.
        instance_known: some member of the group has this instance id.
        instance_matches: that member has the member id of the request.
    """

    generation: Term = -1
    member_given: Term = False
    instance_given: Term = False
    member_known: Term = False
    instance_known: Term = False
    instance_matches: Term = False


NO_MEMBER = KnownClaim()
"""An admin client, or a consumer that assigns its partitions by itself."""


@dataclass(frozen=True, slots=True)
class MembershipDecision:
    """The decision on a member's request: number of the guard that decided, the error, and the group afterwards."""

    branch: Term
    error: Term
    entry: GroupEntry


def is_empty(entry: GroupEntry) -> Term:
    """The group has no members."""
    return entry.state == GroupState.EMPTY.value


def is_checked(entry: GroupEntry, claim: KnownClaim) -> Term:
    """The request names a member, which must be a current one; without a generation an empty group accepts any."""
    names_one = any_of(claim.generation >= 0, claim.member_given, claim.instance_given)
    return all_of(names_one, negate(_is_simple(entry, claim)))


@dataclass(frozen=True, slots=True)
class _Compared:
    """Which parts of a claim are compared with the group."""

    instance: Term
    member: Term
    generation: Term


EVERY_PART = _Compared(instance=True, member=True, generation=True)


def _compared(entry: GroupEntry, claim: KnownClaim, profile: Profile, transactional: Term) -> _Compared:
    """What a commit must state correctly: all parts where it names a member, or each part that it names.

    An empty group has no instances to compare with.
    """
    fenced = any_of(negate(transactional), profile.commits_fenced_by_generation)
    checked = is_checked(entry, claim)
    by_part = all_of(transactional, not profile.current_member_validated)
    return _Compared(
        instance=all_of(fenced, checked),
        member=all_of(fenced, choose(by_part, claim.member_given, checked)),
        generation=all_of(fenced, choose(by_part, claim.generation >= 0, checked)),
    )


def commit_guards(
    entry: GroupEntry, claim: KnownClaim, profile: Profile, *, transactional: Term, not_found: Term = False
) -> tuple[Guard, ...]:
    """Which commits of offsets are refused, in Kafka's order.

    Args:
        entry: the group.
        claim: the identity in the commit.
        profile: the release.
        transactional: the commit belongs to a transaction; then one that names no member passes, since the oldest
            versions of the request cannot name one.
        not_found: the version of the request has an error code for a group that does not exist.
    """
    fence, plain = rules.OFFSETS_GENERATION_FENCE, negate(transactional)
    fenced = any_of(plain, profile.commits_fenced_by_generation)
    unnamed = all_of(negate(is_checked(entry, claim)), negate(_is_simple(entry, claim)))
    created = all_of(transactional, profile.commit_creates_group)
    reported = all_of(not_found, profile.group_not_found_has_code)
    absent = choose(reported, ErrorCode.GROUP_ID_NOT_FOUND.value, ErrorCode.ILLEGAL_GENERATION.value)
    compared = _compared(entry, claim, profile, transactional)
    members = (
        *_member_guards(claim, compared, profile),
        _generation_guard(entry, claim, compared),
        Guard("members_only", fence, all_of(plain, unnamed, negate(is_empty(entry))), _unknown_member()),
    )
    awaited = Guard(
        "assignment_awaited",
        fence,
        all_of(plain, _is_in(entry, GroupState.COMPLETING_REBALANCE)),
        ErrorCode.REBALANCE_IN_PROGRESS.value,
    )
    return (
        Guard(
            "group_unknown", fence, all_of(fenced, negate(entry.known), negate(created), claim.generation >= 0), absent
        ),
        _dead_guard(entry, profile),
        *((*members, awaited) if profile.rebalance_checked_last else (awaited, *members)),
    )


@dataclass(frozen=True, slots=True)
class EpochClaim:
    """The identity in a commit to a consumer group (KIP-848), and what the group knows of it.

    Attributes:
        epoch: the member epoch that the request names, -1 none.
        named: the request names a member or an instance.
        member_known: the group has the member.
        member_epoch: the present one of the member.
        assigned_since: the member epoch in which the partition was assigned to it, or is still to be revoked; -1 where
            it is neither.
        classic: the member uses the classic protocol, and has generations.
        group_empty: the group has no members.
    """

    epoch: Term = -1
    named: Term = False
    member_known: Term = False
    member_epoch: Term = 0
    assigned_since: Term = -1
    classic: Term = False
    group_empty: Term = False


EPOCHS_SINCE = 9
"""First version of OffsetCommit that a member of a consumer group may use."""

STALE_EPOCH_SINCE = 6
"""First version of TxnOffsetCommit that knows STALE_MEMBER_EPOCH (KIP-1319, 4.4)."""


def epoch_guards(claim: EpochClaim, version: Term, profile: Profile, *, transactional: Term) -> tuple[Guard, ...]:
    """Which commits to a consumer group are refused, in Kafka's order (ConsumerGroup.validateOffsetCommit).

    Args:
        claim: the identity in the commit.
        version: of the request.
        profile: the release.
        transactional: the commit belongs to a transaction.
    """
    fence, nameless = rules.OFFSETS_GENERATION_FENCE, all_of(claim.epoch < 0, negate(claim.named))
    checked = negate(any_of(all_of(claim.epoch < 0, claim.group_empty), all_of(transactional, nameless)))
    reported = any_of(negate(transactional), version >= STALE_EPOCH_SINCE)
    generations = any_of(claim.classic, negate(reported))
    stale = choose(generations, ErrorCode.ILLEGAL_GENERATION.value, ErrorCode.STALE_MEMBER_EPOCH.value)
    since = all_of(profile.old_member_epoch_commits, claim.assigned_since >= 0, claim.epoch >= claim.assigned_since)
    too_old = all_of(negate(transactional), negate(claim.classic), version < EPOCHS_SINCE)
    return (
        Guard("member_unknown", fence, all_of(checked, negate(claim.member_known)), _unknown_member()),
        Guard("request_too_old", fence, all_of(checked, too_old), ErrorCode.UNSUPPORTED_VERSION.value),
        Guard("epoch_newer", fence, all_of(checked, claim.epoch > claim.member_epoch), stale),
        Guard("epoch_older", fence, all_of(checked, claim.epoch < claim.member_epoch, negate(since)), stale),
    )


def join(entry: GroupEntry, claim: KnownClaim, version: Term, profile: Profile) -> MembershipDecision:
    """Let the only member join: a new generation begins, which awaits its assignment.

    A static member that comes back without its member id gets a new one and keeps the generation (KIP-345).

    Args:
        entry: the group.
        claim: the identity in the request.
        version: of JoinGroup.
        profile: the release.
    """
    checks = join_guards(entry, claim, version, profile)
    decided = branch(checks)
    keeps = all_of(claim.instance_known, negate(claim.member_given), _is_in(entry, GroupState.STABLE))
    begun = _moved(entry, GroupState.COMPLETING_REBALANCE, entry.generation + 1)
    return MembershipDecision(
        decided, error_of(checks, decided), _choose(decided == PASSED, _choose(keeps, entry, begun), entry)
    )


def join_guards(entry: GroupEntry, claim: KnownClaim, version: Term, profile: Profile) -> tuple[Guard, ...]:
    """Which joins are refused, in Kafka's order: a member id in the request must be a current or a handed-out one.

    Args:
        entry: the group.
        claim: the identity in the request.
        version: of JoinGroup.
        profile: the release.
    """
    fence = rules.OFFSETS_GENERATION_FENCE
    stranger = all_of(negate(claim.member_given), negate(claim.instance_given))
    back = claim.member_given
    instance_unknown = all_of(back, claim.instance_given, negate(claim.instance_known))
    members = (
        Guard("instance_unknown", fence, instance_unknown, _unknown_member()),
        _instance_fenced(claim, back),
        _member_unknown(claim, back),
    )
    return (
        *_with_dead(entry, profile, members),
        Guard(
            "member_id_required",
            fence,
            all_of(stranger, version >= ID_REQUIRED_SINCE),
            ErrorCode.MEMBER_ID_REQUIRED.value,
        ),
    )


def sync(entry: GroupEntry, claim: KnownClaim, profile: Profile) -> MembershipDecision:
    """The member sends and gets the assignment, and the group is stable."""
    checks = sync_guards(entry, claim, profile)
    decided = branch(checks)
    stable = _moved(entry, GroupState.STABLE, entry.generation)
    return MembershipDecision(decided, error_of(checks, decided), _choose(decided == PASSED, stable, entry))


def sync_guards(entry: GroupEntry, claim: KnownClaim, profile: Profile) -> tuple[Guard, ...]:
    """Which requests for an assignment are refused, in Kafka's order."""
    fence = rules.OFFSETS_GENERATION_FENCE
    members = (*_member_guards(claim, EVERY_PART, profile), _generation_guard(entry, claim, EVERY_PART))
    return (
        *_with_dead(entry, profile, members),
        Guard(
            "rebalancing",
            fence,
            _is_in(entry, GroupState.PREPARING_REBALANCE),
            ErrorCode.REBALANCE_IN_PROGRESS.value,
        ),
    )


def left(entry: GroupEntry) -> GroupEntry:
    """The last member has left or its session has timed out: a generation without members begins."""
    return _moved(entry, GroupState.EMPTY, entry.generation + 1)


def after_commit(entry: GroupEntry, profile: Profile, *, recorded: Term, transactional: Term) -> GroupEntry:
    """The group once a commit was answered: a commit without membership creates the group.

    Args:
        entry: the group.
        profile: the release.
        recorded: the offsets are in the log.
        transactional: the commit belongs to a transaction.
    """
    creates = all_of(transactional, profile.commit_creates_group)
    return replace(entry, known=any_of(entry.known, recorded, creates))


def reloaded(entry: GroupEntry, has_records: Term) -> GroupEntry:
    """The state that a new coordinator loads: a group without a record in the log is gone."""
    return _choose(has_records, entry, GroupEntry())


def _is_simple(entry: GroupEntry, claim: KnownClaim) -> Term:
    return all_of(claim.generation < 0, is_empty(entry))


def _is_in(entry: GroupEntry, state: GroupState) -> Term:
    return entry.state == state.value


def _dead_guard(entry: GroupEntry, profile: Profile) -> Guard:
    """The coordinator no longer has the group: find the coordinator again; before 2.4, join again."""
    dead = _is_in(entry, GroupState.DEAD)
    error = ErrorCode.COORDINATOR_NOT_AVAILABLE.value if profile.dead_group_is_unavailable else _unknown_member()
    return Guard("group_dead", rules.OFFSETS_GENERATION_FENCE, dead, error)


def _with_dead(entry: GroupEntry, profile: Profile, members: tuple[Guard, ...]) -> tuple[Guard, ...]:
    """The checks of members and that of a removed group: they come after it, or before it while it is one of them."""
    dead = _dead_guard(entry, profile)
    return (dead, *members) if profile.dead_group_is_unavailable else (*members, dead)


def _member_guards(claim: KnownClaim, compared: _Compared, profile: Profile) -> tuple[Guard, ...]:
    """An instance that the group does not know has an error of its own where the whole claim is validated (3.0)."""
    unknown = all_of(
        profile.current_member_validated, compared.instance, claim.instance_given, negate(claim.instance_known)
    )
    return (
        Guard("instance_unknown", rules.OFFSETS_GENERATION_FENCE, unknown, _unknown_member()),
        _instance_fenced(claim, compared.instance),
        _member_unknown(claim, compared.member),
    )


def _instance_fenced(claim: KnownClaim, compared: Term) -> Guard:
    other = all_of(compared, claim.instance_given, claim.instance_known, negate(claim.instance_matches))
    return Guard("instance_fenced", rules.OFFSETS_GENERATION_FENCE, other, ErrorCode.FENCED_INSTANCE_ID.value)


def _member_unknown(claim: KnownClaim, compared: Term) -> Guard:
    unknown = all_of(compared, negate(claim.member_known))
    return Guard("member_unknown", rules.OFFSETS_GENERATION_FENCE, unknown, _unknown_member())


def _generation_guard(entry: GroupEntry, claim: KnownClaim, compared: _Compared) -> Guard:
    other = all_of(compared.generation, negate(claim.generation == entry.generation))
    return Guard("generation_other", rules.OFFSETS_GENERATION_FENCE, other, ErrorCode.ILLEGAL_GENERATION.value)


def _unknown_member() -> int:
    return ErrorCode.UNKNOWN_MEMBER_ID.value


def _moved(entry: GroupEntry, state: GroupState, generation: Term) -> GroupEntry:
    return replace(entry, known=True, state=state.value, generation=generation)


def _choose(fact: Term, then: GroupEntry, otherwise: GroupEntry) -> GroupEntry:
    return GroupEntry(
        choose(fact, then.known, otherwise.known),
        choose(fact, then.state, otherwise.state),
        choose(fact, then.generation, otherwise.generation),
    )
