"""What every test runs under: Hypothesis' profile, and one worker for all tests that start Spark."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from model_tests.reports import BadInput
from model_tests.verify.effort import register

SPARK_FIXTURES: Final = {"spark"}


def pytest_configure() -> None:
    """Load the profile that `EOS_PROFILE` names."""
    try:
        register()
    except BadInput as bad:
        raise pytest.UsageError(str(bad)) from bad


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Keep the tests that use Spark in one worker (`--dist loadgroup`): a second session costs a gigabyte."""
    for item in items:
        if SPARK_FIXTURES & set(getattr(item, "fixturenames", ())) or "traces" in Path(item.path).parts:
            item.add_marker(pytest.mark.xdist_group("spark"))
