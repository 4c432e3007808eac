"""Lemmas about elections and in-sync sets: whom a leader counts, and who may lead after it."""

from spec.algebra import Term, all_of, any_of, choose, implies, negate
from spec.systems.replication.log_lemmas import ReplicationLemmaView
from spec.vocabulary import ABSENT


def leader_is_in_sync(world: ReplicationLemmaView) -> Term:
    """The leader that the controller elected is in the in-sync set."""
    leader = world.state.leader()
    return implies(leader >= 0, world.state.in_sync(leader))


def elected_was_in_sync(world: ReplicationLemmaView, epoch: Term) -> Term:
    """So was the leader of each election."""
    elected = world.state.elected(epoch)
    return all_of(elected.leader >= 0, world.state.in_sync_then(epoch, elected.leader))


def present_leader_was_elected(world: ReplicationLemmaView) -> Term:
    """The present leader is that of the last election."""
    state = world.state
    leader = state.leader()
    return all_of(state.epoch() >= 0, any_of(leader == ABSENT, leader == state.elected(state.epoch()).leader))


def keeper_may_be_elected(world: ReplicationLemmaView) -> Term:
    """Some replica may be elected."""
    keeper = world.state.keeper()
    return all_of(keeper >= 0, world.is_candidate(keeper))


def view_is_of_an_election(world: ReplicationLemmaView, replica: Term) -> Term:
    """A replica knows an election that was, and takes its leader for the leader, or none; so does that leader."""
    state = world.state
    view = state.view(replica)
    elected = all_of(view.leader == state.elected(view.epoch).leader, state.view(view.leader).epoch >= 0)
    known = any_of(view.leader == ABSENT, elected)
    return implies(replica >= 0, all_of(view.epoch >= 0, view.epoch <= state.epoch(), known))


def elections_are_remembered(world: ReplicationLemmaView, epoch: Term) -> Term:
    """Whoever was elected was so last in that epoch or in a later one."""
    state = world.state
    last = state.last_elected(state.elected(epoch).leader)
    was = all_of(epoch > 0, epoch <= state.epoch())
    return implies(was, all_of(last >= epoch, last <= state.epoch()))


def last_election_was_its_own(world: ReplicationLemmaView, replica: Term) -> Term:
    """The last election of a replica elected it."""
    state = world.state
    last = state.last_elected(replica)
    was = all_of(last > 0, last <= state.epoch(), state.elected(last).leader == replica)
    return implies(replica >= 0, any_of(last == ABSENT, was))


def informed_leader_leads(world: ReplicationLemmaView, leader: Term) -> Term:
    """A leader since whose last message nothing was decided is the present one."""
    state = world.state
    view = state.view(leader)
    informed = all_of(world.leads_now(leader), negate(view.outdated))
    present = all_of(view.epoch == state.epoch(), state.leader() == leader, view.in_sync == state.members())
    return implies(informed, present)


def informed_leader_knows_the_set(world: ReplicationLemmaView, leader: Term, replica: Term) -> Term:
    """It knows the present in-sync set."""
    state = world.state
    informed = all_of(world.leads_now(leader), negate(state.view(leader).outdated))
    both = choose(state.in_sync_seen(leader, replica), state.in_sync(replica), negate(state.in_sync(replica)))
    return implies(informed, both)


def eligible_while_few_are_in_sync(world: ReplicationLemmaView, replica: Term) -> Term:
    """A replica is eligible only while the in-sync set is too small for anything to be committed."""
    return implies(world.state.eligible(replica), negate(world.commits_with(world.state.members())))


def leader_counts_itself(world: ReplicationLemmaView, leader: Term) -> Term:
    """A replica that takes itself for the leader counts itself in sync, and its own log end as one of the set's."""
    counts = all_of(
        world.state.in_sync_seen(leader, leader),
        world.counted_end(leader, leader) == world.state.length(leader),
    )
    return implies(world.leads_now(leader), counts)


