"""The public names of a module as its source has them: functions, classes with their methods, documented constants."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

from shared_arguments import MANY, arguments, with_arguments
from sphinx.util.inspect import signature_from_ast, stringify_signature

DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
PLAIN = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.Tuple, ast.operator, ast.unaryop, ast.expr_context)
"""What the value of a constant is made of that is shown with it: numbers, text, and what is reckoned of them."""
LONGEST = 48
"""Characters of such a value, at most."""


@dataclass(frozen=True, slots=True)
class Public:
    """One public name.

    Attributes:
        kind: `function`, `class`, `method`, `property`, `attribute` or `data`, as Sphinx calls it.
        name: from the module on, as `Partition.append`.
        signature: what follows the name in its definition; of a constant its value, if that is plain.
        text: its docstring.
        line: where its definition begins.
    """

    kind: str
    name: str
    signature: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Described:
    """A module: where it is, its docstring and its public names in the order of its source.

    Attributes:
        unsaid: functions and methods with many arguments, and each argument that their docstring does not describe.
    """

    path: Path
    text: str
    names: tuple[Public, ...]
    unsaid: tuple[tuple[str, str], ...]


@cache
def described(module: str) -> Described:
    """Read a module's source; it is not imported."""
    found = find_spec(module)
    if found is None or found.origin is None:
        raise ValueError(f"there is no module {module!r}")
    path = Path(found.origin)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = tuple(_names(tree, module))
    return Described(path, ast.get_docstring(tree) or "", names, tuple(_unsaid(tree, names)))


def _unsaid(tree: ast.Module, names: Iterable[Public]) -> Iterator[tuple[str, str]]:
    reported = {public.line: public for public in names if public.kind in ("function", "method")}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.lineno in reported and len(arguments(node)) >= MANY:
            public = reported[node.lineno]
            yield from ((public.name, each) for each in arguments(node) if f"    {each}: " not in public.text)


def _names(tree: ast.Module, module: str) -> Iterator[Public]:
    for node, after in pairwise([*tree.body, ast.Pass()]):
        if isinstance(node, DEFINITIONS) and not node.name.startswith("_"):
            yield _definition(node, "class" if isinstance(node, ast.ClassDef) else "function", "", module)
            if isinstance(node, ast.ClassDef):
                yield from _methods(node, module)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            yield from _constant(node, after)


def _methods(owner: ast.ClassDef, module: str) -> Iterator[Public]:
    for node in owner.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            marks = {ast.unparse(mark) for mark in node.decorator_list}
            kind = "property" if marks & {"property", "cached_property"} else "method"
            if not any(mark.endswith(".setter") for mark in marks):
                yield _definition(node, kind, f"{owner.name}.", module)


def _definition(node: ast.FunctionDef | ast.ClassDef, kind: str, within: str, module: str) -> Public:
    text = ast.get_docstring(node) or ""
    if isinstance(node, ast.FunctionDef):
        text = with_arguments(module, node, text)
    return Public(kind, within + node.name, _signature(node, kind), text, node.lineno)


def _signature(node: ast.FunctionDef | ast.ClassDef, kind: str) -> str:
    if isinstance(node, ast.ClassDef):
        return f"({', '.join(map(ast.unparse, node.bases))})" if node.bases else ""
    found = signature_from_ast(_Plain().visit(node))
    bound = kind in ("method", "property") and not any(ast.unparse(m) == "staticmethod" for m in node.decorator_list)
    reported = stringify_signature(found.replace(parameters=list(found.parameters.values())[bound:]))
    return reported.partition("()")[2] if kind == "property" else reported


class _Plain(ast.NodeTransformer):
    """Types without what only a framework reads in them."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """`Annotated` is its type."""
        inside = node.slice
        if ast.unparse(node.value) == "Annotated" and isinstance(inside, ast.Tuple):
            return self.visit(inside.elts[0])
        return self.generic_visit(node)


def _constant(node: ast.Assign | ast.AnnAssign, after: ast.stmt) -> Iterator[Public]:
    """A constant with a docstring; one without is said by its name."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    match after, targets:
        case ast.Expr(value=ast.Constant(value=str(text))), [ast.Name(id=name)] if not name.startswith("_"):
            yield Public("data", name, _value(node.value), text, node.lineno)


def _value(node: ast.expr | None) -> str:
    if node is None or not all(isinstance(part, PLAIN) for part in ast.walk(node)):
        return ""
    written = ast.unparse(node)
    return f" = {written}" if len(written) <= LONGEST else ""
