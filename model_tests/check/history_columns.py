"""History rules about client events: rows of chains beside those of the link rules, in the same one plan."""

from collections.abc import Iterator
from typing import Final

from model_tests.judging import chains
from model_tests.judging.history_links import (
    COLUMN_OF,
    EVENT_KINDS,
    HISTORY,
    HISTORY_CHAINS,
    NAMES,
    HistoryChain,
    Of,
    check_of_history,
)
from model_tests.judging.verdicts import verdict_columns
from model_tests.traces.schema import BY_NAME
from reference.recording.trace import ColumnType
from spec.algebra import Term, all_of, any_of, choose
from spec.judging.judge_history import NO_NAME, ClientEvent, EventKind
from spec.readings.formulas import Sheet
from spec.readings.row_values import Element, GuardedValue, Integers, NamedValues, PresentRows, Value
from spec.vocabulary import ABSENT

EVENT: Final = "event"
LATEST: Final = "latest"

FIRST: Final = min(HISTORY_CHAINS)
"""The first number of a chain of client events; no other chain has a higher one."""

FIELDS: Final = (EVENT, *COLUMN_OF)
_OF_NODES: Final = frozenset((EventKind.ANSWERED, EventKind.LISTED))
_BESIDE: Final = frozenset((EventKind.HANDLED, EventKind.FOUND))
"""Client events of steps that are on chains of nodes, too."""

_OF_CLIENTS: Final = frozenset(EventKind) - _OF_NODES - _BESIDE
_BOOLEANS: Final = frozenset(
    name for name, column in COLUMN_OF.items() if name not in NAMES and BY_NAME[column].kind is ColumnType.BOOLEAN
)


def event(sheet: Sheet) -> Term:
    """The client event of a step, absent where there is none.

    A request is one only if it is of a client's transaction, a batch that was read only if the step has whether the
    application was given it.
    """
    apis = {
        value: [api for api, reported in EVENT_KINDS.items() if reported is value]
        for value in set(EVENT_KINDS.values())
    }
    found: Term = ABSENT
    for value, names in apis.items():
        only = sheet.column("transaction") >= 0 if value is EventKind.HANDLED else True
        only = sheet.given("delivered") if value is EventKind.TAKEN else only
        found = choose(all_of(sheet.among("api", names), only), value.value, found)
    return found


def reported(sheet: Sheet) -> Value:
    """The client event of a step, as integers in the order of the fields of `ClientEvent`; null where there is none."""
    fields = (_integer(sheet, name) for name in COLUMN_OF)
    return GuardedValue(event(sheet) >= 0, Integers((event(sheet), *fields)))


def _integer(sheet: Sheet, name: str) -> Term:
    column = COLUMN_OF[name]
    if name in NAMES:
        return choose(sheet.column(column) == "", NO_NAME, sheet.hashed(sheet.column(column)))
    value = chains.integer(sheet, column)
    if name == "batch_count":  # it is not known whether its batches were given
        return choose(sheet.given("delivered"), value, ABSENT)
    return value


def rows_of_step(sheet: Sheet) -> tuple[tuple[Term, PresentRows], tuple[Term, PresentRows], PresentRows]:
    """The step itself and a row for each chain that it is on: of a client's, of a node's answer to a reader, or else.

    A client's step is on no chain of nodes but that of a place in the log, a node's answer to a reader on its log's
    alone.
    """
    itself = (True, chains.itself(sheet))
    of_clients = PresentRows((itself, chains.row_at_place(sheet), *_rows(sheet, _OF_CLIENTS)))
    of_readers = PresentRows((itself, chains.row_on_log(sheet), *_rows(sheet, _OF_NODES)))
    of_nodes = PresentRows((itself, *chains.rows_of_step(sheet), *_rows(sheet, _BESIDE)))
    return (_reports(sheet, _OF_CLIENTS), of_clients), (_reports(sheet, _OF_NODES), of_readers), of_nodes


def _reports(sheet: Sheet, events: frozenset[EventKind]) -> Term:
    return any_of(*(event(sheet) == each.value for each in sorted(events)))


def _rows(sheet: Sheet, events: frozenset[EventKind]) -> chains.Rows:
    def of(name: str) -> Term:
        return event(sheet) if name == EVENT else sheet.column(name)

    for number, chain in HISTORY_CHAINS.items():
        here = events & chain.events
        if here:
            yield all_of(_reports(sheet, here), chain.members(of)), _row(sheet, number, chain, of)


def _row(sheet: Sheet, number: int, chain: HistoryChain, of: Of) -> NamedValues:
    key = (text(of) if callable(text) else of(text) for text in chain.texts)
    marks, mark = chain.mark(of)
    hashed = sheet.hashed(of("trace"), number, *key, *map(of, chain.numbers))
    return chains.row_of_chain(number, hashed, chain.at(of), mark=GuardedValue(marks, mark))


IN_SESSION: Final = tuple(number for number, chain in HISTORY_CHAINS.items() if chain.in_session)
"""Numbers of the chains that end where a reader begins anew."""


def elements() -> Iterator[tuple[str, Element]]:
    """Where what the rules read stands in a row: in its own client event, and in the one before it."""
    for prefix, array in (("", chains.FOUND), ("previous_", chains.PREVIOUS)):
        for at, name in enumerate(FIELDS):
            yield _column(f"{prefix}{name}"), Element(array, at, name in _BOOLEANS, getattr(ClientEvent(), name))


def _column(name: str) -> str:
    return LATEST if name == LATEST else f"of_history_{name}"


def history_results(sheet: Sheet) -> Iterator[tuple[Term, dict[str, Term]]]:
    """For each chain, whether a row is on it, and the rules' verdict on the row."""
    for number, chain in HISTORY_CHAINS.items():
        checks = [check_of_history(link, lambda name: sheet.column(_column(name))) for link in chain.links]
        yield sheet.column(chains.CHAIN) == number, verdict_columns(ABSENT, checks, sheet, HISTORY)
