"""Explicit and bounded search of the partition with transactions: the true system within bounds, and every control."""

from functools import partial
from typing import Any, Final

from model_tests.verify.model_checking import Build, Instanced, Searched, SearchInstance, SystemMutation, depths
from spec import rules
from spec.engines.finite import instance_of
from spec.evidence import Layer, evidences
from spec.systems.partition.controls import CONTROLS
from spec.systems.partition.log import PartitionKnobs
from spec.systems.partition.system import partition, sizes
from spec.systems.system_append import UNWRAPPED, remembered


def built(name: str, knobs: PartitionKnobs, **several: int) -> Instanced:
    """The system with these knobs, in an instance that has several of some things."""
    system = partition(knobs, remembered(knobs.decide))
    return Instanced(name, system, partition(knobs), instance_of(system, sizes(knobs, **several)))


def _instance(name: str, several: dict[str, int], **knobs: Any) -> tuple[str, Build]:
    return name, partial(built, name, PartitionKnobs(profile=UNWRAPPED, **knobs), **several)


INSTANCES: Final = (
    SearchInstance(
        *_instance("two producers", {"producers": 2}, appends=2, plain_data=False),
        depths(3, 4, 7),
        whole=True,
    ),
    SearchInstance(
        *_instance(
            "two epochs",
            {"epochs": 2, "coordinator_epochs": 2, "sequences": 2},
            appends=2,
            fails_over=False,
            log_start_rises=False,
        ),
        depths(0, 3, 6),
        whole=True,
    ),
    SearchInstance(
        *_instance("batches of two sizes", {"deltas": 2}, appends=2, plain_data=False, offset_commits=False),
        depths(default=0, deep=6),
    ),
    SearchInstance(
        *_instance(
            "three batches of two producers", {"producers": 2}, appends=3, fails_over=False, offset_commits=False
        ),
        depths(default=0, deep=6),
    ),
    SearchInstance(*_instance("three batches", {"sequences": 2}, appends=3), depths(deep=6)),
)


@evidences(rules.LSO_BOUNDS, Layer.BOUNDED)
@evidences(rules.LSO_DECIDED_BELOW, Layer.BOUNDED)
@evidences(rules.LSO_MONOTONE, Layer.BOUNDED)
@evidences(rules.FENCE_EPOCH_MONOTONE, Layer.BOUNDED)
@evidences(rules.FENCE_COORDINATOR_EPOCH, Layer.BOUNDED)
def searched() -> Searched:
    """None of these rules owes a bounded search; all have one."""
    return Searched(
        rules=(
            rules.LSO_BOUNDS,
            rules.LSO_DECIDED_BELOW,
            rules.LSO_MONOTONE,
            rules.FENCE_EPOCH_MONOTONE,
            rules.FENCE_COORDINATOR_EPOCH,
        ),
        instances=INSTANCES,
        broken=tuple(
            SystemMutation(each.violates, partial(built, each.name, each.knobs, **each.several)) for each in CONTROLS
        ),
    )
