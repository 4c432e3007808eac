"""Facts of groups and of their commits for all inputs: a generation that has ended writes nothing, a present one does.

The proofs of systems do not use them: each states what a rule requires of one decision.

Arguments:
    group: what its coordinator knows of it.
    joining: as whom, or in what, a request comes.
    past: the identity of a member of an earlier generation.
    member: as whom the request comes.
    context: what else the requests say.
"""

from dataclasses import dataclass, replace
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate, same
from spec.judging.judge import entries_agree
from spec.protocol import append, committing, groups, offsets, verification
from spec.protocol.committing import CommitRequest
from spec.protocol.groups import EpochClaim, GroupEntry, KnownClaim
from spec.protocol.guards import PASSED, branch
from spec.protocol.offsets import OffsetEntry
from spec.protocol.records import MetVerification, ProducerEntry
from spec.protocol.verification import NO_VERIFICATION
from spec.systems.decision_lemmas import About, Fact, stated
from spec.versions import KAFKA_3_9, KAFKA_4_2, NEWEST, Profile
from spec.vocabulary import ABSENT, ErrorCode, GroupState


@dataclass(frozen=True, slots=True)
class RequestContext:
    """Other parts of requests: their versions, and whether they name a group."""

    join_version: Term = 0
    commit_version: Term = 0
    group_unnamed: Term = False
    refused: Term = 0


def past_members_are_fenced(
    profile: Profile, group: GroupEntry, joining: KnownClaim, past: KnownClaim, context: RequestContext
) -> Term:
    """Once a member has joined, or the last one has left, no generation from before commits, or brings an assignment.

    Only a static member that comes back without its id to a stable group keeps its membership (KIP-345).
    """
    joined = groups.join(group, joining, context.join_version, profile)
    was_let_in = all_of(joined.error == 0, _is_possible(joining))
    stable = group.state == GroupState.STABLE.value
    comes_back = all_of(joining.instance_known, negate(joining.member_given), stable)
    unchanged = _same_group(joined.entry, group)
    ended = all_of(_begins(group, joined.entry), _refuses_all(profile, joined.entry, past, context))
    named = all_of(past.generation >= 0, past.generation <= group.generation)
    return all_of(
        implies(all_of(was_let_in, named), choose(comes_back, unchanged, ended)),
        implies(negate(joined.error == 0), unchanged),
        implies(named, _refuses_all(profile, groups.left(group), past, context)),
        _begins(group, groups.left(group)),
    )


def members_join_as_themselves(
    profile: Profile, group: GroupEntry, joining: KnownClaim, context: RequestContext
) -> Term:
    """A member id in a request is known to the group, as is the instance id, of this member alone.

    A member with neither gets a member id first, since version 4 (KIP-394). A group that is gone accepts no member.
    """
    joined = groups.join(group, joining, context.join_version, profile)
    let_in = joined.error == 0
    known = implies(joining.member_given, joining.member_known)
    static = all_of(joining.member_given, joining.instance_given)
    alone = implies(static, all_of(joining.instance_known, joining.instance_matches))
    stranger = negate(any_of(joining.member_given, joining.instance_given))
    repeated = all_of(stranger, context.join_version >= 4)
    dead = group.state == GroupState.DEAD.value
    return same(let_in, all_of(known, alone, negate(repeated), negate(dead)))


def _begins(before: GroupEntry, after: GroupEntry) -> Term:
    """The next generation."""
    return after.generation == before.generation + 1


def present_members_commit(profile: Profile, group: GroupEntry, member: KnownClaim, context: RequestContext) -> Term:
    """A member of the present generation gets its assignment, and from then on commits, in transactions or without."""
    current = all_of(member.member_known, member.generation == group.generation, _is_known(member), group.known)
    awaits = group.state == GroupState.COMPLETING_REBALANCE.value
    synced = groups.sync(group, member, profile)
    stable = synced.entry.state == GroupState.STABLE.value
    plain, transactional = _commits(profile, synced.entry, member, context)
    takes = all_of(plain.error == 0, implies(_is_confirmed(context), transactional.error == 0))
    return implies(
        all_of(current, awaits, group.generation >= 1),
        all_of(synced.error == 0, stable, synced.entry.generation == group.generation, takes),
    )


def unconfirmed_offsets_are_refused(
    profile: Profile, group: GroupEntry, member: KnownClaim, context: RequestContext
) -> Term:
    """Offsets join a transaction only in a group with a name, and only once the transaction's coordinator agrees.

    The error for a group without a name comes before every other.
    """
    _, decided = _commits(profile, group, member, context)
    refused = negate(context.refused == 0)
    unnamed = decided.error == ErrorCode.INVALID_GROUP_ID.value
    return all_of(
        implies(context.group_unnamed, unnamed),
        implies(refused, negate(decided.error == 0)),
    )


