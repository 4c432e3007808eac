"""The command `eos scenarios` and its output: the list, one run with its diagram and facts, or all outcomes."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from model_tests.common.reports import HOLDS, VIOLATED, BadInput, Report, wide
from model_tests.diagrams.sequence import text_of
from model_tests.diagrams.sequence_svg import draw
from model_tests.scenarios.catalogue import SCENARIOS, scenario_called
from model_tests.scenarios.judged import ScenarioResult, in_words, judged
from model_tests.scenarios.scenario import SUBJECTS, Facts, Scenario

# --- the output -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScenariosReport:
    """Every scenario, played on demand.

    Attributes:
        outcomes: what came of them, none where they are only listed.
    """

    scenarios: tuple[Scenario[Any], ...]
    outcomes: tuple[ScenarioResult, ...] = ()

    @property
    def failures(self) -> tuple[str, ...]:
        """What is not as expected, a line each."""
        return tuple(failure for outcome in self.outcomes for failure in outcome.failures)

    @property
    def exit_code(self) -> int:
        """Whether all is as expected."""
        return VIOLATED if self.failures else HOLDS

    def to_json(self) -> list[dict[str, object]]:
        """An entry for each scenario that was played."""
        return [outcome.entry() for outcome in self.outcomes]

    def print(self, console: Console) -> None:
        """A line for each scenario, then what is not as expected."""
        table = Table(title="Runs that teach", title_justify="left", show_lines=True)
        for column in ("scenario", "what happens", "items", "expected"):
            table.add_column(column, overflow="fold", no_wrap=column == "scenario")
        for each in self.scenarios:
            table.add_row(each.name, each.title, ", ".join(map(str, each.items)), facts_in_words(each.expected))
        wide(console).print(table)
        summary = f"{len(self.scenarios)} scenarios: eos scenarios NAME"
        if self.outcomes:
            summary = (
                f"{sum(outcome.holds for outcome in self.outcomes)} of {len(self.outcomes)} scenarios are as expected"
            )
        console.print(summary, highlight=False)
        _print_failures(console, self.failures)


@dataclass(frozen=True, slots=True)
class ScenarioReport:
    """One scenario: its story, what happened, and what is to be seen in the end."""

    outcome: ScenarioResult

    @property
    def exit_code(self) -> int:
        """Whether all is as expected."""
        return HOLDS if self.outcome.holds else VIOLATED

    def to_json(self) -> list[dict[str, object]]:
        """The only entry."""
        return [self.outcome.entry()]

    def print(self, console: Console) -> None:
        """Title, story, diagram, facts."""
        reported = self.outcome.scenario
        console.print(Text(f"{reported.name}: {reported.title}", "bold"))
        console.print(reported.story, highlight=False, markup=False)
        shown = "; ".join(SUBJECTS[item] for item in reported.items)
        console.print(f"Setting: {reported.setting.words}.\nShows: {shown}.\n", highlight=False, markup=False)
        console.print(text_of(self.outcome.diagram), highlight=False, markup=False, soft_wrap=True)
        wide(console).print(_facts(self.outcome))
        _print_failures(console, self.outcome.failures)


def facts_in_words(facts: Facts) -> str:
    """Facts in one paragraph."""
    return "; ".join(f"{about}: {in_words(value)}" for about, value in facts.items())


def _facts(outcome: ScenarioResult) -> Table:
    table = Table()
    for column in ("fact", "expected", "observed"):
        table.add_column(column, overflow="fold")
    for about, expected, observed in outcome.facts():
        table.add_row(
            about, in_words(expected), Text(in_words(observed), "green" if expected == observed else "bold red")
        )
    return table


def _print_failures(console: Console, failures: Iterable[str]) -> None:
    for failure in failures:
        console.print(Text(f"FAILED  {failure}", "red"), soft_wrap=True)


# --- the command ------------------------------------------------------------------------------------------------------


def run(name: str = "", *, everything: bool = False, svg: Path | None = None) -> Report:
    """Show the list, or play one scenario or all.

    Args:
        name: the scenario.
        everything: without a name, play all scenarios instead of listing them.
        svg: where the scenario is drawn.

    Raises:
        BadInput: no scenario has the name, or there is nothing to draw or nowhere to draw it.
    """
    if name:
        return _one(name, svg)
    if svg is not None:
        raise BadInput("--svg draws one scenario: say which, as in `eos scenarios lost-acknowledgement --svg FILE`")
    reported = tuple(SCENARIOS.values())
    return ScenariosReport(reported, tuple(map(judged, reported)) if everything else ())


def _one(name: str, svg: Path | None) -> Report:
    outcome = judged(scenario_called(name))
    if svg is not None:
        draw(outcome.diagram, svg)
    return ScenarioReport(outcome)
