"""Formulas as Java: one class whose one method judges a row, in which a shared part is computed once and when needed.

Spark calls it from the code that it generates, on the values of columns. How it is called, and how it reads the values
of a row, is the same in every compiled class.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from hashlib import sha256
from typing import Final, NamedTuple

from spec.algebra import Term
from spec.readings.formulas import DecisionFormula, Sheet, parts_of, used_again
from spec.readings.row_values import GuardedValue, Integers, NamedValues, PresentRows, RowCases, Value, terms_of
from spec.vocabulary import ABSENT

PACKAGE: Final = "eos"
METHOD: Final = "judge"

CLASS: Final = """\
package {package};

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

public final class {name} {{
{constants}
  public static InternalRow {method}(ArrayData integers, InternalRow beside) {{
    Row row = new Row(integers, beside);
    Object[] results = new Object[{results}];
    Which which = new Which(row);
{calls}
    return new GenericInternalRow(results);
  }}

  static final class Row {{
    final ArrayData integers;
    final InternalRow beside;

    Row(ArrayData integers, InternalRow beside) {{
      this.integers = integers;
      this.beside = beside;
    }}

    long number(int at, long absent) {{
      return integers.isNullAt(at) ? absent : integers.getLong(at);
    }}

    boolean beyond(int[] positions, long widest) {{
      for (int at : positions) {{
        if (!integers.isNullAt(at) && (integers.getLong(at) > widest || integers.getLong(at) < -widest)) return true;
      }}
      return false;
    }}

    UTF8String text(int at, UTF8String absent) {{
      return beside.isNullAt(at) ? absent : beside.getUTF8String(at);
    }}

    long element(int array, int at, long absent) {{
      if (beside.isNullAt(array)) return absent;
      ArrayData elements = beside.getArray(array);
      return at >= elements.numElements() || elements.isNullAt(at) ? absent : elements.getLong(at);
    }}
  }}

  static long hash(long value, long before) {{
    return XXH64.hashLong(value, before);
  }}

  static long hash(UTF8String value, long before) {{
    return XXH64.hashUnsafeBytes(value.getBaseObject(), value.getBaseOffset(), value.numBytes(), before);
  }}

{frames}}}
"""
"""The text of a class; the parts in braces depend on the formulas."""


LONG: Final = "long"
BOOLEAN: Final = "boolean"
TEXT: Final = "UTF8String"

_DEEPEST: Final = 30
"""Levels of parentheses after which a part gets a method of its own."""

_JOINED_BY: Final = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "and": "&&", "or": "||"}
_CHECKED: Final = {"+": "Math.addExact", "-": "Math.subtractExact", "*": "Math.multiplyExact"}
"""Overflow of an integer is an error, as in Spark's own arithmetic."""

_ABSENT: Final[Mapping[str, Term]] = {LONG: ABSENT, BOOLEAN: False, TEXT: ""}

_NAME: Final = "Judged_{}"
_SEED: Final = "42L"


class ColumnSlot(NamedTuple):
    """Where the value of a column stands, and of what type.

    Attributes:
        position: its place among the integers, where a fact is 0 or 1; or its place among the texts and arrays.
        element: in the array at that position, if it is of one.
        absent: the value if there is no such element.
    """

    position: int
    kind: str
    element: int | None = None
    absent: Term | None = None


class _WrittenPart(NamedTuple):
    source: str
    kind: str
    depth: int = 0


class Kinds:
    """The types of formulas."""

    def __init__(self, places: Mapping[str, ColumnSlot]) -> None:
        self._places = places
        self._known: dict[DecisionFormula, str] = {}

    def of(self, part: DecisionFormula) -> str:
        """The type in Java."""
        if part not in self._known:
            self._known[part] = self._found(part)
        return self._known[part]

    def _found(self, part: DecisionFormula) -> str:
        match part.operator:
            case "column":
                return self._places[str(part.value)].kind
            case "constant":
                return _kind_of_constant(part.value)
            case "choose":
                return self.of(part.operands[1])
            case "+" | "-" | "*" | "hash":
                return LONG
        return BOOLEAN


class JavaClass(NamedTuple):
    """A class: its name, which follows from what it does, and its text."""

    name: str
    text: str


