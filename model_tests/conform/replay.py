"""The command `eos conform`: files of recorded sessions in, one report out."""

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from model_tests.conform.files import LocatedSession, SessionLine, UnreadableSession, lines, parsed, settled
from model_tests.conform.processes import cores, in_order
from model_tests.conform.report import ConformReport, SessionTally, Undecided
from model_tests.conform.sessions import FAMILIES
from model_tests.conform.side_by_side import StepComparison, outcomes

Shown = TypeVar("Shown")


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
