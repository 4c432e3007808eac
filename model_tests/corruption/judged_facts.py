"""What a trace is judged by: of each step the checks that are at stake, and the values that they read.

Two traces of which the steps have the same facts are the same to every decision and rule: the inputs are the same, and
so are the results. So the decisions are applied to another trace again, step by step.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

from model_tests.judging.chains import AnyLink, check_of, of_kind
from model_tests.judging.columns_judged import columns_of_step
from model_tests.judging.compiled import Compiled, Place, compiled
from model_tests.judging.histories import Histories, JudgedEvent
from model_tests.judging.history_links import HISTORY_CHAINS, NAMES, HistoryLink, check_of_history
from model_tests.judging.judges import HISTORY_ARGUMENTS, LINK_ARGUMENTS, place_in_history, place_in_link
from model_tests.monitor.chains import Chains
from model_tests.traces.schema import Row
from spec.algebra import Term
from spec.readings.formulas import Sheet, columns_read

Fact: TypeAlias = tuple[str, tuple[Any, ...]]
"""Name of a check, and the values that it reads, in the order of their columns' names."""

Facts: TypeAlias = Mapping[int, frozenset[Fact]]
"""Of each step, by its number."""

ITSELF: Final = "the decision"
"""The name of the decision among the checks of a step."""


def facts_of(rows: Sequence[Row]) -> Facts:
    """The facts of a trace, each under the number of its step.

    Args:
        rows: the steps, in order; their numbers rise, and may have gaps.
    """
    found: dict[int, set[Fact]] = {row["step"]: set() for row in rows}
    chains, histories = Chains(), Histories()
    for row in rows:
        histories.add(row)
        found[row["step"]] |= {*_of_step(row), *_of_links(chains, row)}
    names = {number: name for name, number in histories.names.items()}
    for judged in histories.judged():
        found[judged.row["step"]] |= set(_of_event(judged, names))
    return {step: frozenset(facts) for step, facts in found.items()}


def _of_step(row: Row) -> Iterator[Fact]:
    columns = sorted(columns_of_step(row))
    if columns:
        yield ITSELF, tuple(row[name] for name in columns)


def _of_links(chains: Chains, row: Row) -> Iterator[Fact]:
    for kind, step in chains.links(row):
        for link in of_kind(kind):
            reading = _reading_of_link(link)
            if reading.at_stake(*step)[0]:
                yield link.name, reading.values(*step)


def _of_event(judged: JudgedEvent, names: Mapping[int, Any]) -> Iterator[Fact]:
    for link in HISTORY_CHAINS[judged.number].links:
        reading = _reading_of_event(link)
        if reading.at_stake(*judged.arguments)[0]:
            values = zip(reading.columns, reading.values(*judged.arguments), strict=True)
            yield link.name, tuple(names.get(value, "") if _is_name(name) else value for name, value in values)


def _is_name(field: str) -> bool:
    return field.removeprefix("previous_") in NAMES


class _LinkReading(NamedTuple):
    """Whether a link is at stake, and the values of the columns that it reads: functions of what its judge takes."""

    columns: tuple[str, ...]
    at_stake: Compiled
    values: Compiled


@cache
def _reading_of_link(link: AnyLink) -> _LinkReading:
    at_stake = check_of(link, Sheet().column).at_stake
    return _reading(link.columns, at_stake, place_in_link, LINK_ARGUMENTS)


@cache
def _reading_of_event(link: HistoryLink) -> _LinkReading:
    check = check_of_history(link, Sheet().column)
    return _reading(columns_read(check.at_stake, check.holds), check.at_stake, place_in_history, HISTORY_ARGUMENTS)


def _reading(
    columns: Iterable[str], at_stake: Term, place_of: Callable[[str], Place], arguments: Sequence[str]
) -> _LinkReading:
    sheet, names = Sheet(), tuple(sorted(columns))
    return _LinkReading(
        names,
        compiled({"at_stake": at_stake}, place_of, arguments),
        compiled({name: sheet.column(name) for name in names}, place_of, arguments),
    )
