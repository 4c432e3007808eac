"""A defect planted in the reference: a named patch, and the rule that it breaks."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple
from unittest.mock import patch

from model_tests.machines.tape_runs import ANYWHERE, Terrain
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
        rule: the rule that it breaks, which must be the one that sees it.
        patches: what makes the reference so.
        terrain: where it shows, if it does not nearly anywhere.
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
