"""The report of the trace check: steps judged per rule, violations with their values, what was set aside."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, TypeAlias

from rich.console import Console
from rich.table import Table

from model_tests.common.reports import HOLDS, NOTHING_JUDGED, VIOLATED
from model_tests.judging import unjudged_steps
from model_tests.judging.branch_coverage import Coverage, reported
from model_tests.traces.schema import Quarantined

SHOWN: Final = 5
"""Violations that are printed; the JSON has all that were kept."""


Counted: TypeAlias = dict[str, Any]
"""A row of counts that the plan of the check gives, by the names of its columns."""


@dataclass(frozen=True, slots=True)
class RuleCount:
    """How often a rule was at stake, and how it went; `known` are violations outside the rule's domain."""

    rule: str
    judged: int
    violations: int
    known: int


@dataclass(frozen=True, slots=True)
class KnownCount:
    """The number of violations of a rule outside its domain for want of one assumption."""

    rule: str
    assumption: str
    count: int


@dataclass(frozen=True, slots=True)
class BranchCount:
    """The number of steps that a branch of a decision decided."""

    decision: str
    branch: str
    hits: int


@dataclass(frozen=True, slots=True)
class JudgeSample:
    """A random sample that was put to another judge, which must agree.

    Attributes:
        judge: `z3`, which decides on appends, or `reference`, which makes traces again.
        requested: number that was wanted.
        put: number that there was.
        differing: on how many of them it does not agree.
        reported: the first of them, and in what they differ.
    """

    judge: str
    requested: int
    put: int
    differing: int
    reported: tuple[str, ...]

    def __str__(self) -> str:
        """The sample in a line."""
        what = "traces made again" if self.judge == "reference" else "appends judged by the solver"
        return f"{what}: {self.put} of {self.requested} requested, {self.differing} differ"


@dataclass(frozen=True, slots=True)
class StepViolation:
    """One step that breaks a rule.

    Attributes:
        guard: the branch that should decide, or the link that is broken.
        values: the columns by which it does.
        got: what was answered and what the state became, as far as that is not allowed.
        allowed: the same as the specification allows it.
        replay: the command that shows the step again.
    """

    trace: int
    step: int
    rule: str
    guard: str
    values: Mapping[str, Any]
    got: Mapping[str, Any]
    allowed: Mapping[str, Any]
    replay: str

    def __str__(self) -> str:
        """The violation in a line."""
        return (
            f"trace {self.trace}, step {self.step} breaks {self.rule} at {self.guard} ({_listed(self.values)}): "
            f"got {_listed(self.got)}; allowed {_listed(self.allowed)}. {self.replay}"
        )


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The outcome of one trace check.

    Attributes:
        passed_over: steps that nothing judges, by api.
    """

    traces: int
    steps: int
    seconds: float
    rules: tuple[RuleCount, ...]
    branches: tuple[BranchCount, ...]
    violations: tuple[StepViolation, ...]
    quarantined: tuple[Quarantined, ...]
    known: tuple[KnownCount, ...] = ()
    samples: tuple[JudgeSample, ...] = ()
    coverage: tuple[Coverage, ...] = ()
    passed_over: Mapping[str, int] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """Whether all holds, something is violated, or nothing was judged."""
        if any(rule.violations for rule in self.rules) or any(sample.differing for sample in self.samples):
            return VIOLATED
        return HOLDS if any(rule.judged for rule in self.rules) else NOTHING_JUDGED

    def of(self, rule: str) -> RuleCount:
        """The count of one rule; zero if it was never at stake."""
        return next((count for count in self.rules if count.rule == rule), RuleCount(rule, 0, 0, 0))

    def to_json(self) -> dict[str, object]:
        """The report as plain JSON values."""
        return asdict(self)

    def print(self, console: Console) -> None:
        """The counts per rule, the first violations, and what was set aside."""
        console.print(f"{self.traces} traces, {self.steps} steps, {self.seconds:.1f} s", highlight=False)
        console.print(self._counts())
        for violation in self.violations[:SHOWN]:
            console.print(str(violation), style="red", markup=False, highlight=False)
        for known in self.known:
            outside = f"known: {known.count} x {known.rule}, outside of its domain ({known.assumption})"
            console.print(outside, markup=False, highlight=False)
        for line in reported(self.coverage):
            console.print(line, markup=False, highlight=False)
        for line in unjudged_steps.reported(self.passed_over):
            console.print(line, markup=False, highlight=False)
        for sample in self.samples:
            console.print(str(sample), style="red" if sample.differing else "", markup=False, highlight=False)
            for differing in sample.reported[:SHOWN]:
                console.print(differing, style="red", markup=False, highlight=False)
        for aside in self.quarantined:
            console.print(f"set aside: {aside.count} x {aside.reason} ({aside.where})", markup=False, highlight=False)
        if self.exit_code == NOTHING_JUDGED:
            console.print("no step could be judged", style="red")

    def _counts(self) -> Table:
        table = Table("rule", "judged", "violations", "known")
        for count in self.rules:
            figures = (count.judged, count.violations, count.known)
            table.add_row(count.rule, *map(str, figures), style="red" if count.violations else "")
        return table


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items()) or "nothing"
