"""`eos conform --bootstrap-server`: seeded sessions on a live broker, each step judged as it is recorded."""

import json
import time
from collections.abc import Callable, Iterator
from itertools import count, cycle
from pathlib import Path
from typing import Final

from model_tests.common.reports import BadInput
from model_tests.conform.decision_log import branch_name
from model_tests.diagrams.sequence import text_of
from model_tests.diagrams.sequence_svg import svg_of
from model_tests.probe.connection import BrokerFailure
from model_tests.probe.covering import reachable
from model_tests.probe.distinguishing import distinguishes, runs_out
from model_tests.probe.drawing import sequence_of
from model_tests.probe.fingerprint import Fingerprint, explained_by, fingerprint_of, guessed, may_be, under_feature
from model_tests.probe.observing import Level, level_of
from model_tests.probe.options import AUTO, ProbeOptions
from model_tests.probe.page import page_of
from model_tests.probe.play import Player
from model_tests.probe.played import PATIENT, Patience, Played
from model_tests.probe.pool import NamePool
from model_tests.probe.probes import indistinct, probes
from model_tests.probe.report import Cause, FamilyTally, ProbeReport
from model_tests.probe.script import DRAWS, Script, drawn
from model_tests.probe.shrinking import Shrinker, described, signature_of
from model_tests.probe.target import Pace, Target, addresses
from reference.wire.codec import WireLibraryMissing
from reference.wire.versions import profile_called
from spec.versions import NEWEST, PROFILES, Profile

FINGERPRINTS: Final = 12
"""Sessions of each of the families by which a release is found, beside the probing sessions."""

LONG: Final = "X"
"""The family whose sessions take long: they are drawn only where no other is."""

FINGERPRINTED: Final = ("A", "B", "C")
PAGE: Final = "report.html"
"""The report as a page, in the directory of sessions."""

FAILURES: Final = 3
"""Sessions in a row at which the broker fails, after which it is given up."""

SHRUNK: Final = 12
"""Causes that are shrunk; a broker of another kind may have many."""

Confirm = Callable[[str], bool]
"""Asks a person, and says whether the answer is yes."""


def run(
    bootstrap: str,
    profile: str,
    options: ProbeOptions,
    say: Callable[[str], None],
    confirm: Confirm,
) -> ProbeReport:
    """Probe a broker.

    Args:
        bootstrap: HOST:PORT[,HOST:PORT].
        profile: name of the release that it is held against.
        options: what to do.
        say: prints a line.
        confirm: asks whether to go on.

    Raises:
        BadInput: an option says nothing that can be done, or the person says no.
    """
    try:
        target = Target(tuple(addresses(bootstrap)), options.patience_s, Pace(options.rate))
    except ValueError as wrong:
        raise BadInput(f"--bootstrap-server is HOST:PORT[,HOST:PORT], as localhost:9092; not {wrong}") from wrong
    unknown = [family for family in options.families if family not in DRAWS]
    if unknown:
        raise BadInput(f"no family {unknown[0]!r} is played on a broker; there are {', '.join(DRAWS)}")
    named = NEWEST if profile == AUTO else profile_called(profile)
    if named is None:
        raise BadInput(f"no Kafka version {profile!r}; known are {AUTO}, {', '.join(PROFILES)}")
    report = ProbeReport(bootstrap, profile, seed=options.seed)
    try:
        target.open()
    except WireLibraryMissing as missing:
        raise BadInput(str(missing)) from missing
    except BrokerFailure as failure:
        report.failures.append(str(failure))
        return report
    guess = guessed(target) if profile == AUTO else named
    return _Run(target, guess, options, report, say, finds=profile == AUTO).run(confirm)