def source_of(together: Sequence[RowCases], places: Mapping[str, ColumnSlot]) -> JavaClass:
    """The source of the class.

    Args:
        together: the formulas that judge each row, one after the other; the results are in this order.
        places: where the columns stand.
    """
    writer = _PartsWriter(places)
    calls, first = [], 0
    writer.write_which(together)
    for number, cases in enumerate(together):
        calls.append(f"    judge{number}(row, which, results);")
        writer.write(number, cases, first)
        first += len(cases.otherwise)
    constants, frames = "".join(writer.constants()), "".join(writer.frames)
    name = _NAME.format(sha256("\n".join((*calls, constants, frames)).encode()).hexdigest()[:16])
    text = CLASS.format(
        package=PACKAGE,
        name=name,
        method=METHOD,
        results=first,
        calls="\n".join(calls),
        constants=constants,
        frames=frames,
    )
    return JavaClass(name, text)


class _PartsWriter:
    """Writes the classes that hold the shared parts of a row, one for each kind of row."""

    def __init__(self, places: Mapping[str, ColumnSlot]) -> None:
        self._places = places
        self._kinds = Kinds(places)
        self._texts: dict[str, str] = {}
        self._lists: dict[str, str] = {}
        self.frames: list[str] = []

    def constants(self) -> Iterator[str]:
        """The texts that the formulas compare with, and positions."""
        for positions, name in self._lists.items():
            yield f"  static final int[] {name} = {{{positions}}};\n"
        for text, name in self._texts.items():
            yield f'  static final UTF8String {name} = UTF8String.fromString("{_escaped(text)}");\n'

    def write_which(self, together: Sequence[RowCases]) -> None:
        """Write the class that decides the kind of a row."""
        facts = {
            _is(number, at): fact for number, cases in enumerate(together) for at, (fact, _) in enumerate(cases.cases)
        }
        self._frame("Which", facts, None)

    def write(self, number: int, cases: RowCases, first: int) -> None:
        """Write the method that chooses by the kind of a row, and for each kind the class that judges its rows."""
        lines = []
        for at, (_, results) in enumerate(cases.cases):
            frame = self._frame(f"Kind{number}x{at}", {key: results[key] for key in cases.otherwise}, first)
            lines.append(f"    if (which.{_is(number, at)}()) {{ new {frame}(row).judge(results); return; }}")
        frame = self._frame(f"Other{number}", cases.otherwise, first)
        lines.append(f"    new {frame}(row).judge(results);")
        body = "\n".join(lines)
        head = f"static void judge{number}(Row row, Which which, Object[] results)"
        self.frames.append(f"  {head} {{\n{body}\n  }}\n\n")

    def _frame(self, name: str, results: Mapping[str, Value], first: int | None) -> str:
        """Write a class with the shared parts of the results: a method for each result, or one that stores them all."""
        sheet = Sheet()
        formulas = [sheet.constant(term) for result in results.values() for term in terms_of(result)]
        known: dict[DecisionFormula, _WrittenPart] = {}
        members: list[str] = []
        again = used_again(formulas)
        for part in parts_of(formulas):
            written = self._written(part, known)
            if part.operands and (part in again or written.depth >= _DEEPEST):
                number = len(members)
                members.append(_member(number, written))
                written = _WrittenPart(f"part{number}()", written.kind)
            known[part] = written
        values = _Values(sheet, known, members)
        if first is None:
            members += [f"    boolean {key}() {{ return {values.plain(fact)}; }}\n" for key, fact in results.items()]
        else:
            puts = [f"results[{first + at}] = {values.of(result)};" for at, result in enumerate(results.values())]
            members.append(f"    void judge(Object[] results) {{ {' '.join(puts)} }}\n")
        start = f"    final Row row;\n    {name}(Row row) {{ this.row = row; }}\n"
        self.frames.append(f"  static final class {name} {{\n{start}{''.join(members)}  }}\n\n")
        return name

    def _written(self, part: DecisionFormula, known: Mapping[DecisionFormula, _WrittenPart]) -> _WrittenPart:
        operands = [known[operand] for operand in part.operands]
        source = self._source(part, operands)
        return _WrittenPart(source, self._kinds.of(part), 1 + max((operand.depth for operand in operands), default=0))

    def _source(self, part: DecisionFormula, operands: Sequence[_WrittenPart]) -> str:
        match part.operator, [operand.source for operand in operands]:
            case "column", _:
                return self._read(self._places[str(part.value)])
            case "constant", _:
                return self._constant(part.value)
            case "among", [value]:
                return f"({' || '.join(f'{self._constant(text)}.equals({value})' for text in part.value)})"
            case "not", [fact]:
                return f"(!{fact})"
            case "given", _:
                return self._is_given(self._places[str(part.operands[0].value)])
            case "beyond", _:
                return f"row.beyond({self._positions(part.operands)}, {part.value}L)"
            case "hash", values:
                return reduce(lambda before, value: f"hash({value}, {before})", values, _SEED)
            case "choose", [fact, then, otherwise]:
                return f"({fact} ? {then} : {otherwise})"
            case "==", [left, right]:
                return f"{left}.equals({right})" if operands[0].kind == TEXT else f"({left} == {right})"
            case ("+" | "-" | "*") as operator, [left, right]:
                return f"{_CHECKED[operator]}({left}, {right})"
            case operator, [left, right]:
                return f"({left} {_JOINED_BY[operator]} {right})"
        raise ValueError(f"no operator {part.operator!r} of {len(operands)}")

    def _positions(self, columns: Iterable[DecisionFormula]) -> str:
        positions = ", ".join(str(self._places[str(column.value)].position) for column in columns)
        return self._lists.setdefault(positions, f"PLACES{len(self._lists)}")

    def _is_given(self, place: ColumnSlot) -> str:
        return f"(!row.{'beside' if place.kind == TEXT else 'integers'}.isNullAt({place.position}))"

    def _read(self, place: ColumnSlot) -> str:
        absent = self._constant(_ABSENT[place.kind] if place.absent is None else place.absent)
        if place.kind == TEXT:
            return f"row.text({place.position}, {absent})"
        found = f"number({place.position}" if place.element is None else f"element({place.position}, {place.element}"
        return f"(row.{found}, 0L) == 1L)" if place.kind == BOOLEAN else f"row.{found}, {absent})"

    def _constant(self, value: object) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, int):
            return f"{int(value)}L" if value >= 0 else f"({int(value)}L)"
        return self._texts.setdefault(str(value), f"TEXT{len(self._texts)}")


