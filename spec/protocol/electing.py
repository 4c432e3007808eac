"""The in-sync set and the leader: shrinking, expanding, elections, and the leader epochs.

Sources: Partition.isFollowerOutOfSync and isFollowerInSync, Replica.updateFetchState, ReplicationControlManager
(AlterPartition), PartitionChangeBuilder and ZkPartitionStateMachine (elections); KIP-497 (the leader proposes, the
controller decides), KIP-903 (incarnations), KIP-966 (eligible leader replicas), KAFKA-7128, KAFKA-15021.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol.guards import PASSED, Guard, branch, dropped, error_of
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT, ErrorCode


@dataclass(frozen=True, slots=True)
class ReplicationProgress:
    """A follower's progress, as its leader knows it.

    Attributes:
        end: its log end at its last Fetch.
        last_fetch: when that was, in milliseconds.
        leader_end_then: the leader's log end at that time.
        caught_up: the last time at which it had everything, in milliseconds.
    """

    end: Term
    last_fetch: Term
    leader_end_then: Term
    caught_up: Term


def progressed(before: ReplicationProgress, offset: Term, leader_end: Term, now: Term) -> ReplicationProgress:
    """A Fetch offset is the follower's log end; it has caught up as of now, or as of its previous Fetch.

    A busy leader is always a little ahead: who now has what the leader had at the last Fetch was caught up then.

    Args:
        before: its progress up to this Fetch.
        offset: of the Fetch, the follower's log end.
        leader_end: the leader's log end at this Fetch.
        now: the leader's clock, in milliseconds.
    """
    then = _larger(before.last_fetch, before.caught_up)
    earlier = choose(offset >= before.leader_end_then, then, before.caught_up)
    caught_up = choose(offset >= leader_end, _larger(now, before.caught_up), earlier)
    return ReplicationProgress(offset, now, _larger(leader_end, before.leader_end_then), caught_up)


def lags(progress: ReplicationProgress, leader_end: Term, now: Term, lag_max: Term) -> Term:
    """A follower leaves the in-sync set: it was not caught up for replica.lag.time.max.ms.

    Args:
        progress: the follower's, as of its last Fetch.
        leader_end: the leader's log end now.
        now: the leader's clock, in milliseconds.
        lag_max: replica.lag.time.max.ms, in milliseconds.
    """
    return all_of(negate(progress.end == leader_end), now - progress.caught_up > lag_max)


def may_return(end: Term, high_watermark: Term, epoch_start: Term, profile: Profile = NEWEST) -> Term:
    """A follower has caught up: with the high watermark, and with the leader's log end when its epoch began.

    A new leader's high watermark lags; records below its log end at the start of its epoch may be committed.

    Args:
        end: the follower's log end.
        high_watermark: the leader's.
        epoch_start: the leader's log end when its leader epoch began.
        profile: the release; whether it compares the last.
    """
    reached = any_of(negate(profile.returns_at_epoch_start), end >= epoch_start)
    return all_of(end >= high_watermark, reached)


@dataclass(frozen=True, slots=True)
class Proposal:
    """AlterPartition: a leader proposes another in-sync set.

    Attributes:
        leads: the sender is the leader that the controller knows.
        leader_epoch: that the sender knows.
        partition_epoch: of the in-sync set that the sender knows.
        ineligible: a proposed member is fenced, shuts down, or is not the incarnation whose fetches were counted.
        registered: the sender's registration is the present one.
        ill_formed: the set lacks the leader, or names a broker without a replica.
    """

    leads: Term
    leader_epoch: Term
    partition_epoch: Term
    ineligible: Term
    registered: Term = True
    ill_formed: Term = False


@dataclass(frozen=True, slots=True)
class ProposalDecision:
    """The controller's decision on a proposal."""

    branch: Term
    error: Term

    @property
    def granted(self) -> Term:
        """The in-sync set is as proposed."""
        return self.branch == PASSED


