"""The plan of the trace check in this process: what `on_spark` does on Spark, on arrays.

The formulas are the same (`step_formulas`). Steps are judged and sorted by trace. They become rows of chains, which
are compared with the row before on their chain, and the verdicts are counted.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, NamedTuple

import numpy as np

from model_tests.check import step_formulas
from model_tests.check.step_formulas import (
    ELEMENTS,
    FIT,
    OF_NO_CLIENT,
    OF_TRACE,
    REPORTED,
    ROWS,
    SHARES,
    VERDICT,
    cases_of_link,
    cases_of_step,
)
from model_tests.judging import chains, unjudged_steps
from model_tests.judging.check_report import Counted
from model_tests.judging.history_links import SESSION
from model_tests.judging.local_steps import LocalSteps
from model_tests.judging.step_assumptions import Fault
from model_tests.judging.step_table import DUPLICATE, LATE, UNFIT
from model_tests.judging.verdicts import KEPT
from model_tests.traces.schema import STEP_BITS
from spec.readings.formulas import Sheet
from spec.readings.formulas_on_arrays import Array, ArrayColumns, ArrayProgram, Texts
from spec.readings.row_values import GuardedValue, Integers, NamedValues, PresentRows, RowCases, Value, terms_of
from spec.vocabulary import ABSENT

# --- the results of row cases on arrays -------------------------------------------------------------------------------


class Guarded(NamedTuple):
    """A value where a fact holds."""

    fact: Array
    value: Any


class CaseValues(NamedTuple):
    """The rows of one kind and their values: arrays, lists of arrays (`Integers`), `Guarded`, names (`NamedValues`).

    Attributes:
        rows: their places in the table.
    """

    rows: Array
    values: dict[str, Any]


def case_values(cases: RowCases, columns: ArrayColumns) -> Iterator[CaseValues]:
    """The rows of each kind with their results; the first kind that applies to a row counts."""
    facts = ArrayProgram(fact for fact, _ in cases.cases).run(columns)
    left = np.ones(columns.length, np.bool_)
    for fact, (_, results) in zip(facts, cases.cases, strict=True):
        here = left & fact
        if here.any():
            yield _values(results, np.flatnonzero(here), columns)
        left &= ~fact
    if left.any():
        yield _values(cases.otherwise, np.flatnonzero(left), columns)


def _values(results: Mapping[str, Value], rows: Array, columns: ArrayColumns) -> CaseValues:
    program = ArrayProgram(term for result in results.values() for term in terms_of(result))
    found = iter(program.run(columns.only(rows)))
    return CaseValues(rows, {name: _composed(result, found) for name, result in results.items()})


def _composed(value: Value, found: Iterator[Array]) -> Any:
    """The value, composed of the arrays of its formulas in their order."""
    match value:
        case Integers(items):
            return [next(found) for _ in items]
        case GuardedValue(_, inner):
            return Guarded(next(found), _composed(inner, found))
        case NamedValues(fields):
            return {name: _composed(inner, found) for name, inner in fields.items()}
        case PresentRows(members):
            return [Guarded(next(found), _composed(record, found)) for _, record in members]
    return next(found)


_KEYS: Final = (chains.CHAIN, *VERDICT, "profile", "transaction_version", "apart", *OF_TRACE)
_TEXTS: Final = ("kind", "profile", "unfit")
_FACTS: Final = ("apart", "unclean", "complete")
_OF_STEP: Final = (*KEPT, FIT, "fault", "anew", "world_ms")


# --- the plan ---------------------------------------------------------------------------------------------------------


_NEVER: Final = 2**62
"""More than any place of a step."""


class _ChainRows(NamedTuple):
    """Steps on one kind of chain: which, and what they are there.

    Attributes:
        rows: their places in the table.
        left: what they leave to the next, `Guarded`; `found`, what they find.
    """

    rows: Array
    key: Array
    at: Array
    left: Guarded
    found: list[Array]
    mark: Guarded


@dataclass(slots=True)
class _Steps:
    """What is known of each step.

    Attributes:
        values: columns by name, of a step itself and of its trace.
        also: whether it is judged as one of replication, too.
        reported: its client event.
        chains: by number of a chain, the steps on it.
    """

    values: dict[str, Array]
    also: Array
    reported: Guarded
    chains: dict[int, list[_ChainRows]]


def counted(steps: LocalSteps, apart: int) -> list[Counted]:
    """How often each verdict came, by all that the report distinguishes, and where first: as `on_spark.counted`."""
    if not len(steps.steps):
        return []
    columns = steps.columns
    judged = _judged_alone(columns)
    judged.values |= _laid_out(judged.values, columns.texts)
    parts = [_itself(judged, columns.texts), _of_replication(judged)]
    parts += [_linked(number, rows, judged, columns.texts) for number, rows in sorted(judged.chains.items())]
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return list(_totals(whole, apart, columns.texts))


def _judged_alone(columns: ArrayColumns) -> _Steps:
    """Each step with its verdict, where it has one, and the rows of the chains that it is on."""
    shown, verdict, also = cases_of_step(Sheet())
    values = _scattered(shown, _OF_STEP, columns)
    values |= _scattered(verdict, VERDICT, columns) | _scattered(also, [f"also_{name}" for name in VERDICT], columns)
    alone = np.full(columns.length, ABSENT, np.int64)
    is_also = np.zeros(columns.length, np.bool_)
    event = np.zeros(columns.length, np.bool_)
    reported = [np.zeros(columns.length, np.int64) for _ in step_formulas.FIELDS]
    found: dict[int, list[_ChainRows]] = {}
    for rows, of_case in case_values(shown, columns):
        without_client, client = of_case[OF_NO_CLIENT], of_case[REPORTED]
        alone[rows] = np.where(without_client.fact, without_client.value, ABSENT)
        event[rows] = client.fact
        for column, own in zip(reported, client.value, strict=True):
            column[rows] = own
        for member in of_case[ROWS]:
            number, here = int(member.value[chains.CHAIN][0]), member.fact
            if number == chains.OF_REPLICATION:
                is_also[rows[here]] = True
            elif number != chains.ITSELF and here.any():
                found.setdefault(number, []).append(_chain_rows(rows, here, member.value))
    values[OF_NO_CLIENT] = alone
    return _Steps(values, is_also, Guarded(event, reported), found)


def _scattered(cases: RowCases, names: Any, columns: ArrayColumns) -> dict[str, Array]:
    """The plain values of each kind of row as columns of the table."""
    found: dict[str, Array] = {}
    for rows, values in _plain_values(cases, names, columns):
        for name in names:
            own = values[name]
            column = found.setdefault(name, np.zeros(columns.length, own.dtype))
            column[rows] = own
    return found


def _plain_values(cases: RowCases, names: Any, columns: ArrayColumns) -> Iterator[CaseValues]:
    plain = tuple((fact, {name: results[name] for name in names}) for fact, results in cases.cases)
    return case_values(RowCases(plain, {name: cases.otherwise[name] for name in names}), columns)


def _chain_rows(rows: Array, here: Array, record: Mapping[str, Any]) -> _ChainRows:
    left, mark = record[chains.LEFT], record[chains.MARK]
    found = record[chains.FOUND]
    return _ChainRows(
        rows[here],
        record[chains.OF_KEY][here],
        record[chains.AT][here],
        Guarded(left.fact[here], [one[here] for one in left.value]),
        [one[here] for one in (found.value if isinstance(found, Guarded) else found)],
        Guarded(mark.fact[here], mark.value[here]),
    )


def _laid_out(values: Mapping[str, Array], texts: Texts) -> dict[str, Array]:
    """Of each step what only its trace shows: its steps in order."""
    trace, step, fit = values["trace"], values["step"], values[FIT]
    order = np.lexsort((step, trace))
    trace, step, fit, world_ms = trace[order], step[order], fit[order], values["world_ms"][order]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = trace[1:] != trace[:-1]
    starts, group = np.flatnonzero(begins), np.cumsum(begins) - 1
    as_before = np.zeros(len(order), np.bool_)
    as_before[1:] = ~begins[1:] & (step[1:] == step[:-1])
    twice = as_before.copy()
    twice[:-1] |= as_before[1:]
    late = np.zeros(len(order), np.bool_)
    late[1:] = ~begins[1:] & (world_ms[:-1] > world_ms[1:]) & (world_ms[1:] >= 0)
    sizes = np.diff(np.append(starts, len(order)))
    complete = (np.maximum.reduceat(step, starts) + 1 == sizes) & (step[starts] == 0)
    unfit = np.where(late, texts.number(LATE), texts.number(""))
    unfit = np.where(twice, texts.number(DUPLICATE), unfit)
    fault = values["fault"][order]
    found = {
        "begins": begins,
        "unclean": _so_far(fault == Fault.UNCLEAN.value, starts, group) > 0,
        SESSION: _so_far(values["anew"][order], starts, group),
        "complete": complete[group],
        "sound": np.logical_and.reduceat(fit & ~twice, starts)[group],
        "unfit": np.where(fit, unfit, texts.number(UNFIT)),
        "faults": np.bitwise_or.reduceat(fault, starts)[group],
    }
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return {name: column[back] for name, column in found.items()}


def _so_far(amounts: Array, starts: Array, group: Array) -> Array:
    """The sum of each group's amounts up to each row."""
    sums = np.cumsum(amounts.astype(np.int64))
    return sums - (sums[starts] - amounts[starts].astype(np.int64))[group]


