"""One codec for what crosses the border of a process, and for what is kept in files: values by their annotated types.

A value is written as JSON: records by the positions of their fields, enumerations by name, rules by id. Arrays, and
tables of records that are integers alone, lie behind it as columns of bytes. All of it is compressed. The reader makes
what the type says and nothing else: no content chooses a class or runs code.
"""

import json
import operator
import types
import typing
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Generic, TypeAlias, TypeVar

import numpy as np

from spec.rules import RULES, Rule

Value = TypeVar("Value")

Columns: TypeAlias = list[bytes]
"""What lies behind the JSON, in the order in which the type names it."""

_HEAD: Final = 8
"""Bytes of the length of the JSON, before it."""

_FAST: Final = 1
"""Level of the compression: what is sent is read once, and the next levels take three times as long for a tenth."""

CODECS: Final[dict[str, "Codec[Any]"]] = {}
"""Every codec that was made, by the name of what it writes."""


@dataclass(frozen=True, slots=True)
class Form:
    """How values of one type are written.

    Attributes:
        shape: the type in words: of another shape, another text.
        fits: whether a value is of the type, as far as the members of a union differ.
        plain: the value as JSON has it; columns are appended.
        value: the value again.
    """

    shape: str
    fits: Callable[[object], bool]
    plain: Callable[[Any, Columns], Any]
    value: Callable[[Any, Iterator[bytes]], Any]


class Codec(Generic[Value]):
    """Writes and reads the values of one type."""

    def __init__(self, name: str, kind: Any) -> None:
        """Prepare the forms of a type.

        Args:
            name: what is written, in a word or two.
            kind: its type: of scalars, bytes, paths, enumerations, rules, arrays, dataclasses, named tuples, and of
                unions, tuples, lists, sets and mappings of these.

        Raises:
            TypeError: the type contains something else.
        """
        self.name, self.kind = name, kind
        self._form = form_of(kind)
        self._shape = sha256(self._form.shape.encode()).hexdigest()[:12]
        CODECS[name] = self

    def encode(self, value: Value) -> bytes:
        """A value as bytes; equal values have equal bytes.

        Raises:
            TypeError: something in the value is not of its annotated type.
        """
        columns: Columns = []
        plain = self._form.plain(value, columns)
        head = json.dumps([self._shape, list(map(len, columns)), plain], separators=(",", ":")).encode()
        return zlib.compress(b"".join((len(head).to_bytes(_HEAD, "big"), head, *columns)), _FAST)

    def decode(self, content: bytes) -> Value:
        """The value again.

        Raises:
            ValueError: the content is not what `encode` of this codec wrote, or of other code.
        """
        try:
            unpacked = zlib.decompress(content)
            end = _HEAD + int.from_bytes(unpacked[:_HEAD], "big")
            shape, sizes, plain = json.loads(unpacked[_HEAD:end])
        except (zlib.error, TypeError, ValueError) as error:
            raise ValueError(f"this is no {self.name}: {error}") from error
        if shape != self._shape:
            raise ValueError(f"this is no {self.name}, or one that other code wrote")
        value: Value = self._form.value(plain, _columns(unpacked, end, sizes))
        return value


def _columns(content: bytes, start: int, sizes: Sequence[int]) -> Iterator[bytes]:
    for size in sizes:
        yield content[start : start + size]
        start += size


@cache
def form_of(kind: Any) -> Form:
    """How the values of a type are written.

    Raises:
        TypeError: there is no form for such a type.
    """
    while isinstance(kind, typing.NewType):
        kind = kind.__supertype__
    if kind in _SCALARS:
        return _SCALARS[kind]
    if isinstance(kind, type):
        return _of_class(kind)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _union(tuple(map(form_of, inner)))
    if origin is tuple and inner[-1:] != (...,):
        return _record("tuple", tuple, tuple(map(form_of, inner)), tuple)
    if origin is np.ndarray:
        return _array(np.dtype(typing.get_args(inner[1])[0]))
    if origin in _SEQUENCES:
        return _sequence(inner[0], *_SEQUENCES[origin])
    if origin in _MAPPINGS:
        return _mapping(form_of(inner[0]), form_of(inner[1] if inner[1:] else int), _MAPPINGS[origin])
    raise TypeError(f"{kind} has no form that crosses the border of a process")


