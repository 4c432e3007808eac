"""Whole traces out of files, by chance: those that are to be corrupted."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

from model_tests.common.reports import BadInput
from model_tests.monitor.files import rows_of
from model_tests.simulate.simulate import WORKLOADS
from model_tests.traces.files_at import trace_files
from model_tests.traces.schema import Row


def chosen_traces(path: Path, most: int, seed: int) -> list[tuple[str, Sequence[Row]]]:
    """So many whole traces of a path, each with its workload where the folder of its file is named so.

    Raises:
        BadInput: there is no trace file, one cannot be read, or no trace in them is whole.
    """
    files = trace_files(path)
    named = sorted({(row["trace"], str(file)) for file in files for row in rows_of(file)})
    kept = set(Random(seed).sample(named, min(most, len(named))))  # a sample, no secret
    found: dict[tuple[int, str], list[Row]] = {}
    for file in files:
        for row in rows_of(file):
            if (row["trace"], str(file)) in kept:
                found.setdefault((row["trace"], str(file)), []).append(row)
    whole = [(_workload_of(Path(file)), sorted(rows, key=lambda row: row["step"])) for (_, file), rows in found.items()]
    whole = [(workload, rows) for workload, rows in whole if [row["step"] for row in rows] == list(range(len(rows)))]
    if not whole:
        raise BadInput(f"{path}: no whole trace, from step 0 on, that could be corrupted")
    return [(workload, tuple(rows)) for workload, rows in whole]


def _workload_of(file: Path) -> str:
    return next((name for name in WORKLOADS if name in file.parts), "")
