"""Explicit and bounded search of the idempotent producer: the true system within bounds, and every control."""

from collections.abc import Iterable, Iterator, Mapping
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


@dataclass(slots=True)
class _Found:
    states: int = 0
    edges: int = 0
    variables: int = 0
    depth: int = 0
    witnesses: int = 0
    refuted: Refuted | Unknown | None = None

    def explored(self, exploration: Exploration) -> None:
        self.states += exploration.states
        self.edges += exploration.edges
        self._judged(exploration.verdict)

    def searched(self, found: Search, depth: int) -> None:
        self.variables += found.variables
        self.depth = max(self.depth, depth)
        self._judged(found.verdict)

    def _judged(self, verdict: object) -> None:
        if isinstance(verdict, Refuted | Unknown):
            self.refuted = self.refuted or verdict

    def figures(self) -> dict[str, Figure]:
        return {
            "depth": self.depth,
            "variables": self.variables,
            "states": self.states,
            "edges": self.edges,
            "witnesses": self.witnesses,
        }


@evidences(rules.SEQ_EXACTLY_ONCE, Layer.BOUNDED)
@evidences(rules.SEQ_ORDER, Layer.BOUNDED)
@evidences(rules.SEQ_WINDOW_SUFFICES, Layer.BOUNDED)
def bounded(effort: Effort, only: Iterable[Rule] = SEARCHED) -> tuple[tuple[Result, ...], tuple[str, ...]]:
    """The true system searched for a violation of each rule, and what in it can never happen."""
    instances = [i for i in INSTANCES if _ORDER.index(i.from_effort) <= _ORDER.index(effort)]
    vacuous = tuple(_vacuous(instances))
    return tuple(_bounded(rule, instances, effort) for rule in only), vacuous


def explored(rule: Rule) -> Result:
    """The small instances explored for one rule, without bounded search: seconds, not minutes."""
    return _bounded(rule, [i for i in INSTANCES if i.from_effort is Effort.QUICK], None)


def _bounded(rule: Rule, instances: Iterable[Instance], effort: Effort | None) -> Result:
    started = perf_counter()
    found = _Found()
    for instance in instances:
        system = idempotence(instance.knobs, remembered(instance.knobs))
        claims = [claim for claim in system.theorems if claim.rule == rule]
        exploration = explore(system, instance.finite(system), claims)
        found.explored(exploration)
        found.witnesses += len(exploration.reached)
        depth = instance.depth[effort] if effort else 0
        if depth and found.refuted is None:
            plain = idempotence(instance.knobs)
            asked = [plain.claim(claim.name) for claim in claims]
            found.searched(search(plain, instance.finite(plain), depth, asked, stride=depth), depth)
    verdict, detail = _outcome(found.refuted)
    seconds = perf_counter() - started
    return Result(rule, Layer.BOUNDED, verdict, found.states, seconds, found.figures(), detail)


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
