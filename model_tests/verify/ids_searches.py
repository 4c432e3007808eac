"""Explicit and bounded search of the blocks of producer ids: the true system within bounds, and every control."""

from functools import partial
from typing import Final

from model_tests.verify.looking import Instanced
from model_tests.verify.searched import Broken, Instance, Searched, depths
from spec import rules
from spec.engines.finite import instance_of
from spec.evidence import Layer, evidences
from spec.systems.ids.system import CONTROLS, Knobs, ids, sizes


def built(name: str, knobs: Knobs, brokers: int = 2) -> Instanced:
    """The system with these knobs, and so many brokers."""
    system = ids(knobs)
    return Instanced(name, system, system, instance_of(system, sizes(knobs, brokers)))


_TWO: Final = partial(built, "two brokers", Knobs(size=2, largest=5))
_THREE: Final = partial(built, "three brokers", Knobs(size=2, largest=7), 3)

INSTANCES: Final = (
    Instance("two brokers", _TWO, depths(6, 9, 14), whole=True),
    Instance("three brokers", _THREE, depths(deep=8)),
)


@evidences(rules.IDS_UNIQUE, Layer.BOUNDED)
def searched() -> Searched:
    """The rule owes no bounded search, and has one."""
    broken = tuple(Broken("no_id_twice", partial(built, name, knobs)) for name, knobs in CONTROLS)
    return Searched((rules.IDS_UNIQUE,), INSTANCES, broken)
