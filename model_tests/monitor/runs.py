"""A monitored run: the trace of a seed or of a tape, judged while it is made; and the shrinking of a failing run.

A run is shrunk on its tape: choices are left out, made simplest, or lowered, as long as the same rule breaks.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Final, NamedTuple

from model_tests.common.reports import BadInput
from model_tests.judging.check_report import StepViolation
from model_tests.monitor.monitor import DecisionMismatch, Monitor, StepFinding
from model_tests.simulate.simulate import STEPS, WORKLOADS, profile_of, version_of, workload_of
from model_tests.traces.schema import Row
from reference.tape import Tape
from spec.versions import PROFILES, Profile

# --- shrinking a tape -------------------------------------------------------------------------------------------------


SECONDS: Final = 20.0
"""How long a tape is shrunk."""


class Size(NamedTuple):
    """What is to become smaller: first the trace, then the tape, then the numbers on it."""

    steps: int
    choices: int
    total: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A tape whose run fails.

    Attributes:
        ends: how much of the tape was used when each step was made; the run fails at the last one.
    """

    choices: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, choices: Sequence[int], ends: Sequence[int]) -> "Failure":
        """The failure of a tape; past a tape's end every choice is 0, so that zeros at its end say nothing."""
        length = max((at for at, choice in enumerate(choices, start=1) if choice), default=0)
        return cls(tuple(choices[:length]), tuple(ends))

    @property
    def size(self) -> Size:
        """How large it is."""
        return Size(len(self.ends), len(self.choices), sum(self.choices))


Attempt = Callable[[Sequence[int]], Failure | None]
"""Plays a tape: how it fails, with the choices that it used; None where it does not, or by another rule."""


SHORT: Final = 12
"""From this length on down, pieces of every length are tried; an event takes about so many choices."""


class _OutOfTime(Exception):
    """There is no time for another attempt."""


def shrunk(failure: Failure, attempt: Attempt, seconds: float = SECONDS) -> Failure:
    """The smallest failure that is found in the time: no single choice can be left out or lowered, if it suffices."""
    search = _Shrinking(failure, attempt, monotonic() + seconds)
    try:
        while any([search.leaves_out_steps(), search.leaves_out(), search.simplifies(), search.lowers()]):
            pass
    except _OutOfTime:
        pass
    return search.best


