"""True traces made false in one step, for each rule one way: the trace check must name the rule there."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from model_tests.corruption.corrupt_coordinators import OF_COORDINATORS
from model_tests.corruption.corrupt_replication import OF_REPLICATION
from model_tests.corruption.corruption import StepCorruption
from model_tests.judging.coordinator_verdicts import as_recorded, is_coordinators
from model_tests.judging.log_links import LOG_LINKS
from model_tests.judging.replication_verdicts import is_of_replication
from model_tests.judging.replication_verdicts import judged as of_replication
from model_tests.judging.step_assumptions import circumstances_of
from model_tests.judging.verdicts import REFUSED, judged
from model_tests.traces.schema import Row, columns_of, coordinator_step_of, step_of
from spec import rules
from spec.judging.judge import RuleCheck
from spec.judging.judge_coordinator import judge as judge_coordinator
from spec.protocol.append import names
from spec.protocol.records import ProducerEntry
from spec.versions import PROFILES
from spec.vocabulary import ABSENT, ErrorCode, Origin

_STATE: Final = columns_of(("", ProducerEntry))
_OFFSETS: Final = ("log_start", "last_stable", "high_watermark", "log_end")
_BEFORE_AND_AFTER: Final = [(f"before_{name}", f"after_{name}") for name in _STATE]


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
            if _fits(corruption, row):
                changed = [_renumbered(other, number, corruption, row) for other in rows]
                if not corruption.drops:
                    return CorruptedTrace(corruption, changed, number, row["step"])
                found = _next_accepted(rows, row)
                if found is not None:
                    kept = [other for other in changed if other["step"] != row["step"]]
                    return CorruptedTrace(corruption, kept, number, found)
    raise LookupError(f"no step of these traces fits {corruption.name!r}")


def _fits(corruption: StepCorruption, row: Row) -> bool:
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
    if is_of_replication(row):
        return "", of_replication(row["api"], row.__getitem__, profile)[1]
    if is_coordinators(row):
        as_run = as_recorded(profile, row["transaction_version"])
        outcome, checks = judge_coordinator(row["api"], coordinator_step_of(row.__getitem__), as_run)
        return outcome.names[outcome.branch], checks
    return None


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


def _refused(row: Row) -> dict[str, Any]:
    restored = {after: row[before] for before, after in _BEFORE_AND_AFTER}
    error = int(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    return {"error": error, "appended": False, "first_offset": -1, "last_offset": -1, **restored}


def _accepted(row: Row) -> dict[str, Any]:
    return {"error": 0, "appended": True, "first_offset": row["before_log_end"], "last_offset": row["before_log_end"]}


def _when_appended(row: Row, branch: str) -> bool:
    return branch == "appended"


def _branch(wanted: str) -> Callable[[Row, str], bool]:
    return lambda row, branch: branch == wanted


def _is_follower(row: Row, branch: str) -> bool:
    return branch == "appended" and row["before_cached_0_last_sequence"] >= 0


def _is_refused(row: Row, branch: str) -> bool:
    return branch not in ("appended", "duplicate")


def _is_malformed(row: Row, branch: str) -> bool:
    return bool(row["error"] == ErrorCode.INVALID_RECORD)


def _with_other_offset(row: Row) -> dict[str, Any]:
    return {"first_offset": row["first_offset"] + 1}


def _later_on_log(row: Row, branch: str) -> bool:
    return bool(row["step"] > 100 and row["before_last_stable"] > row["after_log_start"])


def _with_stable_back(row: Row) -> dict[str, Any]:
    return {"after_last_stable": row["before_last_stable"] - 1}


def _with_watermark_beyond(row: Row) -> dict[str, Any]:
    return {"after_high_watermark": row["after_log_end"] + 1}


def _from_another_end(row: Row) -> dict[str, Any]:
    return {"before_log_end": row["before_log_end"] + 1}


def _with_epoch(change: int) -> Callable[[Row], dict[str, Any]]:
    return lambda row: {"after_epoch": row["before_epoch"] + change}


def _unchanged(row: Row) -> dict[str, Any]:
    return {}


CORRUPTIONS: Final = (
    StepCorruption("a first batch is refused", rules.SEQ_FIRST, _when_appended, _refused),
    StepCorruption("the next batch is refused", rules.SEQ_SUCCESSOR, _when_appended, _refused),
    StepCorruption("a step is lost", rules.SEQ_SUCCESSOR, _is_follower, _unchanged, drops=True),
    StepCorruption("the first batch of an epoch is refused", rules.SEQ_EPOCH_RESET, _when_appended, _refused),
    StepCorruption(
        "a resend gets another offset", rules.SEQ_DUPLICATE_WINDOW, _branch("duplicate"), _with_other_offset
    ),
    StepCorruption("a refusal moves the epoch", rules.SEQ_REFUSAL_IS_PURE, _is_refused, _with_epoch(+1)),
    StepCorruption("a malformed batch is appended", rules.SEQ_WELL_FORMED, _is_malformed, _accepted),
    StepCorruption("a stale epoch is appended", rules.FENCE_STALE_EPOCH, _branch("stale_epoch"), _accepted),
    StepCorruption("a batch overtakes its verification", rules.SEQ_ORDER, _branch("verification_overtaken"), _accepted),
    StepCorruption(
        "a replaced coordinator's marker is appended",
        rules.FENCE_COORDINATOR_EPOCH,
        _branch("stale_coordinator"),
        _accepted,
    ),
    StepCorruption("an accepted batch lowers the epoch", rules.FENCE_EPOCH_MONOTONE, _when_appended, _with_epoch(-1)),
    StepCorruption("a stable offset falls", rules.LSO_MONOTONE, _later_on_log, _with_stable_back),
    StepCorruption("a watermark is beyond the log", rules.LSO_BOUNDS, _later_on_log, _with_watermark_beyond),
    StepCorruption("a log begins at another end", rules.SEQ_STATE_RECOVERABLE, _later_on_log, _from_another_end),
    *OF_COORDINATORS,
    *OF_REPLICATION,
)
