"""The language of systems: state as functions, actions as guard and effect, claims about all arguments.

A system is written once, over the algebra, and imports no solver. Its state is a set of functions over sorts;
an action says under which facts it may happen and which functions it leaves; a claim is a quantifier-free
sentence about arguments that are all universally quantified. Explicit search reads the functions as tables of
values, bounded search as tables of bit-vectors, induction as uninterpreted functions.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeVar

from spec.algebra import Term, all_of, choose, implies
from spec.protocol.records import build, flatten
from spec.rules import Rule
from spec.systems.assumptions import Assumption

Function: TypeAlias = Callable[..., Term]
"""A function of the state: from arguments to a scalar or a record."""


@dataclass(frozen=True, slots=True)
class Sort:
    """What the arguments of functions range over.

    Attributes:
        name: what one of them is called.
        opaque: only equality is known of it; otherwise it is a whole number.
    """

    name: str
    opaque: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """One function of the state, and the value that it has everywhere at the start."""

    name: str
    over: tuple[Sort, ...]
    initial: Any


@dataclass(frozen=True, slots=True)
class Least:
    """A derived function: the least of the values that are not negative at some points, -1 where there is none.

    Attributes:
        over: the sorts of its own arguments.
        among: the sorts of the points, however many there are.
        value: from the state, its own arguments and a point to a number.
    """

    name: str
    over: tuple[Sort, ...]
    among: tuple[Sort, ...]
    value: Function


NOTHING_DERIVED: Final[Mapping[str, Any]] = MappingProxyType({})


class State:
    """Functions by name; some may be derived from the others, by the maker of the state."""

    def __init__(
        self, functions: Mapping[str, Function], derived: Mapping[str, Callable[["State"], Function]] = NOTHING_DERIVED
    ) -> None:
        self._functions = dict(functions)
        self._derived = derived
        self._worked_out: dict[str, Function] = {}

    def __getattr__(self, name: str) -> Function:
        if name in self._functions:
            return self._functions[name]
        if name in self._derived:
            return self._worked_out.get(name) or self._worked_out.setdefault(name, self._derived[name](self))
        raise AttributeError(f"the state has no function {name!r}")

    @property
    def functions(self) -> Mapping[str, Function]:
        """Those that are not derived, by name."""
        return self._functions

    def but(self, **changed: Function) -> "State":
        """The same state with other functions of these names.

        Raises:
            AttributeError: the state has no function of one of these names.
        """
        strangers = changed.keys() - self._functions.keys()
        if strangers:
            raise AttributeError(f"the state has no function {sorted(strangers)[0]!r}")
        return State(self._functions | changed, self._derived)

    def or_else(self, fact: Term, otherwise: "State") -> "State":
        """This state where a fact holds, another one where it does not."""
        if isinstance(fact, bool):
            return self if fact else otherwise
        theirs = otherwise._functions
        differ = {name: mine for name, mine in self._functions.items() if mine is not theirs[name]}
        return otherwise.but(**{name: _picked(fact, mine, theirs[name]) for name, mine in differ.items()})


def either(fact: Term, then: State, otherwise: State) -> State:
    """One of two states."""
    return then.or_else(fact, otherwise)


def always(value: Term) -> Function:
    """The function that has one value everywhere."""
    return lambda *_: value


def _picked(fact: Term, then: Function, otherwise: Function) -> Function:
    return lambda *at: pick(fact, then(*at), otherwise(*at))


@dataclass(frozen=True, slots=True)
class Updated:
    """A function that has another value at one point."""

    before: Function
    at: tuple[Term, ...]
    value: Term

    def __call__(self, *at: Term) -> Term:
        """The value at one point."""
        here = all_of(*(left == right for left, right in zip(at, self.at, strict=True)))
        return pick(here, self.value, self.before(*at))


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A function that has other values wherever a condition holds."""

    before: Function
    where: Function
    values: Function

    def __call__(self, *at: Term) -> Term:
        """The value at one point."""
        return pick(self.where(*at), self.values(*at), self.before(*at))


def update(function: Function, *at: Term, to: Term) -> Updated:
    """The function with the value `to` at one point."""
    return Updated(function, at, to)


def rewrite(function: Function, where: Function, to: Function) -> Rewritten:
    """The function with the values of `to` wherever `where` holds."""
    return Rewritten(function, where, to)


def pick(fact: Term, then: Term, otherwise: Term) -> Term:
    """One of two scalars, or of two records scalar by scalar."""
    if isinstance(fact, bool) or not is_dataclass(then):
        return choose(fact, then, otherwise)
    left, right = dict(flatten(then)), dict(flatten(otherwise))
    return build(type(then), lambda name: choose(fact, left[name], right[name]))


def given(premise: Term, conclusion: Callable[[], Term]) -> Term:
    """The premise implies the conclusion, which is looked at only where the premise may hold."""
    return True if premise is False else implies(premise, conclusion())


def both(fact: Term, other: Callable[[], Term]) -> Term:
    """Two facts hold, the second of which is looked at only where the first may hold."""
    return False if fact is False else all_of(fact, other())


Thing = TypeVar("Thing")

Guard: TypeAlias = Callable[..., Iterator[Term]]
"""From the state and arguments to the facts under which the action may happen, the cheapest first."""

