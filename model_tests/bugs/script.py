"""The script of a counterexample: a world of the reference, a method for each action, and a ghost that judges.

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
    """The reference does something else than the next action, or refuses it: says what."""


class GhostViolation(NamedTuple):
    """What the ghost saw, and whose rule it is."""

    rule: Rule
    text: str

    def __str__(self) -> str:
        """Rule and what was seen, in a line."""
        return f"{self.rule.id}: {self.text}"


class Script(Protocol):
    """One run of a counterexample in a world, whose steps are recorded; each action is a method with its name."""

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


Make: TypeAlias = Callable[[Profile], Script]


@dataclass(frozen=True, slots=True)
class Staging:
    """Where a bug is carried out.

    Attributes:
        script: made for a profile.
        defective: the profile in which it must show.
        planted: the defect that the reference needs for it; None where the profile has it.
        true: the profile in which a step must be refused.
        mending: what the reference needs to be without the bug; None where a release is.
    """

    script: Make
    defective: Profile
    true: Profile
    planted: Planted | None = None
    mending: Planted | None = None


@dataclass(frozen=True, slots=True)
class CarriedOut:
    """What became of a counterexample on the reference.

    Attributes:
        script: of the run.
        broken: what the ghost saw.
        refused: the first step that went otherwise, and why; where every step happens, what came of them.
        happened: every step happens, and nothing is broken by it.
        steps: how many steps happened.
    """

    script: Script = field(compare=False)
    broken: GhostViolation | None = None
    refused: str = ""
    happened: bool = False
    steps: int = 0


def carry_out(script: Script, trace: Trace) -> CarriedOut:
    """Do each action of a counterexample in turn, until something is broken or refused."""
    for number, happening in enumerate(trace, start=1):
        try:
            act: Callable[..., None] | None = getattr(script, happening.action, None)
            there(act, f"the script has no action {happening.action}")(*happening.at)
        except (Refusal, Impossible, Diverged) as otherwise:
            return CarriedOut(script, refused=f"step {number}, {happening}: {_reason(otherwise)}", steps=number - 1)
        broken = script.broken()
        if broken:
            return CarriedOut(script, broken, steps=number)
    refused = f"every step happens, and then {script.instead()}"
    return CarriedOut(script, refused=refused, happened=True, steps=len(trace))


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
