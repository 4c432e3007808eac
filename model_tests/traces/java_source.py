"""Formulas as Java: one class whose one method judges a row, in which a shared part is computed once and when needed.

Spark calls it from the code that it generates, on the values of columns.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, NamedTuple

from model_tests.traces.formulas import Formula, Sheet, parts_of, used_again
from spec.algebra import Term
from spec.vocabulary import ABSENT

LONG: Final = "long"
BOOLEAN: Final = "boolean"
TEXT: Final = "UTF8String"

_DEEPEST: Final = 30
"""Levels of parentheses after which a part gets a method of its own."""

_JOINED_BY: Final = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "and": "&&", "or": "||"}
_CHECKED: Final = {"+": "Math.addExact", "-": "Math.subtractExact"}
"""Integers that overflow are an error, as they are in Spark's own arithmetic."""

_READ: Final = {LONG: "number", BOOLEAN: "fact", TEXT: "text"}
_ABSENT: Final[Mapping[str, Term]] = {LONG: ABSENT, BOOLEAN: False, TEXT: ""}

_CLASS: Final = """\
package {package};

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.unsafe.types.UTF8String;

public final class {name} {{
{constants}
  public static InternalRow {method}(InternalRow row) {{
    Object[] results = new Object[{results}];
{calls}
    return new GenericInternalRow(results);
  }}

  static long number(InternalRow row, int column, long absent) {{
    return row.isNullAt(column) ? absent : row.getLong(column);
  }}

  static boolean fact(InternalRow row, int column, boolean absent) {{
    return row.isNullAt(column) ? absent : row.getBoolean(column);
  }}

  static UTF8String text(InternalRow row, int column, UTF8String absent) {{
    return row.isNullAt(column) ? absent : row.getUTF8String(column);
  }}

  static long element(InternalRow row, int column, int at, long absent) {{
    if (row.isNullAt(column)) return absent;
    org.apache.spark.sql.catalyst.util.ArrayData array = row.getArray(column);
    return at >= array.numElements() || array.isNullAt(at) ? absent : array.getLong(at);
  }}

{frames}}}
"""

PACKAGE: Final = "eos"
_NAME: Final = "Judged_{}"
METHOD: Final = "judge"


@dataclass(frozen=True, slots=True)
class Cases:
    """Results that depend on what kind of row it is.

    Attributes:
        cases: of each kind, what says that a row is of it, and the results there; the first that applies counts.
        otherwise: the results where none does.
    """

    cases: Sequence[tuple[Term, Mapping[str, Term]]]
    otherwise: Mapping[str, Term]


class Place(NamedTuple):
    """Where the value of a column stands in the row: at a position, there in an array or not, and of what type."""

    position: int
    kind: str
    element: int | None = None
    absent: Term | None = None


class _Written(NamedTuple):
    source: str
    kind: str
    depth: int = 0


def result_kinds(cases: Cases, places: Mapping[str, Place]) -> dict[str, str]:
    """The type of each result, in order."""
    sheet, kinds = Sheet(), _Kinds(places)
    return {name: kinds.of(sheet.constant(result)) for name, result in cases.otherwise.items()}


class Source(NamedTuple):
    """A class: its name, which follows from what it does, and its text."""

    name: str
    text: str


def source_of(together: Sequence[Cases], places: Mapping[str, Place]) -> Source:
    """The source of the class.

    Args:
        together: what is judged of each row, one after the other; the results are in this order.
        places: where the columns stand.
    """
    writer = _Writer(places)
    calls, first = [], 0
    for number, cases in enumerate(together):
        calls.append(f"    judge{number}(row, results);")
        writer.write(number, cases, first)
        first += len(cases.otherwise)
    constants, frames = "".join(writer.constants()), "".join(writer.frames)
    name = _NAME.format(sha256("\n".join((*calls, constants, frames)).encode()).hexdigest()[:16])
    text = _CLASS.format(
        package=PACKAGE,
        name=name,
        method=METHOD,
        results=first,
        calls="\n".join(calls),
        constants=constants,
        frames=frames,
    )
    return Source(name, text)


class _Kinds:
    """The types of formulas."""

    def __init__(self, places: Mapping[str, Place]) -> None:
        self._places = places
        self._known: dict[Formula, str] = {}

    def of(self, part: Formula) -> str:
        if part not in self._known:
            self._known[part] = self._found(part)
        return self._known[part]

    def _found(self, part: Formula) -> str:
        match part.operator:
            case "column":
                return self._places[str(part.value)].kind
            case "constant":
                return _kind_of_constant(part.value)
            case "choose":
                return self.of(part.operands[1])
            case "+" | "-":
                return LONG
        return BOOLEAN


