"""Facts of the coordinator's decisions for all inputs: states follow edges, and producer ids are only names.

Because ids are only names, a proof may draw them in order: any run in which each drawn id is new is, under other names,
a run in which each drawn id is larger than those before it.

The graph of states is Kafka's (TransactionState.validPreviousStates), and is written here independently of the
decisions. A fence is a state of memory alone. It ends with the abort of the transaction that it fences, or without
effect if the record of that abort is lost.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import combinations
from types import MappingProxyType
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, implies, negate, same
from spec.protocol import completing, ending, ids, registering
from spec.protocol.completing import expire, fencing_abort, prepare_complete
from spec.protocol.coordinator import BUMPING, TransactionEntry, Transition, is_at_rest, is_fencing, is_in, is_preparing
from spec.protocol.ending import EndRequest, end
from spec.protocol.ids import InitRequest
from spec.protocol.registering import AddRequest
from spec.systems.decision_lemmas import Fact
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT, ErrorCode
from spec.vocabulary import TransactionState as State

# --- producer ids are only names --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RenamedIds:
    """The producer ids of a decision: three that the coordinator knows, the request's, and the next one to be drawn."""

    held: Term = 0
    previous: Term = 0
    following: Term = 0
    requested: Term = 0
    fresh: Term = 0

    @property
    def all(self) -> tuple[Term, ...]:
        """Each of them, in order."""
        return (self.held, self.previous, self.following, self.requested, self.fresh)


@dataclass(frozen=True, slots=True)
class RequestFields:
    """The other fields of a request, of whichever kind it is."""

    producer_epoch: Term = 0
    commits: Term = False
    bumps: Term = False
    by_client: Term = True
    all_registered: Term = False
    verify_only: Term = False
    timeout: Term = 1


Decide = Callable[[TransactionEntry, RequestFields, RenamedIds, Profile], Transition]


def _initialize(entry: TransactionEntry, asking: RequestFields, names: RenamedIds, profile: Profile) -> Transition:
    request = InitRequest(
        asking.timeout, names.fresh, producer_id=names.requested, producer_epoch=asking.producer_epoch
    )
    return ids.initialize(entry, request, profile)


def _register(entry: TransactionEntry, asking: RequestFields, names: RenamedIds, profile: Profile) -> Transition:
    request = AddRequest(
        names.requested, asking.producer_epoch, asking.all_registered, client_version=2, verify_only=asking.verify_only
    )
    return registering.register(entry, request, profile)


def _end(entry: TransactionEntry, asking: RequestFields, names: RenamedIds, profile: Profile) -> Transition:
    request = EndRequest(
        names.requested,
        asking.producer_epoch,
        asking.commits,
        asking.bumps,
        fresh_producer_id=names.fresh,
        by_client=asking.by_client,
    )
    return ending.end(entry, request, profile)


def _complete(entry: TransactionEntry, asking: RequestFields, names: RenamedIds, profile: Profile) -> Transition:
    return completing.prepare_complete(entry, 0, profile)


DECISIONS: Final[dict[str, Decide]] = {
    "initializing": _initialize,
    "registering": _register,
    "ending": _end,
    "completing": _complete,
}
"""Every decision that reads or writes a producer id."""

_IDS: Final = ("producer_id", "previous_producer_id", "next_producer_id")


def decides_alike(
    decide: Decide,
    profile: Profile,
    entry: TransactionEntry,
    asking: RequestFields,
    names: RenamedIds,
    others: RenamedIds,
) -> Term:
    """Under other names for the producer ids a decision is the same, and writes the same ids under these names.

    Args:
        decide: the decision, or the step, that the fact is about.
        profile: the release whose behaviours the decision reads.
        entry: the partition's state of the batch's producer.
        asking: everything that the decision is asked with.
        names: the producer ids that it may read and write.
        others: those that stand in their place.
    """
    one = decide(_named(entry, names), asking, names, profile)
    other = decide(_named(entry, others), asking, others, profile)
    alike = all_of(
        one.branch == other.branch,
        one.error == other.error,
        same(one.appends, other.appends),
        _same_entry(one.entry, other.entry, names, others),
        _same_entry(one.target, other.target, names, others),
    )
    return implies(is_renaming(names, others), alike)


def is_renaming(names: RenamedIds, others: RenamedIds) -> Term:
    """Ids that differ have names that differ, and an absent one stays absent; nothing is said of which is larger."""
    pairs = list(zip(names.all, others.all, strict=True))
    return all_of(
        *(any_of(name >= 0, name == ABSENT) for pair in pairs for name in pair),
        *(same(name == ABSENT, other == ABSENT) for name, other in pairs),
        *(same(one[0] == two[0], one[1] == two[1]) for one, two in combinations(pairs, 2)),
    )


def renaming_facts(profile: Profile = NEWEST) -> tuple[Fact, ...]:
    """One for each decision."""
    about = (("entry", TransactionEntry), ("asking", RequestFields), ("names", RenamedIds), ("others", RenamedIds))
    return tuple(
        Fact(
            f"{name}_compares_ids_for_equality",
            rules.IDS_IDENTITY_NEVER_REPEATS,
            str(decides_alike.__doc__),
            about,
            partial(decides_alike, decide, profile),
        )
        for name, decide in DECISIONS.items()
    )


def _named(entry: TransactionEntry, names: RenamedIds) -> TransactionEntry:
    return replace(entry, producer_id=names.held, previous_producer_id=names.previous, next_producer_id=names.following)


def _same_entry(one: TransactionEntry, other: TransactionEntry, names: RenamedIds, others: RenamedIds) -> Term:
    plain = [each.name for each in fields(TransactionEntry) if each.name not in _IDS]
    return all_of(
        *(_same(getattr(one, name), getattr(other, name)) for name in plain),
        *(_same_id(getattr(one, name), getattr(other, name), names, others) for name in _IDS),
    )


def _same(one: Term, other: Term) -> Term:
    return one == other


def _same_id(one: Term, other: Term, names: RenamedIds, others: RenamedIds) -> Term:
    """Both are absent, or are one of the ids under its two names."""
    pairs = zip(names.all, others.all, strict=True)
    absent = all_of(one == ABSENT, other == ABSENT)
    return any_of(absent, *(all_of(one == name, other == renamed) for name, renamed in pairs))


_AT_REST: Final = frozenset({State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT})


# --- states follow edges ----------------------------------------------------------------------------------------------


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
