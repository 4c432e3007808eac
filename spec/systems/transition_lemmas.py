"""Facts of the coordinator's decisions for all inputs: every change of state is an edge of its graph.

The graph is Kafka's (TransactionState.validPreviousStates), and is written here apart from the decisions. A fence is a
state of memory alone: it is left by the abort of what it fences, or for nothing where its record is lost.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, implies, negate
from spec.protocol.completing import expire, fencing_abort, prepare_complete
from spec.protocol.coordinator import BUMPING, TransactionEntry, Transition, is_at_rest, is_fencing, is_in, is_preparing
from spec.protocol.ending import end
from spec.systems.decision_lemmas import Fact
from spec.systems.renaming_lemmas import DECISIONS, RenamedIds, RequestFields
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT, ErrorCode
from spec.vocabulary import TransactionState as State

_AT_REST: Final = frozenset({State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT})

BEFORE: Final[Mapping[State, frozenset[State]]] = MappingProxyType(
    {
        State.EMPTY: _AT_REST,
        State.ONGOING: _AT_REST | {State.ONGOING},
        State.PREPARE_COMMIT: frozenset({State.ONGOING}),
        State.PREPARE_ABORT: frozenset({State.ONGOING}),
        State.COMPLETE_COMMIT: frozenset({State.PREPARE_COMMIT}),
        State.COMPLETE_ABORT: frozenset({State.PREPARE_ABORT}),
        State.DEAD: _AT_REST,
        State.PREPARE_EPOCH_FENCE: frozenset({State.ONGOING}),
    }
)
"""The states that lead to each, under transaction versions 0 and 1."""

ENDS_EMPTY: Final = frozenset({*BEFORE[State.PREPARE_ABORT], *_AT_REST})
"""The states that an abort under version 2 may end: also no open transaction, whose epoch it bumps."""

Move = Callable[[TransactionEntry, RequestFields, RenamedIds, Profile], Transition]
Premise = Callable[[TransactionEntry], Term]


def _ends(entry: TransactionEntry, asking: RequestFields, names: RenamedIds, profile: Profile) -> Transition:
    """Clients ask for a bump where the cluster has version 2."""
    bumps = all_of(asking.bumps, profile.transaction_version >= BUMPING)
    return DECISIONS["ending"](entry, replace(asking, bumps=bumps), names, profile)


def _aborts(entry: TransactionEntry, asking: RequestFields, names: RenamedIds, profile: Profile) -> Transition:
    return end(entry, fencing_abort(entry, names.fresh, 0, profile), profile)


def _completes(entry: TransactionEntry, asking: RequestFields, names: RenamedIds, profile: Profile) -> Transition:
    return prepare_complete(entry, 0, profile)


def _expires(entry: TransactionEntry, asking: RequestFields, names: RenamedIds, profile: Profile) -> Transition:
    return expire(entry)


def _any(entry: TransactionEntry) -> Term:
    return True


MOVES: Final[Mapping[str, tuple[Move, Premise]]] = MappingProxyType(
    {
        "initializing": (DECISIONS["initializing"], _any),
        "registering": (DECISIONS["registering"], _any),
        "ending": (_ends, _any),
        "aborting": (_aborts, is_fencing),
        "completing": (_completes, is_preparing),
        "expiring": (_expires, is_at_rest),
    }
)
"""Every decision that moves a transactional id, and when the coordinator takes it by itself."""


def moves_along_an_edge(
    move: Move, premise: Premise, profile: Profile, entry: TransactionEntry, asking: RequestFields, names: RenamedIds
) -> Term:
    """A record that is appended leads along an edge; without one the state stays, and memory at most begins a fence.

    Or it waits for ever, under version 0, for the record of an edge that has no place for the client's version.

    Args:
        move: the decision: from what it is asked with to the state after.
        premise: what is asked of its inputs, beside being possible.
        profile: the release whose behaviours the decision reads.
        entry: the partition's state of the batch's producer.
        asking: everything that the decision is asked with.
        names: the producer ids that it may read and write.
    """
    decided = move(entry, asking, names, profile)
    pending, before = decided.entry.pending, entry.pending
    fences = all_of(pending == State.PREPARE_EPOCH_FENCE.value, is_in(entry, *BEFORE[State.PREPARE_EPOCH_FENCE]))
    over = all_of(is_fencing(entry), pending == ABSENT)
    unwritable = all_of(profile.transaction_version == 0, decided.error == ErrorCode.UNSUPPORTED_VERSION.value)
    waits = all_of(unwritable, _is_edge(pending, entry, profile))
    stays = all_of(decided.entry.state == entry.state, any_of(pending == before, fences, over, waits))
    target = decided.target.state
    leads = all_of(decided.entry.state == entry.state, pending == target, _is_edge(target, entry, profile))
    kept = all_of(implies(decided.appends, leads), implies(negate(decided.appends), stays))
    return implies(all_of(is_of_a_state(entry), premise(entry)), kept)


def is_of_a_state(entry: TransactionEntry) -> Term:
    """Memory is of a durable state, an unknown id is empty, and a fenced transaction is open."""
    durable = is_in(entry, *(state for state in State if state not in (State.DEAD, State.PREPARE_EPOCH_FENCE)))
    unknown = all_of(is_in(entry, State.EMPTY), entry.pending == ABSENT)
    return all_of(
        durable, implies(negate(entry.known), unknown), implies(is_fencing(entry), is_in(entry, State.ONGOING))
    )


def _is_edge(target: Term, entry: TransactionEntry, profile: Profile) -> Term:
    ends_empty = profile.transaction_version >= BUMPING
    before = {**BEFORE, State.PREPARE_ABORT: ENDS_EMPTY} if ends_empty else BEFORE
    return any_of(*(all_of(target == to.value, is_in(entry, *since)) for to, since in before.items()))


def transition_facts(profile: Profile = NEWEST) -> tuple[Fact, ...]:
    """One for each decision that moves an id, under each transaction version."""
    return tuple(
        fact(f"{name}_moves_along_an_edge[version {version}]", move, premise, profile.under(version))
        for name, (move, premise) in MOVES.items()
        for version in (0, 1, 2)
    )


def fact(name: str, move: Move, premise: Premise, profile: Profile) -> Fact:
    """That one decision moves along the edges.

    Args:
        name: of the fact.
        move: the decision: from what it is asked with to the state after.
        premise: what is asked of its inputs, beside being possible.
        profile: the release whose behaviours the decision reads.
    """
    return Fact(
        name,
        rules.TXN_LEGAL_TRANSITION,
        str(moves_along_an_edge.__doc__),
        (("entry", TransactionEntry), ("asking", RequestFields), ("names", RenamedIds)),
        partial(moves_along_an_edge, move, premise, profile),
    )


def broken_transition_facts() -> tuple[Fact, ...]:
    """A transaction that completes although nothing was prepared: some input must refute it."""
    return (fact("completes what is not prepared", _completes, _any, NEWEST),)
