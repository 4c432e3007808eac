"""Runs that show why an obligation fails: a shortest violation, and the steps at which claims are lost.

The first such step is a reachable counterexample to induction: every lemma holds before it, and some lemma does not
hold after it. So no solver could prove that its action keeps the lemmas. Every control of the replicas is compared with
their proof in this way.
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from model_tests.verify.model_checking import Instanced, vacuous
from model_tests.verify.results import Control
from spec.engines.bmc import search
from spec.engines.explore import explore, walked
from spec.engines.finite import instance_of
from spec.engines.induction import ALWAYS, Obligation, Prover
from spec.engines.solving import USUAL, SolverSettings
from spec.engines.verdict import Happening, Proved, Refuted, Trace
from spec.rules import Rule
from spec.systems.language import State, System
from spec.systems.replication.controls import CONTROLS, BrokenReplication
from spec.systems.replication.history import LOSSES_ARE_COUNTED
from spec.systems.replication.lemmas import LEMMAS
from spec.systems.replication.proof import proved
from spec.systems.replication.world import ReplicationKnobs

CONFIRMED: Final = 12
"""Runs up to this length are searched by the bounded search too, which must find the same length."""

MOST_STATES: Final = 60_000
"""States that a search for a run visits at most, so that a search in vain ends."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A step of a run that leads from a state in which a claim holds to one in which it does not."""

    obligation: Obligation
    step: int


@dataclass(frozen=True, slots=True)
class ViolatingRun:
    """A shortest run from the start that violates a theorem of a rule.

    Attributes:
        where: what differs from the claim; empty if nothing does.
        theorem: which; empty where there is no such run.
        open: the obligations that fail there.
        lost: where the run loses what is not proved, the first one first.
        searched: how many states were seen.
    """

    where: str
    theorem: str
    trace: Trace
    open: tuple[Obligation, ...]
    lost: tuple[Lost, ...]
    searched: int

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self.theorem)

    def lines(self) -> Iterator[str]:
        """The run, a step a line, with what each step loses."""
        yield f"{f'{self.where}, ' if self.where else ''}a run of {len(self.trace)} steps violates {self.theorem}:"
        yield from (f"  {number + 1:2} {step}{self._losses(number)}" for number, step in enumerate(self.trace))

    def _losses(self, step: int) -> str:
        names = ", ".join(each.obligation.claim for each in self.lost if each.step == step)
        return f"   <- not kept: {names}" if names else ""


def run_against(rule: Rule, instance: Instanced, unproved: Iterable[Obligation], where: str = "") -> ViolatingRun:
    """The shortest run of an instance that violates a theorem of the rule.

    Args:
        rule: whose theorems.
        instance: where it is looked for; its system has the lemmas, too.
        unproved: the rule's obligations that fail.
        where: what differs from the claim.
    """
    requested = [claim for claim in instance.system.theorems if claim.rule == rule]
    exploration = explore(instance.system, instance.finite, requested, most_states=MOST_STATES)
    found, failing = exploration.verdict, tuple(unproved)
    if not isinstance(found, Refuted):
        return ViolatingRun(where, "", (), failing, (), exploration.states)
    _confirm(instance, found)
    lost = tuple(_lost(instance, found.trace, failing))
    return ViolatingRun(where, found.claim, found.trace, failing, lost, exploration.states)


def open_along(
    system: System, instance: Instanced, trace: Trace, settings: SolverSettings = USUAL
) -> tuple[Obligation, ...]:
    """The obligations of the lemmas that the steps of a run lose, as the solver leaves them, each once.

    Args:
        system: without bounds.
        instance: a finite one of it.
        trace: a run of the instance.
        settings: the solver's settings.

    Raises:
        AssertionError: one is proved, although a run breaks it with every lemma in force before.
    """
    prover, known = Prover(system, settings), {lemma.name for lemma in system.lemmas}
    steps = lost_claims(instance, trace)
    due = dict.fromkeys((name, step.action) for _, step, names in steps for name in names if name in known)
    found = tuple(prover.keeps(system.claim(name), system.action(action)) for name, action in due)
    if found and isinstance(found[0].verdict, Proved):
        raise AssertionError(f"{found[0]} is proved, and a run breaks it")
    return tuple(obligation for obligation in found if not isinstance(obligation.verdict, Proved))