def proposal_guards(
    proposal: Proposal, leader_epoch: Term, partition_epoch: Term, profile: Profile = NEWEST
) -> tuple[Guard, ...]:
    """What the controller refuses: an older leader, an older in-sync set, an ineligible member.

    Before 2.7 the leader writes the set itself, conditional on the version that it knows. In 2.7 the controller checks
    registration and leader epoch, and writes the set on the same condition. Epochs that the controller does not know
    yet are those of a newer controller.

    Args:
        proposal: the leader's AlterPartition (KIP-497), or its own write before that.
        leader_epoch: the leader epoch that is in force.
        partition_epoch: of the in-sync set that is in force.
        profile: the release.
    """
    survives = rules.REPL_COMMITTED_SURVIVES
    stale = ErrorCode.FENCED_LEADER_EPOCH.value
    if not profile.insync_set_is_asked_for:
        version = negate(proposal.partition_epoch == partition_epoch)
        return (Guard("stale_in_sync_set", survives, version, ErrorCode.INVALID_UPDATE_VERSION.value),)
    newer = any_of(proposal.leader_epoch > leader_epoch, proposal.partition_epoch > partition_epoch)
    checked = profile.proposal_checked
    return (
        Guard("stale_registration", survives, negate(proposal.registered), ErrorCode.STALE_BROKER_EPOCH.value),
        Guard("newer_than_known", survives, all_of(checked, newer), ErrorCode.NOT_CONTROLLER.value),
        Guard("stale_leader_epoch", survives, proposal.leader_epoch < leader_epoch, stale),
        Guard("not_the_leader", survives, all_of(checked, negate(proposal.leads)), ErrorCode.INVALID_REQUEST.value),
        Guard(
            "stale_in_sync_set",
            survives,
            negate(proposal.partition_epoch == partition_epoch),
            ErrorCode.INVALID_UPDATE_VERSION.value,
        ),
        Guard("ill_formed", survives, all_of(checked, proposal.ill_formed), ErrorCode.INVALID_REQUEST.value),
        Guard("ineligible", survives, all_of(checked, proposal.ineligible), ErrorCode.INELIGIBLE_REPLICA.value),
    )


