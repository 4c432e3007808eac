"""The scenarios of `eos verify`: every run that teaches must still show what it teaches."""

from model_tests.scenarios.catalogue import SCENARIOS
from model_tests.scenarios.judged import judged
from model_tests.verify.results import PartResult, RunEffort


def evidence(effort: RunEffort) -> PartResult:
    """Play all of them, whatever the effort: together they take seconds."""
    played = tuple(judged(each) for each in SCENARIOS.values())
    return PartResult(
        name="scenarios",
        extra={"scenarios": len(played), "facts": sum(len(each.scenario.expected) for each in played)},
        failures=tuple(failure for each in played for failure in each.failures),
    )
