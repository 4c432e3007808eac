"""The transactions of one transactional id as one system: state, actions, claims, goals and assumptions."""

from collections.abc import Callable
from typing import Final

from spec.algebra import Term, all_of
from spec.systems import assumptions as assume
from spec.systems.language import Goal, Sort, State, System
from spec.systems.transactions.claims import TransactionClaims, has_passed
from spec.systems.transactions.clients import ClientInstances, OtherIds
from spec.systems.transactions.coordinators import Coordinators
from spec.systems.transactions.decisions import ReleaseDecisions, decisions
from spec.systems.transactions.leaders import Leaders
from spec.systems.transactions.readers import GroupActions, ReaderActions
from spec.systems.transactions.view import TransactionsView
from spec.systems.transactions.world import (
    BATCH,
    DECIDED,
    INSTANCE,
    OPEN,
    PARTITION,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    TRANSACTION,
    TransactionKnobs,
    derived,
    variables,
)

ASSUMPTIONS: Final = (
    assume.NOTHING_IS_LOST,
    assume.PRODUCERS_ARE_REMEMBERED,
    assume.ONE_COPY_AT_A_TIME,
    assume.BATCHES_IN_ORDER,
    assume.IN_ORDER_BEFORE_VERSION_2,
    assume.REPEATED_MARKER_TAKES_A_GUARD,
    assume.MARKERS_ARE_TAKEN_OVER,
    assume.PRODUCER_IDS_ARE_UNIQUE,
    assume.NO_REQUEST_OUTLIVES_A_TURN,
    assume.READERS_KNOW_WHAT_IS_OPEN,
    assume.NO_LATE_BUMP,
    assume.ONE_TRANSACTIONAL_ID,
    assume.ONE_GROUP_MEMBER,
    assume.ONE_COORDINATOR_AT_A_TIME,
    assume.BUMPS_OUTSIDE_TRANSACTIONS,
    assume.COMMITS_ARE_OF_THE_ACKNOWLEDGED,
    assume.INSTANCES_ARE_NUMBERED,
    assume.FIRST_SEEN_FIRST,
)

TRUE_SYSTEM: Final = TransactionKnobs()
"""As the newest release has it, in the smallest instance."""


def committed_after_another(view: TransactionsView, txn: Term, partition: Term, batch: Term) -> Term:
    """A transaction is committed that is not the first one."""
    where = view.data(txn, partition, batch)
    return all_of(txn > 0, where >= DECIDED, view.commits(where - DECIDED))


def aborted(view: TransactionsView, txn: Term, partition: Term, batch: Term) -> Term:
    """A batch is aborted."""
    where = view.data(txn, partition, batch)
    return all_of(where >= DECIDED, view.aborts(where - DECIDED))


def open_when_end_is_requested(view: TransactionsView, txn: Term, partition: Term, batch: Term) -> Term:
    """Data is open whose end its client has asked for."""
    return all_of(view.data(txn, partition, batch) == OPEN, view.end_sent(txn) >= 0)


def successor_has_transaction(view: TransactionsView, txn: Term, instance: Term) -> Term:
    """A later instance has a transaction of its own."""
    return all_of(instance > 0, view.owner(txn) == instance)


def aborted_is_read_by_one(view: TransactionsView, txn: Term, partition: Term, batch: Term) -> Term:
    """A reader of everything has an aborted batch, which one of committed data has passed over."""
    passed = has_passed(view, READ_COMMITTED, txn, partition, batch)
    return all_of(aborted(view, txn, partition, batch), view.received(READ_UNCOMMITTED, txn, partition, batch), passed)


def offset_is_taken_over(view: TransactionsView, partition: Term) -> Term:
    """A group has the offset of a transaction."""
    return view.group_offset(partition).present


def transactions(knobs: TransactionKnobs = TRUE_SYSTEM, taken: ReleaseDecisions | None = None) -> System:
    """The system with these knobs.

    Args:
        knobs: what is in it, and how many of each its finite instance has.
        taken: the decisions, where they are to be remembered; by default those of the knobs.
    """
    of = taken or decisions(knobs)

    def goal(reached: Callable[..., Term], *over: Sort) -> Goal:
        def holds(state: State, *at: Term) -> Term:
            return reached(TransactionsView(knobs, of, state), *at)

        return Goal(reached.__name__, str(reached.__doc__), over, holds)

    message = (TRANSACTION, PARTITION, BATCH)
    return System(
        name="transactions",
        variables=variables(knobs),
        actions=tuple(
            action
            for party in (ClientInstances, Leaders, GroupActions, ReaderActions, Coordinators, OtherIds)
            for action in party(knobs, of).all()
        ),
        theorems=TransactionClaims(knobs, of).theorems(),
        lemmas=(),
        goals=(
            goal(committed_after_another, *message),
            goal(aborted, *message),
            goal(open_when_end_is_requested, *message),
            goal(successor_has_transaction, TRANSACTION, INSTANCE),
            *((goal(aborted_is_read_by_one, *message),) * knobs.readers),
            *((goal(offset_is_taken_over, PARTITION),) * knobs.groups),
        ),
        assumptions=ASSUMPTIONS,
        derived=derived(knobs),
    )
