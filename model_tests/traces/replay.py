"""One trace made again from its seed in this process, shown step by step, and judged by the row rules."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from model_tests.reports import HOLDS, VIOLATED, BadInput
from model_tests.traces.check_report import Violation
from model_tests.traces.coordinator_verdicts import as_recorded, is_coordinators
from model_tests.traces.explain import explain_coordinator, explain_step
from model_tests.traces.schema import Row, coordinator_step_of, step_of
from model_tests.traces.simulate import STEPS, profile_of, trace_of, workload_of
from model_tests.traces.verdicts import REFUSED, judged
from spec.protocol.append import names
from spec.protocol.judge_coordinator import judge as judge_coordinator
from spec.versions import PROFILES
from spec.vocabulary import ErrorCode, TransactionState

AROUND: Final = 8
"""Steps shown before and after the one that is asked for."""


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """A trace, the part of it that is shown, and what it breaks."""

    seed: int
    rows: tuple[Row, ...]
    step: int | None
    appends: int
    coordinated: int
    violations: tuple[Violation, ...]

    @property
    def exit_code(self) -> int:
        """Whether every step is as the decision says."""
        return VIOLATED if self.violations else HOLDS

    def to_json(self) -> dict[str, object]:
        """Seed, workload, counts, violations, and the rows that are shown."""
        return {
            "seed": self.seed,
            "profile": profile_of(self.seed),
            "workload": workload_of(self.seed),
            "steps": len(self.rows),
            "appends": self.appends,
            "coordinated": self.coordinated,
            "violations": [str(violation) for violation in self.violations],
            "rows": [dict(row) for row in self.shown],
        }

    @property
    def shown(self) -> tuple[Row, ...]:
        """The steps around the one that is asked for, else all."""
        if self.step is None:
            return self.rows
        return tuple(row for row in self.rows if abs(row["step"] - self.step) <= AROUND)

    def print(self, console: Console) -> None:
        """A line for each step, then what is broken."""
        table = Table("step", "node", "client", "request", "asked", "answer", "producer after")
        for row in self.shown:
            mark = "> " if row["step"] == self.step else ""
            table.add_row(f"{mark}{row['step']}", row["node"], row["client"], row["api"], *_columns(row))
        console.print(table)
        told = f"seed {self.seed}: {workload_of(self.seed)} on {profile_of(self.seed)}, {len(self.rows)} steps"
        counted = f"{self.appends} appends and {self.coordinated} steps of coordinators judged"
        console.print(f"{told}, {counted}, {len(self.violations)} violations", highlight=False)
        for violation in self.violations:
            console.print(str(violation), markup=False, highlight=False)


def run(seed: int, step: int | None = None, steps: int = STEPS) -> ReplayReport:
    """Make the trace of a seed again and judge it.

    Args:
        seed: the trace's number.
        step: the step to show, with those around it; without it all are shown.
        steps: length of the trace, as it was asked of `eos simulate`.

    Raises:
        BadInput: the trace has no such step.
    """
    rows = tuple(trace_of(seed, steps))
    if step is not None and step >= len(rows):
        raise BadInput(f"trace {seed} has {len(rows)} steps, and none numbered {step}")
    appends = [row for row in rows if row["origin"] >= 0]
    coordinated = [row for row in rows if is_coordinators(row)]
    violations = [v for row in appends for v in _violations(row)]
    violations += [v for row in coordinated for v in _violations_of_coordinator(row)]
    return ReplayReport(seed, rows, step, len(appends), len(coordinated), tuple(violations))


def _violations(row: Row) -> Iterator[Violation]:
    _, checks = judged(step_of(row.__getitem__), PROFILES[row["profile"]], row[REFUSED])
    broken = dict.fromkeys(check.rule for check in checks if check.at_stake and not check.holds)
    yield from (explain_step(row, rule) for rule in broken)


def _violations_of_coordinator(row: Row) -> Iterator[Violation]:
    profile = as_recorded(PROFILES[row["profile"]], row["transaction_version"])
    _, checks = judge_coordinator(row["api"], coordinator_step_of(row.__getitem__), profile)
    broken = dict.fromkeys(check.rule for check in checks if check.at_stake and not check.holds)
    yield from (explain_coordinator(row, rule) for rule in broken)


def _columns(row: Row) -> tuple[str, str, str]:
    if row["transactional_id"] and row["origin"] < 0:
        return _asked_of_coordinator(row), _error(row), _transaction(row)
    if row["origin"] < 0:
        return "", _error(row), _entry(row)
    expected, _ = judged(step_of(row.__getitem__), PROFILES[row["profile"]], row[REFUSED])
    branch = names(PROFILES[row["profile"]])[expected.branch]
    return _asked(row), f"{_error(row)} ({branch})", _entry(row)


def _asked(row: Row) -> str:
    kind = "marker" if row["control"] else "transactional" if row["transactional"] else "data"
    last = row["base_sequence"] + row["last_offset_delta"]
    identity = f"{row['producer_id']}/{row['producer_epoch']}"
    return f"p{row['partition']} {kind} {identity} seq {row['base_sequence']}..{last}"


def _asked_of_coordinator(row: Row) -> str:
    outcome = (" commit" if row["committed"] else " abort") if row["api"] == "EndTxn" else ""
    partition = f" {row['topic']}-{row['partition']}" if row["topic"] else ""
    identity = f" {row['producer_id']}/{row['producer_epoch']}" if row["producer_id"] >= 0 else ""
    return f"{row['transactional_id']}{identity}{partition}{outcome}"


def _transaction(row: Row) -> str:
    if row["after_txn_state"] < 0:
        return "unknown"
    pending = f" -> {_state(row['after_txn_pending'])}" if row["after_txn_pending"] >= 0 else ""
    return f"{row['after_txn_producer_id']}/{row['after_txn_epoch']} {_state(row['after_txn_state'])}{pending}"


def _state(number: int) -> str:
    return TransactionState(number).name


def _error(row: Row) -> str:
    error = ErrorCode(row["error"]).name
    return f"{error} at {row['first_offset']}" if row["first_offset"] >= 0 else error


def _entry(row: dict[str, Any] | Row) -> str:
    if row["after_epoch"] < 0:
        return ""
    return f"epoch {row['after_epoch']}, last {row['after_cached_0_last_sequence']}, end {row['after_log_end']}"
