"""The trace schema on the page: `trace-schema` renders a group of columns from the one definition."""

import json
from collections.abc import Sequence
from typing import Final

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import Cell, prose, table

from reference.recording.trace import AFTER, BEFORE, COLUMNS, HISTORY, REPLICATION, REPLY, REQUEST, STATE, WHERE, Column

GROUPS: Final = {
    "where": WHERE,
    "request": REQUEST,
    "reply": REPLY,
    "state": STATE,
    "history": HISTORY,
    "replication": REPLICATION,
}
"""What the page shows; the state's columns stand twice in a row, before and after the step."""


class TraceSchema(SphinxDirective):
    """The columns of one group: name, type, value when absent, meaning."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Render the group that the argument names."""
        group = self.arguments[0]
        if group not in GROUPS:
            raise self.error(f"no group of columns is called {group!r}: there are {', '.join(GROUPS)}")
        return [columns(GROUPS[group])]


def columns(group: Sequence[Column]) -> nodes.table:
    """A group of columns as a table."""
    head: tuple[Cell, ...] = ("column", "type", "absent", "meaning")
    rows = [(one.name, str(one.kind), nodes.literal("", json.dumps(one.absent)), prose(one.meaning)) for one in group]
    return table([head, *rows], widths=(26, 12, 10, 52), code=0, kind="fields")


def require_all_columns(app: Sphinx) -> None:
    """The groups on the page are all the columns that there are."""
    if (*WHERE, *REQUEST, *REPLY, *BEFORE, *AFTER, *HISTORY, *REPLICATION) != COLUMNS:
        raise ValueError("reference.recording.trace has columns that docs/_ext/schema_tables.py does not show")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive and its check."""
    app.add_directive("trace-schema", TraceSchema)
    app.connect("builder-inited", require_all_columns)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
