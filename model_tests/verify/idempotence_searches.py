"""Explicit and bounded search of the idempotent producer, and of the blocks of producer ids.

Each is searched as the true system within bounds, and with every control.
"""

from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Final

from model_tests.verify.model_checking import Build, Instanced, Searched, SearchInstance, SystemMutation, depths
from model_tests.verify.results import RunEffort
from spec import rules
from spec.engines.finite import instance_of
from spec.evidence import Layer, evidences
from spec.systems.idempotence.controls import CONTROLS
from spec.systems.idempotence.stream import StreamKnobs
from spec.systems.idempotence.system import idempotence, sizes
from spec.systems.ids.system import CONTROLS as IDS_CONTROLS
from spec.systems.ids.system import IdsKnobs, ids
from spec.systems.ids.system import sizes as ids_sizes
from spec.systems.system_append import UNWRAPPED, remembered

# --- the idempotent producer ------------------------------------------------------------------------------------------


def built(name: str, knobs: StreamKnobs, epochs: int = 2, deltas: int = 1) -> Instanced:
    """The system with these knobs, in an instance of this size.

    Args:
        name: of the search.
        knobs: of the system.
        epochs: how many a producer may have.
        deltas: how many records a batch may have, at most.
    """
    system = idempotence(knobs, remembered(knobs.decide))
    return Instanced(name, system, idempotence(knobs), instance_of(system, sizes(knobs, epochs, deltas)))


def _instance(name: str, knobs: StreamKnobs, epochs: int = 2, deltas: int = 1) -> tuple[str, Build]:
    return name, partial(built, name, knobs, epochs, deltas)


_WRAPPING: Final = StreamKnobs(
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
    SearchInstance(
        *_instance("all faults", StreamKnobs(in_flight=2, requests=3, appends=3)), depths(6, 7, 10), whole=True
    ),
    SearchInstance(
        *_instance("five in flight", StreamKnobs(requests=6, appends=6, fails_over=False, gives_up=False)),
        depths(0, 6, 11),
    ),
    SearchInstance(
        *_instance("three epochs", StreamKnobs(in_flight=2, requests=5, appends=3, fails_over=False), epochs=3),
        depths(default=0, deep=10),
    ),
    SearchInstance(*_instance("wrapping", _WRAPPING, epochs=1), depths(0, 6, 12)),
    SearchInstance(
        *_instance("batches of two sizes", StreamKnobs(in_flight=2, requests=3, appends=3), deltas=2),
        depths(default=0, deep=8),
    ),
    SearchInstance(
        *_instance("three in flight, all faults", StreamKnobs(in_flight=3, requests=4, appends=4)),
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
            SystemMutation(each.violates, partial(built, each.name, each.knobs, each.epochs, each.deltas))
            for each in CONTROLS
        ),
        deepest=MappingProxyType({RunEffort.QUICK: 6, RunEffort.DEFAULT: 9, RunEffort.DEEP: 99}),
    )


# --- the blocks of producer ids ---------------------------------------------------------------------------------------


def built_ids(name: str, knobs: IdsKnobs, brokers: int = 2) -> Instanced:
    """The system with these knobs, and so many brokers."""
    system = ids(knobs)
    return Instanced(name, system, system, instance_of(system, ids_sizes(knobs, brokers)))


_TWO: Final = partial(built_ids, "two brokers", IdsKnobs(size=2, largest=5))
_THREE: Final = partial(built_ids, "three brokers", IdsKnobs(size=2, largest=7), 3)

IDS_INSTANCES: Final = (
    SearchInstance("two brokers", _TWO, depths(6, 9, 14), whole=True),
    SearchInstance("three brokers", _THREE, depths(deep=8)),
)


@evidences(rules.IDS_UNIQUE, Layer.BOUNDED)
def searched_ids() -> Searched:
    """The rule owes no bounded search, and has one."""
    broken = tuple(SystemMutation("no_id_twice", partial(built_ids, name, knobs)) for name, knobs in IDS_CONTROLS)
    return Searched((rules.IDS_UNIQUE,), IDS_INSTANCES, broken)
