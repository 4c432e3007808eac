"""A proposed change of the protocol: other behaviours, decisions, actions or claims than the newest release has.

A variant is written once and read as every system is: proved without bounds, and searched in finite instances. Its
facts, for all inputs, are those of its profile, and those of the coordinator's decisions as the variant has them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate
from spec.protocol.coordinator import TransactionEntry, Transition, choose_entry
from spec.protocol.ending import EndRequest, keeps_outcome
from spec.protocol.ids import InitRequest
from spec.protocol.registering import AddRequest
from spec.rules import Rule
from spec.systems.append_lemmas import append_facts_of
from spec.systems.assumptions import Assumption
from spec.systems.coordinator_decision_lemmas import Move, RenamedIds, RequestFields, fact, is_of_a_state
from spec.systems.decision_lemmas import Fact
from spec.systems.language import Action, Claim, Effect, Function, Guard, Sort, State, System, Variable
from spec.systems.step_lemmas import step_facts_of
from spec.systems.transactions.broken import quiet
from spec.systems.transactions.decisions import ReleaseDecisions, decisions
from spec.systems.transactions.known import TransactionLemmaView
from spec.systems.transactions.proof import ONE_ID, lemmas, proved
from spec.systems.transactions.system import transactions
from spec.systems.transactions.world import Bounds, TransactionKnobs
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT, ErrorCode

OfKnobs: TypeAlias = Callable[[TransactionKnobs], TransactionKnobs]
OfDecisions: TypeAlias = Callable[[ReleaseDecisions, Profile], ReleaseDecisions]
OfSystem: TypeAlias = Callable[[System, "VariantView"], System]


@dataclass(frozen=True, slots=True)
class VariantView:
    """The words of the protocol and of the lemmas for a state, with the variant's own decisions."""

    knobs: TransactionKnobs
    taken: ReleaseDecisions

    def __call__(self, state: State) -> TransactionLemmaView:
        """The state in these words."""
        return TransactionLemmaView(self.knobs, self.taken, state)


def same_knobs(knobs: TransactionKnobs) -> TransactionKnobs:
    """What may happen is unchanged."""
    return knobs


def same_decisions(taken: ReleaseDecisions, _: Profile) -> ReleaseDecisions:
    """Every decision is the release's."""
    return taken


def same_system(system: System, _: VariantView) -> System:
    """Actions and claims are those of the release."""
    return system


@dataclass(frozen=True, slots=True)
class VariantInstance:
    """A finite instance that a variant is searched in.

    Attributes:
        knobs: of the newest release, before the variant changes them.
        mends: name of a claim that is violated there without the variant; empty where none has to be.
    """

    name: str
    knobs: TransactionKnobs
    mends: str = ""


