from collections.abc import Iterator
from pathlib import Path

import pytest

from model_tests.audit.recorded import KAFKA_3_9, unpacked
from model_tests.logs.kafka_log_folders import LogFolder, list_logs


@pytest.fixture(scope="package")
def recordings() -> Iterator[Path]:
    """Every bundled log, unpacked."""
    with unpacked() as directory:
        yield directory


@pytest.fixture
def log(recordings: Path) -> LogFolder:
    """A partition with transactions of several producers in two segments."""
    (found,) = list_logs([str(recordings / KAFKA_3_9 / "orders-2")]).logs
    return found