def _confirm(instance: Instanced, found: Refuted) -> None:
    if found.depth > CONFIRMED:
        return
    again = search(instance.plain, instance.finite, found.depth, [instance.plain.claim(found.claim)], found.depth)
    if not isinstance(again.verdict, Refuted) or again.verdict.depth != found.depth:
        raise AssertionError(f"explicit search says {found}, bounded search {again.verdict}")


def _lost(instance: Instanced, trace: Trace, unproved: tuple[Obligation, ...]) -> Iterator[Lost]:
    for number, step, names in lost_claims(instance, trace):
        for obligation in unproved:
            if obligation.claim in names and obligation.action in (step.action, ALWAYS):
                yield Lost(obligation, number)


def lost_claims(instance: Instanced, trace: Trace) -> Iterator[tuple[int, Happening, list[str]]]:
    """Each step of a run by its place, from 0 on, with the claims that hold before it and not after."""
    before: list[str] | None = None
    for number, state in enumerate(walked(instance.system, instance.finite, trace)):
        holding = [claim.name for claim in instance.system.claims if _holds(instance, state, claim.name)]
        if before is not None:
            yield number - 1, trace[number - 1], [name for name in before if name not in holding]
        before = holding


def _holds(instance: Instanced, state: State, name: str) -> bool:
    claim = instance.system.claim(name)
    return all(claim.holds(state, *at) for at in instance.finite.points(claim.over))


# --- the controls of the replicas -------------------------------------------------------------------------------------


def lemma_controls(requested: Container[Rule]) -> Iterator[Control]:
    """The controls that violate a theorem of some rules: each must lose a lemma on the way.

    Args:
        requested: the rules.
    """
    for change in CONTROLS:
        instance = proved_instance(change)
        rule = instance.system.claim(change.violates).rule
        if rule in requested:
            yield _control(change, rule, instance)


TRUE: Final = (
    ReplicationKnobs(appends=1, elections=1, hears_late=True, restarts=True),
    ReplicationKnobs(appends=1, elections=2, hears_late=True),
)
"""Instances of the true system: in one of them each action happens."""


def lacking() -> Iterator[str]:
    """What makes the lemmas vacuous: a lemma that some state refutes, an action that never happens."""
    systems = ((proved(knobs, LOSSES_ARE_COUNTED), knobs) for knobs in TRUE)
    yield from vacuous(
        Instanced(f"the lemmas, {knobs}", system, system, instance_of(system, knobs.sizes()))
        for system, knobs in systems
    )


def proved_instance(change: BrokenReplication) -> Instanced:
    """The instance of a control with lemmas and history, in which losses are counted."""
    knobs = replace(change.knobs, hears_late=True)
    system = proved(knobs, LOSSES_ARE_COUNTED)
    return Instanced(change.name, system, system, instance_of(system, knobs.sizes()))


def violating_run(change: BrokenReplication, instance: Instanced) -> Trace:
    """A shortest run of a control that violates its theorem; empty where there is none."""
    found = explore(instance.system, instance.finite, [instance.system.claim(change.violates)]).verdict
    return found.trace if isinstance(found, Refuted) else ()


def _control(change: BrokenReplication, rule: Rule, instance: Instanced) -> Control:
    trace, lemmas = violating_run(change, instance), {lemma.name for lemma in LEMMAS}
    steps = ((number, step, lemmas.intersection(lost)) for number, step, lost in lost_claims(instance, trace))
    lost = [f"step {number + 1}, {step}, loses {', '.join(sorted(names))}" for number, step, names in steps if names]
    detail = f"{len(trace)} steps to {change.violates}: {'; '.join(lost) or 'no lemma is lost'}"
    got = "lost" if lost else "kept"
    return Control(f"the lemmas with {change.name}", rule, "lost", got, detail, instance.system.name)
