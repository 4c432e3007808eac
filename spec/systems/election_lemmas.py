"""Facts about the in-sync set and elections for all inputs: a replica that may lead has what is committed.

The proofs of systems do not use them: each states what a rule requires of one decision.

Arguments:
    one: the first replica of the assignment.
    two: the second.
    three: the third.
    inputs: who leads now, whether the first is to, and whether anyone may.
"""

from dataclasses import dataclass
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, implies, negate, same
from spec.protocol import electing, repl
from spec.protocol.electing import Candidate, ElectionOutcome, ReplicationProgress
from spec.protocol.repl import Watermark
from spec.systems.decision_lemmas import About, Fact, stated
from spec.versions import KAFKA_2_0, NEWEST, Profile
from spec.vocabulary import ABSENT


@dataclass(frozen=True, slots=True)
class AssignedReplica:
    """A replica of an assignment; which broker it is on follows from its place."""

    alive: Term = False
    in_sync: Term = False
    eligible: Term = False
    last_known: Term = False


@dataclass(frozen=True, slots=True)
class ElectionInput:
    """The input of an election: the present leader, whether it is a preferred one, and whether it may be unclean."""

    leader: Term = 0
    prefers: Term = False
    unclean_allowed: Term = False


def leader_has_committed_records(
    profile: Profile, one: AssignedReplica, two: AssignedReplica, three: AssignedReplica, inputs: ElectionInput
) -> Term:
    """The leader is alive, and in sync or eligible; any other leader, called unclean, only where none is fit."""
    replicas = (one, two, three)
    election = _election(replicas, inputs, profile)
    fit = _fit(replicas, profile)
    able = [
        any_of(clean, _leads_uncleanly(replicas, each, inputs, profile))
        for clean, each in zip(fit, replicas, strict=True)
    ]
    leads = [election.leader == broker for broker in range(len(replicas))]
    return all_of(
        any_of(election.leader == ABSENT, *leads),
        same(election.leader == ABSENT, negate(any_of(*able))),
        *(implies(there, may) for there, may in zip(leads, able, strict=True)),
        *(implies(there, same(negate(clean), election.unclean)) for there, clean in zip(leads, fit, strict=True)),
        implies(election.unclean, negate(any_of(*fit))),
        implies(election.leader == ABSENT, negate(election.unclean)),
    )


def eligible_lead_without_in_sync_replicas(
    one: AssignedReplica, two: AssignedReplica, three: AssignedReplica, inputs: ElectionInput
) -> Term:
    """Beside a member of the in-sync set, dead or alive, no eligible replica leads, but in an unclean election.

    Not the preferred one, and not the one that leads: what an in-sync set has members for is decided by them.
    """
    replicas = (one, two, three)
    election = _election(replicas, inputs, NEWEST)
    members = any_of(*(each.in_sync for each in replicas))
    is_member = any_of(*(all_of(election.leader == broker, each.in_sync) for broker, each in enumerate(replicas)))
    return implies(
        members, any_of(election.leader == ABSENT, is_member, all_of(inputs.unclean_allowed, election.unclean))
    )


def last_leader_is_before_anyone(
    one: AssignedReplica, two: AssignedReplica, three: AssignedReplica, inputs: ElectionInput
) -> Term:
    """Where both sets are empty, the last leader leads again if it is there, and no other does while it is."""
    replicas = (one, two, three)
    election = _election(replicas, inputs, NEWEST)
    none_fit = negate(any_of(*(any_of(each.in_sync, each.eligible) for each in replicas)))
    again = [all_of(each.alive, each.last_known) for each in replicas]
    return implies(
        none_fit,
        all_of(
            *(
                implies(all_of(each, negate(any_of(*again[:broker]))), election.leader == broker)
                for broker, each in enumerate(again)
            ),
            implies(any_of(*again), election.unclean),
        ),
    )


def leader_stays_or_is_the_first(
    profile: Profile, one: AssignedReplica, two: AssignedReplica, three: AssignedReplica, inputs: ElectionInput
) -> Term:
    """A leader that is fit stays, unless the first of the assignment is preferred; a new one is the first that is."""
    replicas = (one, two, three)
    leader = _election(replicas, inputs, profile).leader
    fit = _fit(replicas, profile)
    to_first = all_of(inputs.prefers, fit[0])
    stays = [all_of(inputs.leader == broker, fit[broker]) for broker in range(len(replicas))]
    anew = negate(any_of(to_first, *stays))
    return all_of(
        implies(to_first, leader == 0),
        *(implies(all_of(here, negate(to_first)), leader == broker) for broker, here in enumerate(stays)),
        *(
            implies(all_of(anew, here, negate(any_of(*fit[:broker]))), leader == broker)
            for broker, here in enumerate(fit)
        ),
    )


