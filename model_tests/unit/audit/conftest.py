import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from model_tests.audit.recorded import KAFKA_3_9, unpacked
from model_tests.logs.kafka_log_folders import LogFolder, list_logs
from model_tests.unit.audit.text_cases import POSTED


@pytest.fixture(scope="package")
def recordings() -> Iterator[Path]:
    """Every bundled log, unpacked."""
    with unpacked() as directory:
        yield directory


@pytest.fixture(scope="package")
def posted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every posted text, in a folder for each case."""
    into = tmp_path_factory.mktemp("posted")
    with tarfile.open(POSTED) as archive:
        archive.extractall(into, filter="data")
    return into


@pytest.fixture
def log(recordings: Path) -> LogFolder:
    """A partition with transactions of several producers in two segments."""
    (found,) = list_logs([str(recordings / KAFKA_3_9 / "orders-2")]).logs
    return found
