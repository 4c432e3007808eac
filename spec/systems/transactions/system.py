"""The transactions of one transactional id as one system: state, actions, claims, goals and assumptions."""

from collections.abc import Callable
from typing import Final

from spec.algebra import Term, all_of
from spec.systems.language import Goal, Sort, State, System
from spec.systems.transactions.claims import Claims
from spec.systems.transactions.clients import Clients
from spec.systems.transactions.coordinators import Coordinators
from spec.systems.transactions.groups import Groups
from spec.systems.transactions.leaders import Leaders
from spec.systems.transactions.reader_claims import has_passed
from spec.systems.transactions.readers import Readers
from spec.systems.transactions.taking import Decisions, decisions
from spec.systems.transactions.view import View
from spec.systems.transactions.world import (
    BATCH,
    DECIDED,
    INSTANCE,
    OPEN,
    PARTITION,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    TRANSACTION,
    Knobs,
    derived,
    variables,
)

ASSUMPTIONS: Final = (
    "A1 acks=all and clean elections: what is in a partition's log or the coordinator's stays there",
    "A2 producer state is retained as long as the log, within one epoch the last batch",
    "A3 a leader handles one copy of a batch at a time, and takes it for new as long as it has not answered",
    "A4 a client sends its batches in order, and commits only what is acknowledged; what it aborts it may give up",
    "A5 instances are numbered as they are given their identities; a client bumps its own outside transactions, and"
    " this request comes before its answer does, and before a later instance has an identity",
    "A6 before version 2, requests and markers arrive while their transaction is on; no batch overtakes the first one",
    "A7 a repeated marker may take a later transaction's guard away: a batch is then refused, and nothing else",
    "A8 a group has one offset and one member that comes back in each generation; its coordinator takes a marker over"
    " before it answers, and keeps what it knows as long as its log",
    "A12 readers know which batches are open and which are aborted (shown apart, in the system of one partition)",
)

TRUE_SYSTEM: Final = Knobs()
"""As the newest release has it, in the smallest instance."""


def committed_after_another(view: View, txn: Term, partition: Term, batch: Term) -> Term:
    """A transaction is committed that is not the first one."""
    where = view.data(txn, partition, batch)
    return all_of(txn > 0, where >= DECIDED, view.commits(where - DECIDED))


def aborted(view: View, txn: Term, partition: Term, batch: Term) -> Term:
    """A batch is aborted."""
    where = view.data(txn, partition, batch)
    return all_of(where >= DECIDED, view.aborts(where - DECIDED))


def open_when_its_end_is_asked_for(view: View, txn: Term, partition: Term, batch: Term) -> Term:
    """Data is open whose end its client has asked for."""
    return all_of(view.data(txn, partition, batch) == OPEN, view.end_sent(txn) >= 0)


def successor_has_transaction(view: View, txn: Term, instance: Term) -> Term:
    """A later instance has a transaction of its own."""
    return all_of(instance > 0, view.owner(txn) == instance)


def aborted_is_read_by_one(view: View, txn: Term, partition: Term, batch: Term) -> Term:
    """A reader of everything has an aborted batch, which one of committed data has passed over."""
    passed = has_passed(view, READ_COMMITTED, txn, partition, batch)
    return all_of(aborted(view, txn, partition, batch), view.received(READ_UNCOMMITTED, txn, partition, batch), passed)


def offset_is_taken_over(view: View, partition: Term) -> Term:
    """A group has the offset of a transaction."""
    return view.group_offset(partition).present


def transactions(knobs: Knobs = TRUE_SYSTEM, taken: Decisions | None = None) -> System:
    """The system with these knobs.

    Args:
        knobs: what is in it, and how many of each its finite instance has.
        taken: the decisions, where they are to be remembered; by default those of the knobs.
    """
    of = taken or decisions(knobs)

    def goal(reached: Callable[..., Term], *over: Sort) -> Goal:
        def holds(state: State, *at: Term) -> Term:
            return reached(View(knobs, of, state), *at)

        return Goal(reached.__name__, str(reached.__doc__), over, holds)

    message = (TRANSACTION, PARTITION, BATCH)
    return System(
        name="transactions",
        variables=variables(knobs),
        actions=tuple(
            action for party in (Clients, Leaders, Groups, Readers, Coordinators) for action in party(knobs, of).all()
        ),
        theorems=Claims(knobs, of).theorems(),
        lemmas=(),
        goals=(
            goal(committed_after_another, *message),
            goal(aborted, *message),
            goal(open_when_its_end_is_asked_for, *message),
            goal(successor_has_transaction, TRANSACTION, INSTANCE),
            *((goal(aborted_is_read_by_one, *message),) * knobs.readers),
            *((goal(offset_is_taken_over, PARTITION),) * knobs.groups),
        ),
        assumptions=ASSUMPTIONS,
        derived=derived(knobs),
    )
