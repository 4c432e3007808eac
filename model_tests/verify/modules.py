"""Every module of ours, by name: for the marks of evidence, which are made when a module is imported."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import Final

import model_tests
import reference
import spec

PACKAGES: Final = (spec, reference, model_tests)
"""The packages that this repository installs."""


def production_modules() -> Iterator[str]:
    """Names of all modules that are no tests."""
    return (name for name in all_modules() if not is_test(name))


def all_modules() -> Iterator[str]:
    """Names of all modules, packages first, each once."""
    for package in PACKAGES:
        yield package.__name__
        yield from (found.name for found in walk_packages(package.__path__, f"{package.__name__}."))


def is_test(module: str) -> bool:
    """Whether the module is a test or serves tests only."""
    last = module.rpartition(".")[2]
    return module.startswith("model_tests.unit") or last.startswith("test_") or last == "conftest"


def import_production_modules() -> None:
    """Import all modules that are no tests, so that every mark of evidence has been made."""
    for name in production_modules():
        import_module(name)
