"""Lemmas about readers: batches in the order of the log, and how far each reader is."""

from spec.algebra import Term, all_of, choose, implies, negate
from spec.systems.transactions.known import TransactionLemmaView
from spec.systems.transactions.reader_claims import no_committed_record_is_skipped, received_is_committed
from spec.systems.transactions.world import OPEN
from spec.vocabulary import ABSENT


def log_is_numbered(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term) -> Term:
    """Every batch in the log has a number below the end of its partition, and no other batch has one."""
    offset, end = view.offset(txn, partition, batch), view.log_end(partition)
    numbered = all_of(offset >= 0, offset < end)
    return all_of(end >= 0, choose(view.data(txn, partition, batch) >= OPEN, numbered, offset == ABSENT))


def numbers_differ(
    view: TransactionLemmaView, txn: Term, batch: Term, other: Term, another: Term, partition: Term
) -> Term:
    """No two batches of a partition have the same number.

    Args:
        view: the state of the system, and what is asked of it.
        txn: a client's transaction, by its number, or a bump that it has asked for.
        batch: its number among those of the transaction to the partition, from 0.
        other: another transaction, or the same.
        another: a batch of that one.
        partition: which one.
    """
    one, two = view.offset(txn, partition, batch), view.offset(other, partition, another)
    return implies(all_of(one >= 0, one == two), all_of(txn == other, batch == another))


def numbers_are_of_one_id(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term, number: Term) -> Term:
    """Numbers of other ids are below the end of their partition, and no batch of this id has one of them.

    Args:
        view: the state of the system, and what is asked of it.
        txn: a client's transaction, by its number, or a bump that it has asked for.
        partition: which one.
        batch: its number among those of the transaction to the partition, from 0.
        number: that of a batch of another id in the partition.
    """
    apart = all_of(number < view.log_end(partition), negate(view.offset(txn, partition, batch) == number))
    return implies(view.is_of_other_id(partition, number), apart)


def readers_are_within(view: TransactionLemmaView, reader: Term, partition: Term) -> Term:
    """No reader is beyond the end of a partition."""
    position = view.position(reader, partition)
    return all_of(position >= 0, position <= view.log_end(partition))


def received_was_committed(view: TransactionLemmaView, reader: Term, txn: Term, partition: Term, batch: Term) -> Term:
    """What a reader of committed data has received was committed when it was given, and nothing undoes that."""
    return received_is_committed(view, reader, txn, partition, batch)


def passed_was_decided(view: TransactionLemmaView, reader: Term, txn: Term, partition: Term, batch: Term) -> Term:
    """What a reader of committed data has passed was decided by then, and was given to it if it was committed."""
    return no_committed_record_is_skipped(view, reader, txn, partition, batch)
