"""The command `eos conform`: it replays files of recorded sessions, and makes one report.

Sessions are independent: several processes replay lines, and the results are in order. If a process dies, the lines
that it had begun are replayed again, one by one. Only a line on which a process dies alone is given up, by name.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from model_tests.common.processes import started_anew
from model_tests.conform.files import LocatedSession, SessionLine, UnreadableSession, lines, parsed, settled
from model_tests.conform.report import ConformReport, SessionTally, Undecided
from model_tests.conform.sessions import FAMILIES
from model_tests.conform.side_by_side import StepComparison, outcomes

# --- processes --------------------------------------------------------------------------------------------------------


Made = TypeVar("Made")
"""The result for a line."""

Work: TypeAlias = Callable[[SessionLine], Made]
"""The work on a line: a function of a module, so that other processes can import it."""

FEW: Final = 300
"""Fewer lines are not worth the start of another process."""

TOGETHER: Final = 8
"""Lines that are handed to a process at once."""

AHEAD: Final = 4
"""How many such groups of lines each process may have queued."""


def cores() -> int:
    """How many processes the machine has room for."""
    return os.cpu_count() or 1


def in_order(work: Work[Made], lost: Work[Made], lines: Iterable[SessionLine], jobs: int) -> Iterator[tuple[int, Made]]:
    """The number of each line's file and what the work makes of the line, in order, by so many processes.

    Args:
        work: what is done, without memory of other lines.
        lost: what is made instead, here, of a line on which a process died.
        lines: on which.
        jobs: number of processes; with one, with few lines, and where no other can start, this one does it all.
    """
    remaining = iter(lines)
    first = list(islice(remaining, FEW))
    everything = chain(first, remaining)
    if jobs <= 1 or len(first) < FEW:
        return ((line.file, work(line)) for line in everything)
    return _spread(work, lost, everything, jobs)


def _spread(work: Work[Made], lost: Work[Made], lines: Iterator[SessionLine], jobs: int) -> Iterator[tuple[int, Made]]:
    workers = _Workers(jobs)
    if not workers.can_start():
        yield from ((line.file, work(line)) for line in lines)
        return
    alone = _Workers(1)
    begun: deque[tuple[list[SessionLine], Future[list[Made]]]] = deque()
    try:
        while together := list(islice(lines, TOGETHER)):
            begun.append((together, workers.begin(work, together)))
            if len(begun) > jobs * AHEAD:
                yield from _finished(work, lost, alone, *begun.popleft())
        while begun:
            yield from _finished(work, lost, alone, *begun.popleft())
    finally:
        workers.close()
        alone.close()


class _Workers:
    """Processes, which are replaced when one of them has died."""

    def __init__(self, jobs: int) -> None:
        """So many processes, as soon as there is work."""
        self._jobs = jobs
        self._pool = started_anew(jobs)

    def can_start(self) -> bool:
        """Whether a process can start: it cannot if the program cannot be imported, such as from standard input."""
        try:
            return self._pool.submit(os.getpid).result() > 0
        except BrokenProcessPool:
            return False

    def begin(self, work: Work[Made], lines: list[SessionLine]) -> Future[list[Made]]:
        """Have one of them work on lines."""
        try:
            return self._pool.submit(_made, work, lines)
        except BrokenProcessPool:
            self.close()
            self._pool = started_anew(self._jobs)
            return self._pool.submit(_made, work, lines)

    def close(self) -> None:
        """Nothing more is to do."""
        self._pool.shutdown(cancel_futures=True)


def _made(work: Work[Made], lines: list[SessionLine]) -> list[Made]:
    return [work(line) for line in lines]


def _finished(
    work: Work[Made], lost: Work[Made], alone: _Workers, lines: list[SessionLine], future: Future[list[Made]]
) -> Iterator[tuple[int, Made]]:
    try:
        yield from zip((line.file for line in lines), future.result(), strict=True)
    except BrokenProcessPool:
        yield from _one_by_one(work, lost, alone, lines)


def _one_by_one(
    work: Work[Made], lost: Work[Made], alone: _Workers, lines: list[SessionLine]
) -> Iterator[tuple[int, Made]]:
    """Do the lines one by one in a process of its own: another line may have killed the process before."""
    for line in lines:
        try:
            made = alone.begin(work, [line]).result()[0]
        except BrokenProcessPool:
            made = lost(line)
        yield line.file, made


Shown = TypeVar("Shown")


# --- the command ------------------------------------------------------------------------------------------------------


def run(paths: Iterable[Path | str], families: Sequence[str] | None = None, jobs: int | None = None) -> ConformReport:
    """Replay every session in files and directories on the specification and on the reference.

    Args:
        paths: session files (NDJSON, plain or compressed by gzip or xz) and directories of them.
        families: judge only these; none means all.
        jobs: number of processes; none means one for each core.
    """
    report = ConformReport()
    wanted = _wanted(families or (), report)
    started = time.monotonic()
    work = partial(replayed, families=wanted)
    for item in settled(_shown(in_order(work, lost, lines(paths), jobs or cores()))):
        if isinstance(item, UnreadableSession):
            (report.notes if item.foreign else report.damage).append(str(item))
        else:
            report.join(item)
    report.seconds = time.monotonic() - started
    if families:
        _note_absent(wanted, report)
    return report


def replayed(line: SessionLine, families: Collection[str]) -> ConformReport | UnreadableSession | None:
    """A report on the session in a line; None if it is of another family."""
    report, found = ConformReport(), parsed(line, families)
    if not isinstance(found, LocatedSession):
        return found
    try:
        for _ in replay(found, report):
            pass
    except Exception as error:  # noqa: BLE001  # any failure is reported with its session, and the rest is replayed
        return _broken(found, f"{type(error).__name__}: {error}")
    return report


def lost(line: SessionLine) -> ConformReport | UnreadableSession | None:
    """The report on a session at whose replay a process died."""
    found = parsed(line)
    return _broken(found, "the process that replayed it died") if isinstance(found, LocatedSession) else found


def _broken(found: LocatedSession, how: str) -> ConformReport:
    return ConformReport(damage=[str(UnreadableSession(found.path, found.line, f"session {found.session.id}: {how}"))])


def replay(found: LocatedSession, report: ConformReport) -> Iterator[StepComparison]:
    """Replay one session into the report; every step is counted once, as agreed, undecided or disagreed."""
    session = found.session
    if session.unsupported:
        report.unsupported.add(session.family, len(session.steps), session.unsupported)
        return
    build = (session.profile.name, session.profile.transaction_version, session.family)
    tally = report.tallies.setdefault(build, SessionTally())
    report.sessions += 1
    tally.sessions += 1
    for outcome in outcomes(session):
        _count(outcome, found, tally, report)
        yield outcome


def _count(outcome: StepComparison, found: LocatedSession, tally: SessionTally, report: ConformReport) -> None:
    report.steps += 1
    tally.steps += 1
    if outcome.disagreed:
        report.disagreed_steps += 1
        tally.disagreed += 1
        report.disagreed.extend(disagreement.located(found.path) for disagreement in outcome.disagreed)
    elif outcome.undecided:
        tally.undecided += 1
        report.undecided.append(Undecided(found.session.id, outcome.index, outcome.undecided))


def _wanted(families: Sequence[str], report: ConformReport) -> frozenset[str]:
    unknown = [family for family in families if family not in FAMILIES]
    report.damage.extend(f"no family {family!r}: the families are {', '.join(FAMILIES)}" for family in unknown)
    return frozenset(families) & frozenset(FAMILIES) if families else frozenset(FAMILIES)


def _note_absent(wanted: frozenset[str], report: ConformReport) -> None:
    met = {family for _, _, family in report.tallies} | set(report.unsupported.families)
    report.notes.extend(f"no session of family {family} in what was read" for family in sorted(wanted - met))


def _shown(items: Iterator[Shown]) -> Iterator[Shown]:
    """The same, with a line on the terminal that says how far it has come."""
    console = Console(stderr=True)
    columns = (TextColumn("replaying sessions"), TextColumn("{task.completed:,.0f}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=None)
        for item in items:
            yield item
            progress.advance(task)
