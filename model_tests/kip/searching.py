"""A variant searched in its instances and compared with what was before; and everything that must still break it."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from model_tests.diagrams.events import Ending, Sequence
from model_tests.kip.recording import captions, recorded
from model_tests.monitor.drawing import sequence_of
from model_tests.traces.schema import Row
from spec.engines.counterexample import differing
from spec.engines.difference import StateDifference, compared
from spec.engines.explore import explore, walked
from spec.engines.finite import Finite, instance_of
from spec.engines.verdict import Happening, Refuted, Trace, Unknown, Verdict, passed
from spec.systems.language import Claim, State, System
from spec.systems.transactions.controls import CONTROLS
from spec.systems.transactions.decisions import remembered
from spec.systems.transactions.variant import NEWEST_RELEASE, Variant, VariantInstance, VariantView
from spec.systems.transactions.world import TransactionKnobs

MOST_STATES: Final = 100_000
"""An instance with more is not decided."""


@dataclass(frozen=True, slots=True)
class SearchedSystem:
    """A system in a finite instance, with its decisions remembered, and its name and words."""

    name: str
    system: System
    finite: Finite
    view: VariantView


def searched_system(variant: Variant, knobs: TransactionKnobs) -> SearchedSystem:
    """The variant in the instance of these knobs of a release."""
    view = VariantView(variant.under(knobs), remembered(variant.taken(knobs)))
    system = variant.searched(knobs, view.taken)
    return SearchedSystem(variant.name, system, instance_of(system, view.knobs.sizes()), view)


@dataclass(frozen=True, slots=True)
class DrawnRun:
    """A run from the start.

    Attributes:
        rows: the run as rows of the trace schema.
        picture: these rows as a sequence diagram.
        lost: for each step the claims that hold before it and not after.
    """

    trace: Trace
    rows: tuple[Row, ...]
    picture: Sequence
    lost: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class InstanceResult:
    """What one instance showed.

    Attributes:
        states: of the variant.
        verdict: on its theorems.
        violating: a shortest run that violates one, if there is one.
        before: the verdict on the claim that the variant mends, of what was before; None where it mends none.
        difference: from the states that were reachable before.
        violated: the theorem that is violated, if one is.
        mended: a shortest run that violated, before, the claim that the variant mends.
        only_here: a shortest run to a state that was not reachable before.
        only_there: a shortest run, of what was before, to a state that is not reachable any more.
    """

    instance: VariantInstance
    states: int
    verdict: Verdict
    violating: DrawnRun | None
    before: Verdict | None
    mended: DrawnRun | None
    difference: StateDifference
    only_here: DrawnRun | None
    only_there: DrawnRun | None
    violated: Claim | None

    @property
    def runs(self) -> tuple[DrawnRun, ...]:
        """The run that violates a theorem; without one what is mended, and what only one of the two systems does."""
        found = (self.violating,) if self.violating else (self.mended, self.only_here, self.only_there)
        return tuple(run for run in found if run is not None)

    @property
    def word(self) -> str:
        """`violated`, `holds`, or why the search does not know."""
        return word_of(self.verdict)

    @property
    def passed(self) -> bool:
        """Every theorem holds in every state, and what the variant mends was violated before."""
        return passed(self.verdict) and (self.before is None or isinstance(self.before, Refuted))


@dataclass(frozen=True, slots=True)
class ControlResult:
    """A change that must break the variant as it breaks the release, or, where the variant mends it, must not.

    Attributes:
        expected: `violated` or `holds`.
        got: the same, or why there is no answer.
    """

    name: str
    claim: str
    expected: str
    got: str

    @property
    def passed(self) -> bool:
        """It is as expected."""
        return self.expected == self.got


def searched(variant: Variant, instance: VariantInstance) -> InstanceResult:
    """Search one instance, and compare it with what was before."""
    before = variant.before or NEWEST_RELEASE
    here, there = searched_system(variant, instance.knobs), searched_system(before, instance.knobs)
    found = explore(here.system, here.finite, most_states=MOST_STATES)
    mends = None
    if instance.mends:
        mends = explore(there.system, there.finite, [there.system.claim(instance.mends)], most_states=MOST_STATES)
    difference = compared((here.system, here.finite), (there.system, there.finite), MOST_STATES)
    violating = _violating(here, variant.name, found.verdict)
    return InstanceResult(
        instance,
        found.states,
        found.verdict,
        violating,
        mends.verdict if mends else None,
        _violating(there, before.name, mends.verdict) if mends else None,
        difference,
        _besides(here, difference.only_here, variant.name, f"a state that {before.name} does not reach"),
        _besides(there, difference.only_there, before.name, f"a state that {variant.name} does not reach"),
        here.system.claim(found.verdict.claim) if isinstance(found.verdict, Refuted) else None,
    )


def _violating(searched: SearchedSystem, name: str, verdict: Verdict) -> DrawnRun | None:
    if not isinstance(verdict, Refuted):
        return None
    claim = searched.system.claim(verdict.claim)
    ending = Ending(claim.rule.id, f"{claim.name}: it is no longer so that {_continued(claim.sentence)}")
    return drawn_run(searched, verdict.trace, f"{name}: a run of {verdict.depth} steps", ending)


def _besides(searched: SearchedSystem, trace: Trace | None, name: str, what: str) -> DrawnRun | None:
    if trace is None:
        return None
    return drawn_run(searched, trace, f"{name}: a run of {len(trace)} steps to {what}", Ending("", what))


def drawn_run(searched: SearchedSystem, trace: Trace, title: str, ending: Ending) -> DrawnRun:
    """A run as rows and as a sequence diagram; an action without rows of its own is a note with what it changes.

    Args:
        searched: the system and its instance.
        trace: the run.
        title: of the diagram.
        ending: what is said below it.
    """
    states = list(walked(searched.system, searched.finite, trace))

    def changed(step: int) -> str:
        return f"{_shown(searched, trace[step])}: {_changed(searched, *states[step : step + 2]) or 'changes nothing'}"

    rows = recorded(searched.name, searched.view, trace, states, changed)
    picture = sequence_of(rows, title, ending, captions(searched.view))
    holding = [_holding(searched, state) for state in states]
    lost = tuple(tuple(name for name in one if name not in other) for one, other in pairwise(holding))
    return DrawnRun(trace, tuple(rows), picture, lost)


def _shown(searched: SearchedSystem, happening: Happening) -> str:
    over = searched.system.action(happening.action).over
    at = (f"{sort.name} {value}" for sort, value in zip(over, happening.at, strict=True))
    return f"{happening.action.replace('_', ' ')} ({', '.join(at)})" if over else happening.action.replace("_", " ")


def _changed(searched: SearchedSystem, before: State, after: State) -> str:
    """The scalars that an action changes, with what they are afterwards."""
    found = differing(searched.system, searched.finite, before, after)
    return ", ".join(f"{name}{_place(at)} = {after}" for name, at, _, after in found)


def _place(at: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, at))})" if at else ""


def _holding(searched: SearchedSystem, state: State) -> list[str]:
    def holds(name: str) -> bool:
        claim = searched.system.claim(name)
        return all(claim.holds(state, *at) for at in searched.finite.points(claim.over))

    return [claim.name for claim in searched.system.claims if holds(claim.name)]


def controls(variant: Variant) -> Iterator[ControlResult]:
    """Every control of the release, with the variant's change made to it."""
    for control in CONTROLS:
        expected = "holds" if control.name in variant.spared_by else "violated"
        broken = searched_system(variant, control.knobs)
        claims = [claim for claim in broken.system.theorems if claim.name == control.violates]
        if not claims:
            yield ControlResult(control.name, control.violates, expected, "the variant has no such claim")
            continue
        found = explore(broken.system, broken.finite, claims, most_states=MOST_STATES).verdict
        yield ControlResult(control.name, control.violates, expected, word_of(found))


def word_of(verdict: Verdict) -> str:
    """`violated`, `holds`, or why the search does not know."""
    match verdict:
        case Refuted():
            return "violated"
        case Unknown(reason):
            return reason
        case _:
            return "holds"


def _continued(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]
