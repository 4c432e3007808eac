"""The extensions that make the published pages, as the build finds them: modules of their own folder."""

import sys
from importlib import import_module
from typing import Any, Final

from model_tests.unit.source_files import ROOT

DOCS: Final = ROOT / "docs"


def extension(name: str) -> Any:
    """An extension by its name."""
    folder = str(DOCS / "_ext")
    if folder not in sys.path:
        sys.path.append(folder)
    return import_module(name)
