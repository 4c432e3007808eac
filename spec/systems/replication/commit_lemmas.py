"""Lemmas about what is committed: who has it, and that high watermarks reach no further."""

from spec.algebra import Term, all_of, implies
from spec.systems.replication.lemma_view import ReplicationLemmaView, same_entry


def committed_is_of_its_epoch(world: ReplicationLemmaView, position: Term) -> Term:
    """What is committed is in the log of the epoch whose leader committed it."""
    state = world.state
    epoch = state.committed_in(position)
    here = same_entry(state.epoch_log(epoch, position), world.committed_entry(position))
    known = all_of(epoch >= 0, epoch <= state.epoch(), world.has_begun(epoch))
    return implies(world.is_committed(position), all_of(position >= 0, state.committed(position) >= 0, known, here))


def heir_has_committed_records(world: ReplicationLemmaView, replica: Term, position: Term) -> Term:
    """Every heir of an epoch has what its leader committed."""
    heir = world.is_heir(replica, world.state.committed_in(position))
    return implies(all_of(world.is_committed(position), heir), world.has_committed(replica, position))


def heir_learned_of_committed_records(world: ReplicationLemmaView, replica: Term, position: Term) -> Term:
    """It had heard of that epoch before."""
    epoch = world.state.committed_in(position)
    committed = all_of(world.is_committed(position), world.is_heir(replica, epoch))
    return implies(committed, world.state.view(replica).epoch >= epoch)


def keeper_has_committed_records(world: ReplicationLemmaView, position: Term) -> Term:
    """So has one that may be elected."""
    return implies(world.is_committed(position), world.has_committed(world.state.keeper(), position))


def earlier_commits_were_there_at_the_start(world: ReplicationLemmaView, leader: Term, position: Term) -> Term:
    """What leaders of earlier epochs committed, a leader had when it began to lead."""
    view = world.state.view(leader)
    earlier = all_of(world.is_committed(position), world.state.committed_in(position) < view.epoch)
    return implies(all_of(world.leads_now(leader), earlier), position < view.start)


def own_commits_are_below_the_watermark(world: ReplicationLemmaView, leader: Term, position: Term) -> Term:
    """What a leader committed in its epoch is below its high watermark."""
    state = world.state
    own = all_of(world.is_committed(position), state.committed_in(position) == state.view(leader).epoch)
    return implies(all_of(world.is_in_office(leader), own), position < state.high_watermark(leader))


def watermark_covers_committed_records(world: ReplicationLemmaView, replica: Term, position: Term) -> Term:
    """Below any replica's high watermark its log has what is committed."""
    there = all_of(replica >= 0, world.is_within(position, world.state.high_watermark(replica)))
    return implies(there, all_of(world.is_committed(position), world.has_committed(replica, position)))


def answer_covers_committed_records(world: ReplicationLemmaView, follower: Term, position: Term) -> Term:
    """Below the high watermark of an answer to a Fetch the log of its epoch has what is committed."""
    state = world.state
    below = world.is_within(position, state.reply(follower).high_watermark)
    here = same_entry(state.epoch_log(state.view(follower).epoch, position), world.committed_entry(position))
    return implies(all_of(follower >= 0, below), all_of(world.is_committed(position), here))


def watermark_is_in_the_log(world: ReplicationLemmaView, replica: Term) -> Term:
    """No replica's high watermark is beyond its own log, and the last batch below it is committed."""
    end = world.state.high_watermark(replica)
    last = implies(end > 0, all_of(world.is_committed(end - 1), world.has_committed(replica, end - 1)))
    return implies(replica >= 0, all_of(end <= world.state.length(replica), last))


def lengths_are_natural(world: ReplicationLemmaView, replica: Term) -> Term:
    """Neither a log nor what is replicated of it is shorter than nothing."""
    return all_of(world.state.length(replica) >= 0, world.state.high_watermark(replica) >= 0)


def reported_is_not_taken_back(world: ReplicationLemmaView, leader: Term) -> Term:
    """A leader's high watermark is not below one that it returned in the same epoch."""
    lower = world.state.reported(leader) <= world.state.high_watermark(leader)
    return implies(world.leads_now(leader), lower)