Effect: TypeAlias = Callable[..., State]
"""From the state and arguments to the state afterwards."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that may happen.

    Attributes:
        name: actor and deed.
        over: the sorts of its arguments.
        guard: when it may happen.
        effect: what is different afterwards.
        dormant: it is here to make a defect do harm; in the true system it can never happen, and that is proved.
    """

    name: str
    over: tuple[Sort, ...]
    guard: Guard
    effect: Effect
    dormant: bool = False

    def enabled(self, state: State, *at: Term) -> Term:
        """Whether the action may happen, as one fact."""
        return all_of(*self.guard(state, *at))


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence about every reachable state: a theorem, or a lemma that helps to prove one.

    Attributes:
        name: what it is called in reports.
        rule: whose it is.
        sentence: the claim in one sentence.
        over: the sorts of the arguments that it speaks of; it is meant for all of them.
        holds: from the state and arguments to whether it holds.
        rests_on: names of the lemmas with which its proof is tried first, before all of them are.
        at_sight_of: from the state and arguments to groups of terms; a proof uses the claim where it meets all of one
            group. By default a group is chosen from what the claim says.
    """

    name: str
    rule: Rule
    sentence: str
    over: tuple[Sort, ...]
    holds: Function
    rests_on: frozenset[str] = frozenset()
    at_sight_of: Function | None = None


@dataclass(frozen=True, slots=True)
class StepLemma:
    """A sentence about every step of one action, from any state, reachable or not.

    Attributes:
        name: what it is called in reports.
        rule: whose it is.
        sentence: the lemma in one sentence.
        action: what happens; it may be composed of two actions of the system, one after the other.
        over: the sorts of the arguments that it has besides those of the action.
        given: lemmas of the system that it takes for granted before the step, each with the places of its arguments.
        holds: from the state before, the state after and all arguments to whether it holds.
    """

    name: str
    rule: Rule
    sentence: str
    action: Action
    over: tuple[Sort, ...]
    given: tuple[tuple[str, tuple[int, ...]], ...]
    holds: Function


@dataclass(frozen=True, slots=True)
class Goal:
    """Something that must be reachable, so that what is proved is not proved of nothing."""

    name: str
    sentence: str
    over: tuple[Sort, ...]
    reached: Function


@dataclass(frozen=True, slots=True)
class LivenessClaim:
    """A sentence about every fair run: whenever something is the case, something follows.

    Attributes:
        since: from the state and arguments to whether it is due.
        until: from the state and arguments to whether it is done, or not due any more.
        fair: names of the actions of which none stands by for ever while it can act; no other action has to happen.
        is_fault: whether an action with its arguments happens finitely often in a run only.
    """

    name: str
    rule: Rule
    sentence: str
    over: tuple[Sort, ...]
    since: Function
    until: Function
    fair: frozenset[str]
    is_fault: Callable[[str, tuple[int, ...]], bool]


@dataclass(frozen=True, slots=True)
class System:
    """A state machine with claims.

    Attributes:
        theorems: the claims that rules make.
        lemmas: the claims that make the theorems inductive.
        goals: states that must be reachable.
        assumptions: what is taken for granted.
        derived: functions that every state has besides those of its variables; no lemma speaks of them.
        steps: lemmas of single steps: that they are those which recorded steps are judged by, or what a rule of
            liveness, of independence or of refinement asks of them.
        taken: claims about the same state that another system's proof has shown, as hypotheses.
        taken_from: name of that system.
    """

    name: str
    variables: tuple[Variable, ...]
    actions: tuple[Action, ...]
    theorems: tuple[Claim, ...]
    lemmas: tuple[Claim, ...]
    goals: tuple[Goal, ...]
    assumptions: tuple[Assumption, ...]
    derived: tuple[Least, ...] = ()
    steps: tuple[StepLemma, ...] = ()
    taken: tuple[Claim, ...] = ()
    taken_from: str = ""

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Lemmas and theorems, in the order in which they are stated."""
        return self.lemmas + self.theorems

    def claim(self, name: str) -> Claim:
        """The claim with this name."""
        return _by_name({claim.name: claim for claim in (*self.taken, *self.claims)}, name)

    def action(self, name: str) -> Action:
        """The action with this name."""
        return _by_name({action.name: action for action in self.actions}, name)

    def initially(self, of: Callable[[Any], Any] = lambda value: value) -> State:
        """The state at the start: every function constant, its value passed through `of`."""
        return State({variable.name: always(of(variable.initial)) for variable in self.variables})


def in_turn(name: str, first: Action, then: Action) -> Action:
    """Two actions, one right after the other, as one: with the arguments of the first, then those of the second."""
    here = len(first.over)

    def guard(state: State, *at: Term) -> Iterator[Term]:
        yield from first.guard(state, *at[:here])
        yield from then.guard(first.effect(state, *at[:here]), *at[here:])

    def effect(state: State, *at: Term) -> State:
        return then.effect(first.effect(state, *at[:here]), *at[here:])

    return Action(name, (*first.over, *then.over), guard, effect)


def _by_name(things: Mapping[str, Thing], name: str) -> Thing:
    if name not in things:
        raise KeyError(f"nothing is called {name!r}; there are {', '.join(things)}")
    return things[name]
