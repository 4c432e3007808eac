"""Explicit and bounded search of a group: its offsets in transactions, its generations, and a group that reads."""

from functools import partial
from typing import Final

from model_tests.verify.model_checking import Instanced, Searched, SearchInstance, SystemMutation, depths
from spec import rules
from spec.engines.finite import instance_of
from spec.evidence import Layer, evidences
from spec.systems import membership, offsets
from spec.systems.group.controls import CONTROLS
from spec.systems.group.system import group
from spec.systems.group.world import GroupBounds, GroupKnobs
from spec.versions import BEFORE_3_7, KAFKA_3_9


def committing(name: str, knobs: offsets.OffsetsKnobs) -> Instanced:
    """The offsets that a producer commits in its transactions."""
    system = offsets.committing(knobs)
    return Instanced(name, system, system, instance_of(system, offsets.sizes(knobs)))


def rebalancing(name: str, knobs: membership.MembershipKnobs) -> Instanced:
    """The generations of a group, each with a transactional commit."""
    system = membership.membership(knobs)
    return Instanced(name, system, system, instance_of(system, membership.sizes(knobs)))


_TRUE: Final = partial(committing, "two transactions", offsets.OffsetsKnobs())
_MORE: Final = partial(committing, "four transactions", offsets.OffsetsKnobs(transactions=4))
_OTHERS: Final = partial(committing, "others commit and delete", offsets.OffsetsKnobs(others=2))
_SURVIVES: Final = partial(
    committing,
    "an offset expires and leaves what is pending, as before 4.0",
    offsets.OffsetsKnobs(offsets.PENDING_SURVIVES, others=2, expires=True),
)
_LAGS: Final = partial(
    committing, "KAFKA-17507: a marker is answered before it is applied", offsets.OffsetsKnobs(KAFKA_3_9)
)
_GROUP: Final = partial(rebalancing, "two generations", membership.MembershipKnobs())
_APART: Final = partial(rebalancing, "the last member leaves", membership.MembershipKnobs(generations=4, apart=True))
_BEFORE: Final = partial(
    rebalancing, "KAFKA-15784: the group is looked at before the coordinator", membership.MembershipKnobs(BEFORE_3_7)
)


@evidences(rules.OFFSETS_ATOMIC, Layer.BOUNDED)
def of_transactions() -> Searched:
    """Offsets become visible with their transaction."""
    return Searched(
        rules=(rules.OFFSETS_ATOMIC,),
        instances=(
            SearchInstance("two transactions", _TRUE, depths(8, 10, 12), whole=True),
            SearchInstance("four transactions", _MORE, depths(default=12, deep=20)),
            SearchInstance("others commit and delete", _OTHERS, depths(0, 0, 8), whole=True),
        ),
        broken=(SystemMutation("visible_is_of_committed", _LAGS), SystemMutation("deleted_stays_deleted", _SURVIVES)),
    )


@evidences(rules.OFFSETS_GENERATION_FENCE, Layer.BOUNDED)
def of_generations() -> Searched:
    """A past generation writes nothing."""
    return Searched(
        rules=(rules.OFFSETS_GENERATION_FENCE,),
        instances=(
            SearchInstance("two generations", _GROUP, depths(8, 10, 12), whole=True),
            SearchInstance("the last member leaves", _APART, depths(0, 0, 12), whole=True),
        ),
        broken=(SystemMutation("past_generations_write_nothing", _BEFORE),),
    )


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