def leader_is_electable(
    one: AssignedReplica, two: AssignedReplica, three: AssignedReplica, inputs: ElectionInput
) -> Term:
    """There is a leader exactly where a replica is electable, and it is one of those: systems elect any of them."""
    replicas = (one, two, three)
    leader = _election(replicas, inputs, NEWEST).leader
    candidates = _candidates(replicas)
    nobody_eligible = negate(any_of(*(each.eligible for each in replicas)))
    unclean = all_of(inputs.unclean_allowed, negate(inputs.prefers))
    able = [electing.is_electable(each, electing.is_empty(candidates), nobody_eligible, unclean) for each in candidates]
    return all_of(
        same(leader == ABSENT, negate(any_of(*able))),
        *(implies(leader == broker, may) for broker, may in enumerate(able)),
    )


def new_leader_is_in_sync(
    profile: Profile, one: AssignedReplica, two: AssignedReplica, three: AssignedReplica, inputs: ElectionInput
) -> Term:
    """The in-sync set stays as it is exactly where a new leader is in it; else that leader is all of it."""
    replicas = (one, two, three)
    election = _election(replicas, inputs, profile)
    is_member = any_of(*(all_of(election.leader == broker, each.in_sync) for broker, each in enumerate(replicas)))
    changes = negate(any_of(election.leader == ABSENT, election.leader == inputs.leader))
    return all_of(implies(changes, same(election.stays_in_sync, is_member)), any_of(changes, election.stays_in_sync))


def _candidates(replicas: tuple[AssignedReplica, ...]) -> list[Candidate]:
    return [
        Candidate(broker, each.alive, each.in_sync, each.eligible, each.last_known)
        for broker, each in enumerate(replicas)
    ]


def _election(replicas: tuple[AssignedReplica, ...], inputs: ElectionInput, profile: Profile) -> ElectionOutcome:
    return electing.chosen(_candidates(replicas), inputs.leader, inputs.prefers, inputs.unclean_allowed, profile)


def _fit(replicas: tuple[AssignedReplica, ...], profile: Profile) -> list[Term]:
    """Of each, that it is alive and in sync; or alive and eligible, where the in-sync set is empty."""
    eligible_count = all_of(profile.eligible_leader_replicas, *(negate(each.in_sync) for each in replicas))
    return [
        any_of(all_of(each.alive, each.in_sync), all_of(each.alive, each.eligible, eligible_count)) for each in replicas
    ]


def _leads_uncleanly(
    replicas: tuple[AssignedReplica, ...], who: AssignedReplica, inputs: ElectionInput, profile: Profile
) -> Term:
    """It is alive, and any replica may lead; or it led last, and both sets are empty."""
    left = [any_of(each.in_sync, each.eligible) for each in replicas]
    again = all_of(profile.eligible_leader_replicas, who.last_known, negate(any_of(*left)))
    return all_of(who.alive, any_of(again, all_of(inputs.unclean_allowed, negate(inputs.prefers))))


@dataclass(frozen=True, slots=True)
class ObservedFollower:
    """A follower before a Fetch, the Fetch, and a look at it later: log ends and times."""

    end: Term = 0
    last_fetch: Term = 0
    leader_end_then: Term = 0
    caught_up: Term = 0
    offset: Term = 0
    leader_end: Term = 0
    now: Term = 0
    later_end: Term = 0
    later: Term = 0
    lag_max: Term = 0


