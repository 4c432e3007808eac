"""Runs that teach, on the page: `scenarios` plays those of one chapter and draws them, `scenario-index` lists all.

Every run is played on the reference when the page is built; one that does not show what it must fails the build.
"""

from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final

from docutils import nodes
from drawings import drawn
from references import reference, section
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from tables import Cell, folded, listed, prose, table

from model_tests.diagrams.sequence_svg import svg_of
from model_tests.scenarios.catalogue import CHAPTERS, SCENARIOS
from model_tests.scenarios.judged import in_words, judged
from model_tests.scenarios.scenario import SUBJECTS, Scenario

BY_NAME: Final[Mapping[str, ModuleType]] = {chapter.__name__.rpartition(".")[2]: chapter for chapter in CHAPTERS}


class Scenarios(SphinxDirective):
    """The runs of one chapter: what it is about, then each with its story, its facts and its drawing."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Play and render the chapter that the argument names."""
        name = self.arguments[0]
        if name not in BY_NAME:
            raise self.error(f"no chapter of scenarios is called {name!r}: there are {', '.join(BY_NAME)}")
        chapter = BY_NAME[name]
        about = nodes.paragraph("", (chapter.__doc__ or "").strip())
        return [
            about,
            *(self._section(each) for each in SCENARIOS.values() if each.play.__module__ == chapter.__name__),
        ]

    def _section(self, scenario: Scenario[Any]) -> nodes.section:
        outcome = judged(scenario)
        for failure in outcome.failures:
            logging.getLogger(__name__).warning("a scenario is not as expected: %s", failure)
        stated = section(self.env, "scenario", scenario.name)
        stated += nodes.title("", scenario.title)
        stated += nodes.paragraph("", "", prose(scenario.story))
        facts = [(about, in_words(observed)) for about, _, observed in outcome.facts()]
        stated += table([("seen", scenario.setting.words), *facts], (50, 50))
        stated += folded("How it went", *drawn(self.env, f"run-{scenario.name}", svg_of(outcome.diagram)))
        self.state.document.note_explicit_target(stated)
        return stated


class ScenarioIndex(SphinxDirective):
    """What is to be shown, and which runs show it, the main ones first."""

    def run(self) -> list[nodes.Node]:
        """Render the table; a subject without a run of its own is shown elsewhere."""
        rows = [(about, self._shown_by(number)) for number, about in SUBJECTS.items()]
        shown = [(about, runs) for about, runs in rows if len(runs)]
        head: tuple[Cell, ...] = ("what is shown", "by")
        return [table([head, *shown], (50, 50))]

    def _shown_by(self, number: int) -> nodes.inline:
        showing = [each for each in SCENARIOS.values() if number in each.items]
        showing.sort(key=lambda each: each.items.index(number))
        return listed(reference(self.env, "scenario", each.name) for each in showing)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("scenarios", Scenarios)
    app.add_directive("scenario-index", ScenarioIndex)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
