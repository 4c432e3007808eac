"""Claims about the offsets that transactions commit, in every reachable state.

Arguments:
    other: another partition of the transaction.
"""

from collections.abc import Callable
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, implies, negate
from spec.protocol.offsets import fetch
from spec.rules import Rule
from spec.systems.language import Sort, given
from spec.systems.links import is_of_its_generation, is_withheld
from spec.systems.transactions.view import TransactionsView
from spec.systems.transactions.world import ABORT, BATCH, DECIDED, OFFSETS, OPEN, PARTITION, TRANSACTION


def is_committed(view: TransactionsView, txn: Term, partition: Term, batch: Term) -> Term:
    """The batch is in the log and committed."""
    where = view.data(txn, partition, batch)
    return all_of(where >= DECIDED, view.commits(where - DECIDED))


def is_own_offset(view: TransactionsView, partition: Term) -> Term:
    """The group has an offset, and it is of this transactional id."""
    visible = view.group_offset(partition)
    return all_of(visible.present, negate(view.is_of_other_id(partition, visible.recorded_at)))


def offset_is_of_committed(view: TransactionsView, partition: Term) -> Term:
    """The group's offset is of a committed transaction, and of none whose client got an abort as its outcome."""
    txn = view.group_offset(partition).offset

    def committed() -> Term:
        reported = all_of(view.ended(txn), view.end_sent(txn) == ABORT)
        return all_of(is_committed(view, txn, partition, 0), negate(reported))

    return given(is_own_offset(view, partition), committed)


def offsets_come_with_outputs(view: TransactionsView, partition: Term, other: Term, batch: Term) -> Term:
    """Of the transaction whose offset is the group's, nothing is aborted on any partition."""
    where = view.data(view.group_offset(partition).offset, other, batch)
    return given(all_of(is_own_offset(view, partition), where >= DECIDED), lambda: view.commits(where - DECIDED))


def outputs_come_with_offsets(view: TransactionsView, txn: Term, partition: Term, other: Term, batch: Term) -> Term:
    """Where anything of a transaction is committed, its offset is the group's once decided, or a later one is."""
    decided = all_of(view.kind(partition) == OFFSETS, view.data(txn, partition, 0) >= DECIDED)
    both = all_of(decided, is_committed(view, txn, other, batch))
    return implies(both, view.group_offset(partition).recorded_at >= view.offset(txn, partition, 0))


def commit_is_of_its_generation(view: TransactionsView, txn: Term, partition: Term) -> Term:
    """Offsets go to the log only while the generation that they name is the group's."""
    return is_of_its_generation(view.committed_in(txn, partition), view.named(txn, partition))


def stable_fetch_waits(view: TransactionsView, txn: Term, partition: Term, batch: Term) -> Term:
    """While offsets of a transaction are in the log and undecided, a stable fetch returns an error and no offset."""
    is_open = all_of(view.kind(partition) == OFFSETS, view.data(txn, partition, batch) == OPEN)

    def waits() -> Term:
        pending = view.pending(view.producer(view.who(txn)), partition)
        reported = fetch(view.group_offset(partition), pending.present, stable=True, without=view.knobs.without)
        return is_withheld(is_open, reported)

    return given(is_open, waits)


OF_GROUPS: Final[tuple[tuple[Callable[..., Term], Rule, tuple[Sort, ...]], ...]] = (
    (offset_is_of_committed, rules.OFFSETS_ATOMIC, (PARTITION,)),
    (offsets_come_with_outputs, rules.OFFSETS_ATOMIC, (PARTITION, PARTITION, BATCH)),
    (outputs_come_with_offsets, rules.OFFSETS_ATOMIC, (TRANSACTION, PARTITION, PARTITION, BATCH)),
    (commit_is_of_its_generation, rules.OFFSETS_GENERATION_FENCE, (TRANSACTION, PARTITION)),
    (stable_fetch_waits, rules.OFFSETS_STABLE_FETCH, (TRANSACTION, PARTITION, BATCH)),
)
"""Each claim, its rule, and what it speaks of."""
