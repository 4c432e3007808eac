"""Mutations: edits of a decision's syntax tree, one at a time, each with a name."""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum, unique
from itertools import pairwise, permutations
from types import MappingProxyType
from typing import Final, TypeAlias


@unique
class MutationKind(StrEnum):
    """What is done to a decision."""

    DROP_GUARD = "guard dropped"
    SWAP_GUARDS = "guards swapped"
    FLIP = "comparison flipped"
    OFF_BY_ONE = "off by one"
    SKIP = "update skipped"
    DROP_OPERAND = "operand dropped"
    NEGATE = "condition negated"
    CELL = "cell changed"
    SIBLING = "field replaced by a sibling of its type"
    CARRIED = "wrong value carried"


@dataclass(frozen=True, slots=True, eq=False)
class Edit:
    """One node of a tree, and what stands there instead.

    Attributes:
        what: the edit in a few words, without its place.
    """

    kind: MutationKind
    what: str
    node: ast.AST
    instead: ast.AST


_FLIPPED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
_SIGNS: Final[dict[type[ast.cmpop], int]] = {ast.Lt: -1, ast.LtE: 1, ast.Gt: 1, ast.GtE: -1, ast.Eq: 1}
"""What to add to the right side of a comparison, so that it is not the flipped one."""

_JOINS: Final = ("all_of", "any_of")
_LESSER: Final = ("smaller", "larger")
_LONGEST: Final = 60  # letters of an expression in a mutant's name; of a longer one both ends are shown


Records: TypeAlias = Mapping[str, Mapping[str, object]]
"""The fields of each parameter that is a record, by its name, with their types."""

NO_RECORDS: Final[Records] = MappingProxyType({})


def edits(tree: ast.FunctionDef, records: Records = NO_RECORDS) -> Iterator[Edit]:
    """Every edit of a function's body, in the order of its nodes.

    Args:
        tree: the function's definition.
        records: the fields of its parameters.
    """
    for node in _nodes(tree):
        yield from _of_field(node, records)
        yield from _of_carried(node)
        yield from _of_guards(node)
        yield from _of_comparison(node)
        yield from _of_sum(node)
        yield from _of_call(node)
        yield from _of_python(node)