def in_sync_follower_stays(of: ObservedFollower) -> Term:
    """A follower leaves the set exactly where it lacks records, and has not had all of them for longer than allowed.

    It had all as of a Fetch from the leader's log end; or as of the Fetch before, where it now asks for what the leader
    did not have then. The leader's clock does not go back.
    """
    before = ReplicationProgress(of.end, of.last_fetch, of.leader_end_then, of.caught_up)
    after = electing.progressed(before, of.offset, of.leader_end, of.now)
    leaves = electing.lags(after, of.later_end, of.later, of.lag_max)
    has_all, had_all = of.offset >= of.leader_end, of.offset >= of.leader_end_then
    in_time, was_in_time = of.later - of.now <= of.lag_max, of.later - of.last_fetch <= of.lag_max
    lacks = negate(of.offset == of.later_end)
    late = all_of(negate(any_of(has_all, had_all)), of.later - of.caught_up > of.lag_max)
    return implies(
        all_of(of.last_fetch <= of.now, of.caught_up <= of.now),
        all_of(
            implies(any_of(all_of(has_all, in_time), all_of(had_all, was_in_time), negate(lacks)), negate(leaves)),
            implies(all_of(lacks, late), leaves),
            after.caught_up >= of.caught_up,
            all_of(after.leader_end_then >= of.leader_end, after.leader_end_then >= of.leader_end_then),
        ),
    )


@dataclass(frozen=True, slots=True)
class OutOfSyncFollower:
    """A follower out of sync, its leader's state, and the offset up to which records may be committed."""

    end: Term = 0
    high_watermark: Term = 0
    epoch_start: Term = 0
    committed: Term = 0


def returning_replica_has_committed_records(profile: Profile, who: OutOfSyncFollower) -> Term:
    """Committed records are below the high watermark, or were in the leader's log when its epoch began."""
    returns = electing.may_return(who.end, who.high_watermark, who.epoch_start, profile)
    known = any_of(who.committed <= who.high_watermark, who.committed <= who.epoch_start)
    has_all = all_of(who.end >= who.high_watermark, who.end >= who.epoch_start)
    return all_of(implies(all_of(known, returns), who.end >= who.committed), implies(has_all, returns))


@dataclass(frozen=True, slots=True)
class Members:
    """How many are in sync, how many must be, how far the high watermark is, and how far it could go."""

    count: Term = 0
    min_in_sync: Term = 1
    high_watermark: Term = 0
    least_end: Term = 0


def some_replica_can_always_lead(profile: Profile, members: Members) -> Term:
    """A replica that leaves the in-sync set leaves a member behind, or has all that can be committed meanwhile.

    No replica has to stay because of those that are left, except the last one, where no rule names a later leader.
    """
    after = members.count - 1
    known = Watermark(members.high_watermark, members.least_end, after, members.min_in_sync)
    rises = repl.leader_high_watermark(known, profile) > members.high_watermark
    stays = electing.stays_electable(after, members.min_in_sync, profile)
    leaves = electing.may_leave(members.count, profile)
    remembers = all_of(profile.eligible_leader_replicas, after < members.min_in_sync)
    return implies(
        all_of(members.count >= 1, members.min_in_sync >= 1),
        all_of(
            implies(leaves, any_of(after >= 1, stays)),
            implies(any_of(after >= 1, remembers), leaves),
            implies(stays, negate(rises)),
            implies(remembers, stays),
        ),
    )


_ELECTION: Final[About] = (
    ("one", AssignedReplica),
    ("two", AssignedReplica),
    ("three", AssignedReplica),
    ("inputs", ElectionInput),
)
_SURVIVES: Final = rules.REPL_COMMITTED_SURVIVES
_BEFORE_ELIGIBLE: Final = KAFKA_2_0


def election_facts() -> tuple[Fact, ...]:
    """For the newest release; and for one without eligible leader replicas, where that makes a difference."""
    of_releases = tuple(
        stated(sentence, _SURVIVES, about, profile)
        for profile in (NEWEST, _BEFORE_ELIGIBLE)
        for sentence, about in (
            (leader_has_committed_records, _ELECTION),
            (leader_stays_or_is_the_first, _ELECTION),
            (some_replica_can_always_lead, (("members", Members),)),
        )
    )
    return (
        *of_releases,
        stated(new_leader_is_in_sync, _SURVIVES, _ELECTION, NEWEST),
        stated(eligible_lead_without_in_sync_replicas, _SURVIVES, _ELECTION),
        stated(last_leader_is_before_anyone, _SURVIVES, _ELECTION),
        stated(leader_is_electable, _SURVIVES, _ELECTION),
        stated(in_sync_follower_stays, _SURVIVES, (("of", ObservedFollower),)),
        stated(returning_replica_has_committed_records, _SURVIVES, (("who", OutOfSyncFollower),), NEWEST),
    )