def group_outlives_its_coordinator(
    profile: Profile, group: GroupEntry, past: KnownClaim, context: RequestContext
) -> Term:
    """A group with offsets in the log has the same state at its next coordinator; else its generations end."""
    recorded = groups.after_commit(group, profile, recorded=True, transactional=context.group_unnamed)
    unrecorded = groups.after_commit(group, profile, recorded=False, transactional=False)
    kept, gone = groups.reloaded(recorded, has_records=True), groups.reloaded(group, has_records=False)
    plain, _ = _commits(profile, gone, past, context)
    simple, _ = _commits(profile, kept, groups.NO_MEMBER, context)
    return all_of(
        kept.known,
        _same_group(replace(kept, known=group.known), group),
        _same_group(unrecorded, group),
        negate(gone.known),
        implies(past.generation >= 0, negate(plain.error == 0)),
        implies(groups.is_empty(group), simple.error == 0),
    )


def _commits(
    profile: Profile, group: GroupEntry, member: KnownClaim, context: RequestContext
) -> tuple[committing.CommitDecision, committing.CommitDecision]:
    request = CommitRequest(context.commit_version, context.refused, member, context.group_unnamed)
    return (
        committing.commit(group, request, profile),
        committing.commit_in_transaction(group, request, profile),
    )


def _refuses_all(profile: Profile, group: GroupEntry, past: KnownClaim, context: RequestContext) -> Term:
    plain, transactional = _commits(profile, group, past, context)
    synced = groups.sync(group, past, profile)
    return all_of(
        negate(plain.error == 0),
        negate(transactional.error == 0),
        negate(synced.error == 0),
        _same_group(synced.entry, group),
    )


def _is_possible(claim: KnownClaim) -> Term:
    """An instance that the group knows is one that the request names, and has a member id only if it matches."""
    return implies(claim.instance_known, claim.instance_given)


def _is_known(claim: KnownClaim) -> Term:
    """The group knows the instance that the request names, by this member's id."""
    return all_of(
        claim.member_given, implies(claim.instance_given, all_of(claim.instance_known, claim.instance_matches))
    )


def _is_confirmed(context: RequestContext) -> Term:
    return all_of(context.refused == 0, negate(context.group_unnamed))


def _same_group(one: GroupEntry, other: GroupEntry) -> Term:
    return all_of(same(one.known, other.known), one.state == other.state, one.generation == other.generation)


# --- consumer groups ------------------------------------------------------------------------------------------


def present_epochs_commit(profile: Profile, claim: EpochClaim, context: RequestContext) -> Term:
    """A member of a consumer group commits under its present epoch, or one since which it has the partition (4.3).

    Without a member commits whoever names none: while the group is empty, or in a transaction.
    """
    of_present = claim.epoch == claim.member_epoch
    of_older = all_of(claim.assigned_since >= 0, claim.assigned_since <= claim.epoch, claim.epoch < claim.member_epoch)
    present = all_of(claim.member_known, any_of(of_present, all_of(profile.old_member_epoch_commits, of_older)))
    without = claim.epoch < 0
    readable = any_of(claim.classic, context.commit_version >= groups.EPOCHS_SINCE)
    return all_of(
        same(
            _commits_under(profile, claim, context, transactional=False),
            any_of(all_of(without, claim.group_empty), all_of(present, readable)),
        ),
        same(
            _commits_under(profile, claim, context, transactional=True),
            any_of(all_of(without, any_of(claim.group_empty, negate(claim.named))), present),
        ),
    )


def _commits_under(profile: Profile, claim: EpochClaim, context: RequestContext, *, transactional: bool) -> Term:
    checks = groups.epoch_guards(claim, context.commit_version, profile, transactional=transactional)
    return branch(checks) == PASSED


# --- offsets --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OffsetsCommitInput:
    """A commit of some offsets: its sender, their number, the log end, and whether the coordinator confirmed it."""

    producer_id: Term = 0
    producer_epoch: Term = 0
    offsets: Term = 1
    log_end: Term = 0


def offsets_wait_for_their_marker(profile: Profile, entry: ProducerEntry, commit: OffsetsCommitInput) -> Term:
    """Offsets of a transaction get into the log whatever the producer's sequences, and are open there from then on.

    Those of no transaction take as many offsets, and leave every producer as it was.
    """
    batch = committing.to_append(commit.producer_id, commit.producer_epoch, commit.offsets, commit.log_end)
    decided = append.append(entry, batch, profile, MetVerification(verification_guarded=True))
    plain = append.append(entry, committing.to_append_plain(commit.offsets, commit.log_end), profile)
    since = decided.entry.txn_first_offset
    last = commit.log_end + commit.offsets - 1
    return implies(
        all_of(commit.producer_id >= 0, commit.offsets >= 1, commit.log_end >= 0, commit.producer_epoch >= entry.epoch),
        all_of(
            decided.reply.appended,
            decided.reply.last_offset == last,
            decided.entry.epoch == commit.producer_epoch,
            since == _first_open(entry, commit),
            plain.reply.appended,
            plain.reply.last_offset == last,
            entries_agree(entry, plain.entry),
        ),
    )


