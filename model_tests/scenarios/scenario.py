"""A run that teaches: its story, its setting, how it is played on the reference, and its expected outcome.

A scenario names the subjects of Kafka's exactly-once that it shows, by number.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from model_tests.monitor.story import Story

SUBJECTS: Final[Mapping[int, str]] = MappingProxyType(
    {
        1: "exactly once per session and partition; why duplicates and disorder arise",
        2: "producer ids",
        3: "authorization",
        4: "sequence numbers",
        5: "the producer client",
        6: "the broker's append path and its window of five batches",
        7: "producer state across failures of brokers",
        8: "limits of idempotence",
        9: "unknown producers, before and since KIP-360",
        10: "transactional ids, epochs and the fencing of zombies",
        11: "the transaction coordinator",
        12: "control batches, isolation levels and the last stable offset",
        13: "consume, transform, produce",
        14: "limits of reading transactions",
        15: "errors: fatal, abortable or retriable",
        16: "failure of the coordinator at each point",
        17: "transaction timeout and expiration of transactional ids",
        18: "a partition that is unavailable during a commit",
        19: "two-phase commit, snapshots and atomic broadcast beside it",
        20: "topics, partitions and offsets",
        21: "consumer groups",
        22: "replication: which setting loses or duplicates what",
        23: "election of the controller",
        24: "storage: segments, indexes and retention",
        25: "differences between versions",
    }
)


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
