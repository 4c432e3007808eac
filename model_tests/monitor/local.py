"""`eos simulate --local`: randomized traces made one after the other in this process, judged on demand."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Final

from rich.console import Console
from rich.progress import track

from model_tests.common.reports import HOLDS, VIOLATED, BadInput
from model_tests.judging.check_report import RuleCount, StepViolation
from model_tests.monitor.files import trace_writer
from model_tests.monitor.monitor import StepFinding, rule_counts
from model_tests.monitor.runs import MonitoredRun, run_of
from model_tests.simulate.simulate import STEPS, dealt
from model_tests.simulate.trace_directory import Seeds
from model_tests.traces.files_at import NDJSON, PARQUET
from model_tests.traces.schema import Row

FILE: Final = "traces.parquet"
"""The requested file in a directory."""

_TOGETHER: Final = 20
"""Traces that are written at once."""


@dataclass(frozen=True, slots=True)
class LocalReport:
    """What was made, and what the monitor says of it.

    Attributes:
        rules: how often each was at stake; none where no step was judged.
        violations: of the step at which the monitor stopped, if it did.
    """

    traces: int
    steps: int
    seconds: float
    out: str
    monitored: bool
    rules: tuple[RuleCount, ...]
    violations: tuple[StepViolation, ...]

    @property
    def exit_code(self) -> int:
        """Whether the monitor stopped."""
        return VIOLATED if self.violations else HOLDS

    def to_json(self) -> dict[str, object]:
        """The report as plain JSON values."""
        return asdict(self)

    def print(self, console: Console) -> None:
        """What was made, how fast, what was judged, and the command that comes next."""
        rate = f"{self.steps / self.seconds:,.0f} steps a second"
        console.print(f"{self.traces} traces, {self.steps} steps, {self.seconds:.1f} s, {rate}", highlight=False)
        if self.monitored:
            known = sum(rule.known for rule in self.rules)
            reported = (
                f"every step judged: {len(self.rules)} rules at stake, {known} known violations outside of a domain"
            )
            console.print(reported, highlight=False)
        for violation in self.violations:
            console.print(str(violation), style="red", markup=False, highlight=False)
        if not self.violations:
            console.print(f"eos check {self.out}", markup=False, highlight=False)


def run(
    traces: int, seed: int, out: Path, steps: int = STEPS, workload: str | None = None, *, monitored: bool = False
) -> LocalReport:
    """Make traces from the seeds of `dealt` and write them; the monitor stops at the first disagreement.

    Args:
        traces: how many.
        seed: the first; of a given workload, the first that chooses it.
        out: a file that ends as NDJSON or Parquet do, or a directory for one file of Parquet.
        steps: length of each.
        workload: only traces of this workload; all take turns without it.
        monitored: judge every step while it is made.

    Raises:
        BadInput: there is no such workload or seed, or the file cannot be written.
    """
    started = perf_counter()
    chosen = dealt(traces, seed, workload)
    file, account = _file(out), _Account()
    with trace_writer(file) as write:
        for rows in _together(_made(chosen, steps, account, monitored=monitored)):
            write(rows)
    return LocalReport(
        traces=account.traces,
        steps=account.steps,
        seconds=perf_counter() - started,
        out=str(file),
        monitored=monitored,
        rules=tuple(rule_counts(account.findings)),
        violations=account.violations,
    )


@dataclass(slots=True)
class _Account:
    """What was made so far."""

    traces: int = 0
    steps: int = 0
    findings: Counter[StepFinding] = field(default_factory=Counter)
    violations: tuple[StepViolation, ...] = ()

    def add(self, played: MonitoredRun) -> None:
        """Count one more trace."""
        self.traces += 1
        self.steps += len(played.rows)
        self.findings.update(played.findings)
        self.violations = played.violations


def _made(chosen: Seeds, steps: int, account: _Account, *, monitored: bool) -> Iterator[Sequence[Row]]:
    for seed in track(chosen, "simulating", console=Console(stderr=True), transient=True):
        played = run_of(seed, steps).play(monitored=monitored)
        account.add(played)
        yield played.rows
        if played.violations:
            return


def _together(traces: Iterable[Sequence[Row]]) -> Iterator[Sequence[Row]]:
    """The steps of so many traces at a time as are written at once."""
    rest = iter(traces)
    while some := [row for rows in islice(rest, _TOGETHER) for row in rows]:
        yield some


def _file(out: Path) -> Path:
    """The file to write: the one that is named, or the one in a directory that holds no other traces."""
    if out.name.endswith((*NDJSON, *PARQUET)):
        return out
    if out.exists() and not out.is_dir():
        raise BadInput(f"{out}: neither a directory nor the name of a trace file ({', '.join((*PARQUET, *NDJSON))})")
    others = [file.name for file in out.glob("*") if file.name != FILE]
    if others:
        raise BadInput(f"{out} has other files, as {min(others)}: the traces need a directory of their own")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{out} cannot be made: {error.strerror}") from error
    return out / FILE
