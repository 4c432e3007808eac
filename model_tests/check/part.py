"""The trace part of `eos verify`: randomized traces of the reference, judged on Spark, and false ones refused."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from model_tests.check import check
from model_tests.check.sample_judges import disagreements
from model_tests.check.samples import random_steps
from model_tests.common.java import expect_little
from model_tests.corruption.catalogue import CORRUPTIONS
from model_tests.corruption.corrupt import CorruptedTrace, corrupted
from model_tests.corruption.corruption_report import UNSEEN, CorruptionReport, corruption_report
from model_tests.corruption.random_corruption import CorruptionKind
from model_tests.judging import branch_names
from model_tests.judging.branch_coverage import share_of
from model_tests.judging.check_report import CheckReport, StepViolation
from model_tests.simulate import simulate
from model_tests.traces.schema import Row
from model_tests.traces.schema_types import arrow_schema
from model_tests.verify.results import Control, PartResult, Result, RuleVerdict, RunEffort
from spec import rules
from spec.engines.reading_z3 import INTEGERS, WIDE
from spec.evidence import Layer
from spec.rules import RULES, Rule

TRACES: Final[Mapping[RunEffort, int]] = {RunEffort.QUICK: 240, RunEffort.DEFAULT: 1_200, RunEffort.DEEP: 100_000}
"""Traces of `simulate.STEPS` steps each; workloads, profiles and transaction versions take turns among them."""

KEPT: Final = Path("build/traces")
"""Where the traces of a deep run stay, in a directory for each text of the reference."""

SOLVED: Final[Mapping[RunEffort, int]] = {RunEffort.QUICK: 300, RunEffort.DEFAULT: 600, RunEffort.DEEP: 100_000}
"""Random steps that the solver judges, too, over integers and over bit-vectors."""

REACHED: Final[Mapping[RunEffort, float]] = {RunEffort.QUICK: 0.8, RunEffort.DEFAULT: 0.95, RunEffort.DEEP: 0.95}
"""Of the branches of decisions that can be reached, the least share that the traces must reach."""

CORRUPTED: Final[Mapping[RunEffort, int]] = {RunEffort.QUICK: 150, RunEffort.DEFAULT: 400, RunEffort.DEEP: 20_000}
"""True traces that are corrupted by chance, and judged in this process."""

NOTICED: Final[Mapping[CorruptionKind, float]] = {
    CorruptionKind.DROP: 0.5,
    CorruptionKind.DUPLICATE: 0.8,
    CorruptionKind.SWAP: 0.85,
    CorruptionKind.RETIME: 0.8,
    CorruptionKind.RELABEL: 0.7,
}
"""Of the corruptions of a kind that are not harmless, the least share that must be reported or set aside."""

ENOUGH: Final = 30
"""The least number of corruptions of a kind, the harmless ones aside, from which on their share is meaningful."""

BEYOND_DOMAIN: Final = rules.TXN_NO_CROSSTALK
"""The rule that versions 0 and 1 cannot keep: a batch that is not small must show it broken there."""

SEED: Final = 0
SEARCHED: Final = 640
"""True traces among which those are that are made false."""

FALSE: Final = 1_000_000_000_000
"""Number of the first false trace: above the seeds of all releases, and below 2**(62 - STEP_BITS), as one integer has
both the trace and the step in the plan of the check."""

JUDGED: Final = tuple(rule for rule in RULES.values() if "T" in rule.owes)
"""The rules that this part brings evidence for."""


def evidence(effort: RunEffort) -> PartResult:
    """Simulate, judge, make traces false and judge those, and put a sample of steps to the solver."""
    with directory_of(effort) as directory:
        made = simulate.run(TRACES[effort], SEED, directory)
        false = _written(Path(made.out))
        report, of_false = check.run_apart(
            made.out, FALSE, simulate.LOCAL
        )  # both at once: to compile the plan takes longest
        controls = tuple(_control(trace, of_false.violations) for trace in false)
    differing = _put_to_the_solver(SOLVED[effort])
    noticed = corruptions(CORRUPTED[effort])
    return PartResult(
        name="traces",
        results=tuple(result_of(rule, report) for rule in JUDGED),
        controls=controls,
        extra={
            **report.to_json(),
            "reached": share_of(report.coverage),
            "corruptions": noticed.to_json(),
            "simulated_seconds": made.seconds,
            "put_to_the_solver": SOLVED[effort],
        },
        failures=(*_failures(report), *not_shown(report, effort), *not_noticed(noticed), *differing, *stale()),
        sampled=""
        if effort is RunEffort.DEEP
        else f"solver: ran {SOLVED[effort]} of {SOLVED[RunEffort.DEEP]} random steps",
    )


@contextmanager
def directory_of(effort: RunEffort) -> Iterator[Path]:
    """The directory of the traces: those of a deep run stay, so that one that was stopped can be resumed."""
    if effort is RunEffort.DEEP:
        yield KEPT / simulate.reference()
        return
    expect_little()
    with tempfile.TemporaryDirectory(prefix="eos-traces-") as scratch:
        yield Path(scratch) / "traces"


def result_of(rule: Rule, report: CheckReport) -> Result:
    """The result of the check of the traces for one rule."""
    count = report.of(rule.id)
    first = next((str(violation) for violation in report.violations if violation.rule == rule.id), "")
    return Result(
        rule=rule,
        layer=Layer.TRACE,
        verdict=RuleVerdict.VIOLATED if count.violations else RuleVerdict.HOLDS,
        count=count.judged,
        seconds=report.seconds / len(JUDGED),
        figures={"rows": count.judged, "known": count.known},
        detail=first,
    )


def stale() -> tuple[str, ...]:
    """What is wrong with the table of reachable branches, of which the share that was reached is computed."""
    complaint = branch_names.TABLE.complaint()
    return (complaint,) if complaint else ()


def _failures(report: CheckReport) -> Iterator[str]:
    names = {rule.id for rule in JUDGED}
    for rule in JUDGED:
        if not report.of(rule.id).judged:
            yield f"{rule.id} was at stake in no step of {report.traces} traces"
    yield from (
        f"{count.rule}: {count.violations} violations"
        for count in report.rules
        if count.violations and count.rule not in names
    )
    yield from (f"set aside: {aside.count} x {aside.reason} ({aside.where})" for aside in report.quarantined)


def not_shown(report: CheckReport, effort: RunEffort) -> Iterator[str]:
    """What a batch of its size is to show beside what it is judged by: nearly every branch, and what is known."""
    share = share_of(report.coverage)
    if share < REACHED[effort]:
        unreached = ", ".join(f"{name} ({each.profile})" for each in report.coverage for name in each.unreached)
        yield f"{share:.1%} of the branches that can be reached, not {REACHED[effort]:.0%}; not {unreached}"
    for each in report.coverage:
        yield from (f"{each.profile}: {name} was reached, and cannot be" for name in each.unexpected)
    if effort is not RunEffort.QUICK and not report.of(BEYOND_DOMAIN.id).known:
        yield f"{BEYOND_DOMAIN.id}: no request outlived its transaction under versions 0 and 1, where it may"


def corruptions(count: int) -> CorruptionReport:
    """So many corruptions of fresh traces, in which all kinds, workloads and releases take turns."""
    return corruption_report(_Simulated(range(SEED, SEED + count // len(CorruptionKind))), count, SEED)


@dataclass(frozen=True, slots=True)
class _Simulated(Sequence[tuple[str, Sequence[Row]]]):
    """The traces of some seeds with their workloads, each made when it is needed."""

    seeds: range

    def __len__(self) -> int:
        return len(self.seeds)

    def __getitem__(self, place: Any) -> Any:
        seed = self.seeds[place]
        return simulate.workload_of(seed), simulate.trace_of(seed)


def not_noticed(report: CorruptionReport) -> Iterator[str]:
    """Where the check contradicts itself about a corrupted trace, or sees less than it should."""
    yield from report.contradictions
    for each in report.outcomes:
        if each.outcome == UNSEEN:
            yield f"corruptions, {each.kind} of {each.apis}: {each.count} unseen, and no reason why ({each.first})"
    for kind, least in NOTICED.items():
        rate = report.rate(kind)
        if rate is not None and rate < least and report.harmful(kind) >= ENOUGH:
            yield f"corruptions, {kind.value}: {rate:.0%} of those that may do harm are reported, not {least:.0%}"


def _written(directory: Path) -> list[CorruptedTrace]:
    """Each corruption in a trace of its own, written beside the true traces."""
    false = false_traces()
    rows = [row for trace in false for row in trace.rows]
    pq.write_table(pa.Table.from_pylist(rows, schema=arrow_schema()), directory / "false.parquet")
    return false


def false_traces() -> list[CorruptedTrace]:
    """A false trace for each corruption, made of the first true trace that it fits."""
    true = _True()
    return [corrupted(corruption, true, FALSE + number) for number, corruption in enumerate(CORRUPTIONS)]


class _True:
    """The first true traces, each made when it is needed."""

    def __init__(self) -> None:
        self._made: list[list[Row]] = []

    def __iter__(self) -> Iterator[list[Row]]:
        for seed in range(SEARCHED):
            if seed == len(self._made):
                self._made.append(simulate.trace_of(seed))
            yield self._made[seed]


def _control(false: CorruptedTrace, found: tuple[StepViolation, ...]) -> Control:
    rule = false.corruption.rule
    here = [v for v in found if (v.trace, v.step, v.rule) == (false.trace, false.step, rule.id)]
    named = bool(here) and bool(here[0].guard) and bool(here[0].values)
    return Control(
        name=f"trace: {false.corruption.name}",
        rule=rule,
        expected="violated",
        got="violated" if named else "not named",
        detail=str(here[0]) if here else "",
    )


def _put_to_the_solver(count: int) -> Iterator[str]:
    table = random_steps(count, SEED)
    steps = [
        dict(zip(table, values, strict=True)) for values in zip(*(table[name].tolist() for name in table), strict=True)
    ]
    for numbers in (INTEGERS, WIDE):
        differing = disagreements(steps, numbers)
        if differing:
            yield f"the solver ({numbers.sort}) differs from Python on {len(differing)} of {count}: {differing[0]}"