def _itself(steps: _Steps, texts: Texts) -> dict[str, Array]:
    """The verdict on each step itself; of one that nothing judges, its api."""
    values, rows = steps.values, np.arange(len(steps.also))
    passed_by = (values["kind"] == texts.number("")) & (values[OF_NO_CLIENT] != ABSENT)
    named = texts.named()
    apis = np.unique(values[OF_NO_CLIENT][passed_by])
    kinds = {int(api): texts.number(f"{unjudged_steps.KIND}{named[int(api)]}") for api in apis}
    kind = values["kind"].copy()
    kind[passed_by] = [kinds[int(api)] for api in values[OF_NO_CLIENT][passed_by]]
    verdict = {"kind": kind, **{name: values[name] for name in VERDICT if name != "kind"}}
    return _counting(steps, chains.ITSELF, rows, verdict, values["begins"])


def _of_replication(steps: _Steps) -> dict[str, Array]:
    rows = np.flatnonzero(steps.also)
    verdict = {name: steps.values[f"also_{name}"][rows] for name in VERDICT}
    return _counting(steps, chains.OF_REPLICATION, rows, verdict)


def _counting(
    steps: _Steps, number: int, rows: Array, verdict: Mapping[str, Array], begins: Array | None = None
) -> dict[str, Array]:
    """Rows to be counted: a verdict with all that the report distinguishes, as integers."""
    values: dict[str, Array] = {name: steps.values[name][rows] for name in KEPT}
    values |= {name: steps.values[name][rows] for name in OF_TRACE}
    if number < step_formulas.FIRST:
        values["faults"] = np.zeros(len(rows), np.int64)
    values |= {chains.CHAIN: np.full(len(rows), number), chains.OF_KEY: np.zeros(len(rows), np.int64)}
    values["begins"] = np.zeros(len(rows), np.bool_) if begins is None else begins
    return values | dict(verdict)


