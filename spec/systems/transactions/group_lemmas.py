"""Lemmas about the offsets that transactions commit: what is pending, and what has become the group's."""

from spec.algebra import Term, all_of, any_of, choose, implies
from spec.systems.transactions.group_claims import commit_is_of_its_generation, is_committed, is_own_offset
from spec.systems.transactions.known import TransactionLemmaView
from spec.systems.transactions.world import DATA, DECIDED, OFFSETS, OPEN, UNUSED
from spec.vocabulary import ABSENT


def kind_is_of_what_was_sent(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term) -> Term:
    """To a partition of offsets a transaction has sent one commit at most, and nothing to one that is not in use."""
    kind, sent = view.kind(partition), view.produced(txn, partition, batch) >= 0
    to_offsets = all_of(kind == OFFSETS, batch == 0)
    return choose(sent, any_of(kind == DATA, to_offsets), any_of(kind == UNUSED, kind == DATA, kind == OFFSETS))


def decided_is_stale(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term) -> Term:
    """A partition that has decided a batch knows a later epoch than the batch's."""
    later = view.known(view.who(txn), partition).epoch > view.who(txn).producer_epoch
    return implies(view.data(txn, partition, batch) >= DECIDED, later)


def pending_is_open(view: TransactionLemmaView, producer: Term, partition: Term) -> Term:
    """What a producer has pending is in the log and undecided."""
    pending = view.pending(producer, partition)
    txn = pending.offset
    mine = all_of(txn >= 0, view.owner(txn) >= 0, view.who(txn).producer_id == producer)
    there = all_of(view.data(txn, partition, 0) == OPEN, view.offset(txn, partition, 0) == pending.recorded_at)
    return implies(pending.present, all_of(view.kind(partition) == OFFSETS, mine, there))


def open_is_pending(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term) -> Term:
    """An offset in the log that is undecided is pending for its producer."""
    pending = view.pending(view.producer(view.who(txn)), partition)
    is_open = all_of(view.kind(partition) == OFFSETS, view.data(txn, partition, batch) == OPEN)
    return implies(is_open, all_of(pending.offset == txn, pending.recorded_at == view.offset(txn, partition, batch)))


def visible_was_committed(view: TransactionLemmaView, partition: Term) -> Term:
    """The group's offset is of a transaction whose commit is in the log, and nothing undoes that."""
    txn = view.group_offset(partition).offset
    begun = all_of(txn >= 0, view.owner(txn) >= 0)
    return implies(is_own_offset(view, partition), all_of(begun, is_committed(view, txn, partition, 0)))


def committed_was_visible(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term) -> Term:
    """An offset that is committed became the group's, and only a later one replaced it."""
    of_group = all_of(view.kind(partition) == OFFSETS, is_committed(view, txn, partition, batch))
    return implies(of_group, view.group_offset(partition).recorded_at >= view.offset(txn, partition, batch))


def written_is_of_its_generation(view: TransactionLemmaView, txn: Term, partition: Term) -> Term:
    """No offset was written in a generation that its commit does not name, nor before its commit was sent."""
    unsent = view.produced(txn, partition, 0) == ABSENT
    unwritten = implies(unsent, view.committed_in(txn, partition) == ABSENT)
    return all_of(commit_is_of_its_generation(view, txn, partition), unwritten)
