"""The difference between the numbers of states of a broken and the true system, in the same instance.

A defect opens states or closes them. As many states need not be the same states: a defect may make others of them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from model_tests.verify import (
    group_searches,
    idempotence_searches,
    partition_searches,
    replication_searches,
    transactions_searches,
)
from model_tests.verify.model_checking import Build
from spec.engines.explore import Exploration, explore
from spec.engines.verdict import Unknown
from spec.systems import cleaning, membership, offsets
from spec.systems.group.controls import CONTROLS as OF_GROUPS
from spec.systems.idempotence.controls import CONTROLS as OF_IDEMPOTENCE
from spec.systems.ids.system import CONTROLS as OF_IDS
from spec.systems.ids.system import IdsKnobs as IdKnobs
from spec.systems.partition.controls import CONTROLS as OF_PARTITIONS
from spec.systems.replication.controls import CONTROLS as OF_REPLICATION
from spec.systems.transactions.controls import CONTROLS as OF_TRANSACTIONS
from spec.versions import BEFORE_3_7, KAFKA_2_7, KAFKA_3_9

MOST_STATES: Final = 40_000
"""A system with more is said to have more than so many."""


@dataclass(frozen=True, slots=True)
class SystemDefect:
    """A hand-written change of a system.

    Attributes:
        broken: the system with it, in an instance.
        mended: without it, in the same instance.
    """

    name: str
    violates: str
    broken: Build
    mended: Build


@dataclass(frozen=True, slots=True)
class SystemCounts:
    """One broken system and the true one.

    Attributes:
        system: name of the system.
        broken: states of the broken system.
        mended: states of the true one.
        whole: neither search was cut short.
    """

    system: str
    name: str
    violates: str
    broken: int
    mended: int
    whole: bool

    @property
    def difference(self) -> int:
        """States that the defect adds; negative where it closes more than it opens."""
        return self.broken - self.mended

    def __str__(self) -> str:
        if not self.whole:
            return f"{self.name}: {self.broken} states, {self.mended} when mended, as far as was counted"
        return f"{self.name}: {self.broken} states, {self.mended} when mended, {self.difference:+}"


def _defect(each: Any, build: Callable[..., Any], *sizes: Any, **several: Any) -> SystemDefect:
    broken, mended = (partial(build, each.name, knobs, *sizes, **several) for knobs in (each.knobs, each.mended))
    return SystemDefect(each.name, each.violates, broken, mended)


def _of_ids() -> Iterator[SystemDefect]:
    for name, knobs in OF_IDS:
        true = IdKnobs(size=knobs.size, largest=knobs.largest)
        broken, mended = (partial(idempotence_searches.built_ids, name, each) for each in (knobs, true))
        yield SystemDefect(name, "no_id_twice", broken, mended)


_LAGS: Final = "KAFKA-17507: a marker is answered before it is applied"
_SURVIVES: Final = "an offset expires and leaves what is pending, as before 4.0"
_BEFORE: Final = "KAFKA-15784: the group is looked at before the coordinator"
_KEYS: Final = "KAFKA-14055: keys of markers are compared"

DEFECTS: Final[Mapping[str, tuple[SystemDefect, ...]]] = MappingProxyType(
    {
        "transactions": tuple(_defect(each, transactions_searches.built) for each in OF_TRANSACTIONS),
        "idempotence": tuple(
            _defect(each, idempotence_searches.built, each.epochs, each.deltas) for each in OF_IDEMPOTENCE
        ),
        "partition": tuple(_defect(each, partition_searches.built, **each.several) for each in OF_PARTITIONS),
        "replication": tuple(_defect(each, replication_searches.built) for each in OF_REPLICATION),
        "ids": tuple(_of_ids()),
        "group": tuple(_defect(each, group_searches.built) for each in OF_GROUPS),
        "offsets": (
            SystemDefect(
                _LAGS,
                "visible_is_of_committed",
                partial(group_searches.committing, _LAGS, offsets.OffsetsKnobs(KAFKA_3_9)),
                partial(group_searches.committing, _LAGS, offsets.OffsetsKnobs()),
            ),
            SystemDefect(
                _SURVIVES,
                "deleted_stays_deleted",
                partial(
                    group_searches.committing,
                    _SURVIVES,
                    offsets.OffsetsKnobs(offsets.PENDING_SURVIVES, others=2, expires=True),
                ),
                partial(group_searches.committing, _SURVIVES, offsets.OffsetsKnobs(others=2)),
            ),
        ),
        "membership": (
            SystemDefect(
                _BEFORE,
                "past_generations_write_nothing",
                partial(group_searches.rebalancing, _BEFORE, membership.MembershipKnobs(BEFORE_3_7)),
                partial(group_searches.rebalancing, _BEFORE, membership.MembershipKnobs()),
            ),
        ),
        "cleaning": (
            SystemDefect(
                _KEYS,
                "decided_stays_decided",
                partial(partition_searches.compacted, _KEYS, cleaning.CleaningKnobs(KAFKA_2_7)),
                partial(partition_searches.compacted, _KEYS, cleaning.CleaningKnobs()),
            ),
        ),
    }
)
"""Every hand-written defect of the systems, by the system."""


def counted(system: str, defect: SystemDefect, most_states: int = MOST_STATES) -> SystemCounts:
    """Both systems searched as a whole, whatever they violate."""
    broken, mended = (_explored(build, most_states) for build in (defect.broken, defect.mended))
    whole = not any(isinstance(each.verdict, Unknown) for each in (broken, mended))
    return SystemCounts(system, defect.name, defect.violates, broken.states, mended.states, whole)


def of_systems(most_states: int = MOST_STATES) -> Iterator[SystemCounts]:
    """Every hand-written defect."""
    return (counted(system, each, most_states) for system, defects in DEFECTS.items() for each in defects)


def _explored(build: Build, most_states: int) -> Exploration:
    instance = build()
    return explore(instance.system, instance.finite, [], most_states=most_states)
