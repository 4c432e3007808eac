"""Explicit and bounded search of the idempotent producer: the true system within bounds, and every control."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from types import MappingProxyType
from typing import Final

from model_tests.verify.results import Control, Effort, Figure, Result
from model_tests.verify.results import Verdict as Outcome
from spec import rules
from spec.engines.bmc import Search, search
from spec.engines.explore import Exploration, explore
from spec.engines.finite import Finite, Vacuous, demand_all_happen, instance_of
from spec.engines.verdict import Refuted, Unknown, passed
from spec.evidence import Layer, evidences
from spec.rules import Rule
from spec.systems.idempotence.controls import CONTROLS, BrokenSystem
from spec.systems.idempotence.stream import UNWRAPPED, Knobs, remembered
from spec.systems.idempotence.system import idempotence, sizes
from spec.systems.language import System

SEARCHED: Final = (rules.SEQ_EXACTLY_ONCE, rules.SEQ_ORDER, rules.SEQ_WINDOW_SUFFICES)
"""The rules that owe a bounded search."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A finite instance of the true system.

    Attributes:
        knobs: its bounds, and which faults are in it.
        depth: how deep the bounded search goes, by effort; 0 leaves it out.
        from_effort: the least effort that explores it.
        whole: every action must happen, and every goal be reached.
    """

    name: str
    knobs: Knobs
    depth: Mapping[Effort, int]
    epochs: int = 2
    deltas: int = 1
    from_effort: Effort = Effort.QUICK
    whole: bool = False

    def finite(self, system: System) -> Finite:
        """The values of its sorts."""
        return instance_of(system, sizes(self.knobs, self.epochs, self.deltas))


def _depths(quick: int, default: int, deep: int) -> Mapping[Effort, int]:
    return MappingProxyType({Effort.QUICK: quick, Effort.DEFAULT: default, Effort.DEEP: deep})


_ORDER: Final = tuple(Effort)

INSTANCES: Final = (
    Instance("all faults", Knobs(in_flight=2, requests=3, appends=3), _depths(6, 8, 10), whole=True),
    Instance(
        "five in flight",
        Knobs(requests=6, appends=6, fails_over=False, gives_up=False),
        _depths(0, 8, 11),
    ),
    Instance(
        "three epochs",
        Knobs(in_flight=2, requests=5, appends=3, fails_over=False),
        _depths(0, 0, 10),
        epochs=3,
        from_effort=Effort.DEFAULT,
    ),
    Instance(
        "wrapping",
        Knobs(
            in_flight=2,
            profile=replace(UNWRAPPED, cached_batches=2, max_sequence=3),
            largest_sequence=3,
            lifetime=2,
            requests=5,
            appends=5,
            fails_over=False,
            gives_up=False,
        ),
        _depths(0, 8, 12),
        epochs=1,
    ),
    Instance(
        "batches of two sizes",
        Knobs(in_flight=2, requests=3, appends=3),
        _depths(0, 0, 8),
        deltas=2,
        from_effort=Effort.DEFAULT,
    ),
    Instance(
        "three in flight, all faults",
        Knobs(in_flight=3, requests=4, appends=4),
        _depths(0, 0, 8),
        from_effort=Effort.DEEP,
    ),
)


@dataclass(frozen=True, slots=True)
class Looked:
    """What one instance showed of some claims: explicit search, and bounded search where it was asked for."""

    exploration: Exploration
    search: Search | None
    depth: int
    seconds: float

    @property
    def refuted(self) -> Refuted | Unknown | None:
        """Why the claims are not held to hold, if they are not."""
        verdicts = [self.exploration.verdict, *([self.search.verdict] if self.search else [])]
        return next((verdict for verdict in verdicts if isinstance(verdict, Refuted | Unknown)), None)


@evidences(rules.SEQ_EXACTLY_ONCE, Layer.BOUNDED)
@evidences(rules.SEQ_ORDER, Layer.BOUNDED)
@evidences(rules.SEQ_WINDOW_SUFFICES, Layer.BOUNDED)
def bounded(effort: Effort, only: Iterable[Rule] = SEARCHED) -> tuple[tuple[Result, ...], tuple[str, ...]]:
    """The true system searched for a violation of each rule, and what in it can never happen."""
    instances = [i for i in INSTANCES if _ORDER.index(i.from_effort) <= _ORDER.index(effort)]
    looks = [_look_for_all(instance, tuple(only), instance.depth[effort]) for instance in instances]
    return tuple(_result(rule, [look[rule] for look in looks]) for rule in only), tuple(_vacuous(instances))


def explored(rule: Rule) -> Result:
    """Small instances explored for one rule until one violates it: seconds, not minutes."""
    looks: list[Looked] = []
    for instance in INSTANCES:
        if instance.from_effort is not Effort.DEEP:
            looks.append(_look(instance, (rule,), 0))
        if looks[-1].refuted:
            break
    return _result(rule, looks)


def _look_for_all(instance: Instance, asked: tuple[Rule, ...], depth: int) -> Mapping[Rule, Looked]:
    """One look for all rules together; only where it finds something, one for each."""
    together = _look(instance, asked, depth)
    return {rule: _look(instance, (rule,), depth) if together.refuted else together for rule in asked}


def _look(instance: Instance, asked: tuple[Rule, ...], depth: int) -> Looked:
    started = perf_counter()
    system, plain = idempotence(instance.knobs, remembered(instance.knobs)), idempotence(instance.knobs)
    finite = instance.finite(system)
    exploration = explore(system, finite, [claim for claim in system.theorems if claim.rule in asked])
    found = None
    if depth and passed(exploration.verdict):
        found = search(plain, finite, depth, [claim for claim in plain.theorems if claim.rule in asked], stride=depth)
    return Looked(exploration, found, depth if found else 0, perf_counter() - started)


def _result(rule: Rule, looks: Sequence[Looked]) -> Result:
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
    return Result(rule, Layer.BOUNDED, verdict, int(figures["states"]), seconds, figures, detail)


def _outcome(refuted: Refuted | Unknown | None) -> tuple[Outcome, str]:
    match refuted:
        case None:
            return Outcome.HOLDS, ""
        case Unknown(reason):
            return Outcome.UNKNOWN, reason
        case Refuted():
            return Outcome.VIOLATED, str(refuted)


def _vacuous(instances: Iterable[Instance]) -> Iterator[str]:
    """What is claimed of nothing: actions that cannot happen, goals that cannot be reached, lemmas that do not hold."""
    for instance in instances:
        if not instance.whole:
            continue
        system = idempotence(instance.knobs, remembered(instance.knobs))
        exploration = explore(system, instance.finite(system), system.claims)
        if not passed(exploration.verdict):
            yield f"{instance.name}: {exploration.verdict}"
        yield from (f"{goal.name} is never reached" for goal in system.goals if goal.name not in exploration.reached)
        try:
            demand_all_happen(system, frozenset(exploration.happened))
        except Vacuous as vacuous:
            yield str(vacuous)


def controls(broken: Iterable[BrokenSystem] = CONTROLS) -> tuple[Control, ...]:
    """Every change that must break a rule, searched explicitly and bounded; both must find the same shortest depth."""
    return tuple(_control(change) for change in broken)


def _control(change: BrokenSystem) -> Control:
    system, plain = idempotence(change.knobs, remembered(change.knobs)), idempotence(change.knobs)
    finite = instance_of(system, sizes(change.knobs, change.epochs))
    claim = system.claim(change.violates)
    explicit = explore(system, finite, [claim]).verdict
    if not isinstance(explicit, Refuted):
        return Control(change.name, claim.rule, "violated", "holds", f"explicit search: {explicit}")
    found = search(plain, finite, explicit.depth, [plain.claim(change.violates)], stride=explicit.depth).verdict
    if not isinstance(found, Refuted) or found.depth != explicit.depth:
        detail = f"explicit search at depth {explicit.depth}, bounded search: {found}"
        return Control(change.name, claim.rule, "violated", "searches disagree", detail)
    detail = f"depth {explicit.depth} by explicit and bounded search: {explicit}"
    return Control(change.name, claim.rule, "violated", "violated", detail)
