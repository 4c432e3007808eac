"""Finite behaviour on the page: `cells` shows a table of EndTxn, `reported-errors` the errors that clients get."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import groupby
from typing import Any, Final

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import Cell, table

from spec.protocol import committing, ending, verification
from spec.versions import KAFKA_3_9, NEWEST
from spec.vocabulary import ErrorCode, TransactionState

CURRENT, RETRY = "current epoch", "epoch before the bump"
OUTCOMES: Final = ("ABORT", "COMMIT")
TABLES: Final[Mapping[str, tuple[Mapping[tuple[int, ...], int], tuple[str, ...]]]] = {
    "end-txn-without-bump": (ending.WITHOUT_BUMP, ()),
    "end-txn-with-bump": (ending.WITH_BUMP, (RETRY, CURRENT)),
    "end-txn-with-bump-before-4.0": (ending.EMPTY_ABORT_REFUSED, (RETRY, CURRENT)),
}
"""The tables of EndTxn by state and outcome; those with a bump recognise a repetition by its epoch."""


def cell_text(value: int) -> str:
    """One cell of a table of EndTxn."""
    if value == ending.PREPARES:
        return "prepares"
    return "answered again" if value == ErrorCode.NONE.value else ErrorCode(value).name


class CellsOfTable(SphinxDirective):
    """One table of EndTxn: a row for each state; cells that another release decides otherwise are marked."""

    required_arguments = 1
    option_spec = {"against": str}  # noqa: RUF012  # so it is declared in Sphinx

    def run(self) -> list[nodes.Node]:
        """Render the table that the argument names."""
        for name in (self.arguments[0], self.options.get("against", self.arguments[0])):
            if name not in TABLES:
                raise self.error(f"no table is called {name!r}: there are {', '.join(TABLES)}")
        cells, epochs = TABLES[self.arguments[0]]
        other = TABLES[self.options["against"]][0] if "against" in self.options else cells
        columns = _columns(epochs)
        head = ("state", *(title for title, _ in columns))
        body = [self._row(state, columns, cells, other) for state in dict.fromkeys(key[0] for key in sorted(cells))]
        return [table([head, *body], (20, *(80 // len(columns),) * len(columns)), code=0, kind="cells")]

    def _row(
        self,
        state: int,
        columns: list[tuple[str, tuple[int, ...]]],
        cells: Mapping[tuple[int, ...], int],
        other: Mapping[tuple[int, ...], int],
    ) -> tuple[Cell, ...]:
        keys = [(state, *key) for _, key in columns]
        return TransactionState(state).name, *(_marked(cells[key], other[key]) for key in keys)


def _columns(epochs: tuple[str, ...]) -> list[tuple[str, tuple[int, ...]]]:
    if not epochs:
        return [(outcome, (at,)) for at, outcome in enumerate(OUTCOMES)]
    numbers = {CURRENT: 0, RETRY: 1}
    return [(f"{outcome}, {epoch}", (at, numbers[epoch])) for epoch in epochs for at, outcome in enumerate(OUTCOMES)]


def _marked(value: int, other: int) -> Cell:
    kind = "prepares" if value == ending.PREPARES else "again" if value == ErrorCode.NONE.value else "refused"
    return nodes.inline("", cell_text(value), classes=[f"cell-{kind}", *(["cell-differs"] if value != other else [])])


RENAMED_ERRORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "produce": verification.reported,
    "txn-offset-commit": partial(committing.reported, profile=NEWEST),
    "txn-offset-commit-before-4.0": partial(committing.reported, profile=KAFKA_3_9),
}
NEWEST_VERSION: Final = 99
"""Later than every version of a request at which something changes."""


class ReportedErrors(SphinxDirective):
    """What a client gets instead of the error of the transaction's coordinator, by version of its request."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Render the errors of the request that the argument names."""
        if self.arguments[0] not in RENAMED_ERRORS:
            raise self.error(f"errors are shown for {', '.join(RENAMED_ERRORS)}, not for {self.arguments[0]!r}")
        renamed = reported_otherwise(RENAMED_ERRORS[self.arguments[0]])
        return [table([("error", "answered as", "in versions"), *renamed], (40, 40, 20), code=0)]


def reported_otherwise(answered: Callable[[Any, Any], Any]) -> list[tuple[str, str, str]]:
    """Every error that is answered as another one, and in which versions of the request."""
    found = []
    for met in ErrorCode:
        by_version = [(version, ErrorCode(answered(met.value, version))) for version in range(NEWEST_VERSION)]
        for reported, stretch in groupby(by_version, lambda pair: pair[1]):
            versions = [version for version, _ in stretch]
            if reported is not met:
                found.append((met.name, reported.name, _versions(versions[0], versions[-1])))
    return found


def _versions(first: int, last: int) -> str:
    if last == NEWEST_VERSION - 1:
        return "all" if first == 0 else f"{first} and later"
    return f"up to {last}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("cells", CellsOfTable)
    app.add_directive("reported-errors", ReportedErrors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
