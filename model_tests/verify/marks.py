"""The marks of evidence as they stand in the source: which check is evidence for which rule, without importing any.

Importing every module takes seconds; reading the few files with marks takes a fraction of one. A test holds what is
read here against the marks that importing makes.
"""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

from model_tests.verify.modules import PACKAGES, is_test
from spec import rules
from spec.evidence import Layer

Marks: TypeAlias = dict[tuple[str, Layer], tuple[str, ...]]
"""Names of the marked checks, as `module.function`, by rule id and layer."""

_MARK: Final = "@evidences("


@functools.cache
def marks(only: rules.Rule | None = None) -> Marks:
    """The marks in the modules that are no tests, in the order of the files.

    Args:
        only: read no more files than this rule needs.
    """
    found: dict[tuple[str, Layer], list[str]] = {}
    named = rf"(?s){re.escape(_MARK)}\s*(rules\.)?{_constant(only) if only else ''}"
    for module, path in _files():
        text = path.read_text(encoding="utf-8")
        if _MARK in text and re.search(named, text):
            for key, check in _marked(module, ast.parse(text)):
                found.setdefault(key, []).append(check)
    return {key: tuple(checks) for key, checks in found.items() if only is None or key[0] == only.id}


def _constant(rule: rules.Rule) -> str:
    return next(name for name, value in vars(rules).items() if value is rule)


def _files() -> Iterator[tuple[str, Path]]:
    for package in PACKAGES:
        root = Path(package.__path__[0])
        for path in sorted(root.rglob("*.py")):
            parts = (package.__name__, *path.relative_to(root).with_suffix("").parts)
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            if not is_test(module):
                yield module, path


def _marked(prefix: str, node: ast.AST) -> Iterator[tuple[tuple[str, Layer], str]]:
    """The marks on functions and classes under a node, with the qualified name of each check."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            name = f"{prefix}.{child.name}"
            for decorator in reversed(child.decorator_list):  # the lowest is applied first
                match decorator:
                    case ast.Call(func=ast.Name(id="evidences"), args=[rule, *layers]):
                        for layer in layers:
                            yield (_rule(rule), _layer(layer)), name
            yield from _marked(name, child)


def _rule(node: ast.expr) -> str:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            rule: rules.Rule = getattr(rules, name)
            return rule.id
    raise TypeError(f"a mark names its rule by a constant of spec.rules, not {ast.unparse(node)}")


def _layer(node: ast.expr) -> Layer:
    match node:
        case ast.Attribute(attr=name):
            return Layer[name]
    raise TypeError(f"a mark names its layer as Layer.NAME, not {ast.unparse(node)}")
