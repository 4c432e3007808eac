"""Tables of text: a head, rows, one column that is code, and a class on each cell with a verdict in it."""

import re
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from docutils import nodes

VERDICT: Final = re.compile(r"(proved|holds|violated|missing|waived)|(unknown)(:.*)?|(not) (run|shown)")
"""A cell that is a verdict, and the word that it goes by."""

Cell: TypeAlias = str | nodes.Node
"""Text, or a node of one line."""


def table(
    rows: Iterable[Sequence[Cell]], widths: Sequence[int] = (20, 20, 60), code: int | None = None, kind: str = ""
) -> nodes.table:
    """Rows as a table; the first one is its head, the column `code` is set as code, and `kind` is a class of its own.

    Without widths the columns are as wide as what is in them. The cells of an `index` say what they are, for phones,
    where its rows are stacked.
    """
    head, *body = rows
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=width) for width in widths or (1,) * len(head)]
    group += nodes.thead("", nodes.row("", *(nodes.entry("", nodes.paragraph("", str(cell))) for cell in head)))
    group += nodes.tbody("", *(row(cells, code, head[1:] if kind == "index" else ()) for cells in body))
    sized = "colwidths-given" if widths else "colwidths-auto"
    return nodes.table("", group, classes=["rule-evidence", sized, *([kind] if kind else [])])


def row(cells: Iterable[Cell], code: int | None = None, heads: Iterable[Cell] = ()) -> nodes.row:
    """One row; a cell with a verdict carries it as a class, so that the style sheet can colour it.

    Args:
        cells: from left to right.
        code: number of the cell that is set as code.
        heads: of the columns after the first, repeated in each cell that is not empty.
    """
    entries = [entry(cell, is_code=at == code) for at, cell in enumerate(cells)]
    for each, head in zip(entries[1:], heads, strict=False):
        if each.astext():
            each[0].insert(0, nodes.inline("", f"{head}: ", classes=["cell-head"]))
    return nodes.row("", *entries)


def entry(cell: Cell, is_code: bool) -> nodes.entry:
    """One cell."""
    if not isinstance(cell, str):
        return nodes.entry("", nodes.paragraph("", "", cell))
    inside = nodes.literal("", cell) if is_code else nodes.Text(cell)
    return nodes.entry("", nodes.paragraph("", "", inside), classes=style_of(cell))


def style_of(cell: str) -> list[str]:
    """The class of a cell that is a verdict."""
    found = VERDICT.fullmatch(cell)
    return [f"verdict-{next(filter(None, found.groups()))}"] if found else []


def listed(parts: Iterable[nodes.Node], between: str = ", ") -> nodes.inline:
    """Several nodes in one line."""
    line = nodes.inline()
    for position, part in enumerate(parts):
        line += nodes.Text(between if position else "")
        line += part
    return line


def prose(text: str) -> nodes.inline:
    """A sentence with its words in backticks as code."""
    parts = text.split("`")
    return nodes.inline("", "", *(nodes.literal("", p) if at % 2 else nodes.Text(p) for at, p in enumerate(parts)))


def folded(summary: str, *inside: nodes.Node, opened: bool = False) -> list[nodes.Node]:
    """What a reader opens to see, or may close."""
    opening = nodes.raw("", f"<details{' open' * opened}><summary>{summary}</summary>", format="html")
    return [opening, *inside, nodes.raw("", "</details>", format="html")]
