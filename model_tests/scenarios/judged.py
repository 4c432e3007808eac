"""One scenario played on the reference, and its outcome beside the expected one."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from model_tests.diagrams.events import Ending, Sequence
from model_tests.monitor.drawing import sequence_of
from model_tests.scenarios.scenario import Facts, Scenario, Value
from reference.client.transaction_states import IllegalState, ProducerFailed
from reference.errors import Refusal

UNSEEN = "(not reported)"


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """What came of a scenario.

    Attributes:
        observed: the facts of the run.
        diagram: what happened.
    """

    scenario: Scenario[Any]
    observed: Facts
    diagram: Sequence

    @property
    def holds(self) -> bool:
        """Whether every fact is as expected, and there is no other."""
        return dict(self.observed) == dict(self.scenario.expected)

    def facts(self) -> Iterator[tuple[str, Value, Value]]:
        """What each fact is about, what is expected, what was observed."""
        expected = self.scenario.expected
        for about in dict.fromkeys([*expected, *self.observed]):
            yield about, expected.get(about, UNSEEN), self.observed.get(about, UNSEEN)

    @property
    def failures(self) -> tuple[str, ...]:
        """What is not as expected, a line each."""
        return tuple(
            f"{self.scenario.name}: {about}: expected {in_words(expected)}, observed {in_words(observed)}"
            for about, expected, observed in self.facts()
            if expected != observed
        )

    def entry(self) -> dict[str, object]:
        """What the report says of it."""
        return {
            "name": self.scenario.name,
            "items": list(self.scenario.items),
            "expected": dict(self.scenario.expected),
            "observed": dict(self.observed),
            "holds": self.holds,
        }


def judged(scenario: Scenario[Any]) -> ScenarioResult:
    """Play a scenario; one that cannot be played to its end is not as expected."""
    stage = scenario.setting.stage()
    try:
        observed = scenario.play(stage)
    except (IllegalState, ProducerFailed, Refusal) as stopped:
        observed = {"the run stops": str(stopped)}
    text = "; ".join(f"{about}: {in_words(value)}" for about, value in observed.items())
    title = f"{scenario.title} ({scenario.setting.words})"
    ending = Ending("", text)
    diagram = sequence_of(stage.story.rows, title, ending, stage.story.captions(stage.cast))
    return ScenarioResult(scenario, observed, diagram)


def in_words(value: Value) -> str:
    """A fact's value for a person to read."""
    match value:
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(map(str, value)) or "nothing"
        case _:
            return str(value)
