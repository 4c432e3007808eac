"""Explicit and bounded search of the blocks of producer ids: the true system within bounds, and every control."""

from functools import partial
from typing import Final

from model_tests.verify.model_checking import Instanced, Searched, SearchInstance, SystemMutation, depths
from spec import rules
from spec.engines.finite import instance_of
from spec.evidence import Layer, evidences
from spec.systems.ids.system import CONTROLS, IdsKnobs, ids, sizes


def built(name: str, knobs: IdsKnobs, brokers: int = 2) -> Instanced:
    """The system with these knobs, and so many brokers."""
    system = ids(knobs)
    return Instanced(name, system, system, instance_of(system, sizes(knobs, brokers)))


_TWO: Final = partial(built, "two brokers", IdsKnobs(size=2, largest=5))
_THREE: Final = partial(built, "three brokers", IdsKnobs(size=2, largest=7), 3)

INSTANCES: Final = (
    SearchInstance("two brokers", _TWO, depths(6, 9, 14), whole=True),
    SearchInstance("three brokers", _THREE, depths(deep=8)),
)


@evidences(rules.IDS_UNIQUE, Layer.BOUNDED)
def searched() -> Searched:
    """The rule owes no bounded search, and has one."""
    broken = tuple(SystemMutation("no_id_twice", partial(built, name, knobs)) for name, knobs in CONTROLS)
    return Searched((rules.IDS_UNIQUE,), INSTANCES, broken)
