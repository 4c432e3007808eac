"""The command that replays a step of judged traces: by its seed if that reproduces it, else by its file."""

import json
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from model_tests.judging.check_report import StepViolation
from model_tests.monitor.monitor import Monitor
from model_tests.simulate import simulate
from model_tests.simulate.trace_directory import BEGUN
from model_tests.traces.files_at import is_elsewhere

Command: TypeAlias = Callable[[int, int], str]
"""The command for a trace and a step."""

_FOLDERS: Final = 2
"""How far above a file of simulated traces that is what their directory was begun with."""


def with_commands(violations: Iterable[StepViolation], path: str) -> tuple[StepViolation, ...]:
    """The violations, each with the command that shows its step in the traces at a path.

    By its seed, where the traces were simulated by the same reference and what the seed makes breaks the same rule in
    the same step: else the file was changed, or is not complete.
    """
    by_file, steps = command_of(path), _steps_of_seeds(path)
    if steps is None:
        return tuple(replace(each, replay=by_file(each.trace, each.step)) for each in violations)
    by_seed, breaks = partial(_of_seed, steps), cache(partial(_broken_by_seed, steps))
    return tuple(
        replace(each, replay=(by_seed if _place(each) in breaks(each.trace) else by_file)(each.trace, each.step))
        for each in violations
    )


def command_of(path: str) -> Command:
    """The command that shows steps as they stand at a path."""
    if is_elsewhere(path):
        return lambda trace, step: f"eos replay FILE --trace {trace} --step {step}, of a copy of the file from {path}"
    return partial(in_file, str(_local(path)))


def _steps_of_seeds(path: str) -> int | None:
    """The length of the traces at a path, if they were simulated by this reference."""
    begun = None if is_elsewhere(path) else _begun(_local(path))
    return int(begun["steps"]) if begun is not None and begun["reference"] == simulate.reference() else None


def _broken_by_seed(steps: int, seed: int) -> frozenset[tuple[int, str]]:
    """Where the trace of a seed breaks which rules; nowhere, where the number of a trace is no seed."""
    if not simulate.is_seed(seed):
        return frozenset()
    monitor = Monitor()
    broken = [violation for row in simulate.trace_of(seed, steps) for violation in monitor.judge(row)]
    return frozenset(map(_place, (*broken, *monitor.finish())))


def _place(violation: StepViolation) -> tuple[int, str]:
    return violation.step, violation.rule


def _of_seed(steps: int, trace: int, step: int) -> str:
    length = "" if steps == simulate.STEPS else f" --steps {steps}"
    return f"eos replay --seed {trace}{length} --step {step}"


def _local(path: str) -> Path:
    return Path(path.removeprefix("file://"))


def in_file(path: str, trace: int, step: int) -> str:
    """The command that shows a step of a trace as it stands in a file or directory."""
    return f"eos replay {shlex.quote(path)} --trace {trace} --step {step}"


def _begun(place: Path) -> Mapping[str, Any] | None:
    """What the directory of simulated traces that the place is, or is in, was begun with; none if it is no such."""
    for folder in (place, *place.absolute().parents[:_FOLDERS]):
        try:
            begun = json.loads((folder / BEGUN).read_text())
        except (OSError, ValueError):
            continue
        return begun if {"reference", "steps"} <= begun.keys() else None
    return None
