"""Runs the parts, side by side where there are cores, and keeps their results under `build/verify`."""

import json
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from concurrent.futures import Future, as_completed
from contextlib import contextmanager
from dataclasses import replace
from io import StringIO
from pathlib import Path
from time import perf_counter
from typing import Final, NamedTuple

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from model_tests.common.processes import started_anew
from model_tests.common.reports import BadInput
from model_tests.verify import results
from model_tests.verify.parts import BY_NAME, PARTS, PartOfRun, run_function
from model_tests.verify.report import PartRun, VerifyReport, part_json
from model_tests.verify.results import PartResult, RunEffort
from model_tests.verify.table import WIDE


class Timed(NamedTuple):
    """What a part found, and how long it took."""

    found: PartResult
    seconds: float


def chosen(names: str) -> tuple[PartOfRun, ...]:
    """The parts of a comma-separated list, in their own order; all of them if it is empty.

    Raises:
        BadInput: the list names a part that there is not.
    """
    requested = [name.strip() for name in names.split(",") if name.strip()]
    for name in requested:
        if name not in BY_NAME:
            raise BadInput(f"no part of the run is called {name!r}: there are {', '.join(BY_NAME)}")
    return tuple(part for part in PARTS if not requested or part.name in requested)


def verify(
    effort: RunEffort, parts: Iterable[PartOfRun], directory: Path, console: Console, jobs: int = 1
) -> VerifyReport:
    """Run the parts, write `<part>.json` for each and `report.json` and `report.html` for all, and hand it back.

    Args:
        effort: how much of everything runs.
        parts: what runs.
        directory: where the reports go.
        console: where it is said which part is done.
        jobs: how many parts run side by side, each in a process of its own; 1 runs them here, one after another.
    """
    _make(directory)
    results.digest()  # now: what is changed while it runs is not what ran
    started, request = perf_counter(), tuple(parts)
    run = _one_by_one if jobs == 1 else _side_by_side(jobs)
    with _progress(", ".join(part.name for part in request), console):
        done = {
            part.name: _kept(part, timed, effort, directory, console) for part, timed in run(request, effort, directory)
        }
    report = VerifyReport(effort, tuple(done[part.name] for part in request), perf_counter() - started)
    _write(directory / "report.json", report.to_json())
    page = Console(record=True, width=WIDE, file=StringIO())
    report.print(page)
    page.save_html(str(directory / "report.html"))
    return report


Run = Callable[[tuple[PartOfRun, ...], RunEffort, Path], Iterator[tuple[PartOfRun, Timed]]]
"""Runs parts, and hands each back when it is done."""


def _one_by_one(parts: tuple[PartOfRun, ...], effort: RunEffort, directory: Path) -> Iterator[tuple[PartOfRun, Timed]]:
    for part in parts:
        yield part, _run(part.name, part.function, effort, directory)


def _side_by_side(jobs: int) -> Run:
    """The longest first, so that the last ones are short; each in a fresh process."""

    def run(parts: tuple[PartOfRun, ...], effort: RunEffort, directory: Path) -> Iterator[tuple[PartOfRun, Timed]]:
        longest_first = sorted(parts, key=lambda part: -part.shares.get(effort, 0))
        with started_anew(jobs, tasks_of_each=1) as pool:
            under_way = {pool.submit(_run, part.name, part.function, effort, directory): part for part in longest_first}
            for future in as_completed(under_way):
                yield under_way[future], _outcome_of(future, under_way[future])

    return run


def _outcome_of(future: Future[Timed], part: PartOfRun) -> Timed:
    try:
        return future.result()
    except Exception as broken:  # noqa: BLE001  # its process died, or what it found could not be handed over
        return Timed(
            PartResult(part.name, failures=(f"the part's process broke: {type(broken).__name__}: {broken}",)), 0.0
        )


def _run(name: str, function: str, effort: RunEffort, directory: Path) -> Timed:
    log = directory / f"{name}.traceback.txt"
    log.unlink(missing_ok=True)
    started = perf_counter()
    try:
        found = run_function(function, effort)
        found = replace(found, extra=json.loads(json.dumps(found.extra, default=_plain)))
    except Exception as broken:  # noqa: BLE001  # a part that breaks fails the run; the other parts still run
        log.write_text(traceback.format_exc())
        first_line = str(broken).partition("\n")[0]
        found = PartResult(name, failures=(f"the part broke: {type(broken).__name__}: {first_line} (see {log})",))
    return Timed(found, perf_counter() - started)


def _kept(part: PartOfRun, timed: Timed, effort: RunEffort, directory: Path, console: Console) -> PartRun:
    outcome = PartRun(part, timed.found, timed.seconds, part.shares.get(effort))
    _write(directory / f"{part.name}.json", part_json(outcome))
    word = "holds" if timed.found.passed else "fails"
    console.print(f"{part.name:12} {outcome.seconds:6.1f} s  {word}", highlight=False)
    return outcome


@contextmanager
def _progress(names: str, console: Console) -> Iterator[None]:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        progress.add_task(names, total=None)
        yield


def _make(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{directory} cannot be made: {error.strerror}") from error


def _write(path: Path, values: Mapping[str, object]) -> None:
    try:
        path.write_text(json.dumps(values, indent=1, default=_plain) + "\n")
    except OSError as error:
        raise BadInput(
            f"{path} cannot be written: {error.strerror}; make room, or choose a place with --out"
        ) from error


_PLAIN: Final[tuple[tuple[type, Callable[..., object]], ...]] = ((Mapping, dict), (Set, sorted), (Path, str))


def _plain(value: object) -> object:
    for kind, make in _PLAIN:
        if isinstance(value, kind):
            return make(value)
    raise TypeError(f"{type(value).__name__} has no place in a report")