@dataclass(frozen=True, slots=True)
class Joining:
    """A TxnOffsetCommit of some version that gets to a partition."""

    version: Term = 0
    offsets: Term = 1


def offsets_join_their_transaction(
    profile: Profile, entry: ProducerEntry, commit: OffsetsCommitInput, joining: Joining
) -> Term:
    """Versions from 5 on let the group's coordinator add its partition, so that it asks whatever its switch says.

    For older ones the client has added it, and the coordinator asks only where it verifies. None asks while the
    transaction has offsets there.

    Args:
        profile: the release whose behaviours the decision reads.
        entry: the partition's state of the batch's producer.
        commit: the offsets that are committed, and as whom.
        joining: as whom, or in what, a request comes.
    """
    batch = committing.to_append(commit.producer_id, commit.producer_epoch, joining.offsets, commit.log_end)
    version = committing.as_produce(joining.version)
    asks = verification.needs_verification(entry, batch, version, profile)
    adds = verification.started(NO_VERIFICATION, batch, version).bumps
    has_offsets = all_of(entry.in_transaction, entry.epoch == commit.producer_epoch)
    due = any_of(joining.version >= 5, profile.partition_verification)
    return implies(
        commit.producer_id >= 0, all_of(same(asks, all_of(due, negate(has_offsets))), same(adds, joining.version >= 5))
    )


def _first_open(entry: ProducerEntry, commit: OffsetsCommitInput) -> Term:
    return choose(entry.in_transaction, entry.txn_first_offset, commit.log_end)


@dataclass(frozen=True, slots=True)
class OffsetsFetchInput:
    """An OffsetFetch: its version, and whether it requires stable offsets; and a wait for a transaction."""

    version: Term = 0
    required: Term = False
    any_pending: Term = False


def stable_offset_is_decided(committed: OffsetEntry, fetch: OffsetsFetchInput) -> Term:
    """A request for stable offsets (version 7 and later) gets none while a transaction has one pending."""
    stable = offsets.asks_stable(fetch.version, fetch.required)
    reported = offsets.fetch(committed, fetch.any_pending, stable=stable)
    waits = all_of(fetch.required, fetch.version >= 7, fetch.any_pending)
    return all_of(
        same(negate(reported.error == 0), waits),
        implies(waits, reported.offset == ABSENT),
        implies(negate(waits), reported.offset == committed.offset),
    )


_FENCE: Final = rules.OFFSETS_GENERATION_FENCE
_MEMBER: Final[About] = (("group", GroupEntry), ("member", KnownClaim), ("context", RequestContext))
_PAST: Final[About] = (("group", GroupEntry), ("past", KnownClaim), ("context", RequestContext))


def group_facts() -> tuple[Fact, ...]:
    """For the newest release, and for the last one that had the older group coordinator."""
    of_releases = (
        fact
        for profile in (NEWEST, KAFKA_3_9)
        for fact in (
            stated(past_members_are_fenced, _FENCE, (_PAST[0], ("joining", KnownClaim), *_PAST[1:]), profile),
            stated(present_members_commit, _FENCE, _MEMBER, profile),
            stated(unconfirmed_offsets_are_refused, rules.TXN_REGISTERED_BEFORE_DATA, _MEMBER, profile),
            stated(group_outlives_its_coordinator, _FENCE, _PAST, profile),
        )
    )
    joining: About = (("group", GroupEntry), ("joining", KnownClaim), ("context", RequestContext))
    under_epochs: About = (("claim", EpochClaim), ("context", RequestContext))
    return (
        *of_releases,
        *(stated(present_epochs_commit, _FENCE, under_epochs, profile) for profile in (NEWEST, KAFKA_4_2)),
        stated(members_join_as_themselves, _FENCE, joining, NEWEST),
        stated(
            offsets_wait_for_their_marker,
            rules.OFFSETS_ATOMIC,
            (("entry", ProducerEntry), ("commit", OffsetsCommitInput)),
            NEWEST,
        ),
        *(
            stated(
                offsets_join_their_transaction,
                rules.TXN_REGISTERED_BEFORE_DATA,
                (("entry", ProducerEntry), ("commit", OffsetsCommitInput), ("joining", Joining)),
                profile,
            )
            for profile in (NEWEST, replace(NEWEST, name="unverified", partition_verification=False))
        ),
        stated(
            stable_offset_is_decided,
            rules.OFFSETS_STABLE_FETCH,
            (("committed", OffsetEntry), ("fetch", OffsetsFetchInput)),
        ),
    )
