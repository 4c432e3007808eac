from collections.abc import Iterator
from pathlib import Path

import pytest

from model_tests.audit.recorded import RECORDED, unpacked


@pytest.fixture(scope="session")
def recordings() -> Iterator[Path]:
    """The recorded log directories, unpacked; tests only read them."""
    with unpacked() as directory:
        yield directory


@pytest.fixture(scope="session")
def recorded_files(recordings: Path) -> list[Path]:
    """Every file of the recorded log directories."""
    return sorted(path for name in RECORDED for path in (recordings / name).rglob("*") if path.is_file())
