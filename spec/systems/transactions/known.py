"""One state of the transactions in the words of the lemmas: identities in their order, and what is to come.

A later producer id is larger, and one producer id's epochs rise. Every identity that a client got lies at or below
the newest identity that the coordinator knows; the end of a transaction uses one identity up and names the next.
"""

from typing import Final

from spec.algebra import Term, all_of, any_of, negate
from spec.protocol.completing import MarkerRequest
from spec.protocol.coordinator import TransactionEntry, is_in, is_preparing
from spec.protocol.ending import IdAndEpoch
from spec.systems.language import pick
from spec.systems.transactions.view import TransactionsView
from spec.vocabulary import ABSENT, TransactionState

COMPLETE: Final = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
"""States after all markers."""


def same(one: IdAndEpoch, other: IdAndEpoch) -> Term:
    """The two identities are one."""
    return all_of(one.producer_id == other.producer_id, one.producer_epoch == other.producer_epoch)


def earlier(one: IdAndEpoch, other: IdAndEpoch) -> Term:
    """The first identity comes before the second: a lower producer id, or the same with a lower epoch."""
    lower = all_of(one.producer_id == other.producer_id, one.producer_epoch < other.producer_epoch)
    return any_of(one.producer_id < other.producer_id, lower)


def not_later(one: IdAndEpoch, other: IdAndEpoch) -> Term:
    """The first identity comes before the second, or is the same."""
    lower = all_of(one.producer_id == other.producer_id, one.producer_epoch <= other.producer_epoch)
    return any_of(one.producer_id < other.producer_id, lower)


class TransactionLemmaView(TransactionsView):
    """A state in the words of the lemmas."""

    def one_id(self, identity: IdAndEpoch | MarkerRequest) -> IdAndEpoch:
        """The identity, its producer id being the only one where epochs do not run out."""
        return self._one_id(identity)

    def reported(self, txn: Term) -> IdAndEpoch:
        """The identity that the end of a transaction returned to its client."""
        return self.one_id(self.next_identity(txn))

    def handed(self, instance: Term) -> IdAndEpoch:
        """The identity that an instance was given."""
        return self.one_id(self.given(instance))

    def is_given(self, instance: Term) -> Term:
        """The instance has one."""
        return self.given(instance).producer_epoch >= 0

    def is_reported(self, txn: Term) -> Term:
        """The client got one."""
        return self.next_identity(txn).producer_epoch >= 0

    def ends(self) -> Term:
        """The last thing that the coordinator did was to end a transaction."""
        memory = self.remembers()
        return any_of(is_preparing(memory), is_in(memory, *COMPLETE))

    def held(self) -> IdAndEpoch:
        """The identity in the coordinator's memory."""
        memory = self.remembers()
        return self.one_id(IdAndEpoch(memory.producer_id, memory.producer_epoch))

    def recorded_entry(self) -> TransactionEntry:
        """The last record of the coordinator's log."""
        return self.knobs.settled(self.record())

    def logged(self) -> IdAndEpoch:
        """The identity in it."""
        record = self.recorded_entry()
        return self.one_id(IdAndEpoch(record.producer_id, record.producer_epoch))

    def frontier(self) -> IdAndEpoch:
        """The newest identity of all; while an exhausted id completes, that of the next producer id."""
        memory = self.remembers()
        rotates = all_of(is_preparing(memory), memory.next_producer_id >= 0)
        found: IdAndEpoch = pick(rotates, IdAndEpoch(memory.next_producer_id, 0), self.held())
        return found

    def last_reported(self) -> IdAndEpoch:
        """The last identity that any client got, unless it was fenced since."""
        return self.one_id(self.newest())

    def is_overtaken(self) -> Term:
        """There is one, and a decision whose answer no client got has made a newer one."""
        return all_of(self.newest().producer_epoch >= 0, negate(same(self.last_reported(), self.frontier())))

    def used_up(self) -> IdAndEpoch:
        """Where a transaction was ended: the identity that it had."""
        memory, last = self.remembers(), self.knobs.profile.max_epoch - 1
        rotated = memory.producer_epoch == 0
        before = IdAndEpoch(memory.producer_id, memory.producer_epoch - 1)
        found: IdAndEpoch = pick(rotated, IdAndEpoch(memory.previous_producer_id, last), before)
        return found

    def mark(self, decision: Term) -> IdAndEpoch:
        """The identity of a decision's markers."""
        return self.one_id(self.marker(decision))

    def is_made(self, decision: Term) -> Term:
        """There is such a decision."""
        return all_of(decision >= 0, decision < self.decisions())

    def is_due(self, producer: Term, epoch: Term, partition: Term) -> Term:
        """The open transaction has this identity and partition, or a decision on it has its marker to come."""
        memory, decision = self.remembers(), self.decision()
        mine = memory.producer_id == producer
        ongoing = all_of(
            is_in(memory, TransactionState.ONGOING), memory.producer_epoch == epoch, self.registered(partition) >= 0
        )
        to_come = all_of(self.to_mark(decision, partition), self.marked(decision, partition) == ABSENT)
        decided = all_of(is_preparing(memory), memory.producer_epoch == epoch + 1, to_come)
        return all_of(mine, any_of(ongoing, decided))