USUAL: Final = (
    VariantInstance("two transactions", quiet(NEWEST)),
    VariantInstance("timeouts, and leaders that fail", quiet(NEWEST, times_out=True, leaders_fail=True)),
    VariantInstance(
        "coordinators that fail", quiet(NEWEST, appends_fail=True, bounds=Bounds(transactions=1, coordinators=2))
    ),
)
"""Small instances of the newest release that every variant is searched in, unless it names others."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A change of the transactions of the newest release.

    Attributes:
        name: its name in reports.
        sentence: the change, in one sentence.
        source: where the proposal is from.
        behaviours: behaviours of the profile that are different, by name.
        decisions: the variant's decisions, from the release's decisions and its profile.
        knobs: what may happen in it, from what may happen in the release; of the proof and of each instance.
        system: from the release's system, and the words for a state, to the variant's; its lemmas included, if it
            has any: in an instance without lemmas they are dropped again.
        proves: names of theorems that are searched of the release, and are to be proved of the variant.
        lifts: assumptions of the release's proof that the variant does without.
        spared_by: names of controls that break the release and not the variant: it mends them, or nothing of the kind
            can happen in it.
        instances: where it is searched and compared with `before`.
        before: what it is compared with; without one the newest release as it is.
    """

    name: str
    sentence: str
    source: tuple[str, ...] = ()
    behaviours: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    decisions: OfDecisions = same_decisions
    knobs: OfKnobs = same_knobs
    system: OfSystem = same_system
    proves: frozenset[str] = frozenset()
    lifts: tuple[Assumption, ...] = ()
    spared_by: frozenset[str] = frozenset()
    instances: tuple[VariantInstance, ...] = USUAL
    before: "Variant | None" = None

    def under(self, knobs: TransactionKnobs) -> TransactionKnobs:
        """What may happen in the variant, from what may happen in a release."""
        return self.knobs(replace(knobs, profile=replace(knobs.profile, **self.behaviours)))

    def taken(self, knobs: TransactionKnobs) -> ReleaseDecisions:
        """The decisions of the variant."""
        changed = self.under(knobs)
        return self.decisions(decisions(changed), changed.profile)

    def searched(self, knobs: TransactionKnobs, taken: ReleaseDecisions | None = None) -> System:
        """The system to be searched with these knobs of a release, with lemmas, if there are any for its version.

        Args:
            knobs: of the release.
            taken: the variant's decisions, if they are to be cached.
        """
        changed, of = self.under(knobs), taken or self.taken(knobs)
        system = replace(transactions(changed, of), lemmas=lemmas(changed, of))
        return self.system(system, VariantView(changed, of))

    def proved(self, knobs: TransactionKnobs = ONE_ID) -> System:
        """The system to be proved: without bounds, if the knobs have none."""
        changed, of = self.under(knobs), self.taken(knobs)
        system = proved(changed, of)
        known = {claim.name for claim in system.theorems}
        searched = transactions(changed, of).theorems
        added = tuple(claim for claim in searched if claim.name in self.proves - known)
        assumed = tuple(each for each in system.assumptions if each not in self.lifts)
        whole = replace(system, theorems=system.theorems + added, assumptions=assumed)
        return self.system(whole, VariantView(changed, of))


NEWEST_RELEASE: Final = Variant(NEWEST.name, "The newest release, as it is.")
"""What a variant is compared with, unless it names something else."""


# --- parts of a change ------------------------------------------------------------------------------------------------


def refused(entry: TransactionEntry, transition: Transition, where: Term, error: ErrorCode) -> Transition:
    """A decision that answers with an error, and changes nothing, where a fact holds.

    What waits for a transition under way is answered as before.

    Args:
        entry: what the coordinator knows before.
        transition: the decision as the release takes it.
        where: the fact.
        error: the answer where it holds.
    """
    applies = all_of(where, entry.pending == ABSENT)
    return replace(
        transition,
        error=choose(applies, error.value, transition.error),
        appends=all_of(transition.appends, negate(applies)),
        entry=choose_entry(applies, entry, transition.entry),
        target=choose_entry(applies, entry, transition.target),
    )


def with_action(system: System, name: str, **changed: Any) -> System:
    """The system with one action that has another guard, effect, or is dormant.

    Raises:
        KeyError: the system has no action of this name.
    """
    action = replace(system.action(name), **changed)
    return replace(system, actions=tuple(action if each.name == name else each for each in system.actions))


def guarded(system: System, name: str, more: Guard) -> System:
    """The system with one action that may happen only under further facts; as it is if it has no such action."""
    if name not in {action.name for action in system.actions}:
        return system
    before = system.action(name)

    def guard(state: State, *at: Term) -> Any:
        yield from before.guard(state, *at)
        yield from more(state, *at)

    return with_action(system, name, guard=guard)


def followed(system: System, name: str, then: Effect) -> System:
    """The system with one action that changes more; as it is if it has no such action.

    Args:
        system: of the release.
        name: of the action.
        then: from the state before, the state after, and the arguments to the state after that.
    """
    if name not in {action.name for action in system.actions}:
        return system
    before = system.action(name)
    return with_action(system, name, effect=lambda state, *at: then(state, before.effect(state, *at), *at))


def restated(system: System, name: str, unless: Function) -> System:
    """The system with one claim, theorem or lemma, that says nothing where a fact holds; as it is without that claim.

    Args:
        system: of the release.
        name: of the claim.
        unless: from the state and the claim's arguments to the fact.
    """

    def weaker(claim: Claim) -> Claim:
        if claim.name != name:
            return claim
        return replace(claim, holds=lambda state, *at: any_of(unless(state, *at), claim.holds(state, *at)))

    theorems, lemmas_of = (tuple(map(weaker, claims)) for claims in (system.theorems, system.lemmas))
    return replace(system, theorems=theorems, lemmas=lemmas_of)