class _Run:
    """One run against one cluster."""

    def __init__(
        self,
        target: Target,
        profile: Profile,
        options: ProbeOptions,
        report: ProbeReport,
        say: Callable[[str], None],
        *,
        finds: bool,
    ) -> None:
        self._target = target
        self._finds = finds
        self._options = options
        self._report = report
        self._say = say
        self._level: Level = level_of(target)
        self._pool = NamePool(target)
        self._failed = 0
        report.level = str(self._level)
        self._hold_against(profile)

    def _hold_against(self, profile: Profile) -> None:
        self._profile = under_feature(profile, self._target.transaction_version)
        self._report.profile = self._profile.name
        self._report.transaction_version = self._profile.transaction_version
        self._report.reachable = reachable(self._profile)

    def _find_profile(self) -> None:
        """Find the release that the broker behaves most like."""
        implicit = self._profile.transaction_version == 2
        drawings = [drawn(f, seed, implicit=implicit) for seed in range(FINGERPRINTS) for f in FINGERPRINTED]
        lean = [probe.script for probe in probes() if not runs_out(probe.script)]
        played = [self.play(script, stops=False) for script in (*lean, *drawings)]
        self._say(f"{len(played)} sessions played, now held against every release")
        found = fingerprint_of(played, self._target.transaction_version, self._profile)
        longer = list(self._longer(found))
        if longer:
            self._say(f"{len(longer)} sessions in which epochs run out distinguish what is left")
            played += [self.play(script, stops=False) for script in longer]
            found = fingerprint_of(played, self._target.transaction_version, self._profile)
        self._report.fingerprint = found
        self._hold_against(found.best)

    def _longer(self, found: Fingerprint) -> Iterator[Script]:
        """The probing sessions that take long, as far as they distinguish releases that no other session does."""
        left = [found.best, *(under_feature(PROFILES[name], self._target.transaction_version) for name in found.alike)]
        for probe in probes():
            several = (distinguishes(probe.script, found.best, other) for other in left[1:])
            if runs_out(probe.script) and any(several):
                yield probe.script

    def _probing(self) -> Iterator[Script]:
        """The probing sessions of a release that is given: those that take long if they distinguish a neighbour."""
        for probe in probes():
            tells = any(told.release == self._profile.name for told in probe.tells)
            if probe.script.family in self._options.families and (tells or not runs_out(probe.script)):
                yield probe.script

    def run(self, confirm: Confirm) -> ProbeReport:
        """Play, and remove what was made, whatever happens."""
        for line in self._pool.described():
            self._say(line)
        others = self._target.topics_there
        if others and not self._options.yes:
            listed = ", ".join(others[:5]) + (" ..." if len(others) > 5 else "")
            if not confirm(f"{self._report.broker} has {len(others)} other topics ({listed}). Go on?"):
                raise BadInput("the broker has other topics; --yes goes on all the same")
        began = time.monotonic()
        try:
            self._play_all(began)
        except KeyboardInterrupt:
            self._report.notes.append("interrupted: what was judged before is reported")
        except BrokerFailure as failure:
            self._report.failures.append(str(failure))
        finally:
            self._clean()
        self._report.requests = self._target.requests
        self._report.seconds = time.monotonic() - began
        if self._options.out is not None:
            self._put(self._options.out / PAGE, page_of(self._report), "w")
        return self._report

    def _clean(self) -> None:
        self._target.forget_connections()
        self._pool.remove()
        self._report.left += self._pool.left
        self._target.close()

    def _play_all(self, began: float) -> None:
        if self._finds:
            self._find_profile()
        elif not may_be(self._profile, self._target.transaction_version):
            finalized = self._target.transaction_version
            has = "no feature transaction.version" if finalized is None else f"transaction.version {finalized}"
            self._report.failures.append(f"the cluster has {has}, unlike Kafka {self._profile.name}")
        self._report.notes += list(indistinct(self._profile))
        for script in self._probing() if not self._finds else ():
            self._play_one(script)
        for number, (family, seed) in enumerate(self._scripts()):
            late = self._options.seconds is not None and time.monotonic() - began >= self._options.seconds
            if late or (self._options.sessions is not None and number >= self._options.sessions):
                return
            self._play_one(drawn(family, seed, implicit=self._profile.transaction_version == 2))

    def _scripts(self) -> Iterator[tuple[str, int]]:
        """Families in turn, each with seeds of its own."""
        families = [family for family in self._options.families if family != LONG] or list(self._options.families)
        return zip(cycle(families), (self._options.seed + n // len(families) for n in count()), strict=False)

    def _play_one(self, script: Script) -> None:
        """Play a script into the report; a session at which the broker fails decides nothing.

        Raises:
            BrokerFailure: it has failed several times in a row.
        """
        try:
            played = self.play(script)
            self._failed = 0
        except BrokerFailure as failure:
            self._failed += 1
            self._report.undecided[str(failure)] += 1
            self._target.forget_connections()
            if self._failed >= FAILURES:
                raise
            return
        self._count(played)
        if played.disagreed is not None:
            self._take(played)

    def play(self, script: Script, patience: Patience = PATIENT, *, stops: bool = True) -> Played:
        """A script on fresh names.

        Raises:
            BrokerFailure: the broker does not answer.
        """
        names = self._pool.take(script.family)
        if script.family == "C":
            self._pool.note_group(names)
        try:
            shared = bool(self._target.topics_there)
            return Player(
                self._target, self._profile, self._level, names, script, shared=shared, patience=patience, stops=stops
            ).play()
        finally:
            self._pool.give_back(names)

    def _count(self, played: Played) -> None:
        tally = self._report.families.setdefault(played.script.family, FamilyTally())
        tally.sessions += 1
        tally.steps += len(played.comparisons)
        for comparison in played.comparisons:
            if comparison.disagreed:
                tally.disagreed += 1
            elif comparison.undecided:
                tally.undecided += 1
                self._report.undecided[comparison.undecided] += 1
            self._report.branches.update(branch_name(decided, self._profile) for decided in comparison.decided)
        if played.undecided:
            self._report.undecided[f"session ended: {played.undecided}"] += 1
        self._write("sessions.ndjson", played)

    def _take(self, played: Played) -> None:
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
        if self._options.shrinks and len(self._report.causes) <= SHRUNK:
            try:
                shrunk = Shrinker(self.play, played).shrink()
                played, runs = shrunk.played, shrunk.runs
            except BrokerFailure as failure:
                self._report.notes.append(f"not shrunk to the end: {failure}")
                self._target.forget_connections()
        self._describe(cause, played, runs)

    def _describe(self, cause: Cause, played: Played, runs: int) -> None:
        comparison = played.disagreed
        if comparison is None:
            return
        first = comparison.disagreed[0]
        cause.script = tuple(described(played))
        cause.session = played.session
        cause.drawing, cause.svg = text_of(sequence_of(played)), svg_of(sequence_of(played))
        cause.guard = first.guard
        cause.rules = tuple((rule.id, "; ".join(rule.source)) for rule in first.rules)
        cause.runs = runs
        cause.behaviours = explained_by(played, self._profile)
        number = len(self._report.causes)
        cause.file = self._write(f"disagreed-{number}.ndjson", played)

    def _write(self, name: str, played: Played) -> str:
        """Add a session to a file of the directory; the file's name, empty where there is no directory.

        Raises:
            BadInput: it cannot be written.
        """
        if self._options.out is None or not played.session["steps"]:
            return ""
        file = self._options.out / name
        self._put(file, json.dumps(played.session) + "\n", "a")
        return str(file)

    def _put(self, file: Path, text: str, mode: str) -> None:
        """Write to a file of the directory.

        Raises:
            BadInput: it cannot be written.
        """
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open(mode) as lines:
                lines.write(text)
        except OSError as error:
            raise BadInput(f"{file} cannot be written: {error.strerror}") from error
