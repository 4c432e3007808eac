"""Explicit and bounded search of the partition with transactions: the true system within bounds, and every control."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from model_tests.verify.looking import Instanced, controlled, look, look_for_all, result, vacuous
from model_tests.verify.results import Control, Effort, Result
from spec import rules
from spec.engines.finite import instance_of
from spec.evidence import Layer, evidences
from spec.rules import Rule
from spec.systems.deciding import UNWRAPPED, remembered
from spec.systems.partition.controls import CONTROLS, BrokenPartition
from spec.systems.partition.log import Knobs
from spec.systems.partition.system import partition, sizes

SEARCHED: Final = (
    rules.LSO_BOUNDS,
    rules.LSO_DECIDED_BELOW,
    rules.LSO_MONOTONE,
    rules.FENCE_EPOCH_MONOTONE,
    rules.FENCE_COORDINATOR_EPOCH,
)
"""The rules with a theorem about the partition. None owes a bounded search; all have one."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A finite instance of the true system.

    Attributes:
        knobs: its bounds, and what is in it.
        several: of what it has more than one.
        depth: how deep the bounded search goes, by effort that explores the instance; 0 leaves it out.
        whole: together with the other such instances, every action must happen in it and every goal be reached.
    """

    name: str
    knobs: Knobs
    several: Mapping[str, int]
    depth: Mapping[Effort, int]
    whole: bool = False

    def built(self) -> Instanced:
        """The system in this instance."""
        return _built(self.name, self.knobs, sizes(self.knobs, **self.several))


def _built(name: str, knobs: Knobs, of_sizes: Mapping[str, int]) -> Instanced:
    system = partition(knobs, remembered(knobs.decide))
    return Instanced(name, system, partition(knobs), instance_of(system, of_sizes))


_QUICK: Final = MappingProxyType({Effort.QUICK: 3, Effort.DEFAULT: 5, Effort.DEEP: 7})
_DEFAULT: Final = MappingProxyType({Effort.DEFAULT: 0, Effort.DEEP: 6})

INSTANCES: Final = (
    Instance(
        "two producers", Knobs(profile=UNWRAPPED, appends=2, plain_data=False), {"producers": 2}, _QUICK, whole=True
    ),
    Instance(
        "two epochs",
        Knobs(profile=UNWRAPPED, appends=2, fails_over=False, log_start_rises=False),
        {"epochs": 2, "coordinator_epochs": 2, "sequences": 2},
        MappingProxyType({Effort.QUICK: 0, Effort.DEFAULT: 4, Effort.DEEP: 6}),
        whole=True,
    ),
    Instance(
        "batches of two sizes",
        Knobs(profile=UNWRAPPED, appends=2, plain_data=False, offset_commits=False),
        {"deltas": 2},
        _DEFAULT,
    ),
    Instance(
        "three batches of two producers",
        Knobs(profile=UNWRAPPED, appends=3, fails_over=False, offset_commits=False),
        {"producers": 2},
        _DEFAULT,
    ),
    Instance(
        "three batches", Knobs(profile=UNWRAPPED, appends=3), {"sequences": 2}, MappingProxyType({Effort.DEEP: 6})
    ),
)


@evidences(rules.LSO_BOUNDS, Layer.BOUNDED)
@evidences(rules.LSO_DECIDED_BELOW, Layer.BOUNDED)
@evidences(rules.LSO_MONOTONE, Layer.BOUNDED)
@evidences(rules.FENCE_EPOCH_MONOTONE, Layer.BOUNDED)
@evidences(rules.FENCE_COORDINATOR_EPOCH, Layer.BOUNDED)
def bounded(effort: Effort, only: Iterable[Rule] = SEARCHED) -> tuple[tuple[Result, ...], tuple[str, ...]]:
    """The true system searched for a violation of each rule, and what in it can never happen."""
    asked = tuple(rule for rule in only if rule in SEARCHED)
    if not asked:
        return (), ()
    instances = [instance for instance in INSTANCES if effort in instance.depth]
    looks = [look_for_all(instance.built(), asked, instance.depth[effort]) for instance in instances]
    whole = (instance.built() for instance in instances if instance.whole)
    return tuple(result(rule, [look[rule] for look in looks]) for rule in asked), tuple(vacuous(whole))


def explored(rule: Rule) -> Result:
    """The smallest instances explored for one rule: seconds, not minutes."""
    return result(rule, [look(i.built(), (rule,), 0) for i in INSTANCES if Effort.QUICK in i.depth])


DEEPEST: Final = 5
"""No change needs more actions than this to do harm."""


def controls(broken: Iterable[BrokenPartition] = CONTROLS) -> tuple[Control, ...]:
    """Every change that must break a rule, searched explicitly and bounded; both must find the same shortest depth."""
    return tuple(controlled(_built(each.name, each.knobs, each.sizes), each.violates, DEEPEST) for each in broken)
