"""Explicit and bounded search of a group that reads: the true system within bounds, and every control."""

from functools import partial
from typing import Final

from model_tests.verify.model_checking import Instanced, Searched, SearchInstance, SystemMutation, depths
from spec import rules
from spec.engines.finite import instance_of
from spec.evidence import Layer, evidences
from spec.systems.group.controls import CONTROLS
from spec.systems.group.system import group
from spec.systems.group.world import GroupBounds, GroupKnobs


def built(name: str, knobs: GroupKnobs) -> Instanced:
    """The system with these knobs, which have bounds."""
    system = group(knobs)
    return Instanced(name, system, system, instance_of(system, knobs.sizes()))


_ONE_RECORD: Final = partial(built, "one record", GroupKnobs(bounds=GroupBounds(2, 2, 1, 2)))
_TWO_RECORDS: Final = partial(built, "two records", GroupKnobs(bounds=GroupBounds(2, 2, 2, 2)))

INSTANCES: Final = (
    SearchInstance("one record", _ONE_RECORD, depths(3, 4, 8), whole=True),
    SearchInstance("two records", _TWO_RECORDS, depths(deep=6)),
)


@evidences(rules.OFFSETS_ATOMIC, Layer.BOUNDED)
def searched() -> Searched:
    """Two members, one after the other."""
    broken = tuple(SystemMutation(each.violates, partial(built, each.name, each.knobs)) for each in CONTROLS)
    return Searched((rules.OFFSETS_ATOMIC,), INSTANCES, broken)
