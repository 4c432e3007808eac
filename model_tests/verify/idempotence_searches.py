"""Explicit and bounded search of the idempotent producer: the true system within bounds, and every control."""

from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Final

from model_tests.verify.looking import Instanced
from model_tests.verify.results import Effort
from model_tests.verify.searched import Broken, Build, Instance, Searched, depths
from spec import rules
from spec.engines.finite import instance_of
from spec.evidence import Layer, evidences
from spec.systems.deciding import UNWRAPPED, remembered
from spec.systems.idempotence.controls import CONTROLS
from spec.systems.idempotence.stream import Knobs
from spec.systems.idempotence.system import idempotence, sizes


def built(name: str, knobs: Knobs, epochs: int = 2, deltas: int = 1) -> Instanced:
    """The system with these knobs, in an instance of this size."""
    system = idempotence(knobs, remembered(knobs.decide))
    return Instanced(name, system, idempotence(knobs), instance_of(system, sizes(knobs, epochs, deltas)))


def _instance(name: str, knobs: Knobs, epochs: int = 2, deltas: int = 1) -> tuple[str, Build]:
    return name, partial(built, name, knobs, epochs, deltas)


_WRAPPING: Final = Knobs(
    in_flight=2,
    profile=replace(UNWRAPPED, cached_batches=2, max_sequence=3),
    largest_sequence=3,
    lifetime=2,
    requests=5,
    appends=5,
    fails_over=False,
    gives_up=False,
)

INSTANCES: Final = (
    Instance(*_instance("all faults", Knobs(in_flight=2, requests=3, appends=3)), depths(6, 7, 10), whole=True),
    Instance(
        *_instance("five in flight", Knobs(requests=6, appends=6, fails_over=False, gives_up=False)),
        depths(0, 6, 11),
    ),
    Instance(
        *_instance("three epochs", Knobs(in_flight=2, requests=5, appends=3, fails_over=False), epochs=3),
        depths(default=0, deep=10),
    ),
    Instance(*_instance("wrapping", _WRAPPING, epochs=1), depths(0, 6, 12)),
    Instance(
        *_instance("batches of two sizes", Knobs(in_flight=2, requests=3, appends=3), deltas=2),
        depths(default=0, deep=8),
    ),
    Instance(
        *_instance("three in flight, all faults", Knobs(in_flight=3, requests=4, appends=4)),
        depths(deep=8),
    ),
)


@evidences(rules.SEQ_EXACTLY_ONCE, Layer.BOUNDED)
@evidences(rules.SEQ_ORDER, Layer.BOUNDED)
@evidences(rules.SEQ_WINDOW_SUFFICES, Layer.BOUNDED)
def searched() -> Searched:
    """The rules that owe a bounded search."""
    return Searched(
        rules=(rules.SEQ_EXACTLY_ONCE, rules.SEQ_ORDER, rules.SEQ_WINDOW_SUFFICES),
        instances=INSTANCES,
        broken=tuple(
            Broken(each.violates, partial(built, each.name, each.knobs, each.epochs, each.deltas)) for each in CONTROLS
        ),
        deepest=MappingProxyType({Effort.QUICK: 6, Effort.DEFAULT: 9, Effort.DEEP: 99}),
    )
