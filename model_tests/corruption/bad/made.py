"""How a bad trace comes about: a run of a defect, a true step made false, or a false row in a history of clients."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from model_tests.corruption.catalogue import StepCorruption
from model_tests.corruption.corrupt import corrupted
from model_tests.judging.check_report import StepViolation
from model_tests.monitor.monitor import Monitor
from model_tests.monitor.runs import MonitoredRun, SeededRun, run_of
from model_tests.mutants.defects.planted import Planted
from model_tests.simulate.simulate import WORKLOADS, seeds_of, trace_of
from model_tests.traces.schema import Row
from reference.tape import Tape
from spec.rules import Rule

SEEDS: Final = range(512)
"""Where a trace is looked for: some turns of every workload and profile."""

SHRINKING: Final = 15.0
"""Seconds for the tape of one run."""

FalseRows: TypeAlias = tuple[list[dict[str, Any]], int]
"""The rows of a trace, and the number of the step that is false among them."""

Edit: TypeAlias = Callable[[Sequence[Row]], FalseRows | None]
"""Makes one row of a true trace false; None where the trace has no row that fits."""


@dataclass(frozen=True, slots=True)
class MadeTrace:
    """A bad trace and its true twin.

    Attributes:
        rows: the steps, up to the one that is false.
        true: those of the twin.
        step: number of the false step.
        origin: the seed, workload and profile that both are from.
    """

    rows: tuple[Row, ...]
    true: tuple[Row, ...]
    step: int
    origin: str


Maker: TypeAlias = Callable[[Rule], MadeTrace]


def by_defect(planted: Planted) -> Maker:
    """The shortest run found of the reference with the defect; the twin is the same tape without it.

    Raises:
        LookupError: when it makes: no run of its seeds shows the rule broken.
        ValueError: when it makes: the twin without the defect breaks a rule, too.
    """

    def make(rule: Rule) -> MadeTrace:
        with planted.in_place():
            found = next(((run, played) for run, played in _runs() if rule.id in played.rules), None)
            if found is None:
                raise LookupError(f"{rule.id}: no run of these seeds shows {planted.name!r}")
            run, played = found
            smallest = run.shrunk(played, SHRINKING)
        true = run.play(Tape.recorded(smallest.choices))
        if true.violations:
            raise ValueError(f"{planted.name}: without the defect {true.violations[0]}")
        last = len(smallest.rows) - 1
        return MadeTrace(smallest.rows, true.rows[: len(smallest.rows)], last, f"{run.command}, shrunk")

    return make


def _runs() -> Iterable[tuple[SeededRun, MonitoredRun]]:
    for seed in SEEDS:
        run = run_of(seed)
        try:
            yield run, run.play()
        except Exception:  # noqa: BLE001  # a defect may break anything; another run shows the rule
            continue


def by_false_step(corruption: StepCorruption) -> Maker:
    """The first true trace that fits, made false in one step, with no more of the steps before than it takes.

    Raises:
        LookupError: when it makes: no trace of its seeds fits.
    """

    def make(rule: Rule) -> MadeTrace:
        for seed in SEEDS:
            true = trace_of(seed)
            try:
                false = corrupted(corruption, [true], seed)
            except LookupError:
                continue
            shown = _alone(rule, false.rows[: false.step + 1], true[: false.step + 1])
            if shown:
                return MadeTrace(*shown, len(shown[0]) - 1, f"eos replay --seed {seed}, step {false.step}")
        raise LookupError(f"no trace of these seeds fits {corruption.name!r}")

    return make


def _alone(rule: Rule, false: Sequence[Row], true: Sequence[Row]) -> tuple[tuple[Row, ...], tuple[Row, ...]] | None:
    """Both without the steps that change nothing about the verdict; None where the rule compares another step, too."""
    pairs = list(zip(false, true, strict=True))
    if not _only_the_last(rule, pairs):
        return None
    for place in range(len(pairs) - 2, -1, -1):
        fewer = [*pairs[:place], *pairs[place + 1 :]]
        if _only_the_last(rule, fewer):
            pairs = fewer
    rows = [numbered([pair[side] for pair in pairs]) for side in (0, 1)]
    return tuple(rows[0]), tuple(rows[1])


def _only_the_last(rule: Rule, pairs: Sequence[tuple[Row, Row]]) -> bool:
    false, true = ([pair[side] for pair in pairs] for side in (0, 1))
    found = violations(numbered(false))
    return not violations(numbered(true)) and rule.id in {v.rule for v in found} and found[0].step == len(pairs) - 1


def by_edit(edit: Edit, workload: str) -> Maker:
    """The first trace that the edit applies to, up to the step that shows it.

    Raises:
        LookupError: when it makes: the edit applies to no trace of its seeds.
    """

    def make(rule: Rule) -> MadeTrace:
        for seed in seeds_of(len(SEEDS) // len(WORKLOADS), 0, workload):
            true = trace_of(seed)
            reported = edit(true)
            found = _shortest(rule, numbered(reported[0]), reported[1]) if reported else None
            if found:
                return MadeTrace(found, tuple(true[: len(found)]), found[-1]["step"], f"eos replay --seed {seed}")
        raise LookupError(f"{rule.id}: the edit applies to no trace of these seeds")

    return make


def _shortest(rule: Rule, rows: Sequence[Row], step: int) -> tuple[Row, ...] | None:
    """The rows as far as it takes to see the rule broken: what a reader is given is decided by what it takes later."""
    if rule.id not in {violation.rule for violation in violations(rows)}:
        return None
    for end in range(step + 1, len(rows) + 1):
        if rule.id in {violation.rule for violation in violations(rows[:end])}:
            return tuple(rows[:end])
    return None


def numbered(rows: Iterable[Row], trace: int | None = None) -> list[dict[str, Any]]:
    """The rows as a whole trace, numbered from 0 on."""
    return [{**row, "step": step, "trace": row["trace"] if trace is None else trace} for step, row in enumerate(rows)]


def violations(rows: Iterable[Row]) -> list[StepViolation]:
    """The violations that the monitor finds in a trace."""
    monitor = Monitor()
    return [*(violation for row in rows for violation in monitor.judge(row)), *monitor.finish()]
