"""Sections of docstrings that list names: the fields of a dataclass, the arguments of a function."""

import re
from collections.abc import Iterator
from inspect import cleandoc
from typing import Final

ENTRY: Final = re.compile(r"^(?P<name>\*{0,2}[\w., \[\]*]+): (?P<text>.*)$")
"""The first line of an entry; the lines that continue it are indented."""


def entries(section: str) -> Iterator[tuple[str, str]]:
    """Each name of a section and what is written about it, in one line."""
    name, about = "", [""]
    for line in section.splitlines():
        found = ENTRY.match(line)
        if found and not line.startswith(" "):
            if name:
                yield name, " ".join(about)
            name, about = found["name"], [found["text"]]
        elif name:
            about.append(line.strip())
    if name:
        yield name, " ".join(about)


def entries_of(docstring: str, heading: str) -> dict[str, str]:
    """The entries of one section of a docstring; none where it has no such section."""
    _, _, below = cleandoc(docstring).partition(f"\n{heading}:\n")
    return dict(entries(cleandoc(re.split(r"\n\s*\n", below)[0])))
