"""The project's own code for executors that do not have it: one archive, sent once, first on their path."""

import atexit
import shutil
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile

from pyspark import SparkContext

PACKAGES: Final = ("spec", "reference", "model_tests")

ARCHIVE: Final = "kafka_exactly_once.zip"

_LEFT_HERE: Final = ("model_tests/unit/",)
"""Tests stay where they are."""


def ship(context: SparkContext) -> None:
    """Give the executors the source that runs here; what `--py-files` brought is there already."""
    root = _root()
    if root.is_dir():
        lasting = Path(tempfile.mkdtemp(prefix="eos-ship-"))  # an executor that comes late asks for it, too
        atexit.register(shutil.rmtree, lasting, ignore_errors=True)
        context.addPyFile(str(archive(root, lasting / ARCHIVE)))


def archive(root: Path, file: Path) -> Path:
    """Write every module of the project into a file that Python imports from."""
    with ZipFile(file, "w", ZIP_DEFLATED) as content:
        for package in PACKAGES:
            for source in sorted((root / package).rglob("*.py")):
                name = source.relative_to(root).as_posix()
                if not name.startswith(_LEFT_HERE):
                    content.write(source, name)
    return file


def _root() -> Path:
    """The folder in which the packages stand, or an archive of them."""
    return Path(str(import_module(PACKAGES[0]).__file__)).parent.parent
