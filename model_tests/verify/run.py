"""Runs the parts one after another, and keeps what each found under `build/verify`."""

import json
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from time import perf_counter
from typing import Final

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from model_tests.reports import BadInput
from model_tests.verify.parts import BY_NAME, PARTS, PartOfRun
from model_tests.verify.report import Outcome, VerifyReport, part_json
from model_tests.verify.results import Effort, Part
from model_tests.verify.table import WIDE

DIRECTORY: Final = Path("build/verify")


def chosen(names: str) -> tuple[PartOfRun, ...]:
    """The parts of a comma-separated list, in their own order; all of them if it is empty."""
    asked = [name.strip() for name in names.split(",") if name.strip()]
    for name in asked:
        if name not in BY_NAME:
            raise BadInput(f"no part of the run is called {name!r}: there are {', '.join(BY_NAME)}")
    return tuple(part for part in PARTS if not asked or part.name in asked)


def verify(effort: Effort, parts: Iterable[PartOfRun], directory: Path, console: Console) -> VerifyReport:
    """Run the parts, write `<part>.json` for each and `report.json` and `report.html` for all, and hand it back."""
    _make(directory)
    outcomes = tuple(_kept(part, effort, directory, console) for part in parts)
    report = VerifyReport(effort, outcomes)
    _write(directory / "report.json", report.to_json())
    page = Console(record=True, width=WIDE, file=StringIO())
    report.print(page)
    page.save_html(str(directory / "report.html"))
    return report


def _kept(part: PartOfRun, effort: Effort, directory: Path, console: Console) -> Outcome:
    started = perf_counter()
    with _progress(part.name, console):
        found = _run(part, effort, directory)
    outcome = Outcome(part, found, perf_counter() - started, part.shares.get(effort))
    _write(directory / f"{part.name}.json", part_json(outcome))
    console.print(f"{part.name:12} {outcome.seconds:6.1f} s  {'holds' if found.passed else 'fails'}", highlight=False)
    return outcome


def _run(part: PartOfRun, effort: Effort, directory: Path) -> Part:
    log = directory / f"{part.name}.traceback.txt"
    log.unlink(missing_ok=True)
    try:
        return part.run(effort)
    except Exception as broken:  # noqa: BLE001  # a part that breaks fails the run; the other parts still run
        log.write_text(traceback.format_exc())
        first_line = str(broken).partition("\n")[0]
        return Part(part.name, failures=(f"the part broke: {type(broken).__name__}: {first_line} (see {log})",))


@contextmanager
def _progress(name: str, console: Console) -> Iterator[None]:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        progress.add_task(name, total=None)
        yield


def _make(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{directory} cannot be made: {error.strerror}") from error


def _write(path: Path, values: Mapping[str, object]) -> None:
    path.write_text(json.dumps(values, indent=1, default=_plain) + "\n")


_PLAIN: Final[tuple[tuple[type, Callable[..., object]], ...]] = ((Mapping, dict), (Set, sorted), (Path, str))


def _plain(value: object) -> object:
    for kind, make in _PLAIN:
        if isinstance(value, kind):
            return make(value)
    raise TypeError(f"{type(value).__name__} has no place in a report")
