"""Explicit and bounded search of any system: the result of one search of a finite instance, and its record."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

from model_tests.verify.results import Control, Figure, Result
from model_tests.verify.results import RuleVerdict as Outcome
from spec.engines.bmc import Search, search
from spec.engines.explore import Exploration, explore
from spec.engines.finite import Finite, Vacuous, demand_all_happen
from spec.engines.verdict import Refuted, Unknown, passed
from spec.evidence import Layer
from spec.rules import Rule
from spec.systems.assumptions import Assumption, in_order
from spec.systems.language import Action, Claim, Goal, System


@dataclass(frozen=True, slots=True)
class Instanced:
    """A system and its finite instance.

    Attributes:
        system: with its decisions remembered, for explicit search.
        plain: without, for bounded search.
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
        """Why the claims are not held to hold, if they are not."""
        verdicts = [self.exploration.verdict, *([self.search.verdict] if self.search else [])]
        return next((verdict for verdict in verdicts if isinstance(verdict, Refuted | Unknown)), None)


def look(instance: Instanced, requested: Sequence[Rule], depth: int) -> Looked:
    """Search for a violation of some rules: everywhere explicitly, and within so many actions as formulas.

    Of the states that differ in the names of interchangeable things alone, one is looked at.
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
    """What some looks say of a rule."""
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
    """What is claimed of nothing: actions that happen in none of the instances that have them, goals that none reaches.

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
