"""Lemmas about sequences: a client's numbering, and the part of it that a partition has."""

from spec.algebra import Term, all_of, any_of, choose, implies, negate, same
from spec.protocol.seq import is_unknown
from spec.systems.transactions.known import TransactionLemmaView
from spec.systems.transactions.world import NOWHERE, OPEN
from spec.vocabulary import ABSENT


def unended_is_current(view: TransactionLemmaView, txn: Term) -> Term:
    """A transaction whose end was not answered is the last one of its instance."""
    return implies(view.owner(txn) >= 0, any_of(view.ended(txn), view.current(view.owner(txn)) == txn))


def sequence_is_of_batch(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term) -> Term:
    """A transaction's batches are numbered from 0, and so are their sequences."""
    sequence = view.produced(txn, partition, batch)
    return any_of(sequence == ABSENT, all_of(sequence == batch, batch >= 0))


def sequence_is_next(view: TransactionLemmaView, instance: Term, partition: Term, batch: Term) -> Term:
    """In its open transaction an instance has sent what is below its next sequence."""
    last, following = view.current(instance), view.next_sequence(instance, partition)
    sent = all_of(batch >= 0, batch < following)
    sends = all_of(last >= 0, view.is_open(last))
    return implies(sends, all_of(following >= 0, same(view.produced(last, partition, batch) >= 0, sent)))


def log_has_the_sequences(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term) -> Term:
    """A partition of data has, of the epoch that it knows, the batches up to the last sequence; of later ones none."""
    identity = view.who(txn)
    entry = view.known(identity, partition)
    there = view.data(txn, partition, batch) >= OPEN
    up_to_last = all_of(batch >= 0, batch <= entry.cached[0].last_sequence)
    current = implies(entry.epoch == identity.producer_epoch, same(there, up_to_last))
    later = implies(entry.epoch < identity.producer_epoch, negate(there))
    of_data = all_of(view.owner(txn) >= 0, view.is_of_data(partition))
    return implies(of_data, all_of(current, later))


def log_has_no_gap(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term) -> Term:
    """A batch is in the log only after those that its client sent before it."""
    here = view.data(txn, partition, batch) >= OPEN
    return implies(all_of(here, batch > 0), view.data(txn, partition, batch - 1) > NOWHERE)


def log_has_one_copy(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term) -> Term:
    """A batch in the log of data was appended once; one that is not there was neither appended nor acknowledged."""
    there, copies = view.data(txn, partition, batch) >= OPEN, view.copies(txn, partition, batch)
    absent = all_of(copies == 0, negate(view.acknowledged(txn, partition, batch)))
    return implies(view.is_of_data(partition), choose(there, copies == 1, absent))


def window_is_of_the_log(view: TransactionLemmaView, producer: Term, partition: Term) -> Term:
    """A partition of data remembers of a producer no sequence above the last one."""
    window = view.entry(producer, partition).cached[: view.knobs.profile.cached_batches]
    last = window[0].last_sequence
    within = (implies(each.present, all_of(each.last_sequence >= 0, each.last_sequence <= last)) for each in window)
    return implies(view.is_of_data(partition), all_of(*within))


def sequence_is_of_appended(view: TransactionLemmaView, producer: Term, partition: Term) -> Term:
    """The last sequence that a partition knows is of the transaction that appended last, of the epoch that it knows."""
    entry, last = view.entry(producer, partition), view.appended_last(producer, partition)
    newest = entry.cached[0]
    identity = view.who(last)
    mine = all_of(identity.producer_id == producer, identity.producer_epoch == entry.epoch)
    begun = all_of(last >= 0, view.owner(last) >= 0, mine)
    none = all_of(newest.last_sequence == ABSENT, negate(newest.present))
    return choose(is_unknown(entry), none, any_of(none, all_of(newest.last_sequence >= 0, begun)))
