"""`eos scenarios`: the list; one run, drawn; or the outcomes of all."""

from pathlib import Path

from model_tests.common.reports import BadInput, Report
from model_tests.diagrams.svg_file import draw
from model_tests.scenarios.catalogue import SCENARIOS, scenario_called
from model_tests.scenarios.judged import judged
from model_tests.scenarios.report import ScenarioReport, ScenariosReport


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