def leader_awaits_no_reply(world: ReplicationLemmaView, leader: Term) -> Term:
    """No answer to a Fetch is on its way to a leader, nor to one that restarted and will lead on."""
    return implies(world.is_in_office(leader), world.state.reply(leader).high_watermark < 0)


def informed_follower_has_the_epoch(world: ReplicationLemmaView, leader: Term, follower: Term) -> Term:
    """Who has fetched from a leader is in its epoch, or in a later one; of who has not, the leader knows no end."""
    state = world.state
    known, epoch = state.known(leader, follower), state.view(leader).epoch
    both = all_of(world.leads_now(leader), follower >= 0, negate(leader == follower))
    reached = state.view(follower).epoch >= epoch
    return implies(both, all_of(known.end >= 0, any_of(reached, all_of(known.end == 0, negate(known.heard)))))


def known_end_is_shared(world: ReplicationLemmaView, leader: Term, follower: Term) -> Term:
    """What a leader knows a replica of its epoch to have, that replica shares with the epoch."""
    state = world.state
    known, epoch = state.known(leader, follower), state.view(leader).epoch
    both = all_of(world.leads_now(leader), follower >= 0, negate(leader == follower))
    counts = any_of(known.heard, world.is_heir(follower, epoch))
    here = all_of(both, counts, state.view(follower).epoch == epoch)
    return implies(here, known.end <= state.shared(epoch, follower))


def proposed_has_caught_up(world: ReplicationLemmaView, leader: Term) -> Term:
    """Whom an informed leader has proposed has what the leader began with, and what is below its high watermark."""
    state = world.state
    view = state.view(leader)
    known = state.known(leader, view.proposed)
    proposes = all_of(world.leads_now(leader), negate(view.outdated), view.proposed >= 0)
    caught_up = all_of(known.heard, known.end >= view.start, known.end >= state.high_watermark(leader))
    return implies(proposes, all_of(negate(view.proposed == leader), caught_up))


def heir_is_counted(world: ReplicationLemmaView, leader: Term, replica: Term) -> Term:
    """A leader counts every heir of its epoch that has heard of no later one."""
    state = world.state
    epoch = state.view(leader).epoch
    there = all_of(world.can_commit(leader), world.is_heir(replica, epoch), state.view(replica).epoch <= epoch)
    return implies(there, world.counts(leader, replica))


def slowest_is_counted(world: ReplicationLemmaView, leader: Term, replica: Term) -> Term:
    """Of an heir that has gone on, a leader counts a replica that has moved, too, with no more than the heir has."""
    state = world.state
    epoch = state.view(leader).epoch
    there = all_of(world.can_commit(leader), world.is_heir(replica, epoch), state.view(replica).epoch > epoch)
    slowest = world.slowest(epoch, replica)
    held = all_of(
        slowest >= 0,
        world.counts(leader, slowest),
        state.known(leader, slowest).end <= state.shared(epoch, replica),
        state.view(slowest).epoch > epoch,
    )
    return implies(there, held)


def slowest_will_be_counted(world: ReplicationLemmaView, epoch: Term, replica: Term) -> Term:
    """A leader that learns late of its election will count them: they were in sync then."""
    state = world.state
    early = any_of(state.view(replica).epoch < epoch, negate(world.has_begun(epoch)))
    too_few = negate(world.commits_with(state.elected(epoch).in_sync))
    slowest = world.slowest(epoch, replica)
    gone_on = any_of(state.view(replica).epoch <= epoch, state.view(slowest).epoch > epoch)
    held = all_of(slowest >= 0, state.in_sync_then(epoch, slowest), gone_on)
    return implies(all_of(world.is_heir(replica, epoch), early), any_of(too_few, held))


def shared_was_there_at_the_start(world: ReplicationLemmaView, leader: Term, epoch: Term) -> Term:
    """What a leader shares with an earlier epoch it had when it began to lead."""
    state = world.state
    view = state.view(leader)
    there = all_of(world.leads_now(leader), epoch >= 0, epoch < view.epoch)
    within = all_of(view.start <= state.length(leader), state.shared(epoch, leader) <= view.start)
    return implies(there, within)
