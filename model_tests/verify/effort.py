"""The sizes of each effort: Hypothesis' settings by profile, registered in this one place.

On a build server the examples are the same every time (`CI` is set), unless `EOS_RANDOM=1` asks for new ones.
"""

import os
from typing import Final

from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase

from model_tests.common.reports import BadInput
from model_tests.verify.results import RunEffort

EXAMPLES: Final = {RunEffort.QUICK: 60, RunEffort.DEFAULT: 150, RunEffort.DEEP: 5000}

STEPS: Final = {RunEffort.QUICK: 30, RunEffort.DEFAULT: 50, RunEffort.DEEP: 100}
"""Steps of one run of a state machine."""

DATABASE: Final = ".hypothesis/examples"


def hypothesis_settings(effort: RunEffort) -> settings:
    """The settings under which Hypothesis runs with this effort."""
    derandomized = is_derandomized()
    return settings(
        max_examples=EXAMPLES[effort],
        stateful_step_count=STEPS[effort],
        deadline=None,  # a shared machine is no reason to fail
        derandomize=derandomized,
        database=None if derandomized else DirectoryBasedExampleDatabase(DATABASE),
        print_blob=effort is RunEffort.DEEP,
        suppress_health_check=[HealthCheck.too_slow],  # likewise
    )


def is_derandomized() -> bool:
    """Whether every run sees the same examples."""
    return bool(os.environ.get("CI")) and os.environ.get("EOS_RANDOM") != "1"


def effort_from_environment() -> RunEffort:
    """The effort that `EOS_PROFILE` names; without it, `default`.

    Raises:
        BadInput: it asks for another than there are.
    """
    request = os.environ.get("EOS_PROFILE", RunEffort.DEFAULT)
    if request not in set(RunEffort):
        raise BadInput(f"EOS_PROFILE is {', '.join(RunEffort)}, not {request!r}")
    return RunEffort(request)


def register() -> None:
    """Make the efforts known to Hypothesis as profiles, and load the one that the environment names."""
    for effort in RunEffort:
        settings.register_profile(effort, hypothesis_settings(effort))
    settings.load_profile(effort_from_environment())
