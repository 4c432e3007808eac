"""Claims about readers in every reachable state."""

from collections.abc import Callable
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, choose, implies, negate
from spec.rules import Rule
from spec.systems.language import Sort, given
from spec.systems.transactions.view import TransactionsView
from spec.systems.transactions.world import BATCH, COMMIT, DECIDED, PARTITION, READ_COMMITTED, READER, TRANSACTION


def reads_committed(view: TransactionsView, reader: Term, txn: Term, partition: Term, batch: Term) -> Term:
    """The reader is one of committed data, and was given the batch."""
    return all_of(reader == READ_COMMITTED, view.received(reader, txn, partition, batch))


def has_passed(view: TransactionsView, reader: Term, txn: Term, partition: Term, batch: Term) -> Term:
    """The reader is one of committed data, and has the batch behind it."""
    offset = view.offset(txn, partition, batch)
    return all_of(reader == READ_COMMITTED, offset >= 0, offset < view.position(reader, partition))


def received_is_committed(view: TransactionsView, reader: Term, txn: Term, partition: Term, batch: Term) -> Term:
    """What a reader of committed data has received is in the log and committed, and stays so."""
    where = view.data(txn, partition, batch)
    received = reads_committed(view, reader, txn, partition, batch)
    return given(received, lambda: all_of(where >= DECIDED, view.commits(where - DECIDED)))


def no_committed_record_is_skipped(
    view: TransactionsView, reader: Term, txn: Term, partition: Term, batch: Term
) -> Term:
    """Behind a reader of committed data everything is decided, and it has received all that is committed."""
    at, where = (reader, txn, partition, batch), view.data(txn, partition, batch)

    def all_of_it() -> Term:
        return all_of(where >= DECIDED, implies(view.commits(where - DECIDED), view.received(*at)))

    return given(has_passed(view, *at), all_of_it)


def reader_sees_no_half(view: TransactionsView, reader: Term, txn: Term, p: Term, b: Term, q: Term, c: Term) -> Term:
    """Where such a reader has a batch of a transaction, nothing of that is aborted, on any partition."""
    other = view.data(txn, q, c)
    both = all_of(reads_committed(view, reader, txn, p, b), other >= DECIDED)
    return given(both, lambda: view.commits(other - DECIDED))


def reader_sees_what_the_client_was_reported(
    view: TransactionsView, reader: Term, txn: Term, partition: Term, batch: Term
) -> Term:
    """Abort was answered OK: such a reader has nothing. Commit was: it has every acknowledged batch it has passed."""
    at = (reader, txn, partition, batch)

    def true() -> Term:
        passed = all_of(view.acknowledged(txn, partition, batch), has_passed(view, *at))
        has = reads_committed(view, *at)
        return choose(view.end_sent(txn) == COMMIT, implies(passed, has), negate(has))

    return given(all_of(view.ended(txn), view.requested_end(txn)), true)


_SEEN = (READER, TRANSACTION, PARTITION, BATCH)

OF_READERS: Final[tuple[tuple[Callable[..., Term], Rule, tuple[Sort, ...]], ...]] = (
    (received_is_committed, rules.LSO_READ_COMMITTED, _SEEN),
    (no_committed_record_is_skipped, rules.LSO_DECIDED_BELOW, _SEEN),
    (reader_sees_no_half, rules.TXN_ATOMIC, (*_SEEN, PARTITION, BATCH)),
    (reader_sees_what_the_client_was_reported, rules.TXN_CLIENT_VERDICT, _SEEN),
)
"""Each claim, its rule, and what it speaks of."""