class _Values:
    """Writes values as objects of Spark; a composed value gets a method of its own."""

    def __init__(self, sheet: Sheet, known: Mapping[DecisionFormula, _WrittenPart], members: list[str]) -> None:
        self._sheet = sheet
        self._known = known
        self._members = members

    def plain(self, term: Term) -> str:
        """A formula, as a primitive of Java where there is one."""
        return self._known[self._sheet.constant(term)].source

    def of(self, value: Value) -> str:
        """Any value, as an object."""
        match value:
            case Integers(items):
                integers = ", ".join(map(self.plain, items))
                return self._made(f"return UnsafeArrayData.fromPrimitiveArray(new long[] {{{integers}}});")
            case GuardedValue(fact, inner):
                return f"({self.plain(fact)} ? {self.of(inner)} : null)"
            case NamedValues(fields):
                values = ", ".join(map(self.of, fields.values()))
                return self._made(f"return new GenericInternalRow(new Object[] {{{values}}});")
            case PresentRows(members):
                adds = " ".join(f"if ({self.plain(fact)}) found.add({self.of(record)});" for fact, record in members)
                found = f"java.util.ArrayList found = new java.util.ArrayList({len(members)});"
                return self._made(f"{found} {adds} return new GenericArrayData(found.toArray());")
        return _boxed(self._known[self._sheet.constant(value)])

    def _made(self, body: str) -> str:
        name = f"made{len(self._members)}"
        self._members.append(f"    Object {name}() {{ {body} }}\n")
        return f"{name}()"


def _is(number: int, at: int) -> str:
    """The name of the method that decides whether a row is of this kind."""
    return f"is{number}x{at}"


def _member(number: int, written: _WrittenPart) -> str:
    if written.kind == BOOLEAN:
        return (
            f"    byte known{number};\n    boolean part{number}() {{ if (known{number} == 0) "
            f"known{number} = {written.source} ? (byte) 1 : (byte) 2; return known{number} == 1; }}\n"
        )
    return (
        f"    boolean known{number}; {written.kind} value{number};\n    {written.kind} part{number}() {{ "
        f"if (!known{number}) {{ value{number} = {written.source}; known{number} = true; }} return value{number}; }}\n"
    )


def _boxed(value: _WrittenPart) -> str:
    return {LONG: "Long.valueOf({})", BOOLEAN: "Boolean.valueOf({})", TEXT: "{}"}[value.kind].format(value.source)


def _kind_of_constant(value: object) -> str:
    if isinstance(value, bool):
        return BOOLEAN
    return LONG if isinstance(value, int) else TEXT


def _escaped(text: str) -> str:
    """The text as a Java string literal without its quotes; other characters than ASCII as units of UTF-16."""
    return "".join(_octal(c) if c.isascii() else _units(c) for c in text)


def _octal(character: str) -> str:
    """A letter or digit as it is, any other character in octal: Java would read a quote as UTF-16 as the text's end."""
    return character if character.isalnum() else f"\\{ord(character):03o}"


def _units(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
