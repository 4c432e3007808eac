"""Specification and reference are evidence for each other only if neither is a copy of the other: no twins."""

import ast
from collections.abc import Iterable, Iterator
from typing import Final

import pytest

from model_tests.unit.source_files import IN_ONE_WORKER, Module, production, within

pytestmark = IN_ONE_WORKER

TWIN: Final = 16
"""Nodes from which on the same tree on both sides is no coincidence; by chance they have up to 12."""

JOINED: Final = {"all_of": ast.And, "any_of": ast.Or}
"""Connectives of the algebra, and what a reference would write for them."""


class AsPython(ast.NodeTransformer):
    """The connectives of the algebra as Python's own, so that a translated formula is seen too."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """A connective becomes an operator; every other call stays."""
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id="all_of" | "any_of" as name), args=[_, _, *_] as facts):
                return ast.copy_location(ast.BoolOp(JOINED[name](), facts), node)
            case ast.Call(func=ast.Name(id="negate"), args=[fact]):
                return ast.copy_location(ast.UnaryOp(ast.Not(), fact), node)
            case ast.Call(func=ast.Name(id="choose"), args=[fact, then, otherwise]):
                return ast.copy_location(ast.IfExp(fact, then, otherwise), node)
        return node


def shape(node: ast.AST | object) -> str:
    """A tree without the names of variables and what they belong to, without annotations."""
    match node:
        case ast.Name():
            return "_"
        case ast.Attribute(attr="value"):
            return shape(node.value)
        case ast.Attribute(attr=attribute):
            return f".{attribute}"
        case ast.Constant(value=value):
            return repr(value)
        case list():
            return f"[{','.join(map(shape, node))}]"
        case ast.AST():
            inside = (shape(value) for field, value in ast.iter_fields(node) if field not in ("ctx", "annotation"))
            return f"{type(node).__name__}({','.join(inside)})"
    return str(node)


def nodes(tree: ast.AST) -> int:
    return sum(not isinstance(node, ast.expr_context) for node in ast.walk(tree))


def formulas(source: str, where: str) -> Iterator[tuple[str, str]]:
    """Every formula and statement that is large enough to be a copy: its shape, and where it stands."""
    for node in ast.walk(AsPython().visit(ast.parse(source))):
        match node:
            case ast.BoolOp() | ast.IfExp() | ast.Compare() | ast.BinOp() | ast.Return() | ast.Assign() | ast.Dict():
                if nodes(node) >= TWIN:
                    yield shape(node), f"{where}:{getattr(node, 'lineno', '')} {ast.unparse(node)}"


def twins(left: Iterable[tuple[str, str]], right: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    known = dict(left)
    return [(known[form], place) for form, place in right if form in known]


def formulas_of(*packages: str) -> list[tuple[str, str]]:
    modules: Iterable[Module] = (module for module in production() if within(module.name, packages))
    return [found for module in modules for found in formulas(module.text, module.name)]


def test_no_formula_is_written_the_same_way_on_both_sides() -> None:
    """Neither of specification and reference has a formula of the other, under whatever names."""
    specification, reference = formulas_of("spec.protocol", "spec.systems"), formulas_of("reference")

    assert len(specification) > 100
    assert len(reference) > 100
    assert [] == twins(specification, reference)


SPECIFIED: Final = """
def skips(last, sequence, largest):
    return negate(any_of(sequence == last + 1, all_of(sequence == 0, last == largest)))
"""


@pytest.mark.parametrize(
    "copied",
    [
        pytest.param(SPECIFIED, id="as it stands"),
        pytest.param(SPECIFIED.replace("last", "previous").replace("skips", "gap"), id="other names"),
        pytest.param(
            "def gap(a, b):\n    return not (b == a + 1 or (b == 0 and a == MAX_SEQUENCE))", id="other connectives"
        ),
    ],
)
def test_a_copied_formula_is_found(copied: str) -> None:
    """A formula that was copied is found, also renamed, also with Python's connectives."""
    specification = formulas(SPECIFIED, "spec.protocol.seq")

    found = twins(specification, formulas(copied, "reference.log.sequence"))

    assert found


def test_a_formula_written_apart_is_no_twin() -> None:
    """The same fact found by another way is what we want."""
    apart = "def gap(a, b):\n    following = 0 if a == MAX_SEQUENCE else a + 1\n    return b != following and b != -1"

    found = twins(formulas(SPECIFIED, "spec.protocol.seq"), formulas(apart, "reference.log.sequence"))

    assert [] == found
