"""The world of a counterexample: objects of the reference, an act for each action, and a ghost that judges.

The ghost reads what was sent and what is in the logs. It asks no decision of the specification.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from model_tests.monitor.story import Story
from model_tests.mutants.defects.planted import Planted
from reference.errors import Impossible, Refusal
from spec.engines.verdict import Trace
from spec.rules import Rule
from spec.versions import Profile


class Diverged(Exception):
    """The reference does something else than the next action, without refusing anything: says what."""


class GhostViolation(NamedTuple):
    """What the ghost saw, and whose rule it is."""

    rule: Rule
    text: str

    def __str__(self) -> str:
        """Rule and what was seen, in a line."""
        return f"{self.rule.id}: {self.text}"


class CounterexampleWorld(Protocol):
    """Objects of the reference in one run of a counterexample, whose steps are recorded."""

    @property
    def story(self) -> Story:
        """What has happened."""

    @property
    def cast(self) -> tuple[str, ...]:
        """All that may take part, from left to right."""

    def broken(self) -> GhostViolation | None:
        """What is broken by now."""

    def instead(self) -> str:
        """What came of the last step where nothing is broken, in a line."""


Make: TypeAlias = Callable[[Profile], CounterexampleWorld]


@dataclass(frozen=True, slots=True)
class Staging:
    """Where a bug is carried out.

    Attributes:
        world: made for a profile.
        defective: the profile in which it must show.
        planted: the defect that the reference needs for it; None where the profile has it.
        true: the profile in which a step must be refused.
        mending: what the reference needs to be without the bug; None where a release is.
    """

    world: Make
    defective: Profile
    true: Profile
    planted: Planted | None = None
    mending: Planted | None = None


@dataclass(frozen=True, slots=True)
class CarriedOut:
    """What became of a counterexample on the reference.

    Attributes:
        world: in which that was.
        broken: what the ghost saw.
        refused: the first step that went otherwise, and why; where every step happens, what came of them.
        happened: every step happens, and nothing is broken by it.
    """

    world: CounterexampleWorld = field(compare=False)
    broken: GhostViolation | None = None
    refused: str = ""
    happened: bool = False


def carry_out(world: CounterexampleWorld, trace: Trace) -> CarriedOut:
    """Do each action of a counterexample in turn, until something is broken or refused."""
    for number, happening in enumerate(trace, start=1):
        try:
            acts = getattr(world, "acts", {})  # of worlds that are no scripts yet
            act = acts.get(happening.action) or getattr(world, happening.action, None)
            if act is None:
                raise Diverged(f"the script has no action {happening.action}")
            act(*happening.at)
        except (Refusal, Impossible, Diverged) as otherwise:
            return CarriedOut(world, refused=f"step {number}, {happening}: {_reason(otherwise)}")
        broken = world.broken()
        if broken:
            return CarriedOut(world, broken)
    return CarriedOut(world, refused=f"every step happens, and then {world.instead()}", happened=True)


def _reason(otherwise: Exception) -> str:
    if isinstance(otherwise, Refusal):
        return str(otherwise)
    return str(otherwise) or type(otherwise).__name__


Thing = TypeVar("Thing")


def there(thing: Thing | None, otherwise: str) -> Thing:
    """A thing that the next action needs.

    Raises:
        Diverged: it is not there.
    """
    if thing is None:
        raise Diverged(otherwise)
    return thing