def _linked(number: int, parts: list[_ChainRows], steps: _Steps, texts: Texts) -> dict[str, Array]:
    """The links' verdicts on the rows of every chain of one kind.

    Client events are on no chain where steps of the trace are missing or set aside.
    """
    own = reduce(_together, parts)
    if number >= step_formulas.FIRST:
        own = _only(own, steps.values["sound"][own.rows] & steps.values["complete"][own.rows])
        reported = steps.reported
        event = Guarded(reported.fact[own.rows], [column[own.rows] for column in reported.value])
        own = own._replace(left=event, found=event.value)
    session = steps.values[SESSION][own.rows] if number in step_formulas.IN_SESSION else np.zeros_like(own.rows)
    trace = steps.values["trace"][own.rows]
    order = np.lexsort((steps.values["step"][own.rows], own.at, session, trace, own.key))
    own, trace, session = _only(own, order), trace[order], session[order]
    columns = _columns_of_links(number, own, _follows(own.key, trace, session), steps, texts)
    verdict = _scattered(cases_of_link(Sheet()), [f"link_{name}" for name in VERDICT], columns)
    plain = {name: verdict.get(f"link_{name}", own.rows) for name in VERDICT}
    plain["branch"] = np.full(len(own.rows), ABSENT)
    return _counting(steps, number, own.rows, plain) | {chains.OF_KEY: own.key}


def _together(one: _ChainRows, other: _ChainRows) -> _ChainRows:
    def joined(first: Any, second: Any) -> Any:
        if isinstance(first, Guarded):
            return Guarded(joined(first.fact, second.fact), joined(first.value, second.value))
        if isinstance(first, list):
            return [joined(*both) for both in zip(first, second, strict=True)]
        return np.concatenate([first, second])

    return _ChainRows(*(joined(first, second) for first, second in zip(one, other, strict=True)))