def _of_class(kind: type[Any]) -> Form:
    def is_one(value: object) -> bool:
        return isinstance(value, kind)

    if issubclass(kind, Enum):
        members = ",".join(one.name for one in kind)
        return Form(
            f"{kind.__name__}({members})", is_one, lambda value, _: kind(value).name, lambda name, _: kind[name]
        )
    if issubclass(kind, Rule):
        return Form("rule", is_one, lambda value, _: value.id, lambda name, _: RULES[name])
    if issubclass(kind, Path):
        return Form("path", is_one, lambda value, _: str(value), lambda text, _: kind(text))
    names, hints = _field_names(kind), typing.get_type_hints(kind)
    parts = tuple(form_of(hints[name]) for name in names)

    def take(value: Any) -> tuple[Any, ...]:
        return tuple([getattr(value, name) for name in names])

    return _record(f"{kind.__name__}({','.join(names)})", kind, parts, lambda values: kind(*values), take)


def _field_names(kind: type[Any]) -> tuple[str, ...]:
    if is_dataclass(kind):
        return tuple(one.name for one in fields(kind))
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return tuple(kind._fields)
    raise TypeError(f"{kind.__name__} has no form that crosses the border of a process")


def _scalar(kind: type[Any], accepted: type[Any] | tuple[type[Any], ...], plain: Callable[[Any], Any]) -> Form:
    def checked(value: Any, _: Columns) -> Any:
        if not isinstance(value, accepted):
            raise TypeError(f"{value!r} is no {kind.__name__}")
        return plain(value)

    return Form(kind.__name__, lambda value: isinstance(value, accepted), checked, lambda value, _: value)


def _next_column(_: None, columns: Iterator[bytes]) -> bytes:
    return next(columns)


_INTEGER: Final = _scalar(int, (int, np.integer), operator.index)

_SCALARS: Final[Mapping[Any, Form]] = {
    type(None): _scalar(type(None), type(None), lambda _: None),
    bool: _scalar(bool, (bool, np.bool_), bool),
    int: _INTEGER,
    float: _scalar(float, (int, float, np.floating), float),
    str: _scalar(str, str, str),
    bytes: Form("bytes", lambda value: isinstance(value, bytes), lambda v, columns: columns.append(v), _next_column),
}


def _union(members: tuple[Form, ...]) -> Form:
    """Of None and one other type that other one's value or null; else the number of the member and its value."""
    nothing = _SCALARS[type(None)]
    others = [one for one in members if one is not nothing]

    def plain(value: Any, columns: Columns) -> Any:
        number = next((number for number, one in enumerate(members) if one.fits(value)), None)
        if number is None:
            raise TypeError(f"{value!r} is none of {' | '.join(one.shape for one in members)}")
        return [number, members[number].plain(value, columns)]

    def optional(value: Any, columns: Columns) -> Any:
        return None if value is None else [others[0].plain(value, columns)]

    def of_optional(plain: Any, columns: Iterator[bytes]) -> Any:
        return None if plain is None else others[0].value(plain[0], columns)

    is_optional = len(others) == 1 < len(members)
    return Form(
        " | ".join(one.shape for one in members),
        lambda value: any(one.fits(value) for one in members),
        optional if is_optional else plain,
        of_optional if is_optional else lambda plain, columns: members[plain[0]].value(plain[1], columns),
    )


def _record(
    name: str,
    kind: type[Any],
    parts: tuple[Form, ...],
    make: Callable[[list[Any]], Any],
    take: Callable[[Any], tuple[Any, ...]] = tuple,
) -> Form:
    def plain(value: Any, columns: Columns) -> list[Any]:
        if not isinstance(value, kind):
            raise TypeError(f"{value!r} is no {name}")
        return [part.plain(one, columns) for part, one in zip(parts, take(value), strict=True)]

    def value(plain: list[Any], columns: Iterator[bytes]) -> Any:
        return make([part.value(one, columns) for part, one in zip(parts, plain, strict=True)])

    shape = f"{name}[{', '.join(part.shape for part in parts)}]"
    return Form(shape, lambda value: isinstance(value, kind), plain, value)


