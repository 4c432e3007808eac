"""What a trace is judged by: of each step the checks that are at stake, and the values that they read.

Two accounts of which the steps have the same facts are the same to every decision and rule: each is asked the same, and
gives the same answer. So another account is put to the decisions again, step by step.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

from model_tests.judging.chains import AnyLink, check_of, of_kind
from model_tests.judging.columns_judged import columns_of_step
from model_tests.judging.coordinator_links import ID_LINK, NEW_ID_LINK, OPEN_LINK
from model_tests.judging.follower_links import FOLLOWER_LINK
from model_tests.judging.histories import Histories, JudgedEvent
from model_tests.judging.history_links import HISTORY_CHAINS, NAMES, HistoryLink, check_of_history
from model_tests.judging.judges import place_in_link
from model_tests.judging.log_links import LOG_LINK
from model_tests.judging.place_links import PLACE_LINK
from model_tests.judging.verdicts import LINK
from model_tests.monitor.chains import Chains, LinkArguments
from model_tests.traces.schema import Row
from spec.readings.formulas import Sheet, columns_read

Fact: TypeAlias = tuple[str, tuple[Any, ...]]
"""Name of a check, and the values that it reads, in the order of their columns' names."""

Facts: TypeAlias = Mapping[int, frozenset[Fact]]
"""Of each step, by its number."""

ITSELF: Final = "the decision"
"""The name of what a step is held against by itself."""


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
    steps = {
        LINK: chains.of_producer(row),
        LOG_LINK: chains.of_log(row),
        FOLLOWER_LINK: chains.of_follower(row),
        PLACE_LINK: chains.of_place(row),
        ID_LINK: chains.of_id(row),
        NEW_ID_LINK: chains.of_new_id(row),
        OPEN_LINK: chains.of_open(row),
    }
    for kind, step in steps.items():
        for link in of_kind(kind) if step is not None else ():
            if check_of(link, _scalar(step)).at_stake:
                yield link.name, tuple(map(_scalar(step), _columns(link)))


def _scalar(step: LinkArguments | None) -> Any:
    def value(column: str) -> Any:
        argument, key = place_in_link(column)
        return getattr(step, argument)[key]

    return value


@cache
def _columns(link: AnyLink) -> tuple[str, ...]:
    return tuple(sorted(link.columns))


def _of_event(judged: JudgedEvent, names: Mapping[int, Any]) -> Iterator[Fact]:
    for link in HISTORY_CHAINS[judged.number].links:
        if check_of_history(link, judged.scalar).at_stake:
            values = ((column, judged.scalar(column)) for column in _fields(link))
            yield link.name, tuple(names.get(value, "") if _is_name(name) else value for name, value in values)


def _is_name(field: str) -> bool:
    return field.removeprefix("previous_") in NAMES


@cache
def _fields(link: HistoryLink) -> tuple[str, ...]:
    check = check_of_history(link, Sheet().column)
    return tuple(sorted(columns_read(check.at_stake, check.holds)))
