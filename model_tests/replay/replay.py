"""One trace made again from its seed, or read from a file: judged step by step, shrunk if it fails, and drawn."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from model_tests.check.client_histories import JudgedHistories, summed
from model_tests.common.reports import HOLDS, NOTHING_JUDGED, VIOLATED, BadInput
from model_tests.diagrams.events import Ending
from model_tests.diagrams.events import Sequence as Diagram
from model_tests.diagrams.sequence import text_of
from model_tests.diagrams.sequence_svg import draw
from model_tests.judging import unjudged_steps
from model_tests.judging.check_report import RuleCount, StepViolation
from model_tests.monitor.drawing import sequence_of
from model_tests.monitor.files import read_trace
from model_tests.monitor.monitor import Monitor, rule_counts
from model_tests.monitor.replay_command import in_file
from model_tests.monitor.runs import SECONDS, MonitoredRun, SeededRun, run_of
from model_tests.simulate.simulate import STEPS
from model_tests.traces.schema import Row
from reference.tape import Tape

AROUND: Final = 8
"""Steps shown before and after the requested one."""

LONGEST: Final = 1000
"""Steps that are shown whole; of a longer trace those around its first violation are, or its last ones."""


_KINDS: Final = {
    "seed": int,
    "workload": str,
    "profile": str,
    "transaction_version": int,
    "steps": int,
    "tape": list,
}
"""What a report has of its run, by type."""


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """A trace, the part of it that is shown, and what it breaks.

    Attributes:
        name: where the trace comes from, in a few words.
        steps: of the trace, before it was shrunk.
        rows: the steps; after shrinking those of the shrunk trace.
        step: the step to show, with those around it; without it all are shown, of a long trace the first violation.
        rules: how often each was at stake.
        run: what made the trace that is shown; none if it was read.
        tape: the choices that make it.
        passed_over: steps that nothing judges, by api.
    """

    name: str
    steps: int
    rows: tuple[Row, ...]
    step: int | None
    rules: tuple[RuleCount, ...]
    violations: tuple[StepViolation, ...]
    run: SeededRun | None = None
    tape: tuple[int, ...] = ()
    passed_over: Mapping[str, int] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """Whether every step is as decided, and any was at stake."""
        if self.violations:
            return VIOLATED
        return HOLDS if self.rules else NOTHING_JUDGED

    def to_json(self) -> dict[str, object]:
        """Origin, counts, violations, the run with its tape, and the rows that are shown."""
        return {
            "name": self.name,
            "steps": self.steps,
            "rules": {count.rule: count.judged for count in self.rules},
            "known": {count.rule: count.known for count in self.rules if count.known},
            "violations": [str(violation) for violation in self.violations],
            "passed_over": dict(self.passed_over),
            "run": None if self.run is None else tape_json(self.run, self.tape),
            "rows": [dict(row) for row in self.shown],
        }

    @property
    def shown(self) -> tuple[Row, ...]:
        """The steps around the requested one; else all, or of a long trace those that its violation is among."""
        if self.step is None and len(self.rows) <= LONGEST:
            return self.rows
        first = min((each.step for each in self.violations), default=self.rows[-1]["step"] if self.rows else 0)
        middle = first if self.step is None else self.step
        return tuple(row for row in self.rows if abs(row["step"] - middle) <= AROUND)

    @property
    def diagram(self) -> Diagram:
        """The steps that are shown, drawn; in the end the rule that is broken."""
        first = next(iter(self.violations), None)
        text = "nothing is broken" if first is None else f"at step {first.step}, by {first.guard}"
        return sequence_of(self.shown, self.name, Ending("" if first is None else first.rule, text))

    def print(self, console: Console) -> None:
        """The diagram, what was judged, and what is broken."""
        console.print(text_of(self.diagram), markup=False, highlight=False, soft_wrap=True)
        judged, known = self.steps - sum(self.passed_over.values()), sum(count.known for count in self.rules)
        counted = (
            f"{judged} steps judged, {len(self.rules)} rules at stake, {len(self.violations)} violations, {known} known"
        )
        console.print(counted, highlight=False)
        for line in unjudged_steps.reported(self.passed_over):
            console.print(line, markup=False, highlight=False)
        if self.step is None and len(self.shown) < len(self.rows):
            first, last = self.shown[0]["step"], self.shown[-1]["step"]
            console.print(f"shown: steps {first} to {last} of {len(self.rows)}; --step shows others", highlight=False)
        if len(self.rows) < self.steps:
            console.print(f"shrunk from {self.steps} steps to {len(self.rows)}", highlight=False)
        for violation in self.violations:
            console.print(str(violation), markup=False, highlight=False)


def run(
    file: Path | None = None,
    *,
    seed: int | None = None,
    tape: Path | None = None,
    trace: int | None = None,
    step: int | None = None,
    steps: int = STEPS,
    workload: str | None = None,
    profile: str | None = None,
    transaction_version: int | None = None,
    shrink_seconds: float = SECONDS,
    svg: Path | None = None,
) -> ReplayReport:
    """Judge and draw one trace, of a file or of a seed; a seed's trace that breaks a rule is shrunk first.

    Args:
        file: of Parquet or NDJSON, or a directory of such.
        seed: the trace's number, if it is to be made.
        tape: a report of this command, whose run is to be made again by its tape.
        trace: which trace of the file, if it has several.
        step: the step to show, with those around it; without it all are shown, of a shrunk trace all in any case.
        steps: length of the trace that is made.
        workload: in place of the one that the seed chooses.
        profile: likewise, by the name of a release.
        transaction_version: likewise.
        shrink_seconds: how long a failing trace is shrunk; 0 leaves it as it is.
        svg: draw it into this file too.

    Raises:
        BadInput: neither or both of file and seed are given, or what is given does not exist or cannot be read.
    """
    if [file, seed, tape].count(None) != 2:
        raise BadInput("give one of FILE, --seed and --tape: the trace to replay")
    if file is not None:
        report = _read(file, trace, step)
    elif tape is not None:
        report = _again(*read_tape(tape), step)
    else:
        report = _made(run_of(seed or 0, steps, workload, profile, transaction_version), step, shrink_seconds)
    if svg is not None:
        draw(report.diagram, svg)
    return report


def _made(run: SeededRun, step: int | None, shrink_seconds: float) -> ReplayReport:
    played = shown = run.play()
    if played.violations and shrink_seconds:
        with Console(stderr=True).status(f"{len(played.rows)} steps to a violation: shrinking"):
            shown = run.shrunk(played, shrink_seconds)
    return _shown(run, played, shown, step if shown is played else None)


def _again(run: SeededRun, choices: tuple[int, ...], step: int | None) -> ReplayReport:
    played = run.play(Tape.recorded(choices))
    return _shown(run, played, played, step)


def _shown(run: SeededRun, played: MonitoredRun, shown: MonitoredRun, step: int | None) -> ReplayReport:
    name = f"seed {run.seed}: {run.workload} on {run.profile.name}"
    return ReplayReport(
        name=f"{name}, transaction.version {run.profile.transaction_version}",
        steps=len(played.rows),
        rows=shown.rows,
        step=_existing(step, shown.rows, name),
        rules=tuple(rule_counts(played.findings)),
        violations=shown.violations,
        run=replace(run, steps=len(shown.rows)),
        tape=shown.choices,
        passed_over=unjudged_steps.counted(played.rows),
    )


def _read(file: Path, trace: int | None, step: int | None) -> ReplayReport:
    rows, monitor = read_trace(file, trace), Monitor()
    name = f"trace {rows[0]['trace']} of {file}"
    histories = JudgedHistories(rows)
    broken = (
        *(violation for row in rows for violation in monitor.judge(row)),
        *monitor.finish(),
        *histories.violations,
    )
    violations = tuple(replace(each, replay=in_file(str(file), each.trace, each.step)) for each in broken)
    shown, counts = _existing(step, rows, name), tuple(summed(monitor.rule_counts(), histories.rules))
    return ReplayReport(name, len(rows), rows, shown, counts, violations, passed_over=unjudged_steps.counted(rows))


def _existing(step: int | None, rows: Sequence[Row], name: str) -> int | None:
    if step is not None and not 0 <= step < len(rows):
        raise BadInput(f"{name} has {len(rows)} steps, and none numbered {step}")
    return step


def tape_json(run: SeededRun, choices: Sequence[int]) -> dict[str, object]:
    """The run and its choices as plain JSON values."""
    return {
        "seed": run.seed,
        "workload": run.workload,
        "profile": run.profile.name,
        "transaction_version": run.profile.transaction_version,
        "steps": run.steps,
        "tape": list(choices),
    }


def read_tape(path: Path) -> tuple[SeededRun, tuple[int, ...]]:
    """The run and the choices in a report.

    Raises:
        BadInput: there is no such file, or it has no run.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError:
        raise BadInput(f"{path}: not JSON; `eos replay --json FILE` writes the tape of a run") from None
    values = _values(found.get("run") if isinstance(found, dict) else None, path)
    run = run_of(*(values[name] for name in ("seed", "steps", "workload", "profile", "transaction_version")))
    return run, tuple(values["tape"])


def _values(found: Any, path: Path) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise BadInput(f"{path}: has no run; `eos replay --json FILE` writes the tape of a run")
    wrong = [name for name, kind in _KINDS.items() if type(found.get(name)) is not kind]
    if wrong or any(type(choice) is not int or choice < 0 for choice in found["tape"]):
        raise BadInput(f"{path}: of its run, {wrong[0] if wrong else 'the tape'} is not what it should be")
    return found