def _only(own: _ChainRows, rows: Array) -> _ChainRows:
    def taken(value: Any) -> Any:
        if isinstance(value, Guarded):
            return Guarded(taken(value.fact), taken(value.value))
        return [taken(each) for each in value] if isinstance(value, list) else value[rows]

    return _ChainRows(*map(taken, own))


def _follows(*keys: Array) -> Array:
    """Whether each row is on the chain of the row before it."""
    follows = np.ones(len(keys[0]), np.bool_)
    follows[:1] = False
    for key in keys:
        follows[1:] &= key[1:] == key[:-1]
    return follows


def _columns_of_links(number: int, own: _ChainRows, follows: Array, steps: _Steps, texts: Texts) -> ArrayColumns:
    """What the formulas of links read of each row of a chain: its own, of the one before, and the latest mark."""
    has_previous = follows & steps.values["sound"][own.rows]
    has_previous[1:] &= own.left.fact[:-1]
    before = np.maximum(np.arange(len(own.rows)) - 1, 0)
    arrays = {
        chains.FOUND: Guarded(np.ones(len(own.rows), np.bool_), own.found),
        chains.PREVIOUS: Guarded(has_previous, [column[before] for column in own.left.value]),
    }
    values: dict[str, Array] = {chains.CHAIN: np.full(len(own.rows), number), chains.HAS_PREVIOUS: has_previous}
    for name, (array, at, is_fact, absent) in ELEMENTS.items():
        fact, items = arrays[array]
        value = np.where(fact, items[at], int(absent)) if at < len(items) else np.full(len(fact), int(absent))
        values[name] = value == 1 if is_fact else value
    values[chains.LATEST] = _latest(own.mark, follows)
    return ArrayColumns(len(own.rows), values, texts)


def _latest(mark: Guarded, follows: Array) -> Array:
    """The latest mark that a row before each on its chain has left; absent where none has."""
    places = np.arange(len(follows))
    begin = np.maximum.accumulate(np.where(follows, 0, places))
    marked = np.maximum.accumulate(np.where(mark.fact, places, ABSENT))
    latest = np.concatenate([[ABSENT], marked[:-1]])[: len(places)]
    return np.where(latest >= begin, mark.value[np.maximum(latest, 0)], ABSENT) if len(places) else places


def _totals(rows: dict[str, Array], apart: int, texts: Texts) -> Iterator[Counted]:
    """The rows that are alike in all that the report distinguishes, counted."""
    counts = np.isin(rows["unfit"], [texts.number(""), texts.number(LATE)])
    for name in ("kind", "judged", "violated"):
        rows[name] = np.where(counts, rows[name], 0)
    violated = rows["violated"] != 0
    is_history = rows[chains.CHAIN] >= step_formulas.FIRST
    share = np.where(is_history, rows[chains.OF_KEY], rows["trace"] % SHARES)
    rows |= {"apart": rows["trace"] >= apart, "share": np.where(violated, share, ABSENT)}
    alike = _codes([rows[name] for name in (*_KEYS, "share")])
    _, firsts, group, numbers = np.unique(alike, return_index=True, return_inverse=True, return_counts=True)
    traces = np.bincount(group, rows["begins"], len(firsts)).astype(np.int64)
    place = np.full(len(firsts), _NEVER)
    np.minimum.at(place, group[violated], (rows["trace"] << STEP_BITS | rows["step"])[violated])
    named = texts.named()
    for at, first in enumerate(firsts.tolist()):
        found: Counted = {name: rows[name][first].item() for name in _KEYS}
        found |= {name: named[found[name]] for name in _TEXTS} | {name: bool(found[name]) for name in _FACTS}
        where = int(place[at]) if violated[first] else None
        found |= {"count": int(numbers[at]), "traces": int(traces[at])}
        found["trace"] = None if where is None else where >> STEP_BITS
        found["step"] = None if where is None else where & (2**STEP_BITS - 1)
        yield found


def _codes(columns: list[Array]) -> Array:
    """One integer for each row: the same where all columns are the same."""
    codes = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        values, own = np.unique(column, return_inverse=True)
        _, codes = np.unique(codes * len(values) + own, return_inverse=True)
    return codes
