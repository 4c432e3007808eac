"""The marks of evidence as they stand in the source: which check is evidence for which rule, without importing any.

Importing every module takes seconds. A test compares what is read here with the marks that importing makes.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

from model_tests.verify.modules import PACKAGES, is_test
from spec import rules
from spec.evidence import Layer

Marks: TypeAlias = dict[tuple[str, Layer], tuple[str, ...]]
"""Names of the marked checks, as `module.function`, by rule id and layer."""

_LINE: Final = re.compile(
    r"^(?P<indent> *)(?:@evidences\(rules\.(?P<rule>\w+), (?P<layers>[\w., ]+)\)|(?:def|class) (?P<name>\w+))", re.M
)
"""A mark, or the beginning of a function or class. The formatter gives each mark a line of its own."""


def marks() -> Marks:
    """Every mark in the modules that are no tests, in the order of the files."""
    found: dict[tuple[str, Layer], list[str]] = {}
    for module, path in _files():
        text = path.read_text(encoding="utf-8")
        if "@evidences(" in text:
            for key, check in _marked(module, text):
                found.setdefault(key, []).append(check)
    return {key: tuple(checks) for key, checks in found.items()}


def _files() -> Iterator[tuple[str, Path]]:
    for package in PACKAGES:
        root = Path(package.__path__[0])
        for folder, folders, files in os.walk(root):
            folders[:] = sorted(name for name in folders if name not in ("__pycache__", "unit"))
            prefix = ".".join((package.__name__, *Path(folder).relative_to(root).parts))
            for name in sorted(file.removesuffix(".py") for file in files if file.endswith(".py")):
                module = prefix if name == "__init__" else f"{prefix}.{name}"
                if not is_test(module):
                    yield module, Path(folder) / f"{name}.py"


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