class _Shrinking:
    def __init__(self, failure: Failure, attempt: Attempt, deadline: float) -> None:
        self.best = failure
        self._attempt = attempt
        self._deadline = deadline

    def leaves_out_steps(self) -> bool:
        """Without all that led to some steps in a row, from many to one."""
        improved = False
        for count in _lengths(len(self.best.ends)):
            at = 0
            while at < len(self.best.ends):
                ends = (0, *self.best.ends)
                start, stop = ends[at], ends[min(at + count, len(ends) - 1)]
                if self._tries(start, self.best.choices[start:stop], ()):
                    improved = True
                else:
                    at += count
        return improved

    def leaves_out(self) -> bool:
        """Without a piece of the tape, from large to small."""
        return self._pieces(lambda piece: ())

    def simplifies(self) -> bool:
        """With the simplest choice all through a piece."""
        return self._pieces(lambda piece: (0,) * len(piece))

    def lowers(self) -> bool:
        """With one choice halved, or lowered by one."""
        improved = False
        for at in range(len(self.best.choices)):
            while at < len(self.best.choices) and self._lowers_one(at):
                improved = True
        return improved

    def _lowers_one(self, at: int) -> bool:
        choice = self.best.choices[at]
        return any(self._tries(at, (choice,), (lower,)) for lower in sorted({choice // 2, choice - 1}) if lower >= 0)

    def _pieces(self, change: Callable[[Sequence[int]], Sequence[int]]) -> bool:
        improved = False
        for length in _lengths(len(self.best.choices)):
            at = 0
            while at < len(self.best.choices):
                piece = self.best.choices[at : at + length]
                if self._tries(at, piece, change(piece)):
                    improved = True
                else:
                    at += length
        return improved

    def _tries(self, at: int, piece: Sequence[int], instead: Sequence[int]) -> bool:
        """Play the tape with something else in the place of a piece; whether it is kept."""
        if tuple(piece) == tuple(instead):
            return False
        if monotonic() > self._deadline:
            raise _OutOfTime
        choices = self.best.choices
        found = self._attempt((*choices[:at], *instead, *choices[at + len(piece) :]))
        if found is None or found.size >= self.best.size:
            return False
        self.best = found
        return True


def _lengths(whole: int) -> Iterator[int]:
    """Lengths of pieces, from half of the whole to one."""
    length = whole // 2
    while length > SHORT:
        yield length
        length //= 2
    yield from range(min(length, SHORT), 0, -1)


# --- the run ----------------------------------------------------------------------------------------------------------


MOST_SEEDS: Final = 2**63
"""Seeds name traces, and a trace's number has 64 bits with a sign."""


@dataclass(frozen=True, slots=True)
class SeededRun:
    """What makes a trace: the seed, and the choices that are given instead of the seed's."""

    seed: int
    workload: str
    profile: Profile
    steps: int = STEPS

    def play(self, tape: Tape | None = None, *, monitored: bool = True) -> "MonitoredRun":
        """Make the trace, until its end or the first disagreement.

        Args:
            tape: another source of choices than the seed.
            monitored: judge every step; else nothing disagrees.
        """
        from reference.simulate.simulation import simulate  # which a trace from a file needs not

        tape = tape or Tape.seeded(self.seed)
        monitor, rows, ends = Monitor(), list[Row](), list[int]()

        def observe(row: Row) -> None:
            rows.append(row)
            ends.append(len(tape.drawn))
            if monitored:
                monitor(row)

        try:
            simulate(self.seed, self.profile, self.steps, workload=self.workload, tape=tape, observer=observe)
        except DecisionMismatch as found:
            violations = tuple(replace(v, replay=f"{self.command} --step {v.step}") for v in found.violations)
            return MonitoredRun(tuple(rows), tuple(tape.drawn), tuple(ends), monitor.findings, violations)
        violations = tuple(replace(v, replay=f"{self.command} --step {v.step}") for v in monitor.finish())
        return MonitoredRun(tuple(rows[: self.steps]), tuple(tape.drawn), tuple(ends), monitor.findings, violations)

    def shrunk(self, played: "MonitoredRun", seconds: float = SECONDS) -> "MonitoredRun":
        """The smallest run found in the time that breaks one of the same rules; the run itself if it breaks none."""
        if not played.violations:
            return played
        short = replace(self, steps=len(played.rows))

        def attempt(choices: Sequence[int]) -> Failure | None:
            try:
                again = short.play(Tape.recorded(choices))
            except Exception:  # noqa: BLE001  # a defect may break anything, and that is no rule's word
                return None
            return Failure.of(again.choices, again.ends) if again.rules & played.rules else None

        smallest = shrunk(Failure.of(played.choices, played.ends), attempt, seconds)
        again = short.play(Tape.recorded(smallest.choices))
        return replace(again, violations=tuple(replace(v, replay=self.command) for v in again.violations))

    @property
    def command(self) -> str:
        """The command that makes and judges the trace again; what the seed chooses anyway is left out."""
        reported = [f"eos replay --seed {self.seed}"]
        if self.workload != workload_of(self.seed):
            reported.append(f"--workload {self.workload}")
        if self.profile != _chosen_by(self.seed):
            reported.append(f"--profile {self.profile.name} --transaction-version {self.profile.transaction_version}")
        if self.steps != STEPS:
            reported.append(f"--steps {self.steps}")
        return " ".join(reported)


@dataclass(frozen=True, slots=True)
class MonitoredRun:
    """What a run showed.

    Attributes:
        rows: its steps, up to the one that disagrees.
        choices: the tape that makes them again.
        ends: how much of the tape was used when each step was made.
        findings: how often each verdict came.
        violations: of the last step, if the run stopped there; or of the client events of the whole run.
    """

    rows: tuple[Row, ...]
    choices: tuple[int, ...]
    ends: tuple[int, ...]
    findings: Counter[StepFinding]
    violations: tuple[StepViolation, ...] = ()

    @property
    def rules(self) -> frozenset[str]:
        """Ids of the rules that are broken."""
        return frozenset(violation.rule for violation in self.violations)


def run_of(
    seed: int,
    steps: int = STEPS,
    workload: str | None = None,
    profile: str | None = None,
    transaction_version: int | None = None,
) -> SeededRun:
    """The run of a seed, with what is given instead of what the seed chooses.

    Args:
        seed: says all that is not given.
        steps: how many at most.
        workload: its name.
        profile: its name.
        transaction_version: of the cluster.

    Raises:
        BadInput: there is no such seed, workload, profile, or transaction version of the profile.
    """
    if not 0 <= seed < MOST_SEEDS:
        raise BadInput(f"there is no seed {seed}: seeds are 0 to {MOST_SEEDS - 1}")
    if workload is not None and workload not in WORKLOADS:
        raise BadInput(f"there is no workload {workload!r}; there are {', '.join(WORKLOADS)}")
    if profile is not None and profile not in PROFILES:
        raise BadInput(f"there is no profile {profile!r}; there are {', '.join(PROFILES)}")
    chosen = _chosen_by(seed) if profile is None else PROFILES[profile]
    return SeededRun(seed, workload or workload_of(seed), _under(chosen, transaction_version), steps)


def _chosen_by(seed: int) -> Profile:
    return PROFILES[profile_of(seed)].under(version_of(seed))


def _under(profile: Profile, transaction_version: int | None) -> Profile:
    if transaction_version is None:
        return profile
    newest = PROFILES[profile.name].transaction_version
    if not 0 <= transaction_version <= newest:
        raise BadInput(f"{profile.name} has transaction versions 0 to {newest}, not {transaction_version}")
    return profile.under(transaction_version)
