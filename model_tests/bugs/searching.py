"""One case of a known bug, searched: the shortest counterexample, or that there is none."""

from dataclasses import dataclass
from time import perf_counter

from spec.bugs.bug import Case, Expected
from spec.engines.bmc import search
from spec.engines.explore import explore
from spec.engines.finite import instance_of
from spec.engines.verdict import Holds, Proved, Refuted, Trace, Unknown, Verdict
from spec.systems.language import System


@dataclass(frozen=True, slots=True)
class Found:
    """What a search said of one case.

    Attributes:
        depth: actions of the counterexample; where there is none, how deep was searched.
        complete: no state of the instance lies deeper.
    """

    case: Case
    verdict: Verdict
    depth: int
    complete: bool
    seconds: float

    @property
    def got(self) -> str:
        """`violated`, `holds`, or why the search does not know."""
        match self.verdict:
            case Refuted():
                return Expected.VIOLATED
            case Holds() | Proved():
                return Expected.HOLDS
            case Unknown(reason):
                return f"unknown: {reason}"

    @property
    def as_expected(self) -> bool:
        """Whether the search said what the catalogue expects."""
        return self.got == self.case.expected

    @property
    def trace(self) -> Trace:
        """The counterexample; empty if there is none."""
        return self.verdict.trace if isinstance(self.verdict, Refuted) else ()


def searched(case: Case) -> Found:
    """Ask the search that the case names."""
    started = perf_counter()
    verdict = _bounded(case) if case.bounded else _explored(case)
    depth = verdict.depth if isinstance(verdict, Holds | Refuted) else 0
    complete = isinstance(verdict, Holds) and verdict.complete
    return Found(case, verdict, depth, complete, round(perf_counter() - started, 2))


def _explored(case: Case) -> Verdict:
    system = case.instance.searched()
    return explore(_silent(system), instance_of(system, case.instance.sizes), [case.asked(system)], case.depth).verdict


def _silent(system: System) -> System:
    """The system without goals: whether they can be reached is asked elsewhere."""
    return System(system.name, system.variables, system.actions, system.theorems, system.lemmas, (), (), system.derived)


def _bounded(case: Case) -> Verdict:
    if case.depth is None:
        raise ValueError(f"{case.profile}, {case.claim}: a bounded search needs a depth")
    system = case.instance.plain()
    finite = instance_of(system, case.instance.sizes)
    return search(system, finite, case.depth, [case.asked(system)], stride=case.depth).verdict
