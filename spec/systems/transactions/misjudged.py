"""Controls of what ties the system of transactions to the judge: steps that the judge must not agree with."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, TypeAlias

from spec.algebra import Term
from spec.systems.language import Action, State, always
from spec.systems.misjudged import Misjudged, step_of
from spec.systems.transactions.proof import UNBOUNDED, proved
from spec.systems.transactions.world import CONFIRMED, TransactionKnobs
from spec.vocabulary import ABSENT, TransactionState

Change: TypeAlias = Callable[[State, State], State]
"""From the states before and after a step to the state that a defect leaves."""


def _memory_stays(before: State, after: State) -> State:
    return after.but(memory=before.memory)


def _epoch_rises(_: State, after: State) -> State:
    memory = after.memory()
    return after.but(memory=always(replace(memory, producer_epoch=memory.producer_epoch + 1)))


def _still_pending(before: State, after: State) -> State:
    return after.but(memory=always(replace(after.memory(), pending=before.memory().pending)))


def _nothing_pending(_: State, after: State) -> State:
    return after.but(memory=always(replace(after.memory(), pending=ABSENT)))


def _commits(_: State, after: State) -> State:
    return after.but(memory=always(replace(after.memory(), state=TransactionState.PREPARE_COMMIT.value)))


def _entry_stays(before: State, after: State) -> State:
    return after.but(entry=before.entry)


def _confirmed(_: State, after: State) -> State:
    return after.but(phase=always(CONFIRMED))


def _empties(_: State, after: State) -> State:
    return after.but(memory=always(replace(after.memory(), state=TransactionState.EMPTY.value)))


CHANGED: Final[tuple[tuple[str, str, Change], ...]] = (
    ("initializes", "the epoch stays as it was", _memory_stays),
    ("bumps", "the epoch stays as it was", _memory_stays),
    ("fences", "the open transaction is left as it is", _memory_stays),
    ("bump_fences", "the epoch is raised twice", _epoch_rises),
    ("times_out", "the transaction is committed", _commits),
    ("adds", "the transaction is not opened", _memory_stays),
    ("adds_offsets", "the transaction is not opened", _memory_stays),
    ("verifies", "the transaction is not opened", _memory_stays),
    ("verifies_only", "every partition is confirmed", _confirmed),
    ("ends", "Complete is not pending", _nothing_pending),
    ("completes", "Complete is still pending", _still_pending),
    ("fails_over", "the decided transaction is not continued", _nothing_pending),
    ("appends", "what is known of the producer stays as it was", _entry_stays),
    ("marker", "the transaction stays open on the partition", _entry_stays),
    ("commits", "what is known of the producer stays as it was", _entry_stays),
    ("start_refused", "the epoch is raised all the same", _epoch_rises),
    ("bump_refused", "the epoch is raised all the same", _epoch_rises),
    ("too_young", "the transaction is given up", _empties),
    ("add_refused", "the epoch is raised all the same", _epoch_rises),
    ("verifying_refused", "the epoch is raised all the same", _epoch_rises),
    ("end_refused", "the transaction is given up", _empties),
)
"""Of each lemma by its sentence: what is wrong with the step, and the state that it leaves."""

KNOBS: Final[tuple[tuple[str, str, int, dict[str, Any]], ...]] = (
    ("times_out", "KAFKA-6119: a timeout does not raise the epoch", 1, {"timeout_bumps": False}),
    ("fences", "KAFKA-9666: a failed fence is forgotten", 1, {"failed_fence_remembered": False}),
    ("ends", "the end takes effect before it is durable", 2, {"waits_for_log": False}),
    ("initializes", "the identity is given before it is durable", 2, {"waits_for_log": False}),
    ("appends", "a gap in the sequence is let in", 2, {"without": frozenset({"successor"})}),
    ("marker", "a marker of an earlier coordinator is let in", 2, {"without": frozenset({"stale_coordinator"})}),
    ("commits", "a past generation commits", 2, {"without": frozenset({"generation_other"})}),
)
"""Known bugs and steps left out, as the controls of the proofs have them: the lemma, and the knobs of the system."""


def misjudged_transactions() -> Iterator[Misjudged]:
    """Each control, with the system in which its step is one."""
    systems = {version: proved(_under(version)) for version in (2, 1)}
    for sentence, what, change in CHANGED:
        name = f"{sentence}_as_judged"
        system = next(one for one in systems.values() if any(lemma.name == name for lemma in one.steps))
        lemma = step_of(system, name)
        yield Misjudged(what, system, replace(lemma, action=_changed(lemma.action, change)))
    for sentence, what, version, knobs in KNOBS:
        system = proved(replace(_under(version), **knobs))
        yield Misjudged(what, system, step_of(system, f"{sentence}_as_judged"))


def _under(version: int) -> TransactionKnobs:
    return replace(UNBOUNDED, profile=UNBOUNDED.profile.under(version))


def _changed(action: Action, change: Change) -> Action:
    def effect(state: State, *at: Term) -> State:
        return change(state, action.effect(state, *at))

    return replace(action, effect=effect)
