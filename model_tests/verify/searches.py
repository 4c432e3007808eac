"""Explicit and bounded search of the idempotent producer: the true system within bounds, and every control."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from model_tests.verify.looking import Instanced, Looked, controlled, look, look_for_all, result, vacuous
from model_tests.verify.results import Control, Effort, Result
from spec import rules
from spec.engines.finite import Finite, instance_of
from spec.evidence import Layer, evidences
from spec.rules import Rule
from spec.systems.deciding import UNWRAPPED, remembered
from spec.systems.idempotence.controls import CONTROLS, BrokenSystem
from spec.systems.idempotence.stream import Knobs
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

    def built(self) -> Instanced:
        """The system in this instance."""
        return _built(self.name, self.knobs, self.epochs, self.deltas)


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


@evidences(rules.SEQ_EXACTLY_ONCE, Layer.BOUNDED)
@evidences(rules.SEQ_ORDER, Layer.BOUNDED)
@evidences(rules.SEQ_WINDOW_SUFFICES, Layer.BOUNDED)
def bounded(effort: Effort, only: Iterable[Rule] = SEARCHED) -> tuple[tuple[Result, ...], tuple[str, ...]]:
    """The true system searched for a violation of each rule, and what in it can never happen."""
    asked = tuple(rule for rule in only if rule in SEARCHED)
    if not asked:
        return (), ()
    instances = [i for i in INSTANCES if _ORDER.index(i.from_effort) <= _ORDER.index(effort)]
    looks = [look_for_all(instance.built(), asked, instance.depth[effort]) for instance in instances]
    whole = (instance.built() for instance in instances if instance.whole)
    return tuple(result(rule, [look[rule] for look in looks]) for rule in asked), tuple(vacuous(whole))


def explored(rule: Rule) -> Result:
    """Small instances explored for one rule until one violates it: seconds, not minutes."""
    looks: list[Looked] = []
    for instance in INSTANCES:
        if instance.from_effort is not Effort.DEEP:
            looks.append(look(instance.built(), (rule,), 0))
        if looks[-1].refuted:
            break
    return result(rule, looks)


DEEPEST: Final = MappingProxyType({Effort.QUICK: 9, Effort.DEFAULT: 12, Effort.DEEP: 99})
"""How deep a violation may be for bounded search to confirm it."""


def controls(effort: Effort, broken: Iterable[BrokenSystem] = CONTROLS) -> tuple[Control, ...]:
    """Every change that must break a rule, searched explicitly and bounded; both must find the same shortest depth."""
    return tuple(
        controlled(_built(each.name, each.knobs, each.epochs), each.violates, DEEPEST[effort]) for each in broken
    )


def _built(name: str, knobs: Knobs, epochs: int, deltas: int = 1) -> Instanced:
    system = idempotence(knobs, remembered(knobs.decide))
    return Instanced(name, system, idempotence(knobs), instance_of(system, sizes(knobs, epochs, deltas)))
