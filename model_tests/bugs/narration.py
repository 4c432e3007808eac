"""A counterexample as a sequence diagram: for each action of a system, its messages and notes."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from model_tests.diagrams.events import Ending, Event, Sequence, participants_of
from spec.bugs.bug import Bug, SearchCase
from spec.engines.explore import walked
from spec.engines.finite import instance_of
from spec.engines.verdict import Happening, Trace
from spec.systems.language import State


@dataclass(frozen=True, slots=True)
class Moment:
    """One action of a counterexample: the state before it, what happens, the state after it."""

    before: State
    happening: Happening
    after: State

    @property
    def at(self) -> tuple[int, ...]:
        """The arguments of the action."""
        return self.happening.at


Reporter: TypeAlias = Callable[[Moment], Iterator[Event]]


@dataclass(frozen=True, slots=True)
class ActionNarration:
    """The narration of the actions of a system.

    Attributes:
        participants: all that may appear, from left to right.
        actions: for each action its events.
    """

    participants: tuple[str, ...]
    actions: Mapping[str, Reporter]


def reported(bug: Bug, case: SearchCase, trace: Trace, event: ActionNarration) -> Sequence:
    """The counterexample of a bug as a diagram.

    Args:
        bug: as the catalogue has it.
        case: the release and instance in which it was found.
        trace: the steps of the counterexample.
        event: how the steps of this system are drawn.
    """
    system = case.instance.searched()
    states = walked(system, instance_of(system, case.instance.sizes), trace)
    moments = [
        Moment(before, happening, after) for (before, after), happening in zip(pairwise(states), trace, strict=True)
    ]
    steps = tuple(tuple(event.actions[moment.happening.action](moment)) for moment in moments)
    return Sequence(title_of(bug, case), participants_of(steps, event.participants), steps, ending_of(bug, case))


def title_of(bug: Bug, case: SearchCase) -> str:
    """The title of a drawing: the bug, and the release in which it was found."""
    return f"{bug.name}: {bug.title} ({case.profile})"


def ending_of(bug: Bug, case: SearchCase) -> Ending:
    """The last line of a drawing: what the counterexample breaks."""
    sentence = case.claim_of(case.instance.searched()).sentence
    return Ending(bug.rule.id, f"it is no longer so that {_continued(sentence)}")


def _continued(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]
