"""Lemmas about logs: each is a piece of the logs of leader epochs, and what epochs share is the same from its start."""

from spec.algebra import Term, all_of, any_of, choose, implies, negate
from spec.systems.replication.lemma_view import ReplicationLemmaView, same_entry
from spec.systems.replication.world import NOTHING, LogEntry


def log_is_filled(world: ReplicationLemmaView, replica: Term, position: Term) -> Term:
    """A log has a batch at each position below its end, none elsewhere, and no epoch later than its replica knows."""
    state = world.state
    here = state.log(replica, position)
    filled = all_of(here.batch >= 0, here.epoch >= 0, here.epoch <= state.view(replica).epoch)
    held = choose(world.is_within(position, state.length(replica)), filled, same_entry(here, NOTHING))
    return implies(replica >= 0, held)


def epoch_log_is_filled(world: ReplicationLemmaView, epoch: Term, position: Term) -> Term:
    """So has the log of an epoch, and no later epoch."""
    state = world.state
    here = state.epoch_log(epoch, position)
    filled = all_of(here.batch >= 0, here.epoch >= 0, here.epoch <= epoch)
    held = choose(world.is_within(position, state.epoch_length(epoch)), filled, same_entry(here, NOTHING))
    return implies(epoch >= 0, held)


def batches_are_numbered(world: ReplicationLemmaView) -> Term:
    """Batches have natural numbers."""
    return world.state.sent() >= 0


def epoch_is_empty_before_it_begins(world: ReplicationLemmaView, epoch: Term) -> Term:
    """The log of an epoch that has not begun is empty; one that has is none of the future."""
    state = world.state
    length = state.epoch_length(epoch)
    begun = all_of(length >= 0, epoch <= state.epoch(), state.view(state.elected(epoch).leader).epoch >= epoch)
    return implies(epoch >= 0, choose(world.has_begun(epoch), begun, length == 0))


def log_is_of_its_epochs(world: ReplicationLemmaView, replica: Term, below: Term, position: Term) -> Term:
    """Up to any batch a log is that of the batch's epoch."""
    state = world.state
    there = all_of(replica >= 0, below <= position, below >= 0, position < state.length(replica))
    return implies(there, world.is_of(state.log(replica, position).epoch, replica, below))


def epochs_rise_in_a_log(world: ReplicationLemmaView, replica: Term, below: Term, position: Term) -> Term:
    """Along a log, epochs do not fall."""
    state = world.state
    there = all_of(replica >= 0, below <= position, below >= 0, position < state.length(replica))
    return implies(there, state.log(replica, below).epoch <= state.log(replica, position).epoch)


def epoch_log_is_of_its_epochs(world: ReplicationLemmaView, epoch: Term, below: Term, position: Term) -> Term:
    """Up to any batch the log of an epoch is that of the batch's epoch."""
    state = world.state
    there = all_of(epoch >= 0, below <= position, below >= 0, position < state.epoch_length(epoch))
    earlier = state.epoch_log(epoch, position).epoch
    return implies(there, same_entry(state.epoch_log(epoch, below), state.epoch_log(earlier, below)))


def epochs_rise_in_an_epoch_log(world: ReplicationLemmaView, epoch: Term, below: Term, position: Term) -> Term:
    """Along the log of an epoch, epochs do not fall."""
    state = world.state
    there = all_of(epoch >= 0, below <= position, below >= 0, position < state.epoch_length(epoch))
    return implies(there, state.epoch_log(epoch, below).epoch <= state.epoch_log(epoch, position).epoch)


def leader_has_its_epochs_log(world: ReplicationLemmaView, leader: Term, epoch: Term, position: Term) -> Term:
    """A leader's log is that of its epoch."""
    its = all_of(world.is_in_office(leader), world.state.view(leader).epoch == epoch)
    return implies(its, world.is_of(epoch, leader, position))


def leader_has_begun(world: ReplicationLemmaView, leader: Term) -> Term:
    """A leader's epoch has begun, and its log is as long."""
    state = world.state
    epoch = state.view(leader).epoch
    begun = all_of(world.has_begun(epoch), state.length(leader) == state.epoch_length(epoch))
    return implies(world.is_in_office(leader), begun)


def answer_is_of_the_epoch(world: ReplicationLemmaView, follower: Term) -> Term:
    """An answer to a Fetch has what the log of the follower's epoch has at the follower's end."""
    state = world.state
    reply, epoch = state.reply(follower), state.view(follower).epoch
    batch = LogEntry(reply.batch, reply.epoch)
    next_one = same_entry(batch, state.epoch_log(epoch, state.length(follower)))
    answered = all_of(follower >= 0, reply.high_watermark >= 0)
    return implies(answered, all_of(world.has_begun(epoch), any_of(reply.batch < 0, next_one)))


def answered_follower_has_the_epochs_log(world: ReplicationLemmaView, follower: Term, position: Term) -> Term:
    """A follower whose Fetch was answered has the log of its epoch, as far as its own goes."""
    state = world.state
    answered = all_of(follower >= 0, state.reply(follower).high_watermark >= 0)
    there = world.is_within(position, state.length(follower))
    return implies(all_of(answered, there), world.is_of(state.view(follower).epoch, follower, position))


def shared_is_of_the_epoch(world: ReplicationLemmaView, epoch: Term, replica: Term, position: Term) -> Term:
    """What a replica shares with its own epoch, or with one that it is an heir of, its log has."""
    known = _is_shared(world, epoch, replica)
    there = world.is_within(position, world.state.shared(epoch, replica))
    return implies(all_of(known, there), world.is_of(epoch, replica, position))


def shared_is_within_the_log(world: ReplicationLemmaView, epoch: Term, replica: Term) -> Term:
    """That is no longer than the log."""
    shared = world.state.shared(epoch, replica)
    known = all_of(_is_shared(world, epoch, replica), shared > 0)
    return implies(known, all_of(shared <= world.state.length(replica), world.is_of(epoch, replica, shared - 1)))


def _is_shared(world: ReplicationLemmaView, epoch: Term, replica: Term) -> Term:
    own = world.state.view(replica).epoch
    return all_of(replica >= 0, epoch >= 0, any_of(epoch == own, all_of(epoch < own, world.is_heir(replica, epoch))))


def nothing_is_shared_ahead(world: ReplicationLemmaView, epoch: Term, replica: Term) -> Term:
    """A replica shares nothing with an epoch that has not begun, or that it has not heard of."""
    state = world.state
    shared, own = state.shared(epoch, replica), state.view(replica).epoch
    ahead = any_of(epoch > own, negate(world.has_begun(epoch)))
    itself = any_of(epoch < own, state.slowest(epoch, replica) < 0)
    there = all_of(epoch >= 0, replica >= 0)
    return implies(there, all_of(shared >= 0, implies(ahead, shared == 0), itself, state.slowest(epoch, replica) >= -1))
