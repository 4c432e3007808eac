"""Lemmas about logs and commits: each log is a piece of the logs of leader epochs, and what is committed stays."""

from spec.algebra import Term, all_of, any_of, choose, implies, negate
from spec.systems.replication import history
from spec.systems.replication.world import NOTHING, LogEntry, ReplicationView
from spec.vocabulary import ABSENT

# --- the words of the lemmas ------------------------------------------------------------------------------------------


class ReplicationLemmaView(ReplicationView):
    """The words of the lemmas about one state with its history."""

    def leads_now(self, replica: Term) -> Term:
        """A replica takes itself for the leader."""
        return all_of(replica >= 0, self.leads(replica))

    def is_in_office(self, replica: Term) -> Term:
        """A replica takes itself for the leader; or did, restarted, and is still the leader that was elected last."""
        state = self.state
        again = all_of(
            state.leader() == replica,
            state.view(replica).epoch == state.epoch(),
            self.has_begun(state.epoch()),
        )
        return all_of(replica >= 0, any_of(self.leads(replica), again))

    def is_candidate(self, replica: Term) -> Term:
        """It may be elected: it is in sync, or eligible."""
        return any_of(self.state.in_sync(replica), self.state.eligible(replica))

    def is_heir(self, replica: Term, epoch: Term) -> Term:
        """It may yet lead, or leads, in a later epoch: it may be elected, or was and has not gone on from there."""
        state, last = self.state, self.state.last_elected(replica)
        view = state.view(replica)
        not_past = any_of(view.epoch < last, all_of(view.epoch == last, view.leader == replica))
        elected = all_of(epoch < last, not_past)
        return all_of(replica >= 0, epoch >= 0, epoch <= state.epoch(), any_of(self.is_candidate(replica), elected))

    def commits_with(self, members: Term) -> Term:
        """An in-sync set of so many members lets a high watermark rise."""
        return any_of(not self.knobs.profile.high_watermark_needs_min_isr, members >= self.knobs.min_in_sync)

    def can_commit(self, leader: Term) -> Term:
        """Enough replicas are in sync, as far as a leader knows."""
        return all_of(self.leads_now(leader), self.commits_with(self.state.view(leader).in_sync))

    def has_begun(self, epoch: Term) -> Term:
        """The leader of an epoch has learned that it leads."""
        return history.has_begun(self.state, epoch)

    def slowest(self, epoch: Term, replica: Term) -> Term:
        """Who never gets further in an epoch than a replica's log has of it."""
        return history.slowest(self.state, epoch, replica)

    def is_committed(self, position: Term) -> Term:
        """Some leader's high watermark was above it."""
        return negate(self.state.committed(position) == ABSENT)

    def committed_entry(self, position: Term) -> LogEntry:
        """What was committed there."""
        return LogEntry(self.state.committed(position), self.state.committed_batch_epoch(position))

    def has_committed(self, replica: Term, position: Term) -> Term:
        """A replica's log has what was committed there."""
        return same_entry(self.state.log(replica, position), self.committed_entry(position))

    def is_of(self, epoch: Term, replica: Term, position: Term) -> Term:
        """A replica has what the log of an epoch has there."""
        return same_entry(self.state.log(replica, position), self.state.epoch_log(epoch, position))

    def is_within(self, position: Term, end: Term) -> Term:
        """It is a position below an end."""
        return all_of(position >= 0, position < end)


def same_entry(one: LogEntry, other: LogEntry) -> Term:
    """The same batch of the same epoch, or none."""
    return all_of(one.batch == other.batch, one.epoch == other.epoch)


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
