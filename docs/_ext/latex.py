"""A formula of the reading in words, as LaTeX."""

import re
from collections.abc import Mapping
from typing import Final

from formulas import PRIME

TOKEN: Final = re.compile(
    r"(?P<space>\s+)|(?P<applied>[A-Za-z_]\w*(?=\())|(?P<name>[A-Za-z_][\w.\N{PRIME}]*)|\.(?P<part>[A-Za-z_][\w.]*)"
    r"|(?P<slot>\[\d+\])|(?P<number>\d+)|(?P<sign>\S)"
)

WORDS: Final[Mapping[str, str]] = {
    "and": r"\land",
    "or": r"\lor",
    "not": r"\lnot",
    "if": r"\text{ if }",
    "else": r"\text{ else }",
    "given": r"\neq \bot",
    "absent": r"= \bot",
}
"""Words of the reading; ⊥ stands for what is not there."""

SIGNS: Final[Mapping[str, str]] = {
    "≤": r"\le",
    "≥": r"\ge",
    "≠": r"\neq",
    "∈": r"\in",
    "∉": r"\notin",
    "⇒": r"\Rightarrow",
    "∀": r"\forall",
    "−": "-",  # noqa: RUF001  # the sign of subtraction
    "{": r"\{",
    "}": r"\}",
    **{sign: sign for sign in "=<>+-(),:"},
}


def latex(formula: str) -> str:
    """The formula as LaTeX, in the order of its words.

    Raises:
        ValueError: it has a sign that no formula has.
    """
    return " ".join(part for part in map(_part, TOKEN.finditer(formula)) if part)


def _part(token: re.Match[str]) -> str:
    text = str(token[str(token.lastgroup)])
    match token.lastgroup:
        case "space":
            return ""
        case "number" | "slot":
            return text
        case "name" if text in WORDS:
            return WORDS[text]
        case "name" | "applied":
            return _name(text)
        case "part":
            return f".{_name(text)}"
    if text not in SIGNS:
        raise ValueError(f"a formula has no sign {text!r}")
    return SIGNS[text]


def _name(name: str) -> str:
    escaped = name.replace("_", r"\_").replace(PRIME, "'")
    return rf"\mathit{{{escaped}}}"
