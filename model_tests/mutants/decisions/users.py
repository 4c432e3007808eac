"""The users of a decision: other decisions, and code outside the protocol."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import model_tests
import spec.judging
import spec.protocol
import spec.systems
from model_tests.mutants.decisions.functions import DecisionFunction, decisions


@cache
def used_by(of: DecisionFunction) -> tuple[DecisionFunction, ...]:
    """The decisions that name this one; every reader of an attribute with a property's name uses the property."""
    word = of.name.rpartition(".")[2]
    is_property = of.name.count(".") > 1
    return tuple(other for other in decisions() if other is not of and _names(other, of, word, is_property))


@cache
def above(of: DecisionFunction) -> tuple[DecisionFunction, ...]:
    """The decisions that use this one, and those that use them, the nearest first."""
    found = dict.fromkeys(used_by(of))
    waiting = list(found)
    while waiting:
        new = [user for user in used_by(waiting.pop(0)) if user not in found and user is not of]
        found |= dict.fromkeys(new)
        waiting += new
    return tuple(found)


def _names(other: DecisionFunction, of: DecisionFunction, word: str, is_property: bool) -> bool:
    for node in _references(other):
        match node:
            case ast.Name(id=name) if not is_property and name == word:
                return getattr(other.module, name, None) is of.function
            case ast.Attribute(attr=name, value=ast.Name(id=module)) if name == word and not is_property:
                if getattr(getattr(other.module, module, None), name, None) is of.function:
                    return True
            case ast.Attribute(attr=name) if is_property and name == word:
                return True
    return False


@cache
def _references(of: DecisionFunction) -> tuple[ast.Name | ast.Attribute, ...]:
    return tuple(node for node in ast.walk(of.tree) if isinstance(node, ast.Name | ast.Attribute))


@cache
def used_outside() -> frozenset[str]:
    """Names of the decisions that systems and checks use by themselves; what only lists guards does not decide."""
    systems = Path(spec.systems.__path__[0])
    folders = (systems, *(Path(model_tests.__path__[0]) / name for name in READERS))
    paths = (path for folder in folders for path in folder.rglob("*.py") if path.stem != ATTRIBUTION)
    paths = (path for path in paths if path.parent != systems or not path.stem.endswith(LEMMAS))
    used = {name for path in paths for name in _used(ast.parse(path.read_text()))}
    properties = {each.name for each in decisions() if each.name.count(".") > 1}
    return frozenset(name for name in used | properties if not name.endswith("guards"))


PACKAGES: Final = (spec.protocol.__name__, spec.judging.__name__)
"""The packages of decisions."""

LEMMAS: Final = "_lemmas"
ATTRIBUTION: Final = "attribution"
"""Modules that state what holds of decisions, so that no answer and no state depends on them."""

READERS: Final = (
    "audit",
    "bugs",
    "check",
    "conform",
    "corruption",
    "histories",
    "judging",
    "replay",
    "traces",
    "verify",
)
"""Packages of checks that put questions to decisions."""


def _used(tree: ast.Module) -> Iterator[str]:
    """The decisions that a module names: those that it imports, and those of modules that it imports."""
    families: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in PACKAGES:
            families |= {name.asname or name.name: name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").rpartition(".")[0] in PACKAGES:
            family = (node.module or "").rpartition(".")[2]
            yield from (f"{family}.{name.name}" for name in node.names)
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=alias), attr=name) if alias in families:
                yield f"{families[alias]}.{name}"
