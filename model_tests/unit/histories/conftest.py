import tarfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from model_tests.audit.recorded import KAFKA_4_0, journal


@pytest.fixture(scope="module")
def recordings() -> Iterator[Path]:
    """The smallest of the bundled recordings, unpacked."""
    packed = Path(journal(KAFKA_4_0)).with_name(f"{KAFKA_4_0}.tar.xz")
    with TemporaryDirectory() as directory, tarfile.open(packed) as archive:
        archive.extractall(directory, filter="data")
        yield Path(directory)
