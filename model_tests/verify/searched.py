"""A system that is searched within bounds: its finite instances, and the changes that must break it."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from types import MappingProxyType
from typing import Final, TypeAlias

from model_tests.verify.model_checking import Instanced, Looked, controlled, look, look_for_all, result, vacuous
from model_tests.verify.results import Control, Result, RunEffort
from spec.rules import Rule
from spec.systems.language import System

Build: TypeAlias = Callable[[], Instanced]
"""Makes the system, when it is to be searched and not before."""

Found: TypeAlias = tuple[tuple[Result, ...], tuple[str, ...]]
"""A result for each rule, and what is claimed of nothing."""


def every_depth() -> Mapping[RunEffort, int]:
    """However deep a violation is, bounded search confirms it."""
    return MappingProxyType(dict.fromkeys(RunEffort, 99))


@dataclass(frozen=True, slots=True)
class SearchInstance:
    """A finite instance of a true system.

    Attributes:
        built: makes it.
        depth: how deep the bounded search goes, by effort that explores the instance; 0 leaves it to explicit search.
        whole: with the other such instances, every action must happen in it and every goal be reached, by an effort
            that explores all of them.
    """

    name: str
    built: Build
    depth: Mapping[RunEffort, int]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class SystemMutation:
    """A change of the system, and the claim that must no longer hold."""

    violates: str
    built: Build


CONFIRMED: Final[Mapping[RunEffort, int]] = MappingProxyType(
    {RunEffort.QUICK: 4, RunEffort.DEFAULT: 4, RunEffort.DEEP: 1}
)
"""Of so many changes one is also searched within bounds, by effort."""


def is_confirmed(name: str, effort: RunEffort) -> bool:
    """Whether bounded search is to find what a change breaks, too: the same ones everywhere, by their names."""
    return int.from_bytes(sha256(name.encode()).digest()[:4]) % CONFIRMED[effort] == 0


@dataclass(frozen=True, slots=True)
class Searched:
    """A system's searches.

    Attributes:
        rules: those whose bounded search is reported; the system may have theorems of others.
        deepest: how deep a violation may be, by effort, for bounded search to confirm it.
    """

    rules: tuple[Rule, ...]
    instances: tuple[SearchInstance, ...]
    broken: tuple[SystemMutation, ...]
    deepest: Mapping[RunEffort, int] = field(default_factory=every_depth)

    def bounded(self, effort: RunEffort, only: Iterable[Rule] | None = None) -> Found:
        """The true system searched for a violation of each rule, and what in it can never happen."""
        request = self.rules if only is None else tuple(rule for rule in only if rule in self.rules)
        if not request:
            return (), ()
        instances = self.explored_by(effort)
        looks = [look_for_all(instance.built(), request, instance.depth[effort]) for instance in instances]
        all_there = all(instance in instances for instance in self.instances if instance.whole)
        whole = (instance.built() for instance in instances if instance.whole and all_there)
        return tuple(result(rule, [look[rule] for look in looks]) for rule in request), tuple(vacuous(whole))

    def has_theorem_of(self, rule: Rule) -> bool:
        """Whether the system claims something of a rule."""
        return any(theorem.rule == rule for theorem in self.system.theorems)

    @property
    def system(self) -> System:
        """The system, in its first instance."""
        return self.instances[0].built().system

    def explored(self, rule: Rule) -> Result:
        """Small instances explored for one rule until one violates it: seconds, not minutes."""
        return result(rule, list(self._until_refuted(rule)))

    def _until_refuted(self, rule: Rule) -> Iterator[Looked]:
        for instance in self.explored_by(RunEffort.DEFAULT):
            looked = look(instance.built(), (rule,), 0)
            yield looked
            if looked.refuted:
                return

    def explored_by(self, effort: RunEffort) -> tuple[SearchInstance, ...]:
        """The instances that an effort explores."""
        return tuple(instance for instance in self.instances if effort in instance.depth)

    def controls(self, effort: RunEffort, only: Container[Rule] | None = None) -> tuple[Control, ...]:
        """Every change that must break a rule, by explicit search.

        Of some, by an effort all, bounded search must find the same shortest depth.
        """
        due = ((each.built(), each.violates) for each in self.broken)
        return tuple(
            controlled(broken, violates, self.deepest[effort] if is_confirmed(broken.name, effort) else 0)
            for broken, violates in due
            if only is None or broken.system.claim(violates).rule in only
        )


def depths(quick: int | None = None, default: int | None = None, deep: int | None = None) -> Mapping[RunEffort, int]:
    """How deep each effort searches an instance; `None` leaves the instance out."""
    request = {RunEffort.QUICK: quick, RunEffort.DEFAULT: default, RunEffort.DEEP: deep}
    return MappingProxyType({effort: depth for effort, depth in request.items() if depth is not None})
