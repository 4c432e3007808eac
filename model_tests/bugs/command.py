"""The command `eos bugs` and its output: the catalogue, one bug with its counterexample, or all verdicts."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from model_tests.bugs.judged import JudgedBug, judged
from model_tests.bugs.searching import SearchResult
from model_tests.common.reports import HOLDS, VIOLATED, BadInput, Report, wide
from model_tests.diagrams.sequence import text_of
from model_tests.diagrams.sequence_svg import draw
from spec.bugs.bug import Bug
from spec.bugs.catalogue import BUGS


@dataclass(frozen=True, slots=True)
class CatalogueReport:
    """Every known bug, and the releases in which each must be found and must not."""

    bugs: tuple[Bug, ...]
    exit_code: int = HOLDS

    def to_json(self) -> list[object]:
        """Nothing was judged."""
        return []

    def print(self, console: Console) -> None:
        """A line for each bug."""
        table = Table(title="Known bugs", title_justify="left")
        for column in ("bug", "what goes wrong", "rule", "violated in", "holds in"):
            table.add_column(column, overflow="fold", no_wrap=column in ("bug", "rule"))
        for bug in self.bugs:
            table.add_row(bug.name, bug.title, bug.rule.id, *_expectations(bug))
        wide(console).print(table)
        console.print(f"{len(self.bugs)} known bugs, each shown by search: eos bugs NAME", highlight=False)


@dataclass(frozen=True, slots=True)
class BugsReport:
    """The verdicts on several bugs."""

    judged: tuple[JudgedBug, ...]

    @property
    def failures(self) -> tuple[str, ...]:
        """What is not as expected, a line each."""
        return tuple(failure for each in self.judged for failure in each.failures)

    @property
    def exit_code(self) -> int:
        """Whether all is as expected."""
        return VIOLATED if self.failures else HOLDS

    def to_json(self) -> list[dict[str, object]]:
        """An entry for each case."""
        return [entry for each in self.judged for entry in each.entries()]

    def print(self, console: Console) -> None:
        """The verdicts, then what is not as expected."""
        wide(console).print(_verdicts(self.judged, named=True))
        for failure in self.failures:
            console.print(Text(f"FAILED  {failure}", "red"), soft_wrap=True)


@dataclass(frozen=True, slots=True)
class BugReport:
    """One bug: what happens, the verdicts, the shortest counterexample, and what the reference does with it."""

    judged: JudgedBug

    @property
    def exit_code(self) -> int:
        """Whether all is as expected."""
        return VIOLATED if self.judged.failures else HOLDS

    def to_json(self) -> list[dict[str, object]]:
        """An entry for each case."""
        return list(self.judged.entries())

    def print(self, console: Console) -> None:
        """Title, mechanism, verdicts, diagram, replay."""
        bug = self.judged.bug
        console.print(Text(f"{bug.name}: {bug.title}", "bold"))
        console.print(bug.mechanism, highlight=False, markup=False)
        console.print(f"Sources: {', '.join(bug.source)}. Breaks {bug.rule.id}.", highlight=False, markup=False)
        wide(console).print(_verdicts((self.judged,), named=False))
        if self.judged.unrolled is not None:
            unrolled = self.judged.unrolled
            reported = f"Bounded search: {unrolled.got} at depth {unrolled.depth}, in {unrolled.seconds:.1f} s."
            console.print(reported, highlight=False)
        for case in bug.mended:
            if case.why:
                console.print(f"In {case.profile} {case.why}.", highlight=False, markup=False)
        if self.judged.diagram is not None:
            console.print(text_of(self.judged.diagram), highlight=False, markup=False, soft_wrap=True)
        self._print_replay(console)
        for failure in self.judged.failures:
            console.print(Text(f"FAILED  {failure}", "red"), soft_wrap=True)

    def _print_replay(self, console: Console) -> None:
        replay = self.judged.replay
        if replay is None:
            console.print("Not carried out on the reference: it has no place for this yet.", highlight=False)
            return
        lines = (
            f"On the reference with the defect: {replay.defective.broken or replay.defective.refused}",
            f"On the reference without it: {replay.true.broken or replay.true.refused}",
        )
        for line in lines:
            console.print(line, highlight=False, markup=False, soft_wrap=True)


def _expectations(bug: Bug) -> tuple[str, str]:
    return ", ".join(case.profile for case in bug.violated), ", ".join(case.profile for case in bug.mended)


def _verdicts(judged: Iterable[JudgedBug], *, named: bool) -> Table:
    table = Table()
    for column in (*(("bug",) if named else ()), "release", "verdict", "depth", "seconds", "reference"):
        table.add_column(column, no_wrap=True)
    for each in judged:
        for number, (found, again) in enumerate(zip(each.found, each.replayed, strict=True)):
            head = (each.bug.name if number == 0 else "",) if named else ()
            table.add_row(*head, *_row(found, again, carried_out=each.replay is not None))
    return table


def _row(found: SearchResult, again: bool, *, carried_out: bool) -> tuple[str | Text, ...]:
    case = found.case
    expected = "" if found.as_expected else f", expected {case.expected}"
    verdict = Text(f"{found.got}{expected}", "green" if found.as_expected else "bold red")
    depth = f"{found.depth}{' (all)' if found.complete else ''}"
    reference = ("agrees" if again else Text("differs", "bold red")) if carried_out else "-"
    return case.profile, verdict, depth, f"{found.seconds:.2f}", reference


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
