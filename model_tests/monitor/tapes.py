"""A run by its tape, as a report keeps it: enough to make a shrunk trace again without shrinking."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from model_tests.common.reports import BadInput
from model_tests.monitor.runs import SeededRun, run_of

_KINDS = {"seed": int, "workload": str, "profile": str, "transaction_version": int, "steps": int, "tape": list}


def reported(run: SeededRun, choices: Sequence[int]) -> dict[str, object]:
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
