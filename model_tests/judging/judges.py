"""The judges of single steps: the formulas of the trace check, compiled for one profile at their first use."""

from functools import cache
from typing import Final

from model_tests.judging.chains import LATEST, check_of, of_kind
from model_tests.judging.compiled import Compiled, Place, compiled
from model_tests.judging.coordinator_links import hands_out
from model_tests.judging.coordinator_verdicts import as_recorded
from model_tests.judging.history_links import HISTORY_CHAINS, check_of_history
from model_tests.judging.replication_verdicts import judged as of_replication
from model_tests.judging.verdicts import REFUSED, judged, verdict_columns
from model_tests.traces.schema import coordinator_step_of, step_of
from spec.judging.judge_coordinator import judge
from spec.readings.formulas import Sheet
from spec.versions import PROFILES
from spec.vocabulary import ABSENT

LINK_ARGUMENTS: Final = ("row", "previous", "accepted", "chain")
"""What a judge of links is given: the step, the one before it, the last batch accepted, and facts of the chain."""

HISTORY_ARGUMENTS: Final = ("reported", "previous", "mark")
"""The arguments of a judge of histories: an event, the one before it on its chain, and the latest mark."""

OF_CHAIN: Final = frozenset(
    ("faults", "previous_faults", "accepted_faults", "has_previous", "handed_out_before", LATEST)
)
"""The columns of a link that no single row has."""

_EARLIER: Final = ("previous", "accepted")


VERDICT: Final = ("branch", "judged", "violated")
"""What a judge says of a step: the deciding branch, and the rules at stake and violated, each as a set of bits."""


@cache
def append_judge(profile: str) -> Compiled:
    """The judge of appends; it takes a row."""
    sheet = Sheet()
    expected, checks = judged(step_of(sheet.column), PROFILES[profile], sheet.column(REFUSED))
    return _verdict(verdict_columns(expected.branch, checks, sheet, ""))


@cache
def coordinator_judge(api: str, profile: str, transaction_version: int) -> Compiled:
    """The judge of a coordinator's steps of one kind; it takes a row."""
    sheet = Sheet()
    step = coordinator_step_of(sheet.column)
    expected, checks = judge(api, step, as_recorded(PROFILES[profile], transaction_version))
    return _verdict(verdict_columns(expected.branch, checks, sheet, ""))


@cache
def replication_judge(api: str, profile: str) -> Compiled:
    """The judge of what leaders, followers and controllers decide, by the kind of step; it takes a row."""
    sheet = Sheet()
    branch, checks = of_replication(api, sheet.column, PROFILES[profile])
    return _verdict(verdict_columns(branch, checks, sheet, ""))


@cache
def link_judge(kind: str) -> Compiled:
    """The judge of links of one kind between a step and those before it; it takes `LINK_ARGUMENTS`."""
    sheet = Sheet()
    checks = [check_of(link, sheet.column) for link in of_kind(kind)]
    return _verdict(verdict_columns(ABSENT, checks, sheet, ""), links=True)


@cache
def history_judge(number: int) -> Compiled:
    """The judge of client events on a chain of this number; it takes `HISTORY_ARGUMENTS`."""
    sheet = Sheet()
    checks = [check_of_history(link, sheet.column) for link in HISTORY_CHAINS[number].links]
    columns = verdict_columns(ABSENT, checks, sheet, "")
    return compiled({name: columns[name] for name in VERDICT}, place_in_history, HISTORY_ARGUMENTS)


def place_in_history(column: str) -> Place:
    """Where a judge of histories finds the value of a field."""
    if column == LATEST:
        return "mark", column
    return ("previous", column.removeprefix("previous_")) if column.startswith("previous_") else ("reported", column)


@cache
def identity_judge() -> Compiled:
    """Whether a step hands out an identity; it takes a row."""
    return compiled({"hands_out": hands_out(Sheet().column)})


@cache
def place_in_link(column: str) -> Place:
    """Where a judge of links finds the value of a column."""
    if column in OF_CHAIN:
        return "chain", column
    earlier = next((moment for moment in _EARLIER if column.startswith(f"{moment}_")), None)
    return (earlier, column.removeprefix(f"{earlier}_")) if earlier else ("row", column)


def _verdict(columns: dict[str, object], *, links: bool = False) -> Compiled:
    results = {name: columns[name] for name in VERDICT}
    return compiled(results, place_in_link, LINK_ARGUMENTS) if links else compiled(results)
