"""What a session shows goes into the report: counts, and disagreements with their causes, each shrunk once."""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from markupsafe import Markup

from model_tests.common.html_page import html_page
from model_tests.common.reports import writing
from model_tests.conform.decision_log import branch_name
from model_tests.diagrams.sequence import text_of
from model_tests.diagrams.sequence_svg import svg_of
from model_tests.probe.connection import BrokerFailure
from model_tests.probe.fingerprint import explained_by
from model_tests.probe.options import ProbeOptions
from model_tests.probe.played import MET, PlayedSession, sequence_of
from model_tests.probe.probes import origin_of
from model_tests.probe.report import Cause, FamilyTally, ProbeReport, coverage_of, played_in
from model_tests.probe.shrinking import Play, Shrinker, described, differing, signature_of
from spec.versions import Profile

PAGE: Final = "report.html"
"""The report as a page, in the directory of sessions."""

SHRINKING_S: Final = 900.0
"""Seconds after which no further cause is shrunk; a broker of another kind may have many."""


class ProbeResults:
    """The report of one run while it is made, and the files beside it.

    Attributes:
        profile: that sessions are compared with from now on.
    """

    def __init__(self, report: ProbeReport, options: ProbeOptions, say: Callable[[str], None], play: Play) -> None:
        """Nothing was played yet.

        Args:
            report: that is filled.
            options: of the run.
            say: prints a line.
            play: plays a script on fresh names.
        """
        self.profile: Profile
        self._report = report
        self._options = options
        self._say = say
        self._play = play
        self._shrinking_s = 0.0

    def take(self, played: PlayedSession) -> None:
        """A session was played and judged."""
        self._count(played)
        if played.disagreed is not None:
            self._take(played)

    def write_page(self) -> None:
        """Write the report as a page, where there is a directory.

        Raises:
            BadInput: it cannot be written.
        """
        if self._options.out is not None:
            _put(self._options.out / PAGE, page_of(self._report), "w")

    def _count(self, played: PlayedSession) -> None:
        tally = self._report.families.setdefault(played.script.family, FamilyTally())
        tally.sessions += 1
        self._report.origins[origin_of(played.script)] += 1
        tally.steps += len(played.comparisons)
        for comparison in played.comparisons:
            if comparison.disagreed:
                tally.disagreed += 1
            elif comparison.undecided:
                tally.undecided += 1
                self._report.undecided[comparison.undecided] += 1
            self._report.branches.update(branch_name(decided, self.profile) for decided in comparison.decided)
        if played.undecided:
            self._report.undecided[f"session ended: {played.undecided}"] += 1
        if played.met:
            self._report.undecided[MET] += played.met
        self._write("sessions.ndjson", played)

    def _take(self, played: PlayedSession) -> None:
        """Count a disagreement with its cause, which is shrunk when it is first met."""
        signature = signature_of(played)
        if signature is None:
            return
        known = self._report.causes.get(signature)
        if known is not None:
            known.sessions += 1
            return
        cause = self._report.causes[signature] = Cause(signature)
        self._say(f"disagreed: {signature}")
        runs = 0
        if self._options.shrinks and self._shrinking_s < SHRINKING_S:
            began = time.monotonic()
            try:
                shrunk = Shrinker(self._play, played).shrink()
                played, runs = shrunk.played, shrunk.runs
            except BrokerFailure as failure:
                self._report.notes.append(f"not shrunk to the end: {failure}")
            self._shrinking_s += time.monotonic() - began
        self._describe(cause, played, runs)

    def _describe(self, cause: Cause, played: PlayedSession, runs: int) -> None:
        comparison = played.disagreed
        if comparison is None:
            return
        first = comparison.disagreed[0]
        cause.script = tuple(described(played))
        cause.session = played.session
        cause.drawing, cause.svg = text_of(sequence_of(played)), svg_of(sequence_of(played))
        cause.given, cause.allowed = (repr(side[differing(first)]) for side in (first.expected, first.got))
        cause.guard = first.guard
        cause.rules = tuple((rule.id, "; ".join(rule.source)) for rule in first.rules)
        cause.runs = runs
        cause.behaviours = explained_by(played, self.profile)
        number = len(self._report.causes)
        cause.file = self._write(f"disagreed-{number}.ndjson", played)

    def _write(self, name: str, played: PlayedSession) -> str:
        """Add a session to a file of the directory; the file's name, empty where there is no directory.

        Raises:
            BadInput: it cannot be written.
        """
        if self._options.out is None or not played.session["steps"]:
            return ""
        file = self._options.out / name
        _put(file, json.dumps(played.session) + "\n", "a")
        return str(file)


def _put(file: Path, text: str, mode: str) -> None:
    """Write to a file of the directory.

    Raises:
        BadInput: it cannot be written.
    """
    with writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open(mode) as lines:
            lines.write(text)


def page_of(report: ProbeReport) -> str:
    """The page."""
    return html_page(
        "model_tests.probe",
        report=report,
        played=played_in(report),
        # made by this project, which escapes what comes from a broker
        pictures={signature: Markup(cause.svg) for signature, cause in report.causes.items()},
        undecided=_most_first(report.undecided),
        branches=_most_first(report.branches),
        coverage=coverage_of(report),
    )


def _most_first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda each: -each[1])