class _Writer:
    """Writes the classes that hold the shared parts of a row, one for each kind of row."""

    def __init__(self, places: Mapping[str, Place]) -> None:
        self._places = places
        self._kinds = _Kinds(places)
        self._texts: dict[str, str] = {}
        self.frames: list[str] = []

    def constants(self) -> Iterator[str]:
        """Text that the formulas compare with."""
        for text, name in self._texts.items():
            yield f'  static final UTF8String {name} = UTF8String.fromString("{_escaped(text)}");\n'

    def write(self, number: int, cases: Cases, first: int) -> None:
        """Write the method that finds the kind of a row, and of each kind the class that judges it."""
        facts = {f"is{at}": fact for at, (fact, _) in enumerate(cases.cases)}
        which = self._frame(f"Which{number}", facts, None)
        lines = [f"    {which} which = new {which}(row);"] if facts else []
        for at, (_, results) in enumerate(cases.cases):
            frame = self._frame(f"Kind{number}x{at}", {key: results[key] for key in cases.otherwise}, first)
            lines.append(f"    if (which.is{at}()) {{ new {frame}(row).judge(results); return; }}")
        frame = self._frame(f"Other{number}", cases.otherwise, first)
        lines.append(f"    new {frame}(row).judge(results);")
        body = "\n".join(lines)
        self.frames.append(f"  static void judge{number}(InternalRow row, Object[] results) {{\n{body}\n  }}\n\n")

    def _frame(self, name: str, results: Mapping[str, Term], first: int | None) -> str:
        """Write a class with the shared parts of the results; a method for each result, or one that puts all down."""
        sheet = Sheet()
        formulas = [sheet.constant(result) for result in results.values()]
        known: dict[Formula, _Written] = {}
        members: list[str] = []
        again = used_again(formulas)
        for part in parts_of(formulas):
            written = self._written(part, known)
            if part.operands and (part in again or written.depth >= _DEEPEST):
                number = len(members)
                members.append(_member(number, written))
                written = _Written(f"part{number}()", written.kind)
            known[part] = written
        values = [known[formula] for formula in formulas]
        if first is None:
            members += [
                f"    boolean {key}() {{ return {value.source}; }}\n"
                for key, value in zip(results, values, strict=True)
            ]
        else:
            puts = (f"results[{first + at}] = {_boxed(value)};" for at, value in enumerate(values))
            members.append(f"    void judge(Object[] results) {{ {' '.join(puts)} }}\n")
        start = f"    final InternalRow row;\n    {name}(InternalRow row) {{ this.row = row; }}\n"
        self.frames.append(f"  static final class {name} {{\n{start}{''.join(members)}  }}\n\n")
        return name

    def _written(self, part: Formula, known: Mapping[Formula, _Written]) -> _Written:
        operands = [known[operand] for operand in part.operands]
        source = self._source(part, operands)
        return _Written(source, self._kinds.of(part), 1 + max((operand.depth for operand in operands), default=0))

    def _source(self, part: Formula, operands: Sequence[_Written]) -> str:
        match part.operator, [operand.source for operand in operands]:
            case "column", _:
                return self._read(self._places[str(part.value)])
            case "constant", _:
                return self._constant(part.value)
            case "among", [value]:
                return f"({' || '.join(f'{self._constant(text)}.equals({value})' for text in part.value)})"
            case "not", [fact]:
                return f"(!{fact})"
            case "choose", [fact, then, otherwise]:
                return f"({fact} ? {then} : {otherwise})"
            case "==", [left, right]:
                return f"{left}.equals({right})" if operands[0].kind == TEXT else f"({left} == {right})"
            case ("+" | "-") as operator, [left, right]:
                return f"{_CHECKED[operator]}({left}, {right})"
            case operator, [left, right]:
                return f"({left} {_JOINED_BY[operator]} {right})"
        raise ValueError(f"no operator {part.operator!r} of {len(operands)}")

    def _read(self, place: Place) -> str:
        absent = self._constant(_ABSENT[place.kind] if place.absent is None else place.absent)
        if place.element is None:
            return f"{_READ[place.kind]}(row, {place.position}, {absent})"
        if place.kind == BOOLEAN:
            return f"(element(row, {place.position}, {place.element}, 0L) == 1L)"
        return f"element(row, {place.position}, {place.element}, {absent})"

    def _constant(self, value: object) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, int):
            return f"{int(value)}L" if value >= 0 else f"({int(value)}L)"
        return self._texts.setdefault(str(value), f"TEXT{len(self._texts)}")


def _member(number: int, written: _Written) -> str:
    if written.kind == BOOLEAN:
        return (
            f"    byte known{number};\n    boolean part{number}() {{ if (known{number} == 0) "
            f"known{number} = {written.source} ? (byte) 1 : (byte) 2; return known{number} == 1; }}\n"
        )
    return (
        f"    boolean known{number}; {written.kind} value{number};\n    {written.kind} part{number}() {{ "
        f"if (!known{number}) {{ value{number} = {written.source}; known{number} = true; }} return value{number}; }}\n"
    )


def _boxed(value: _Written) -> str:
    return {LONG: "Long.valueOf({})", BOOLEAN: "Boolean.valueOf({})", TEXT: "{}"}[value.kind].format(value.source)


def _kind_of_constant(value: object) -> str:
    if isinstance(value, bool):
        return BOOLEAN
    return LONG if isinstance(value, int) else TEXT


def _escaped(text: str) -> str:
    """The text as it stands between the quotes of Java; what is not ASCII, as the units of UTF-16."""
    return "".join(_octal(c) if c.isascii() else _units(c) for c in text)


def _octal(character: str) -> str:
    """A letter or digit as it is, and any other by its number: as a unit of UTF-16, a quote would end the text."""
    return character if character.isalnum() else f"\\{ord(character):03o}"


def _units(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
