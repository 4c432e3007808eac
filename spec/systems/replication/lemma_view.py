"""The words of the lemmas about replicas."""

from spec.algebra import Term, all_of, any_of, negate
from spec.systems.replication import history
from spec.systems.replication.world import LogEntry, ReplicationView
from spec.vocabulary import ABSENT


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
