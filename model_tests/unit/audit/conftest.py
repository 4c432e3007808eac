from collections.abc import Iterator
from pathlib import Path

import pytest

from model_tests.audit.recorded import unpacked


@pytest.fixture(scope="package")
def recordings() -> Iterator[Path]:
    """Every bundled log, unpacked."""
    with unpacked() as directory:
        yield directory
