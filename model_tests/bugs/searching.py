"""One case of a known bug, searched explicitly: the shortest counterexample, or that there is none.

What is found can be asked of bounded search too, which must find one of the same depth.
"""

from dataclasses import dataclass
from time import perf_counter

from spec.bugs.bug import ExpectedAnswer, SearchCase
from spec.engines.bmc import search
from spec.engines.explore import explore
from spec.engines.finite import instance_of
from spec.engines.verdict import Holds, Proved, Refuted, Trace, Unknown, Verdict
from spec.systems.language import System


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search said of one case.

    Attributes:
        depth: actions of the counterexample; where there is none, how deep was searched.
        complete: no state of the instance lies deeper.
    """

    case: SearchCase
    verdict: Verdict
    depth: int
    complete: bool
    seconds: float

    @property
    def got(self) -> str:
        """`violated`, `holds`, or why the search does not know."""
        match self.verdict:
            case Refuted():
                return ExpectedAnswer.VIOLATED
            case Holds() | Proved():
                return ExpectedAnswer.HOLDS
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


def searched(case: SearchCase, most_states: int = 1_000_000) -> SearchResult:
    """Search every state of the case's instance, until the claim is violated; with more it is unknown."""
    started = perf_counter()
    system = case.instance.searched()
    finite = instance_of(system, case.instance.sizes)
    verdict = explore(_silent(system), finite, [case.claim_of(system)], most_states=most_states).verdict
    depth = verdict.depth if isinstance(verdict, Holds | Refuted) else 0
    complete = isinstance(verdict, Holds) and verdict.complete
    return SearchResult(case, verdict, depth, complete, round(perf_counter() - started, 2))


def searched_as_formulas(found: SearchResult) -> SearchResult:
    """Unroll the case's instance as deep as the counterexample, and look for one there."""
    started = perf_counter()
    case, depth = found.case, found.depth
    system = case.instance.plain()
    finite = instance_of(system, case.instance.sizes)
    verdict = search(system, finite, depth, [case.claim_of(system)], stride=max(depth, 1)).verdict
    reached = verdict.depth if isinstance(verdict, Holds | Refuted) else 0
    return SearchResult(case, verdict, reached, False, round(perf_counter() - started, 2))


def _silent(system: System) -> System:
    """The system without goals: whether they can be reached is checked elsewhere."""
    return System(system.name, system.variables, system.actions, system.theorems, system.lemmas, (), (), system.derived)