def altered(
    proposal: Proposal,
    leader_epoch: Term,
    partition_epoch: Term,
    without: frozenset[str] = frozenset(),
    profile: Profile = NEWEST,
) -> ProposalDecision:
    """The in-sync set changes only by a proposal of the current leader that knows the current set.

    Args:
        proposal: the proposal.
        leader_epoch: the present one.
        partition_epoch: of the present in-sync set.
        without: names of guards that never apply.
        profile: the release.
    """
    checks = dropped(proposal_guards(proposal, leader_epoch, partition_epoch, profile), without)
    decided = branch(checks)
    return ProposalDecision(decided, error_of(checks, decided))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A replica in an election.

    Attributes:
        broker: its broker.
        alive: the broker is registered, neither fenced nor shutting down.
        in_sync: it is in the in-sync set, from which the controller has taken those that are to leave it.
        eligible: it is an eligible leader replica (KIP-966).
        last_known: it led last, and no replica has led since (KIP-966).
    """

    broker: Term
    alive: Term
    in_sync: Term
    eligible: Term = False
    last_known: Term = False


@dataclass(frozen=True, slots=True)
class ElectionOutcome:
    """The outcome of an election.

    Attributes:
        leader: its broker; -1 where no replica may lead.
        stays_in_sync: the in-sync set is as before; otherwise it is the leader alone.
        unclean: the leader may lack committed records.
    """

    leader: Term
    stays_in_sync: Term
    unclean: Term


def is_empty(candidates: Sequence[Candidate]) -> Term:
    """The in-sync set is empty; a dead member still counts as a member."""
    return negate(any_of(*(each.in_sync for each in candidates)))


def is_fit(candidate: Candidate, nobody_in_sync: Term, profile: Profile = NEWEST) -> Term:
    """It leads cleanly: its broker is there, and it is in sync, or eligible where the in-sync set is empty.

    Args:
        candidate: the replica.
        nobody_in_sync: the in-sync set is empty; eligible replicas count only then.
        profile: the release.
    """
    eligible = all_of(profile.eligible_leader_replicas, nobody_in_sync, candidate.eligible)
    return all_of(candidate.alive, any_of(candidate.in_sync, eligible))


def elected(candidates: Sequence[Candidate], unclean_allowed: Term, profile: Profile = NEWEST) -> ElectionOutcome:
    """The first replica of the assignment that is fit leads; else the last leader, where no replica can be fit yet.

    The last leader may lack committed records and is elected all the same, but not while its broker is away
    (KAFKA-19522); any other replica only under unclean election.

    Args:
        candidates: the replicas in the order of the assignment.
        unclean_allowed: unclean.leader.election.enable.
        profile: the release.
    """
    empty = is_empty(candidates)
    nobody_eligible = negate(any_of(*(each.eligible for each in candidates)))
    clean = _first([(each.broker, is_fit(each, empty, profile)) for each in candidates])
    last = _first([(each.broker, _leads_again(each, empty, nobody_eligible, profile)) for each in candidates])
    anyone = _first([(each.broker, all_of(unclean_allowed, each.alive)) for each in candidates])
    other = choose(negate(last == ABSENT), last, anyone)
    unclean = all_of(clean == ABSENT, negate(other == ABSENT))
    leader = choose(unclean, other, clean)
    stays = any_of(leader == ABSENT, all_of(negate(unclean), negate(empty)))
    return ElectionOutcome(leader, stays, unclean)


def chosen(
    candidates: Sequence[Candidate], leader: Term, prefers: Term, unclean_allowed: Term, profile: Profile = NEWEST
) -> ElectionOutcome:
    """The first of the assignment leads where it is preferred and fit; else the present leader stays while it is fit.

    Else one is elected. Where the leader stays, so does the in-sync set.

    Args:
        candidates: the replicas in the order of the assignment.
        leader: the present one; -1 none.
        prefers: the first of the assignment leads if it is fit; then only the last leader may be elected uncleanly.
        unclean_allowed: unclean.leader.election.enable.
        profile: the release.
    """
    empty, first = is_empty(candidates), candidates[0]
    to_first = all_of(prefers, is_fit(first, empty, profile))
    stays = any_of(*(all_of(each.broker == leader, is_fit(each, empty, profile)) for each in candidates))
    anew = elected(candidates, all_of(unclean_allowed, negate(prefers)), profile)
    leads = choose(to_first, first.broker, choose(stays, leader, anew.leader))
    return ElectionOutcome(leads, any_of(leads == leader, anew.stays_in_sync), anew.unclean)


def is_electable(
    candidate: Candidate,
    nobody_in_sync: Term,
    nobody_eligible: Term,
    unclean_allowed: Term,
    profile: Profile = NEWEST,
) -> Term:
    """The replica is elected in some election in which no other is before it.

    Args:
        candidate: the replica.
        nobody_in_sync: the in-sync set is empty.
        nobody_eligible: so are the eligible leader replicas.
        unclean_allowed: unclean.leader.election.enable.
        profile: the release.
    """
    again = _leads_again(candidate, nobody_in_sync, nobody_eligible, profile)
    return any_of(is_fit(candidate, nobody_in_sync, profile), again, all_of(candidate.alive, unclean_allowed))


def stays_electable(in_sync_after: Term, min_in_sync: Term, profile: Profile = NEWEST) -> Term:
    """A replica that leaves a set which then is too small has every committed record: the high watermark stays."""
    return all_of(profile.eligible_leader_replicas, in_sync_after < min_in_sync)


def may_leave(in_sync_before: Term, profile: Profile = NEWEST) -> Term:
    """The controller removes a broker that lost records from the in-sync set; the last member only under KIP-966."""
    return any_of(profile.eligible_leader_replicas, in_sync_before > 1)


def leader_epoch_after(epoch: Term, *, elects: Term, shrinks: Term, profile: Profile = NEWEST) -> Term:
    """Every election begins a leader epoch; before 3.6 so does a shrink by the controller.

    Args:
        epoch: the leader epoch before.
        elects: another leader takes over.
        shrinks: a member is removed from the in-sync set.
        profile: the release.
    """
    begins = any_of(elects, all_of(profile.shrink_raises_leader_epoch, shrinks))
    return choose(begins, epoch + 1, epoch)


def _leads_again(candidate: Candidate, nobody_in_sync: Term, nobody_eligible: Term, profile: Profile) -> Term:
    """It led last, and neither the in-sync set nor that of eligible replicas has a member, dead or alive."""
    remembered = all_of(profile.eligible_leader_replicas, candidate.last_known)
    return all_of(remembered, nobody_in_sync, nobody_eligible, candidate.alive)


def _first(brokers: Sequence[tuple[Term, Term]]) -> Term:
    """The first broker of which the fact holds, -1 where there is none."""
    first: Term = ABSENT
    for broker, fact in reversed(brokers):
        first = choose(fact, broker, first)
    return first


def _larger(left: Term, right: Term) -> Term:
    return choose(left > right, left, right)