def without_action(system: System, *names: str) -> System:
    """The system without some actions."""
    return replace(system, actions=tuple(action for action in system.actions if action.name not in names))


def with_more(
    system: System,
    variables: Iterable[Variable] = (),
    actions: Iterable[Action] = (),
    theorems: Iterable[Claim] = (),
    lemmas: Iterable[Claim] = (),
) -> System:
    """The system with more functions of its state, actions, theorems and lemmas.

    Args:
        system: as it is.
        variables: more functions of its state.
        actions: more actions.
        theorems: more claims that rules make.
        lemmas: more claims that make theorems inductive.
    """
    return replace(
        system,
        variables=(*system.variables, *variables),
        actions=(*system.actions, *actions),
        theorems=(*system.theorems, *theorems),
        lemmas=(*system.lemmas, *lemmas),
    )


def claimed(sentence: Callable[..., Term], rule: Rule, view: VariantView, *over: Sort) -> Claim:
    """The claim that a function of a view and arguments makes; its name and its sentence are those of the function."""
    return Claim(sentence.__name__, rule, str(sentence.__doc__), over, lambda state, *at: sentence(view(state), *at))


def facts_of(variant: Variant) -> Iterator[Fact]:
    """The facts of the variant's profile, and of the coordinator's decisions as the variant takes them."""
    profile = variant.under(TransactionKnobs(profile=NEWEST)).profile
    yield from step_facts_of(profile)
    yield from append_facts_of(profile)
    for version in (1, 2):
        taken = variant.taken(TransactionKnobs(profile=NEWEST.under(version)))
        yield from _of_decisions(taken, profile.under(version))


def _of_decisions(taken: ReleaseDecisions, profile: Profile) -> Iterator[Fact]:
    for name, move in _moves(taken).items():
        of = f"[{profile.name}, version {profile.transaction_version}]"
        edge = fact(f"{name}_moves_along_an_edge{of}", move, _any, profile)
        yield edge
        kept = partial(outcome_is_kept, move, profile)
        yield replace(edge, name=f"{name}_keeps_the_outcome{of}", rule=rules.TXN_ONE_OUTCOME, holds=kept)


def outcome_is_kept(
    move: Move, profile: Profile, entry: TransactionEntry, asking: RequestFields, names: RenamedIds
) -> Term:
    """From Prepare on, neither memory nor the record has another outcome.

    Args:
        move: the decision: from what it is asked with to the state after.
        profile: the release whose behaviours the decision reads.
        entry: what the coordinator knows before.
        asking: everything that the decision is asked with.
        names: the producer ids that it may read and write.
    """
    decided = move(entry, asking, names, profile)
    return implies(is_of_a_state(entry), keeps_outcome(entry, decided.target))


def _any(_: TransactionEntry) -> Term:
    return True


def _moves(taken: ReleaseDecisions) -> dict[str, Move]:
    def initializing(entry: TransactionEntry, asking: RequestFields, names: RenamedIds, _: Profile) -> Transition:
        request = InitRequest(
            asking.timeout, names.fresh, producer_id=names.requested, producer_epoch=asking.producer_epoch
        )
        return taken.initialize(entry, request)

    def registering(entry: TransactionEntry, asking: RequestFields, names: RenamedIds, _: Profile) -> Transition:
        joined, epoch = asking.all_registered, asking.producer_epoch
        request = AddRequest(names.requested, epoch, joined, client_version=2, verify_only=asking.verify_only)
        return taken.register(entry, request)

    def ending(entry: TransactionEntry, asking: RequestFields, names: RenamedIds, profile: Profile) -> Transition:
        bumps = asking.bumps if profile.transaction_version >= NEWEST.transaction_version else False
        request = EndRequest(
            names.requested, asking.producer_epoch, asking.commits, bumps, names.fresh, by_client=asking.by_client
        )
        return taken.end(entry, request)

    return {"initializing": initializing, "registering": registering, "ending": ending}
