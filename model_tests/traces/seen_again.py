"""The command that shows a step of judged traces again: by its seed if that makes the trace, else by its file."""

import json
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from model_tests.traces.check_report import Violation
from model_tests.traces.files_at import is_elsewhere
from model_tests.traces.simulate import STEPS, reference
from model_tests.traces.trace_directory import BEGUN

Command: TypeAlias = Callable[[int, int], str]
"""The command for a trace and a step."""

_FOLDERS: Final = 2
"""How far above a file of simulated traces that is what their directory was begun with."""


def with_commands(violations: Iterable[Violation], path: str) -> tuple[Violation, ...]:
    """The violations, each with the command that shows its step in the traces at a path."""
    again = command_of(path)
    return tuple(replace(each, replay=again(each.trace, each.step)) for each in violations)


def command_of(path: str) -> Command:
    """The command for the traces at a path: what they were made of is made again only where nothing has changed."""
    if is_elsewhere(path):
        return lambda trace, step: f"eos replay FILE --trace {trace} --step {step}, of a copy of the file from {path}"
    place = Path(path.removeprefix("file://"))
    begun = _begun(place)
    if begun is not None and begun["reference"] == reference():
        length = "" if begun["steps"] == STEPS else f" --steps {begun['steps']}"
        return lambda trace, step: f"eos replay --seed {trace}{length} --step {step}"
    return partial(in_file, str(place))


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
