"""The compiled Python reading: formulas as the source of one Python function, in which a shared part stands once.

What is used once is written where it is used, so that a choice computes only what it chooses.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from spec.algebra import Term
from spec.readings.formulas import DecisionFormula, Sheet, parts_of, used_again

Place: TypeAlias = tuple[str, str]
"""Where a column's value is: the argument of the function, and the key in it."""

Compiled: TypeAlias = Callable[..., tuple[Any, ...]]
"""The values of the results, in their order, from the arguments."""

DEEPEST: Final = 40
"""Levels of parentheses after which a part gets a line of its own; Python's parser takes no more than 200."""

_JOINED_BY: Final = {sign: sign for sign in ("==", "<", "<=", ">", ">=", "+", "-", "*", "and", "or")}


class _PartSource(NamedTuple):
    """The source of one part, and how deep its parentheses are."""

    source: str
    depth: int = 0


def in_row(column: str) -> Place:
    """The place of a column where one row is the only argument."""
    return "row", column


def compiled(
    results: Mapping[str, Term], place_of: Callable[[str], Place] = in_row, arguments: Sequence[str] = ("row",)
) -> Compiled:
    """The function that computes the results, compiled.

    Args:
        results: formulas over one sheet, or constants.
        place_of: where the function finds the value of a column.
        arguments: names of the function's arguments, each a mapping.
    """
    scope: dict[str, Any] = {}
    exec(compile(source_of(results, place_of, arguments), "<formulas>", "exec"), scope)
    function: Compiled = scope["judge"]
    return function


def holds(fact: Callable[[Callable[[str], Term]], Term]) -> Callable[[Mapping[str, Any]], bool]:
    """Whether a fact about the columns of a row holds, compiled."""
    judge = compiled({"holds": fact(Sheet().column)})
    return lambda row: bool(judge(row)[0])


def source_of(
    results: Mapping[str, Term], place_of: Callable[[str], Place] = in_row, arguments: Sequence[str] = ("row",)
) -> str:
    """The source of the function that computes the results."""
    sheet = Sheet()
    formulas = [sheet.constant(result) for result in results.values()]
    parts = parts_of(formulas)
    shared = used_again(formulas)
    known: dict[DecisionFormula, _PartSource] = {}
    lines = [f"def judge({', '.join(arguments)}):"]
    for number, part in enumerate(parts):
        written = _written(part, known, place_of)
        if part.operator != "constant" and (part in shared or written.depth >= DEEPEST):
            lines.append(f"    part_{number} = {written.source}")
            written = _PartSource(f"part_{number}")
        known[part] = written
    lines.append(f"    return ({''.join(f'{known[formula].source}, ' for formula in formulas)})")
    return "\n".join(lines) + "\n"


def _written(
    part: DecisionFormula, known: Mapping[DecisionFormula, _PartSource], place_of: Callable[[str], Place]
) -> _PartSource:
    operands = [known[operand] for operand in part.operands]
    source = _source(part, [operand.source for operand in operands], place_of)
    return _PartSource(source, 1 + max((operand.depth for operand in operands), default=0))


def _source(part: DecisionFormula, operands: Sequence[str], place_of: Callable[[str], Place]) -> str:
    match part.operator, operands:
        case "column", _:
            argument, key = place_of(part.value)
            return f"{argument}[{key!r}]"
        case "constant", _:
            return _literal(part.value)
        case "among", [value]:
            return f"({value} in {part.value!r})"
        case "not", [fact]:
            return f"(not {fact})"
        case "choose", [fact, then, otherwise]:
            return f"({then} if {fact} else {otherwise})"
        case operator, [left, right]:
            return f"({left} {_JOINED_BY[operator]} {right})"
    raise ValueError(f"no operator {part.operator!r} of {len(operands)}")


def _literal(constant: object) -> str:
    """A constant as Python writes it; a member of an enumeration is its number."""
    plain = int(constant) if isinstance(constant, int) and not isinstance(constant, bool) else constant
    return repr(plain)
