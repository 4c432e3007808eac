"""A run that teaches: its story, its setting, how it is played on the reference, and its expected outcome."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from model_tests.monitor.story import Story
from model_tests.scenarios.subjects import SUBJECTS

Value: TypeAlias = bool | int | str | list[str] | list[int]
"""What a fact says, as JSON has it."""

Facts: TypeAlias = Mapping[str, Value]
"""What is to be known of a run in the end, by what it is about."""


class Stage(Protocol):
    """A world of the reference that is recorded."""

    @property
    def story(self) -> Story:
        """What has happened, to be drawn."""

    @property
    def cast(self) -> tuple[str, ...]:
        """All that may take part, from left to right."""


Played = TypeVar("Played", bound=Stage, covariant=True)
On = TypeVar("On", bound=Stage)


class ScenarioSetting(Protocol[Played]):
    """What a run is played on."""

    @property
    def words(self) -> str:
        """Releases and settings, for a person to read."""

    def stage(self) -> Played:
        """A world in which nothing has happened."""


@dataclass(frozen=True, slots=True)
class Scenario(Generic[On]):
    """One run.

    Attributes:
        name: on the command line.
        title: what happens, in a line.
        items: the numbers of the subjects that it shows, the main one first.
        story: two to four sentences: what is to be learned.
        setting: what it is played on.
        play: plays it, and says what is to be seen in the end.
        expected: what must be seen.
    """

    name: str
    title: str
    items: tuple[int, ...]
    story: str
    setting: ScenarioSetting[On]
    play: Callable[[On], Facts]
    expected: Facts


REGISTERED: Final[dict[str, Scenario[Any]]] = {}
"""Every scenario by name, as the modules that `catalogue` imports have defined them."""

Play: TypeAlias = Callable[[On], Facts]


def scenario(
    name: str, title: str, *, items: tuple[int, ...], story: str, setting: ScenarioSetting[On], expected: Facts
) -> Callable[[Play[On]], Play[On]]:
    """The decorated function plays the scenario; one function may play several, on other settings.

    Raises:
        ValueError: another scenario has the name, or it shows what is not a subject.
    """

    def register(play: Play[On]) -> Play[On]:
        if name in REGISTERED:
            raise ValueError(f"two scenarios are called {name!r}")
        if not SUBJECTS.keys() >= set(items):
            raise ValueError(f"{name!r} shows {items}, of which not all are subjects")
        # Decorators apply from the bottom up, and are read from the top down.
        below = {other: REGISTERED.pop(other) for other, known in tuple(REGISTERED.items()) if known.play is play}
        REGISTERED[name] = Scenario(name, title, items, " ".join(story.split()), setting, play, expected)
        REGISTERED.update(below)
        return play

    return register
