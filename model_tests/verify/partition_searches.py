"""Explicit and bounded search of the partition with transactions, and of a compacted partition.

The partition with transactions is searched as the true system within bounds, and with every control.
"""

from functools import partial
from typing import Any, Final

from model_tests.verify.model_checking import Build, Instanced, Searched, SearchInstance, SystemMutation, depths
from spec import rules
from spec.engines.finite import instance_of
from spec.evidence import Layer, evidences
from spec.systems import cleaning
from spec.systems.partition.controls import CONTROLS
from spec.systems.partition.log import PartitionKnobs
from spec.systems.partition.system import partition, sizes
from spec.systems.system_append import UNWRAPPED, remembered
from spec.versions import KAFKA_2_7

# --- the partition with transactions ----------------------------------------------------------------------------------


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


# --- a compacted partition --------------------------------------------------------------------------------------------


def compacted(name: str, knobs: cleaning.CleaningKnobs) -> Instanced:
    """A partition that is cleaned."""
    system = cleaning.cleaning(knobs)
    return Instanced(name, system, system, instance_of(system, cleaning.sizes(knobs)))


_TRUE: Final = partial(compacted, "four records", cleaning.CleaningKnobs())
_KEYS: Final = partial(compacted, "KAFKA-14055: keys of markers are compared", cleaning.CleaningKnobs(KAFKA_2_7))


@evidences(rules.LSO_DECIDED_BELOW, Layer.BOUNDED)
@evidences(rules.LSO_READ_COMMITTED, Layer.BOUNDED)
def searched_cleaning() -> Searched:
    """What was decided stays decided, and what can be read stays, whatever the cleaner leaves."""
    return Searched(
        rules=(rules.LSO_DECIDED_BELOW, rules.LSO_READ_COMMITTED),
        instances=(SearchInstance("four records", _TRUE, depths(0, 0, 0), whole=True),),
        broken=(SystemMutation("decided_stays_decided", _KEYS),),
    )
