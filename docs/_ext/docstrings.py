"""Docstrings in Google's style on the page: paragraphs, lists of arguments and attributes, what is raised."""

import re
from collections.abc import Callable
from inspect import cleandoc
from typing import Final

from docutils import nodes
from tables import prose

from model_tests.common.command_options import entries, entries_of

SECTIONS: Final = ("Args", "Attributes", "Fields", "Raises", "Returns", "Yields")
ITEM: Final = re.compile(r"^(?:[-*]|\d+\.) ")


def nodes_of(docstring: str) -> list[nodes.Node]:
    """A docstring as nodes; a section that it does not know is a paragraph."""
    found: list[nodes.Node] = []
    for block in re.split(r"\n\s*\n", cleandoc(docstring)):
        heading, _, below = block.partition("\n")
        if heading.rstrip(":") in SECTIONS and heading.endswith(":") and below:
            found.append(_section(heading.rstrip(":"), cleandoc(below)))
        elif block.strip():
            found.append(_block(block))
    return found


def written(writer: Callable[..., object]) -> dict[str, str]:
    """The meaning of each field that a function writes into a report, by its place there.

    Raises:
        ValueError: its docstring has no section of fields.
    """
    found = entries_of(writer.__doc__ or "", "Fields")
    if not found:
        raise ValueError(f"{writer.__qualname__} does not say what its fields mean")
    return found


def _block(block: str) -> nodes.Node:
    lines = block.splitlines()
    if all(line.startswith("    ") for line in lines) or block.startswith(">>> "):
        text = cleandoc(block)
        return nodes.doctest_block(text, text) if text.startswith(">>> ") else nodes.literal_block(text, text)
    if any(ITEM.match(line) for line in lines):
        return _items(lines)
    return nodes.paragraph("", "", prose(" ".join(line.strip() for line in lines)))


def _items(lines: list[str]) -> nodes.Node:
    """A list, with the line before it, if there is one."""
    texts: list[list[str]] = [[]]
    for line in lines:
        if ITEM.match(line):
            texts.append([ITEM.sub("", line)])
        else:
            texts[-1].append(line.strip())
    reported = (
        nodes.container("", nodes.paragraph("", "", prose(" ".join(texts[0])))) if texts[0] else nodes.container()
    )
    reported += nodes.bullet_list(
        "", *(nodes.list_item("", nodes.paragraph("", "", prose(" ".join(text)))) for text in texts[1:])
    )
    return reported


def _section(heading: str, text: str) -> nodes.Node:
    listed = list(entries(text))
    reported = nodes.container("", nodes.paragraph("", heading, classes=["api-part"]), classes=["api-section"])
    if not listed:
        reported += nodes.paragraph("", "", prose(" ".join(text.split())))
        return reported
    items = nodes.definition_list()
    for name, about in listed:
        term = nodes.term("", "", nodes.literal("", name))
        items += nodes.definition_list_item("", term, nodes.definition("", nodes.paragraph("", "", prose(about))))
    reported += items
    return reported
