"""`eos bugs`: the catalogue; one bug, drawn; or the verdicts on all of them."""

from difflib import get_close_matches
from pathlib import Path

from rich.console import Console
from rich.progress import track

from model_tests.bugs.judged import JudgedBug, judged
from model_tests.bugs.report import BugReport, BugsReport, CatalogueReport
from model_tests.common.reports import BadInput, Report
from model_tests.diagrams.svg_file import draw
from spec.bugs.bug import Bug
from spec.bugs.catalogue import BUGS


def run(name: str = "", *, everything: bool = False, svg: Path | None = None) -> Report:
    """Show the catalogue, or judge one bug or all.

    Args:
        name: the bug; a ticket's number alone will do.
        everything: without a name, judge all bugs instead of listing them.
        svg: where the counterexample of the bug is drawn.

    Raises:
        BadInput: no bug has the name, or there is nothing to draw.
    """
    if name:
        return _one(bug_called(name), svg)
    if svg is not None:
        raise BadInput("--svg draws one bug: say which, as in `eos bugs KAFKA-17754 --svg FILE`")
    return BugsReport(_all()) if everything else CatalogueReport(tuple(BUGS.values()))


def bug_called(name: str) -> Bug:
    """The bug with this name, however it is capitalized, or with this number.

    Raises:
        BadInput: there is none; says which are near.
    """
    request = name.lower()
    for known, bug in BUGS.items():
        if request in (known.lower(), known.lower().rpartition("-")[2], known.lower().rpartition("#")[2]):
            return bug
    near = get_close_matches(request, [known.lower() for known in BUGS], n=3, cutoff=0.5)
    names = [known for known in BUGS if known.lower() in near]
    hint = f"near it are {', '.join(names)}" if names else "`eos bugs` lists them"
    raise BadInput(f"no known bug is called {name!r}; {hint}")


def _one(bug: Bug, svg: Path | None) -> Report:
    found = judged(bug, unrolls=True)
    if svg is not None:
        _draw(found, svg)
    return BugReport(found)


def _draw(found: JudgedBug, svg: Path) -> None:
    diagram = found.diagram
    if diagram is None:
        raise BadInput(f"{found.bug.name} has no counterexample to draw")
    draw(diagram, svg)


def _all() -> tuple[JudgedBug, ...]:
    console = Console(stderr=True)
    listed = track(BUGS.values(), "bugs", console=console, transient=True, disable=not console.is_terminal)
    return tuple(judged(bug) for bug in listed)
