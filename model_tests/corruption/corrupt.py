"""True traces made false in one step by the catalogue: the first trace that has a step which fits."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from model_tests.corruption.catalogue import StepCorruption
from model_tests.judging.coordinator_verdicts import as_recorded, is_coordinators
from model_tests.judging.log_links import LOG_LINKS
from model_tests.judging.replication_verdicts import is_of_replication
from model_tests.judging.replication_verdicts import judged as of_replication
from model_tests.judging.step_assumptions import circumstances_of
from model_tests.judging.verdicts import REFUSED, judged
from model_tests.traces.schema import Row, coordinator_step_of, step_of
from spec.judging.judge import RuleCheck
from spec.judging.judge_coordinator import judge as judge_coordinator
from spec.protocol.append import names
from spec.versions import PROFILES
from spec.vocabulary import ABSENT, Origin

_OFFSETS: Final = ("log_start", "last_stable", "high_watermark", "log_end")


@dataclass(frozen=True, slots=True)
class CorruptedTrace:
    """A trace with one false step."""

    corruption: StepCorruption
    rows: Sequence[Row]
    trace: int
    step: int


def corrupted(corruption: StepCorruption, traces: Iterable[Sequence[Row]], number: int) -> CorruptedTrace:
    """The first of the traces that fits, made false and numbered anew.

    Args:
        corruption: what is made false, and which steps it fits.
        traces: the steps of each trace, in order; they are not changed.
        number: of the trace that is given back.

    Raises:
        LookupError: none of the traces fits.
    """
    for rows in traces:
        for row in rows:
            if fits(corruption, row):
                changed = [_renumbered(other, number, corruption, row) for other in rows]
                if not corruption.drops:
                    return CorruptedTrace(corruption, changed, number, row["step"])
                found = _next_accepted(rows, row)
                if found is not None:
                    kept = [other for other in changed if other["step"] != row["step"]]
                    return CorruptedTrace(corruption, kept, number, found)
    raise LookupError(f"no step of these traces fits {corruption.name!r}")


def fits(corruption: StepCorruption, row: Row) -> bool:
    """Whether a step can be made false this way: the rule is claimed there, at stake, and holds."""
    found = _judged(row)
    if found is None:
        return False
    branch, checks = found
    profile = PROFILES[row["profile"]].under(row["transaction_version"])
    if not corruption.rule.claimed_in(circumstances_of(profile)):
        return False
    about = any(check.rule is corruption.rule and check.at_stake and check.holds for check in checks)
    return about and corruption.fits(row, branch)


def _judged(row: Row) -> tuple[str, Iterable[RuleCheck]] | None:
    """Name of the deciding branch, and the checks of the step; None where nothing judges it."""
    profile = PROFILES[row["profile"]]
    if row["origin"] >= 0:
        expected, checks = judged(step_of(row.__getitem__), profile, row[REFUSED])
        return names(profile)[expected.branch], (*checks, *_of_log(row))
    others = of_replication(row["api"], row.__getitem__, profile)[1] if is_of_replication(row) else ()
    if is_coordinators(row):
        as_run = as_recorded(profile, row["transaction_version"])
        outcome, checks = judge_coordinator(row["api"], coordinator_step_of(row.__getitem__), as_run)
        return outcome.names[outcome.branch], (*checks, *others)
    return ("", others) if others else None


def _of_log(row: Row) -> Iterator[RuleCheck]:
    """The checks of the log of the step after a step that left it as this one found it."""
    left = {f"previous_after_{name}": row[f"before_{name}"] for name in _OFFSETS}
    left |= {"previous_leader_epoch": row["leader_epoch"], "previous_leader_epoch_after": ABSENT}
    yield from (link.check({**row, **left, "has_previous": True}.__getitem__) for link in LOG_LINKS)


def _renumbered(row: Row, number: int, corruption: StepCorruption, false: Row) -> dict[str, Any]:
    change = corruption.change(row) if row is false else {}
    return {**row, **change, "trace": number}


def _next_accepted(rows: Sequence[Row], dropped: Row) -> int | None:
    """The client's next accepted batch on the key, if nothing but appends of its epoch lies between."""
    for row in rows[dropped["step"] + 1 :]:
        same_key = all(row[name] == dropped[name] for name in ("node", "topic", "partition", "producer_id"))
        if same_key and (row["origin"] != Origin.CLIENT or row["producer_epoch"] != dropped["producer_epoch"]):
            return None
        if same_key and row["appended"]:
            return int(row["step"])
    return None
