"""What may happen in a world: one list for each, read by the simulation, by the machines and by runs from a tape."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from reference.tape import Tape

World = TypeVar("World", contravariant=True)


def always(_: object) -> bool:
    """It can happen at any time."""
    return True


@dataclass(frozen=True, slots=True)
class Event(Generic[World]):
    """One event of a world.

    Attributes:
        act: lets it happen, with choices from a tape; False if nothing came of it.
        weight: how likely it is among the others.
        ready: whether it is one of those that can be chosen now.
        fault: what goes wrong, empty if it is usual; in a simulation the name of its rate (`reference.faults`).
    """

    act: Callable[[World, Tape], bool | None]
    weight: int
    ready: Callable[[World], bool] = always
    fault: str = ""

    @property
    def name(self) -> str:
        """The name of the function that lets it happen."""
        return self.act.__name__
