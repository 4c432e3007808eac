"""What a step shows and is judged by, as formulas: the trace check's own text, whatever computes it."""

from collections.abc import Mapping
from typing import Final

from model_tests.check import history_columns
from model_tests.judging import chains, coordinator_verdicts, replication_verdicts, step_fitness, verdicts
from model_tests.judging.history_links import begins_anew
from model_tests.judging.step_assumptions import fault_of
from model_tests.judging.verdicts import KEPT
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.readings.formulas import Sheet
from spec.readings.row_values import Element, GuardedValue, PresentRows, RowCases, Value
from spec.versions import PROFILES

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

ELEMENTS: Final[Mapping[str, Element]] = dict((*chains.elements(), *history_columns.elements()))
"""The columns of link formulas, and where they stand in a row of a chain."""


def cases_of_step(sheet: Sheet) -> tuple[RowCases, RowCases, RowCases]:
    """What a step shows, its verdict where it has one, and its verdict as one of replication (`also_...`)."""
    return _shown(sheet), _verdict(sheet), _also(sheet)


def cases_of_link(sheet: Sheet) -> RowCases:
    """The links' verdict (`link_...`) on a row of a chain, by the number of the chain."""
    results = (*chains.link_results(sheet), *history_columns.history_results(sheet))
    return RowCases(tuple((fact, _named_link(of)) for fact, of in results), _named_link(_NO_VERDICT))


def _shown(sheet: Sheet) -> RowCases:
    """What a step shows beside its verdict: whether it is fit, its client event, and the rows of its chains."""
    fit = step_fitness.is_fit(sheet)
    by_clients, by_readers, of_nodes = history_columns.rows_of_step(sheet)
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
        REPORTED: history_columns.reported(sheet),
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
