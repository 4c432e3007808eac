"""Facts of the coordinator's decisions for all inputs: producer ids are compared for equality, and for nothing else.

A proof may then draw them in order. Any run in which each drawn id is new is a run in which each is larger than those
before it, under other names.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import combinations
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, implies, same
from spec.protocol import completing, ending, ids, registering
from spec.protocol.coordinator import TransactionEntry, Transition
from spec.protocol.ending import EndRequest
from spec.protocol.ids import InitRequest
from spec.protocol.registering import AddRequest
from spec.systems.decision_lemmas import Fact
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT


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
