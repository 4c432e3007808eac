"""A number with a name also has a text: why it is this number, or what it means."""

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import pytest

from model_tests.unit.source_files import IN_ONE_WORKER, production

pytestmark = IN_ONE_WORKER

CANDIDATE: Final = re.compile(r"^[A-Z_][A-Z0-9_]*(: .*)? = [^\n#]*\d[^\n#]*$", re.MULTILINE)
"""A line that may be a constant without a comment; only modules with one are parsed."""


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("A = 3", ["A"]),
        ("A: Final = -1", ["A"]),
        ("A = 24 * 60 * HOUR", ["A"]),
        ("A = Epoch(0)", ["A"]),
        ("A = 3  # why", []),
        ("# why\nA = 3", []),
        ('A = 3\n"""Why."""', []),
        ('A = 3\nB = 4\n"""Why both."""', []),
        ('A = 3\n\nB = 4\n"""Why."""', ["A"]),
        ('A = 3\ndef f():\n    """Why."""', ["A"]),
        ("A = OTHER", []),
        ("A = 'text # no comment'\nB = 7", ["B"]),
        ("a = 3", []),
    ],
)
def test_a_constant_without_a_text_is_found(source: str, expected: list[str]) -> None:
    """A comment on its line or above it is a text, and so is the docstring that ends its paragraph."""
    assert expected == list(unexplained(ast.parse(source), source.splitlines()))


def test_every_number_with_a_name_has_a_text() -> None:
    """Costs, windows and limits say why they have their value."""
    sources = ((module, module.text) for module in production())
    found = {
        f"{module.name}.{name}"
        for module, source in sources
        if CANDIDATE.search(source)
        for name in unexplained(module.tree, source.splitlines())
    }

    assert set() == found


def unexplained(tree: ast.Module, lines: Sequence[str]) -> Iterator[str]:
    """Names of a module's numeric constants that have no text."""
    for number, statement in enumerate(tree.body):
        name = _constant(statement)
        commented = "#" in lines[(statement.end_lineno or 0) - 1] or lines[statement.lineno - 2].startswith("#")
        if name and not commented and not _has_docstring(tree.body[number:]):
            yield name


def _constant(statement: ast.stmt) -> str:
    """The name of a constant that a statement gives a number; empty if it gives none."""
    match statement:
        case (
            ast.AnnAssign(target=ast.Name(name), value=ast.expr() as value)
            | ast.Assign(targets=[ast.Name(name)], value=value)
        ) if name.isupper() and _is_number(value):
            return name
    return ""


def _is_number(value: ast.expr) -> bool:
    """A literal, one with a sign or a type, or arithmetic with one."""
    match value:
        case ast.Constant(number):
            return type(number) in (int, float)
        case ast.UnaryOp(operand=operand):
            return _is_number(operand)
        case ast.BinOp(left=left, right=right):
            return _is_number(left) or _is_number(right)
        case ast.Call(func=ast.Name(), args=[only], keywords=[]):
            return _is_number(only)
    return False


def _has_docstring(statements: Sequence[ast.stmt]) -> bool:
    """Whether a docstring ends the paragraph of assignments that these statements begin with."""
    for statement, following in pairwise(statements):
        if following.lineno - 1 != statement.end_lineno:
            return False
        match following:
            case ast.Expr(value=ast.Constant(str())):
                return True
            case ast.Assign() | ast.AnnAssign():
                continue
        return False
    return False