def _nodes(tree: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of the body, parents first, as they are written."""
    waiting: list[ast.AST] = list(reversed(tree.body))
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(list(ast.iter_child_nodes(node))))


# --- guards ---------------------------------------------------------------------------------------------------


def _of_guards(node: ast.AST) -> Iterator[Edit]:
    match node:
        case ast.Call(func=ast.Name(id="Guard"), args=[name, _, applies, *_]) if _word(applies) != "False":
            yield Edit(MutationKind.DROP_GUARD, f"guard {_word(name)} dropped", applies, ast.Constant(value=False))
        case ast.Tuple(elts=[_, _, *_] as elements, ctx=ast.Load()) if any(map(_is_guard, elements)):
            yield from _swaps(node, elements, [_guards_name(each) for each in elements])
        case ast.Dict(keys=keys, values=values) if len(values) > 1:
            for key, fact in zip(keys, values, strict=True):
                word = _word(key) if key else "of another table"
                yield Edit(MutationKind.DROP_GUARD, f"guard {word} dropped", fact, ast.Constant(value=False))


def _swaps(node: ast.Tuple, elements: Sequence[ast.expr], names: Sequence[str]) -> Iterator[Edit]:
    for position, (left, right) in enumerate(pairwise(names)):
        swapped = [*elements[:position], elements[position + 1], elements[position], *elements[position + 2 :]]
        yield Edit(MutationKind.SWAP_GUARDS, f"guards {left} and {right} swapped", node, ast.Tuple(swapped, ast.Load()))


def _is_guard(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="Guard" | "_generation_guard")):
            return True
        case ast.Starred(value=ast.Name(id=name) | ast.Call(func=ast.Name(id=name))):
            return name.endswith(("guards", "malformed", "members"))
    return False


def _guards_name(node: ast.expr) -> str:
    match node:
        case ast.Call(func=ast.Name(id="Guard"), args=[name, *_]):
            return _word(name)
        case ast.Call(func=ast.Name(id=name)):
            return name
    return _word(node)


# --- comparisons and numbers ----------------------------------------------------------------------------------


def _of_comparison(node: ast.AST) -> Iterator[Edit]:
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _FLIPPED:
            flipped = ast.Compare(left, [_FLIPPED[type(operator)]()], [right])
            yield Edit(MutationKind.FLIP, f"{_word(node)} becomes {_word(flipped)}", node, flipped)
            if type(operator) in _SIGNS and not _is_named(right):
                moved = ast.Compare(left, [operator], [_plus(right, _SIGNS[type(operator)])])
                yield Edit(MutationKind.OFF_BY_ONE, f"{_word(node)} becomes {_word(moved)}", node, moved)


def _of_sum(node: ast.AST) -> Iterator[Edit]:
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as operator, right=right):
            for number in (left, right):
                if isinstance(number, ast.Constant):
                    yield Edit(MutationKind.OFF_BY_ONE, f"{_word(node)} with one more", number, _plus(number, 1))
            if not any(isinstance(number, ast.Constant) for number in (left, right)):
                more = ast.BinOp(node, operator, ast.Constant(value=1))
                yield Edit(MutationKind.OFF_BY_ONE, f"{_word(node)} becomes {_word(more)}", node, more)


def _is_named(node: ast.expr) -> bool:
    """Whether the term is no number but one of a list of names: an error, a state, a cell."""
    word = ast.unparse(node)
    return word.endswith((".value", "code", "_NONE", "_STATE", "_WAIT", "_FENCED", "None")) or "ErrorCode" in word


def _plus(node: ast.expr, by: int) -> ast.expr:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return ast.Constant(value=node.value + by)
    operator: ast.operator = ast.Add() if by > 0 else ast.Sub()
    return ast.BinOp(node, operator, ast.Constant(value=abs(by)))


# --- connectives, choices, records ----------------------------------------------------------------------------


def _of_call(node: ast.AST) -> Iterator[Edit]:
    match node:
        case ast.Call(func=ast.Name(id=str(join)), args=[_, _, *_] as facts) if join in _JOINS:
            for position, fact in enumerate(facts):
                left = ast.Call(node.func, [*facts[:position], *facts[position + 1 :]], node.keywords)
                yield Edit(MutationKind.DROP_OPERAND, f"{_word(fact)} dropped of {join}", node, left)
        case ast.Call(func=ast.Name(id="negate"), args=[fact]):
            yield Edit(MutationKind.NEGATE, f"{_word(node)} becomes {_word(fact)}", node, fact)
        case ast.Call(func=ast.Name(id="choose"), args=[fact, then, otherwise]):
            yield from _of_choice(node, fact, then, otherwise)
        case ast.Call(func=ast.Name(id="choose_entry" | "_choose" | "choose_cached"), args=[_, then, otherwise]):
            yield Edit(MutationKind.SKIP, f"{_word(then)} is never chosen", node, otherwise)
            yield Edit(MutationKind.SKIP, f"{_word(otherwise)} is never chosen", node, then)
        case ast.Call(func=ast.Name(id="implies"), args=[fact, then]):
            yield Edit(MutationKind.DROP_OPERAND, f"{_word(fact)} is no premise", node, then)
        case ast.Call(func=ast.Name(id="is_in"), args=[entry, _, _, *_] as listed):
            for position, state in enumerate(listed[1:], start=1):
                left = ast.Call(node.func, [*listed[:position], *listed[position + 1 :]], [])
                yield Edit(MutationKind.DROP_OPERAND, f"{_word(state)} is no state of {_word(entry)}", node, left)
        case ast.Call(func=ast.Name() | ast.Attribute(), keywords=[_, *_]):
            yield from _of_keywords(node, getattr(node.func, "id", ""))


def _of_choice(node: ast.Call, fact: ast.expr, then: ast.expr, otherwise: ast.expr) -> Iterator[Edit]:
    yield Edit(MutationKind.SKIP, f"{_word(then)} is never chosen where {_word(fact)}", node, otherwise)
    yield Edit(MutationKind.SKIP, f"{_word(otherwise)} is never chosen unless {_word(fact)}", node, then)
    for arm in (then, otherwise):
        if _is_number(arm):
            yield Edit(MutationKind.OFF_BY_ONE, f"{_word(arm)} with one more where {_word(fact)}", arm, _plus(arm, 1))


def _of_keywords(node: ast.Call, name: str) -> Iterator[Edit]:
    for position, keyword in enumerate(node.keywords):
        if keyword.arg == "strict":  # of zip: how long two lists are is no decision
            continue
        if name == "replace":
            left = ast.Call(node.func, node.args, [*node.keywords[:position], *node.keywords[position + 1 :]])
            yield Edit(MutationKind.SKIP, f"{keyword.arg} stays as it was", node, left)
        if _is_number(keyword.value):
            yield Edit(MutationKind.OFF_BY_ONE, f"{keyword.arg} with one more", keyword.value, _plus(keyword.value, 1))
        if isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, bool):
            other = ast.Constant(value=not keyword.value.value)
            yield Edit(MutationKind.NEGATE, f"{keyword.arg} is {not keyword.value.value}", keyword.value, other)


def _is_number(node: ast.expr) -> bool:
    match node:
        case ast.Name(id="ABSENT") | ast.Attribute(attr="ABSENT"):
            return True
        case ast.Constant(value=value):
            return isinstance(value, int) and not isinstance(value, bool)
    return False


# --- fields and values that are taken for others --------------------------------------------------------------


def _of_field(node: ast.AST, records: Records) -> Iterator[Edit]:
    """A field of a parameter is taken for each sibling: of its type, and with its last word, as an id or an epoch."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=field, ctx=ast.Load()) if field in records.get(name, ()):
            types = records[name]
            for other in types:
                if other != field and types[other] == types[field] and _last_word(other) == _last_word(field):
                    instead = ast.Attribute(node.value, other, ast.Load())
                    yield Edit(MutationKind.SIBLING, f"{_word(node)} becomes {_word(instead)}", node, instead)


def _last_word(field: str) -> str:
    return field.rpartition("_")[2]


def _of_carried(node: ast.AST) -> Iterator[Edit]:
    """A record gets in one field what belongs in another of the same kind; of two offsets one is taken unseen."""
    match node:
        case ast.Call(func=ast.Name(id=str(name)), args=[left, right]) if name.lstrip("_") in _LESSER:
            for kept in (left, right):
                yield Edit(MutationKind.CARRIED, f"{_word(node)} becomes {_word(kept)}", node, kept)
        case ast.Call(func=ast.Name(), keywords=[_, _, *_] as keywords):
            for one, other in permutations(keywords, 2):
                alike = one.arg and other.arg and _last_word(one.arg) == _last_word(other.arg)
                if alike and ast.dump(one.value) != ast.dump(other.value):
                    what = f"{one.arg} gets {_word(other.value)}, as {other.arg} does"
                    yield Edit(MutationKind.CARRIED, what, one.value, other.value)


def _of_python(node: ast.AST) -> Iterator[Edit]:
    """What depends on a behaviour alone is chosen while the decision is put together."""
    match node:
        case ast.If(test=test) | ast.IfExp(test=test) if not _is_of_reading(test):
            other = ast.UnaryOp(ast.Not(), test)
            yield Edit(MutationKind.NEGATE, f"{_word(test)} becomes {_word(other)}", test, other)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield Edit(MutationKind.NEGATE, f"{_word(node)} becomes {_word(operand)}", node, operand)


def _is_of_reading(test: ast.expr) -> bool:
    """Whether the question is how terms are read, and not what is decided: that the answer is the same is no defect."""
    return "isinstance" in ast.unparse(test) or "largest is None" in ast.unparse(test)


def _word(node: ast.AST) -> str:
    """A node as it is written, on one line, shortened in its middle."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}...{text[-_LONGEST // 2 + 3 :]}"


def numbered(names: Iterable[str]) -> list[str]:
    """The names, each but the first of those that are alike with its number."""
    counts: dict[str, int] = {}
    for name in (listed := list(names)):
        counts[name] = counts.get(name, 0) + 1
    met: dict[str, int] = {}
    reported = []
    for name in listed:
        met[name] = met.get(name, 0) + 1
        reported.append(name if met[name] == 1 else f"{name} ({met[name]})")
    return reported
