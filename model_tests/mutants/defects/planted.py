"""A defect planted in the reference: a named patch and the rule that it breaks; and the hunt for it.

A hunt plants a defect, and makes seeded runs until the rule that it breaks detects it.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Final, NamedTuple, TypeAlias
from unittest.mock import patch

from model_tests.machines.rule_counts import Ledger
from model_tests.machines.tape_runs import ANYWHERE, Terrain
from model_tests.verify.results import PlantedDefect
from spec.rules import Rule


class Patch(NamedTuple):
    """One replaced function, method or constant: where it is, its name, and what stands there instead."""

    owner: object
    name: str
    instead: object


@dataclass(frozen=True, slots=True)
class Planted:
    """One defect.

    Attributes:
        name: what is wrong, in a few words.
        rule: the rule that it breaks, which must detect it.
        patches: the changes of the reference that make the defect.
        terrain: where it shows, if it does not show nearly everywhere.
    """

    name: str
    rule: Rule
    patches: tuple[Patch, ...]
    terrain: Terrain = ANYWHERE

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The reference has the defect inside this context."""
        with ExitStack() as stack:
            for change in self.patches:
                stack.enter_context(patch.object(change.owner, change.name, change.instead))
            yield


def defect(name: str, rule: Rule, owner: object, method: str, instead: object) -> Planted:
    """A defect of one function, method or constant."""
    return Planted(name, rule, (Patch(owner, method, instead),))


def planted_in(*modules: ModuleType) -> dict[str, Planted]:
    """The defects that modules list in tuples, by their names."""
    return {
        planted.name: planted
        for module in modules
        for listed in vars(module).values()
        if isinstance(listed, tuple) and listed and all(isinstance(each, Planted) for each in listed)
        for planted in listed
    }


# --- the hunt ---------------------------------------------------------------------------------------------------------


SEEDS: Final = range(400)
"""Runs after which a mutant has survived."""

Run: TypeAlias = Callable[[int, Ledger], object]
"""One run of a seed, on an account."""


def hunted(planted: Planted, run: Run, seeds: Iterable[int] = SEEDS) -> PlantedDefect:
    """The checks that have detected the defect: an invariant of its rule, or, in the end, others."""
    started = time.monotonic()
    killers: dict[str, None] = {}
    with planted.in_place():
        for seed in seeds:
            ledger, stopped = run_once(run, seed)
            if (seen := ledger.seen_by_invariants(planted.rule)) is not None:
                killers = {f"{seen.seen_by} {seen.rule.id} in run {seed}": None} | killers
                break
            killers |= {f"{found.seen_by} {found.rule.id}": None for found in ledger.broken}
            killers |= {stopped: None} if stopped else {}
    return PlantedDefect(planted.name, planted.rule, tuple(killers), round(time.monotonic() - started, 3))


def run_once(run: Run, seed: int, account: Ledger | None = None) -> tuple[Ledger, str]:
    """One run's account, of invariants alone unless another is given, and how the reference fell over, if it did."""
    ledger = account or Ledger(asks_decision=False)
    try:
        run(seed, ledger)
    except Exception as error:  # noqa: BLE001  # a mutant may break anything, and that is no rule's word
        return ledger, f"the reference stops: {type(error).__name__}"
    return ledger, ""


def without_defect(run: Run, runs: int, what: str) -> tuple[str, ...]:
    """What breaks in runs of the true reference."""
    failures = []
    for seed in range(runs):
        ledger, stopped = run_once(run, seed)
        failures += [f"the true {what}, run {seed}: {broken}" for broken in ledger.broken]
        failures += [f"the true {what}, run {seed}: {stopped}"] if stopped else []
    return tuple(failures)
