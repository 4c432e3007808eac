"""Every control of the replicas against their proof: a shortest violating run, and the lemmas that its steps lose.

The first such step leads from a state in which every lemma holds to one in which some do not: no solver could prove
that its action keeps them.
"""

from collections.abc import Container, Iterator
from dataclasses import replace
from typing import Final

from model_tests.verify.breaking import lost_claims
from model_tests.verify.model_checking import Instanced, vacuous
from model_tests.verify.results import Control
from spec.engines.explore import explore
from spec.engines.finite import instance_of
from spec.engines.verdict import Refuted, Trace
from spec.rules import Rule
from spec.systems.replication.controls import CONTROLS, BrokenReplication
from spec.systems.replication.history import LOSSES_ARE_COUNTED
from spec.systems.replication.lemmas import LEMMAS
from spec.systems.replication.proof import proved
from spec.systems.replication.world import ReplicationKnobs


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
    """What keeps the lemmas from being about something: one that some state refutes, an action that never happens."""
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
