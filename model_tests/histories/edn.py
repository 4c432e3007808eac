"""EDN as histories are written in it: maps, vectors, lists, sets, keywords, numbers and text; tags are passed over.

Keywords and symbols are text as they stand (`:type`), vectors and lists are tuples, so that either can be a key. A form
that cannot be read does not hide those after it: reading continues at the next line that begins a map.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

_TOKEN: Final = re.compile(
    r"""
      ;[^\n]*                              # a comment
    | "(?:[^"\\]|\\.)*"                    # text
    | \\(?:newline|return|space|tab|formfeed|backspace|u[0-9A-Fa-f]{4}|.)  # a character
    | \#_ | \#\{                           # what is left out; a set
    | [\[\](){}]
    | [^\s,\[\](){}";\\]+                  # an atom, a tag
    | ["\\]                                # text or a character that does not end
    """,
    re.VERBOSE | re.DOTALL,
)
_INTEGER: Final = re.compile(r"[+-]?\d+N?")
_REAL: Final = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?M?|[+-]?\d+/\d+")
_NAMED: Final = {"nil": None, "true": True, "false": False}
_CHARACTERS: Final = {"newline": "\n", "return": "\r", "space": " ", "tab": "\t", "formfeed": "\f", "backspace": "\b"}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_ESCAPE: Final = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_WIDEST: Final = 5000
"""Digits of an integer: more of them Python does not read, and no offset has them."""

_Collected = list[Any]
_LEFT_OUT: Final = object()
"""Stands where `#_` leaves out what follows."""


class EdnError(ValueError):
    """A form that is not EDN, or not the EDN that histories are written in."""


@dataclass(frozen=True, slots=True)
class UnreadForm:
    """A form that could not be read, by the line on which it begins."""

    line: int
    reason: str


def forms(lines: Iterable[str]) -> Iterator[tuple[int, Any]]:
    """Every form of a file with the line on which it begins, or an `UnreadForm` in its place.

    One vector or list around all of them is passed over: some tools write a history as one value.
    """
    pending, began, depth, wrapped = "", 0, 0, False
    for number, line in enumerate(lines, start=1):
        if depth and line.startswith(("{", "#jepsen")):
            yield began, UnreadForm(began, "the form does not end")
            pending, depth = "", 0
        if not pending:
            bare = line.strip()
            if not bare or bare[0] == ";" or (wrapped and bare in ("]", ")")):
                continue
            if not began and bare[0] in "[(":
                line, wrapped = line.replace(bare[0], " ", 1), True
            began = number
        depth += _opens(line)
        pending += line
        if depth <= 0:
            yield from _read(pending, began, wrapped)
            pending, depth = "", 0
    if pending.strip():
        yield began, UnreadForm(began, "the form does not end")


def _opens(line: str) -> int:
    """The number of collections that the line begins beyond those that it ends."""
    if '"' in line or ";" in line or "\\" in line:
        tokens = _TOKEN.findall(line)
        return sum(token in ("{", "[", "(", "#{") for token in tokens) - sum(
            token in ("}", "]", ")") for token in tokens
        )
    ends = line.count("}") + line.count("]") + line.count(")")
    return line.count("{") + line.count("[") + line.count("(") - ends


def _read(text: str, line: int, wrapped: bool) -> Iterator[tuple[int, Any]]:
    try:
        tokens = _TOKEN.findall(text)
        if wrapped and _opens(text) < 0:
            del tokens[max(place for place, token in enumerate(tokens) if token in ("]", ")"))]
        found = _values(tokens)
    except (EdnError, TypeError, ValueError, RecursionError) as error:
        yield line, UnreadForm(line, str(error))
        return
    for value in found:
        yield line, value


def read(text: str) -> tuple[Any, ...]:
    """Every form of a text.

    Raises:
        EdnError: it is no EDN.
    """
    try:
        return tuple(_values(_TOKEN.findall(text)))
    except TypeError as error:
        raise EdnError(f"no key of a map: {error}") from error


def _values(tokens: list[str]) -> _Collected:
    """The forms that tokens make up."""
    stack: list[tuple[str, _Collected]] = []
    into: _Collected = []
    leaves_out = "#_" in tokens
    for token in tokens:
        if token.isdecimal() and token.isascii():
            into.append(_integer(token))
        elif token in _OPENING:
            stack.append((token, into))
            into = []
        elif token in _MAKING:
            if not stack or _OPENING[stack[-1][0]] != token:
                raise EdnError(f"{token} ends nothing")
            opening, outer = stack.pop()
            made = _MAKING[opening](into)
            into = outer
            into.append(made)
        elif token[0] == ";" or (token[0] == "#" and token not in ("#_", "##Inf", "##-Inf", "##NaN")):
            continue
        elif token == "#_":
            into.append(_LEFT_OUT)
            continue
        else:
            into.append(_atom(token))
        if leaves_out:
            _leave_out(into)
    if stack:
        raise EdnError("the form does not end")
    return into


def _leave_out(into: _Collected) -> None:
    if len(into) > 1 and into[-2] is _LEFT_OUT:
        del into[-2:]


def _map(items: _Collected) -> dict[Any, Any]:
    if len(items) % 2:
        raise EdnError("a map has a key without a value")
    return dict(zip(items[::2], items[1::2], strict=True))


_OPENING: Final = {"{": "}", "[": "]", "(": ")", "#{": "}"}
_MAKING: Final[dict[str, Callable[[_Collected], Any]]] = {
    "{": _map,
    "[": tuple,
    "(": tuple,
    "#{": frozenset,
    "}": _map,
    "]": tuple,
    ")": tuple,
}


def _atom(token: str) -> Any:
    first = token[0]
    if first == ":":
        return token
    if token in _NAMED:
        return _NAMED[token]
    if first == '"':
        return _text(token)
    if first == "\\":
        return _character(token)
    if _INTEGER.fullmatch(token):
        return _integer(token.rstrip("N"))
    if _REAL.fullmatch(token):
        return float(token.rstrip("M")) if "/" not in token else token
    if first.isdigit():
        raise EdnError(f"no number: {token[:40]}")
    return token


def _integer(digits: str) -> int:
    if len(digits) > _WIDEST:
        raise EdnError(f"an integer of {len(digits)} digits")
    return int(digits)


def _text(token: str) -> str:
    if len(token) < 2:
        raise EdnError("the text does not end")
    if "\\" not in token:
        return token[1:-1]
    return _ESCAPE.sub(lambda found: _escaped(found[1]), token[1:-1])


def _escaped(code: str) -> str:
    return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPES.get(code, code)


def _character(token: str) -> str:
    name = token[1:]
    if not name:
        raise EdnError("a character is missing")
    return chr(int(name[1:], 16)) if len(name) == 5 and name[0] == "u" else _CHARACTERS.get(name, name)
