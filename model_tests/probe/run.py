"""`eos conform --bootstrap-server`: seeded sessions on a live broker, each step judged as it is recorded."""

import time
from collections.abc import Callable, Iterator
from itertools import count, cycle
from typing import Final

from model_tests.common.addresses import addresses_of
from model_tests.common.reports import BadInput
from model_tests.probe.connection import BrokerFailure
from model_tests.probe.covering import reachable
from model_tests.probe.directed import directed
from model_tests.probe.distinguishing import distinguishes, runs_out
from model_tests.probe.families import DRAWS, drawn
from model_tests.probe.fingerprint import Fingerprint, fingerprint_of, guessed, held_against, may_be, under_feature
from model_tests.probe.observing import Level, level_of
from model_tests.probe.options import AUTO, ProbeOptions
from model_tests.probe.play import Player
from model_tests.probe.played import PATIENT, Patience, PlayedSession
from model_tests.probe.pool import NamePool
from model_tests.probe.probes import indistinct, probes
from model_tests.probe.report import ProbeReport
from model_tests.probe.results import ProbeResults
from model_tests.probe.script import Script
from model_tests.probe.target import Pace, Target
from reference.wire.codec import WireLibraryMissing
from reference.wire.versions import profile_called
from spec.versions import NEWEST, PROFILES, Profile

FINGERPRINTS: Final = 4
"""Sessions of each of the families by which a release is found, beside the probing sessions."""

LONG: Final = ("T", "X")
"""The families whose sessions take long: they are drawn only where no other is."""

FINGERPRINTED: Final = ("A", "B", "C")
FAILURES: Final = 3
"""Sessions in a row at which the broker fails, after which it is given up."""

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
        profile: name of the release that it is compared with.
        options: what to do.
        say: prints a line.
        confirm: asks the user for confirmation.

    Raises:
        BadInput: an option says nothing that can be done, or the person says no.
    """
    try:
        target = Target(tuple(addresses_of(bootstrap)), options.patience_s, Pace(options.rate))
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
        self._fingerprinted: set[Script] = set()
        self._results = ProbeResults(report, options, say, self.play)
        report.level = str(self._level)
        self._hold_against(profile)

    def _hold_against(self, profile: Profile) -> None:
        self._profile = under_feature(profile, self._target.transaction_version)
        self._results.profile = self._profile
        self._report.profile = self._profile.name
        self._report.transaction_version = self._profile.transaction_version
        self._report.reachable = reachable(self._profile)

    def _find_profile(self) -> None:
        """Find the release that the broker behaves most like; its sessions count as compared with that one.

        Raises:
            BrokerFailure: the broker has failed several times in a row.
        """
        implicit = self._profile.transaction_version == 2
        drawings = [drawn(f, seed, implicit=implicit) for seed in range(FINGERPRINTS) for f in FINGERPRINTED]
        lean = [probe.script for probe in probes() if not runs_out(probe.script)]
        probing, others = list(self._all_played(*directed(), *lean)), list(self._all_played(*drawings))
        self._say(f"{len(probing) + len(others)} sessions played, now compared with every release")
        found = fingerprint_of(probing, others, self._target.transaction_version, self._profile)
        longer = list(self._longer(found))
        if longer:
            self._say(f"{len(longer)} sessions in which epochs run out distinguish what is left")
            probing += self._all_played(*longer)
            found = fingerprint_of(probing, others, self._target.transaction_version, self._profile)
        self._report.fingerprint = found
        self._hold_against(found.best)
        for each in (*probing, *others):
            self._fingerprinted.add(each.script)
            judged = held_against(each, self._profile)
            if judged.disagreed is None:
                self._results.take(judged)
            else:
                self._play_one(each.script)

    def _all_played(self, *scripts: Script) -> Iterator[PlayedSession]:
        """Sessions to their ends, whatever differs."""
        for script in scripts:
            played = self._patiently(script, stops=False)
            if played is not None:
                yield played

    def _longer(self, found: Fingerprint) -> Iterator[Script]:
        """The probing sessions that take long, as far as they distinguish releases that no other session does."""
        left = [found.best, *(under_feature(PROFILES[name], self._target.transaction_version) for name in found.alike)]
        for probe in probes():
            several = (distinguishes(probe.script, found.best, other) for other in left[1:])
            if runs_out(probe.script) and any(several):
                yield probe.script

    def _probing(self) -> Iterator[Script]:
        """The directed sessions, and the probing ones: those that take long if they distinguish a neighbour."""
        leading = [script for script in directed() if script.family in self._options.families]
        yield from (script for script in leading if script.family not in LONG)
        for probe in probes():
            distinguishes = any(distinction.release == self._profile.name for distinction in probe.distinctions)
            if probe.script.family in self._options.families and (distinguishes or not runs_out(probe.script)):
                yield probe.script
        yield from (script for script in leading if script.family in LONG)

    def run(self, confirm: Confirm) -> ProbeReport:
        """Play, and remove what was made, whatever happens."""
        for line in self._pool.described():
            self._say(line)
        others = self._target.topics_there
        if others and not self._options.yes:
            listed = ", ".join(others[:5]) + (" ..." if len(others) > 5 else "")
            if not confirm(f"{self._report.broker} has {len(others)} other topics ({listed}). Go on?"):
                raise BadInput("the broker has other topics; --yes continues all the same")
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
        self._results.write_page()
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
            script = drawn(family, seed, implicit=self._profile.transaction_version == 2)
            if script not in self._fingerprinted:
                self._play_one(script)

    def _scripts(self) -> Iterator[tuple[str, int]]:
        """Families in turn, each with seeds of its own."""
        families = [family for family in self._options.families if family not in LONG] or list(self._options.families)
        return zip(cycle(families), (self._options.seed + n // len(families) for n in count()), strict=False)

    def _play_one(self, script: Script) -> None:
        """Play a script into the report.

        Raises:
            BrokerFailure: the broker has failed several times in a row.
        """
        played = self._patiently(script, stops=True)
        if played is not None:
            self._results.take(played)

    def _patiently(self, script: Script, *, stops: bool) -> PlayedSession | None:
        """Play a script; a session at which the broker fails decides nothing, and is None.

        Raises:
            BrokerFailure: it has failed several times in a row.
        """
        try:
            played = self.play(script, stops=stops)
            self._failed = 0
        except BrokerFailure as failure:
            self._failed += 1
            self._report.undecided[str(failure)] += 1
            self._target.forget_connections()
            if self._failed >= FAILURES:
                raise
            return None
        return played

    def play(self, script: Script, patience: Patience = PATIENT, *, stops: bool = True) -> PlayedSession:
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
