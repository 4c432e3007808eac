"""The marks of evidence as they stand in the source: which check is evidence for which rule, without importing any.

Importing every module takes seconds. A test compares what is read here with the marks that importing makes.
"""

import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from types import MappingProxyType
from typing import Final, TypeAlias

import model_tests
import reference
import spec
from spec import rules
from spec.evidence import Layer

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


Marks: TypeAlias = Mapping[tuple[str, Layer], tuple[str, ...]]
"""Names of the marked checks, as `module.function`, by rule id and layer."""

_LINE: Final = re.compile(
    r"^(?P<indent> *)(?:@evidences\(rules\.(?P<rule>\w+), (?P<layers>[\w., ]+)\)|(?:def|class) (?P<name>\w+))", re.M
)
"""A mark, or the beginning of a function or class. The formatter gives each mark a line of its own."""


@cache
def marks() -> Marks:
    """Every mark in the modules that are no tests, in the order of the files; read once."""
    found: dict[tuple[str, Layer], list[str]] = {}
    for package in PACKAGES:
        for module, text in _texts(package.__name__, package.__path__[0]):
            for key, check in _marked(module, text):
                found.setdefault(key, []).append(check)
    return MappingProxyType({key: tuple(checks) for key, checks in found.items()})


def _texts(package: str, folder: str) -> Iterator[tuple[str, str]]:
    """Name and text of the modules that have a mark: plain strings and bytes, since `eos rules ID` waits for it."""
    with os.scandir(folder) as entries:
        inside = sorted(entries, key=lambda entry: entry.name)
    for entry in inside:
        name, _, suffix = entry.name.rpartition(".")
        if suffix == "py":
            module = package if name == "__init__" else f"{package}.{name}"
            if not is_test(module):
                with open(entry.path, "rb", buffering=0) as file:  # noqa: PTH123  (a Path for each file takes as long)
                    text = file.read()
                if b"@evidences(" in text:
                    yield module, text.decode()
        elif entry.is_dir() and not is_test(f"{package}.{entry.name}") and entry.name != "__pycache__":
            yield from _texts(f"{package}.{entry.name}", entry.path)


def _marked(module: str, text: str) -> Iterator[tuple[tuple[str, Layer], str]]:
    """The marks of a module, with the qualified name of each check."""
    around: list[tuple[int, str]] = []
    waiting: list[tuple[str, Layer]] = []
    for line in _LINE.finditer(text):
        indent = len(line["indent"])
        if line["rule"]:
            rule: rules.Rule = getattr(rules, line["rule"])
            waiting.extend((rule.id, Layer[layer.removeprefix("Layer.")]) for layer in line["layers"].split(", "))
            continue
        around = [*(each for each in around if each[0] < indent), (indent, line["name"])]
        check = ".".join((module, *(name for _, name in around)))
        yield from ((key, check) for key in waiting)
        waiting = []
