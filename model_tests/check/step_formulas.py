"""What a step shows and is judged by, as formulas: the trace check's own text, whatever evaluates it.

The history rules about client events are rows of chains beside those of the link rules, in the same plan.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from model_tests.judging import chains, coordinator_verdicts, replication_verdicts, step_fitness, verdicts
from model_tests.judging.history_links import (
    COLUMN_OF,
    EVENT_KINDS,
    HISTORY,
    HISTORY_CHAINS,
    NAMES,
    HistoryChain,
    Of,
    begins_anew,
    check_of_history,
)
from model_tests.judging.step_assumptions import fault_of
from model_tests.judging.verdicts import KEPT, verdict_columns
from model_tests.traces.schema import BY_NAME
from reference.recording.trace import ColumnType
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.judging.judge_history import NO_NAME, ClientEvent, EventKind
from spec.readings.formulas import Sheet
from spec.readings.row_values import Element, GuardedValue, Integers, NamedValues, PresentRows, RowCases, Value
from spec.versions import PROFILES
from spec.vocabulary import ABSENT

EVENT: Final = "event"


# --- client events ----------------------------------------------------------------------------------------------------


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

    A request is a client event only if it belongs to a client's transaction; a batch that was read, only if the step
    says whether the application was given it.
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
    return chains.LATEST if name == chains.LATEST else f"of_history_{name}"


def history_results(sheet: Sheet) -> Iterator[tuple[Term, dict[str, Term]]]:
    """For each chain, whether a row is on it, and the rules' verdict on the row."""
    for number, chain in HISTORY_CHAINS.items():
        checks = [check_of_history(link, lambda name: sheet.column(_column(name))) for link in chain.links]
        yield sheet.column(chains.CHAIN) == number, verdict_columns(ABSENT, checks, sheet, HISTORY)


# --- the formulas of the trace check ----------------------------------------------------------------------------------


SHARES: Final = 1024
"""Shares of traces, each of which gives the first of its violations of a kind."""

VERDICT: Final = ("kind", "branch", "judged", "violated")
_NO_VERDICT: Final[Mapping[str, Term]] = {"kind": "", "branch": 0, "judged": 0, "violated": 0}
FIT: Final = "fit"
ROWS: Final = "rows"
REPORTED: Final = "reported"
OF_NO_CLIENT: Final = "of_no_client"
"""The api of a step that is on no chain."""
OF_TRACE: Final = ("unfit", "unclean", "faults", "complete")

ELEMENTS: Final[Mapping[str, Element]] = dict((*chains.elements(), *elements()))
"""The columns of link formulas, and where they stand in a row of a chain."""


def cases_of_step(sheet: Sheet) -> tuple[RowCases, RowCases, RowCases]:
    """What a step shows, its verdict where it has one, and its verdict as one of replication (`also_...`)."""
    return _shown(sheet), _verdict(sheet), _also(sheet)


def cases_of_link(sheet: Sheet) -> RowCases:
    """The links' verdict (`link_...`) on a row of a chain, by the number of the chain."""
    results = (*chains.link_results(sheet), *history_results(sheet))
    return RowCases(tuple((fact, _named_link(of)) for fact, of in results), _named_link(_NO_VERDICT))


def _shown(sheet: Sheet) -> RowCases:
    """What a step shows beside its verdict: whether it is fit, its client event, and the rows of its chains."""
    fit = step_fitness.is_fit(sheet)
    by_clients, by_readers, of_nodes = rows_of_step(sheet)
    alone = PresentRows(((True, chains.itself(sheet)),))
    return RowCases(
        (
            (negate(fit), _with_rows(sheet, alone, fit=False)),
            *((is_so, _with_rows(sheet, rows, fit=True)) for is_so, rows in (by_clients, by_readers)),
        ),
        _with_rows(sheet, of_nodes, fit=True),
    )


def _with_rows(sheet: Sheet, rows: PresentRows, *, fit: bool) -> dict[str, Value]:
    of_no_client = negate(any_of(*(is_on for is_on, _ in rows.members[1:]))) if fit else False
    return {
        **{name: sheet.column(name) for name in KEPT},
        FIT: fit,
        "fault": fault_of(sheet.column),
        "anew": choose(begins_anew(sheet.column), 1, 0),
        "world_ms": sheet.column("world_ms"),
        OF_NO_CLIENT: GuardedValue(of_no_client, sheet.column("api")),
        REPORTED: reported(sheet),
        ROWS: rows,
    }


def _verdict(sheet: Sheet) -> RowCases:
    """The verdict on a step, if it is an append or a transaction coordinator's."""
    api, fit = sheet.column("api"), step_fitness.is_fit(sheet)
    of_append = all_of(sheet.column("origin") >= 0, fit), verdicts.append_results(sheet, PROFILES)
    of_coordinators = all_of(coordinator_verdicts.of_coordinator(sheet.column), fit)
    by_api = coordinator_verdicts.all_coordinator_results(sheet, PROFILES)
    cases = [(all_of(api == name, of_coordinators), results) for name, results in by_api.items()]
    return RowCases((of_append, *cases), _NO_VERDICT)


def _also(sheet: Sheet) -> RowCases:
    """The verdict on a step as one of replication."""
    by_api = replication_verdicts.all_replication_results(sheet, PROFILES)
    api, fit = sheet.column("api"), step_fitness.is_fit(sheet)
    cases = ((all_of(api == name, fit), _named_also(results)) for name, results in by_api.items())
    return RowCases(tuple(cases), _named_also(_NO_VERDICT))


def _named_also(results: Mapping[str, Term]) -> dict[str, Term]:
    return {f"also_{name}": results[name] for name in VERDICT}


def _named_link(results: Mapping[str, Term]) -> dict[str, Term]:
    return {f"link_{name}": results[name] for name in VERDICT}