def _array(dtype: np.dtype[Any]) -> Form:
    def plain(value: Any, columns: Columns) -> list[int]:
        if not isinstance(value, np.ndarray) or value.dtype != dtype:
            raise TypeError(f"{value!r} is no array of {dtype}")
        columns.append(value.astype(dtype.newbyteorder("<"), copy=False).tobytes())
        return list(value.shape)

    def value(shape: list[int], columns: Iterator[bytes]) -> Any:
        read = np.frombuffer(next(columns), dtype.newbyteorder("<")).reshape(shape)
        return read.astype(dtype)  # a copy: it can be written, and holds no other column's memory

    return Form(f"array of {dtype.name}", lambda value: isinstance(value, np.ndarray), plain, value)


_SEQUENCES: Final[Mapping[Any, tuple[type[Any], Callable[[Any], Any]]]] = {
    tuple: (tuple, tuple),
    Sequence: (Sequence, tuple),
    list: (list, list),
    frozenset: (Set, frozenset),
    set: (Set, set),
    Set: (Set, frozenset),
}
"""By what is annotated: what a value has to be, and what is made."""

_MAPPINGS: Final[Mapping[Any, Callable[[Any], Any]]] = {dict: dict, Mapping: dict, Counter: Counter}


def _sequence(item: Any, kind: type[Any], make: Callable[[Any], Any]) -> Form:
    """Values of one type; a set in an order of its own, so that equal sets have equal bytes."""
    part, in_order = form_of(item), kind is not Set
    names = _integer_fields(item)
    if names and in_order:
        return _table(item, names, kind, make)

    def plain(value: Any, columns: Columns) -> list[Any]:
        if not isinstance(value, kind) or isinstance(value, str):
            raise TypeError(f"{value!r} is no {kind.__name__}")
        return [part.plain(one, columns) for one in (value if in_order else sorted(value, key=repr))]

    def value(plain: list[Any], columns: Iterator[bytes]) -> Any:
        return make(part.value(one, columns) for one in plain)

    return Form(f"{kind.__name__} of {part.shape}", lambda value: isinstance(value, kind), plain, value)


def _integer_fields(kind: Any) -> tuple[str, ...]:
    """The fields of a record that has nothing but integers; none of another type."""
    if not isinstance(kind, type) or not (is_dataclass(kind) or hasattr(kind, "_fields")):
        return ()
    names, hints = _field_names(kind), typing.get_type_hints(kind)
    return names if all(form_of(hints[name]) is _INTEGER for name in names) else ()


def _table(item: type[Any], names: tuple[str, ...], kind: type[Any], make: Callable[[Any], Any]) -> Form:
    """Records of integers column by column, 64 bits each."""

    def plain(value: Any, columns: Columns) -> int:
        if not isinstance(value, kind) or not all(isinstance(one, item) for one in value):
            raise TypeError(f"{value!r} is no {kind.__name__} of {item.__name__}")
        cells = array("q", (getattr(one, name) for name in names for one in value))
        columns.append(np.array(cells, "<i8").tobytes())
        return len(value)

    def value(count: int, columns: Iterator[bytes]) -> Any:
        rows = np.frombuffer(next(columns), "<i8").reshape(len(names), count).T.tolist()
        return make(item(*row) for row in rows)

    return Form(f"table of {item.__name__}({','.join(names)})", lambda value: isinstance(value, kind), plain, value)


def _mapping(key: Form, part: Form, make: Callable[[Any], Any]) -> Form:
    def plain(value: Any, columns: Columns) -> list[list[Any]]:
        if not isinstance(value, Mapping):
            raise TypeError(f"{value!r} is no mapping")
        return [[key.plain(name, columns), part.plain(one, columns)] for name, one in value.items()]

    def value(plain: list[list[Any]], columns: Iterator[bytes]) -> Any:
        return make({key.value(name, columns): part.value(one, columns) for name, one in plain})

    shape = f"mapping of {key.shape} to {part.shape}"
    return Form(shape, lambda value: isinstance(value, Mapping), plain, value)
