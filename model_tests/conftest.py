"""What every test runs under: Hypothesis' profile, and one worker for all tests that share what is expensive."""

from pathlib import Path
from typing import Final

import pytest

from model_tests.common.java import expect_little
from model_tests.common.reports import BadInput
from model_tests.verify.effort import effort_from_environment, register
from model_tests.verify.results import RunEffort

SPARK_FIXTURES: Final = {"spark"}


def pytest_configure() -> None:
    """Load the profile that `EOS_PROFILE` names; what tests give to Spark is little."""
    expect_little()
    try:
        register()
    except BadInput as bad:
        raise pytest.UsageError(str(bad)) from bad


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave slow tests to the deep profile, and keep those that share a session or a module in one worker.

    Each worker makes the fixtures of its own tests: one worker for Spark, and one for each module with fixtures of its
    scope, make them once (`--dist loadgroup`).
    """
    if effort_from_environment() is not RunEffort.DEEP:
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]
    for item in items:
        if SPARK_FIXTURES & set(getattr(item, "fixturenames", ())) or "traces" in Path(item.path).parts:
            item.add_marker(pytest.mark.xdist_group("spark"))
        elif not item.get_closest_marker("xdist_group") and shares_module(item):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


def shares_module(item: pytest.Item) -> bool:
    """Whether a fixture of the test is made once for its module."""
    fixtures = item._fixtureinfo.name2fixturedefs if isinstance(item, pytest.Function) else {}
    return any(defined.scope == "module" for definitions in fixtures.values() for defined in definitions)
