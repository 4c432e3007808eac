"""The join of decisions and markers in traces as a place for mutants: linked steps, and the same steps made false."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from model_tests.judging.chains import AnyLink, check_of, of_kind
from model_tests.judging.coordinator_links import SEARCH_LINK
from model_tests.judging.join_links import DECIDED_LINK, MARKED_LINK
from model_tests.judging.judges import place_in_link
from model_tests.monitor.chains import Chains, LinkArguments
from model_tests.mutants.decisions.call_sites import JudgedCall
from model_tests.simulate.simulate import trace_of, workload_of
from model_tests.traces.schema import Row
from spec.algebra import Term
from spec.judging.judge import RuleCheck
from spec.vocabulary import TransactionState

Changes: TypeAlias = Mapping[str, Any]
"""Other values of the columns of a step; those of the step before with `previous_` before their names."""

MADE_FALSE: Final = 3
"""Steps that are made false in each way."""


def _marked(_: Row, previous: Row) -> Changes:
    return {"previous_control": False, "previous_producer_epoch": previous["producer_epoch"] - 1}


def _two_epochs(of_marker: int) -> Callable[[Row, Row], Changes]:
    def changes(row: Row, previous: Row) -> Changes:
        last = previous["producer_epoch"]
        open_ = {"previous_before_txn_first_offset": 0, "previous_before_epoch": last - 1}
        return {**open_, "producer_epoch": last + of_marker}

    return changes


def _again(row: Row) -> Changes:
    """The partition has received the marker before."""
    return {"before_epoch": row["producer_epoch"], "before_txn_first_offset": -1}


def _overdue(row: Row, _: Row) -> Changes:
    started = row["time_ms"] - row["after_txn_timeout_ms"] - 1
    return {"after_txn_state": TransactionState.ONGOING.value, "after_txn_pending": -1, "after_txn_started_ms": started}


FALSE: Final[Mapping[str, Callable[[Row, Row], Changes]]] = MappingProxyType(
    {
        "marker_of_decision": lambda row, _: {"producer_epoch": row["producer_epoch"] + 1},
        "outcome_as_decided": lambda row, _: {"control_type": 1 - row["control_type"]},
        "outcome_as_recorded": lambda row, _: {"control_type": 1 - row["control_type"]},
        "outcome_again": lambda row, _: {**_again(row), "control_type": 1 - row["control_type"]},
        "outcome_as_elsewhere": lambda _, previous: {"previous_control_type": 1 - previous["control_type"]},
        "outcome_of_epoch": lambda _, previous: {"previous_control_type": 1 - previous["control_type"]},
        "marker_of_coordinator": lambda row, _: {"before_coordinator_epoch": row["coordinator_epoch"] + 1},
        "data_of_decision": lambda row, _: {"before_epoch": row["producer_epoch"]},
        "no_data_again": lambda row, _: {**_again(row), "before_txn_first_offset": 0},
        "no_stale_data": lambda row, _: {"before_epoch": row["producer_epoch"] - 2},
        "answered_with_marker": _marked,
        "data_of_one_epoch": _two_epochs(0),
        "marker_between": _two_epochs(1),
        "nothing_overdue": _overdue,
    }
)
"""By the name of a link: how a step is made false, so that the link has to name its rule."""


def joined_traces(seeds: Iterable[int]) -> Iterator[JudgedCall]:
    """Every step in traces of transactions that these links judge; and the first few of each link, made false."""
    made: Counter[str] = Counter()
    for seed in (each for each in seeds if workload_of(each) == "transactions"):
        chains = Chains()
        for row in trace_of(seed):
            for kind, step in chains.links(row):
                for link in _links(kind):
                    yield from _places(f"seed {seed} step {row['step']}", link, step, made)


def _links(kind: str) -> tuple[AnyLink, ...]:
    wanted = of_kind(kind) if kind in (DECIDED_LINK, MARKED_LINK, SEARCH_LINK) else ()
    return tuple(link for link in wanted if link.name in FALSE)


def _places(name: str, link: AnyLink, step: LinkArguments, made: Counter[str]) -> Iterator[JudgedCall]:
    if check(link, step, {}).at_stake:
        yield JudgedCall(f"{name}: {link.name}", partial(in_link, link, step))
    changes = FALSE[link.name](step.row, step.previous)
    if made[link.name] < MADE_FALSE and in_link(link, step, changes):
        made[link.name] += 1
        yield JudgedCall(f"{name}, made false: {link.name}", partial(in_false_link, link, step, changes))


def check(link: AnyLink, step: LinkArguments, changes: Changes) -> RuleCheck:
    """The check of a link on a step with some columns changed."""

    def scalar(column: str) -> Term:
        place, name = place_in_link(column)
        found: Mapping[str, Any] = getattr(step, place)
        return changes.get(column, found[name])

    return check_of(link, scalar)


def in_link(link: AnyLink, step: LinkArguments, changes: Changes = MappingProxyType({})) -> tuple[str, ...]:
    """The rule that the step breaks by this link."""
    found = check(link, step, changes)
    return (found.rule.id,) if found.at_stake and not found.holds else ()


def in_false_link(link: AnyLink, step: LinkArguments, changes: Changes) -> tuple[str, ...]:
    """The rule, if the link no longer finds that the step breaks it."""
    return () if in_link(link, step, changes) else (link.rule.id,)
