"""Explicit and bounded search of the replicas of a partition: the true system within bounds, and every control."""

from functools import partial
from types import MappingProxyType
from typing import Any, Final

from model_tests.verify.model_checking import Build, Instanced, Searched, SearchInstance, SystemMutation, depths
from model_tests.verify.results import RunEffort
from spec import rules
from spec.engines.finite import instance_of
from spec.evidence import Layer, evidences
from spec.systems.replication.controls import CONTROLS
from spec.systems.replication.system import replication
from spec.systems.replication.world import ReplicationKnobs


def built(name: str, knobs: ReplicationKnobs) -> Instanced:
    """The system with these knobs."""
    system = replication(knobs)
    return Instanced(name, system, system, instance_of(system, knobs.sizes()))


def _instance(name: str, **knobs: Any) -> tuple[str, Build]:
    return name, partial(built, name, ReplicationKnobs(**knobs))


INSTANCES: Final = (
    SearchInstance(*_instance("two batches", elections=1), depths(3, 5, 8), whole=True),
    SearchInstance(
        *_instance("a broker loses records before the only election", appends=1, elections=1, min_in_sync=2, losses=1),
        depths(quick=0),
    ),
    SearchInstance(
        *_instance("a broker loses records", appends=1, min_in_sync=2, losses=1),
        depths(default=0, deep=7),
    ),
    SearchInstance(*_instance("three leader epochs", hears_late=True), depths(default=0, deep=7)),
    SearchInstance(*_instance("three batches", appends=3, elections=1), depths(deep=7)),
    SearchInstance(
        *_instance("brokers restart", appends=1, min_in_sync=2, losses=1, restarts=True, hears_late=True),
        depths(deep=6),
    ),
    SearchInstance(*_instance("three replicas", replicas=3, appends=1, elections=1), depths(deep=0)),
)

DEEPEST: Final = MappingProxyType({RunEffort.QUICK: 2, RunEffort.DEFAULT: 6, RunEffort.DEEP: 13})
"""Deeper violations are left to explicit search alone."""


@evidences(rules.REPL_HW_BOUNDS, Layer.BOUNDED)
@evidences(rules.REPL_COMMITTED_SURVIVES, Layer.BOUNDED)
@evidences(rules.REPL_PREFIX_AGREEMENT, Layer.BOUNDED)
def searched() -> Searched:
    """One of these rules owes a bounded search; all have one."""
    return Searched(
        rules=(rules.REPL_HW_BOUNDS, rules.REPL_COMMITTED_SURVIVES, rules.REPL_PREFIX_AGREEMENT),
        instances=INSTANCES,
        broken=tuple(SystemMutation(each.violates, partial(built, each.name, each.knobs)) for each in CONTROLS),
        deepest=DEEPEST,
    )
