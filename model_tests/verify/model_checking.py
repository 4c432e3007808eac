"""Explicit and bounded search of any system: its finite instances, and the changes that must break it.

The result of each search is recorded as evidence.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from time import perf_counter
from types import MappingProxyType
from typing import Final, TypeAlias

from model_tests.verify.results import Control, Figure, Result, RunEffort
from model_tests.verify.results import RuleVerdict as Outcome
from spec.engines.bmc import Search, search
from spec.engines.explore import Exploration, explore
from spec.engines.finite import Finite, Vacuous, demand_all_happen
from spec.engines.verdict import Refuted, Unknown, passed
from spec.evidence import Layer
from spec.rules import Rule
from spec.systems.assumptions import Assumption, in_order
from spec.systems.language import Action, Claim, Goal, System

# --- one search -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Instanced:
    """A system and its finite instance.

    Attributes:
        system: with its decisions cached, for explicit search.
        plain: without a cache, for bounded search.
    """

    name: str
    system: System
    plain: System
    finite: Finite


@dataclass(frozen=True, slots=True)
class Looked:
    """What one instance showed of some claims: explicit search, and bounded search where it was run.

    Attributes:
        assumptions: those of the system.
    """

    exploration: Exploration
    search: Search | None
    depth: int
    seconds: float
    assumptions: tuple[Assumption, ...]

    @property
    def refuted(self) -> Refuted | Unknown | None:
        """The reason why the claims do not count as held, if there is one."""
        verdicts = [self.exploration.verdict, *([self.search.verdict] if self.search else [])]
        return next((verdict for verdict in verdicts if isinstance(verdict, Refuted | Unknown)), None)


def look(instance: Instanced, requested: Sequence[Rule], depth: int) -> Looked:
    """Search for a violation of some rules: everywhere explicitly, and within so many actions as formulas.

    If states differ only in the names of interchangeable values, one of them is visited.
    """
    started = perf_counter()
    exploration = explore(instance.system, instance.finite, _of(instance.system, requested), symmetry=True)
    found = None
    if depth and passed(exploration.verdict):
        found = search(instance.plain, instance.finite, depth, _of(instance.plain, requested), stride=depth)
    assumed = instance.system.assumptions
    return Looked(exploration, found, depth if found else 0, perf_counter() - started, assumed)


def look_for_all(instance: Instanced, requested: Sequence[Rule], depth: int) -> dict[Rule, Looked]:
    """One look for all rules together; only where it finds something, one for each."""
    together = look(instance, requested, depth)
    return {rule: look(instance, (rule,), depth) if together.refuted else together for rule in requested}


def _of(system: System, requested: Sequence[Rule]) -> list[Claim]:
    return [claim for claim in system.theorems if claim.rule in requested]


def result(rule: Rule, looks: Sequence[Looked]) -> Result:
    """The result for a rule, from several searches."""
    refuted = next((look.refuted for look in looks if look.refuted), None)
    verdict, detail = _outcome(refuted)
    figures: dict[str, Figure] = {
        "depth": max(look.depth for look in looks),
        "variables": sum(look.search.variables for look in looks if look.search),
        "states": sum(look.exploration.states for look in looks),
        "edges": sum(look.exploration.edges for look in looks),
        "witnesses": sum(len(look.exploration.reached) for look in looks),
    }
    seconds = sum(look.seconds for look in looks)
    assumed = in_order(assumption for look in looks for assumption in look.assumptions)
    return Result(rule, Layer.BOUNDED, verdict, int(figures["states"]), seconds, figures, detail, assumed)


def _outcome(refuted: Refuted | Unknown | None) -> tuple[Outcome, str]:
    match refuted:
        case None:
            return Outcome.HOLDS, ""
        case Unknown(reason):
            return Outcome.UNKNOWN, reason
        case Refuted():
            return Outcome.VIOLATED, str(refuted)


def vacuous(instances: Iterable[Instanced]) -> Iterator[str]:
    """What is vacuous: actions that happen in none of the instances that have them, goals that no instance reaches.

    Lemmas are checked in every state on the way: one that is false would prove anything.
    """
    happened: set[str] = set()
    reached: set[str] = set()
    actions, goals = dict[str, Action](), dict[str, Goal]()
    system = None
    for instance in instances:
        system = instance.system
        actions |= {action.name: action for action in system.actions}
        goals |= {goal.name: goal for goal in system.goals}
        exploration = explore(system, instance.finite, system.claims)
        if not passed(exploration.verdict):
            yield f"{instance.name}: {exploration.verdict}"
        happened |= exploration.happened
        reached |= exploration.reached.keys()
    if system is not None:
        yield from (f"{name} is never reached" for name in goals if name not in reached)
        yield from _asleep(replace(system, actions=tuple(actions.values())), frozenset(happened))


def _asleep(system: System, happened: frozenset[str]) -> Iterator[str]:
    try:
        demand_all_happen(system, happened)
    except Vacuous as nothing:
        yield str(nothing)


def controlled(broken: Instanced, violates: str, deepest: int) -> Control:
    """A change that must violate a claim, searched explicitly and bounded: both must find the same shortest depth.

    Args:
        broken: the changed system.
        violates: name of the claim.
        deepest: a violation deeper than this is left to explicit search alone, and the detail says so.
    """
    claim = broken.system.claim(violates)
    reported = partial(Control, broken.name, claim.rule, "violated", system=broken.system.name)
    explicit = explore(broken.system, broken.finite, [claim]).verdict
    if not isinstance(explicit, Refuted):
        return reported("holds", f"explicit search: {explicit}")
    deep = explicit.depth
    if deep > deepest:
        return reported("violated", f"depth {deep} by explicit search: {explicit}")
    found = search(broken.plain, broken.finite, deep, [broken.plain.claim(violates)], stride=deep).verdict
    if not isinstance(found, Refuted) or found.depth != deep:
        detail = f"explicit search at depth {deep}, bounded search: {found}"
        return reported("searches disagree", detail)
    return reported("violated", f"depth {deep} by explicit and bounded search: {explicit}", confirmed=True)


Build: TypeAlias = Callable[[], Instanced]
"""Makes the system, only when it is searched."""

Found: TypeAlias = tuple[tuple[Result, ...], tuple[str, ...]]
"""A result for each rule, and what is vacuous."""


def every_depth() -> Mapping[RunEffort, int]:
    """However deep a violation is, bounded search confirms it."""
    return MappingProxyType(dict.fromkeys(RunEffort, 99))


# --- the searches of a system -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SearchInstance:
    """A finite instance of a true system.

    Attributes:
        built: makes it.
        depth: how deep the bounded search goes, by effort that explores the instance; 0 leaves it to explicit search.
        whole: with the other such instances, every action must happen in it and every goal be reached, by an effort
            that explores all of them.
    """

    name: str
    built: Build
    depth: Mapping[RunEffort, int]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class SystemMutation:
    """A change of the system, and the claim that must no longer hold."""

    violates: str
    built: Build


CONFIRMED: Final[Mapping[RunEffort, int]] = MappingProxyType(
    {RunEffort.QUICK: 4, RunEffort.DEFAULT: 4, RunEffort.DEEP: 1}
)
"""One of so many changes is also searched within bounds, by effort."""


def is_confirmed(name: str, effort: RunEffort) -> bool:
    """Whether bounded search is to find what a change breaks, too: the same ones everywhere, by their names."""
    return int.from_bytes(sha256(name.encode()).digest()[:4]) % CONFIRMED[effort] == 0


@dataclass(frozen=True, slots=True)
class Searched:
    """A system's searches.

    Attributes:
        rules: those whose bounded search is reported; the system may have theorems of others.
        deepest: how deep a violation may be, by effort, for bounded search to confirm it.
    """

    rules: tuple[Rule, ...]
    instances: tuple[SearchInstance, ...]
    broken: tuple[SystemMutation, ...]
    deepest: Mapping[RunEffort, int] = field(default_factory=every_depth)

    def bounded(self, effort: RunEffort, only: Iterable[Rule] | None = None) -> Found:
        """The true system searched for a violation of each rule, and what in it can never happen."""
        request = self.rules if only is None else tuple(rule for rule in only if rule in self.rules)
        if not request:
            return (), ()
        instances = self.explored_by(effort)
        looks = [look_for_all(instance.built(), request, instance.depth[effort]) for instance in instances]
        all_there = all(instance in instances for instance in self.instances if instance.whole)
        whole = (instance.built() for instance in instances if instance.whole and all_there)
        return tuple(result(rule, [look[rule] for look in looks]) for rule in request), tuple(vacuous(whole))

    def has_theorem_of(self, rule: Rule) -> bool:
        """Whether the system claims something of a rule."""
        return any(theorem.rule == rule for theorem in self.system.theorems)

    @property
    def system(self) -> System:
        """The system, in its first instance."""
        return self.instances[0].built().system

    def explored(self, rule: Rule) -> Result:
        """Small instances explored for one rule until one violates it: seconds, not minutes."""
        return result(rule, list(self._until_refuted(rule)))

    def _until_refuted(self, rule: Rule) -> Iterator[Looked]:
        for instance in self.explored_by(RunEffort.DEFAULT):
            looked = look(instance.built(), (rule,), 0)
            yield looked
            if looked.refuted:
                return

    def explored_by(self, effort: RunEffort) -> tuple[SearchInstance, ...]:
        """The instances that an effort explores."""
        return tuple(instance for instance in self.instances if effort in instance.depth)

    def controls(self, effort: RunEffort, only: Container[Rule] | None = None) -> tuple[Control, ...]:
        """Every change that must break a rule, by explicit search.

        Of some, by an effort all, bounded search must find the same shortest depth.
        """
        due = ((each.built(), each.violates) for each in self.broken)
        return tuple(
            controlled(broken, violates, self.deepest[effort] if is_confirmed(broken.name, effort) else 0)
            for broken, violates in due
            if only is None or broken.system.claim(violates).rule in only
        )


def depths(quick: int | None = None, default: int | None = None, deep: int | None = None) -> Mapping[RunEffort, int]:
    """How deep each effort searches an instance; `None` leaves the instance out."""
    request = {RunEffort.QUICK: quick, RunEffort.DEFAULT: default, RunEffort.DEEP: deep}
    return MappingProxyType({effort: depth for effort, depth in request.items() if depth is not None})
