"""Liveness: prepared transactions complete, timed-out ones are aborted, fenced clients get their error.

Faults happen finitely often: failovers, leaders that forget, and records that are lost. Markers are written as long
as they are due, coordinators do what they are about to do; clients need not do anything.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, negate
from spec.protocol.coordinator import is_fencing, is_in
from spec.rules import Rule
from spec.systems.language import Action, Function, LivenessClaim, Sort, State, System
from spec.systems.transactions.decisions import ReleaseDecisions
from spec.systems.transactions.view import Guard, TransactionsView
from spec.systems.transactions.world import COORDINATOR, DECISION, DURABLE, PARTITION, TRANSACTION, TransactionKnobs
from spec.vocabulary import ErrorCode, TransactionState

FAIR: Final = frozenset(
    {
        "leader_writes_marker",
        "leader_refuses_marker",
        "coordinator_completes",
        "coordinator_aborts",
        "transaction_times_out",
    }
)
"""Who acts as long as there is something to do; a transaction that stays open times out."""

FAULTS: Final = frozenset({"coordinator_fails_over", "leader_fails_over", "leader_forgets"})

LUCKY: Final = frozenset(
    {
        "coordinator_initializes",
        "coordinator_bumps",
        "coordinator_aborts",
        "coordinator_adds",
        "coordinator_verifies",
        "coordinator_ends",
    }
)
"""Actions that append to the coordinator's log; their last argument is the fate of the record."""

REFUSED: Final = (
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.INVALID_TXN_STATE,
)
"""The errors of a fenced client, after which it stops."""


def is_fault(action: str, at: tuple[int, ...]) -> bool:
    """A failover, or a record that is lost."""
    return action in FAULTS or (action in LUCKY and at[-1] != DURABLE)


def is_carried_out(view: TransactionsView, decision: Term) -> Term:
    """The coordinator has prepared the outcome."""
    return all_of(decision >= 0, view.decision() == decision)


def is_over(view: TransactionsView, decision: Term) -> Term:
    """Every partition has answered, and the transaction is complete."""
    return negate(is_carried_out(view, decision))


def is_ongoing(view: TransactionsView, txn: Term) -> Term:
    """The transaction is open."""
    memory = view.remembers()
    return all_of(view.opened() == txn, any_of(is_in(memory, TransactionState.ONGOING), is_fencing(memory)))


def is_not_ongoing(view: TransactionsView, txn: Term) -> Term:
    """It has been ended."""
    return negate(is_ongoing(view, txn))


def is_fenced(view: TransactionsView, txn: Term) -> Term:
    """A client asks for the end of a transaction that the coordinator is about to abort by itself."""
    mine = all_of(view.opened() == txn, negate(view.ended(txn)))
    return all_of(is_fencing(view.remembers()), mine, view.requested_end(txn))


def is_reported(view: TransactionsView, txn: Term) -> Term:
    """A request that arrives now gets a final answer; that the answer is true is another claim."""
    error = view.end_decided(txn).error
    final = (ErrorCode.NONE, *REFUSED)
    return any_of(view.ended(txn), *(error == code.value for code in final))


def with_refusals(system: System, knobs: TransactionKnobs, of: ReleaseDecisions) -> System:
    """The system, and what changes nothing in it: a marker is refused, and its coordinator sends it again."""

    def is_refused(state: State, decision: Term, coordinator: Term, partition: Term) -> Guard:
        view = TransactionsView(knobs, of, state)
        yield view.decision() == decision
        yield view.coordinator_epoch() == coordinator
        yield view.to_mark(decision, partition)
        yield view.sent_by(decision, coordinator)
        yield negate(view.marker_accepted(decision, coordinator, partition))

    refuses = Action("leader_refuses_marker", (DECISION, COORDINATOR, PARTITION), is_refused, lambda state, *_: state)
    return replace(system, actions=(*system.actions, refuses))


def progress(knobs: TransactionKnobs, of: ReleaseDecisions) -> tuple[LivenessClaim, ...]:
    """What is claimed of every fair run."""

    def claim(
        name: str, rule: Rule, sentence: str, since: Callable[..., Term], until: Callable[..., Term], *over: Sort
    ) -> LivenessClaim:
        seen = partial(_seen, knobs, of)
        return LivenessClaim(name, rule, sentence, over, seen(since), seen(until), FAIR, is_fault)

    claims = (
        claim(
            "prepared_completes",
            rules.TXN_COMPLETES,
            "A transaction whose outcome is prepared completes.",
            is_carried_out,
            is_over,
            DECISION,
        ),
    )
    if not knobs.times_out:
        return claims
    return (
        *claims,
        claim(
            "timed_out_is_ended",
            rules.TXN_TIMEOUT,
            "A transaction that its client leaves open is aborted.",
            is_ongoing,
            is_not_ongoing,
            TRANSACTION,
        ),
        claim(
            "fenced_is_reported",
            rules.FENCE_STALE_EPOCH,
            "A fenced client gets a final answer when it asks for the end of its transaction.",
            is_fenced,
            is_reported,
            TRANSACTION,
        ),
    )


def _seen(knobs: TransactionKnobs, of: ReleaseDecisions, fact: Callable[..., Term]) -> Function:
    def holds(state: State, *at: Term) -> Term:
        return fact(TransactionsView(knobs, of, state), *at)

    return holds
