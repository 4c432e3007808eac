"""Controls of lemmas about transactions: each takes a lemma away, or is a step that the judge must not accept."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, TypeAlias

from spec.algebra import Term, all_of, negate
from spec.systems.language import Action, Effect, State, always, rewrite, update
from spec.systems.misjudged import Misjudged, step_of, step_with
from spec.systems.transactions.completion import COMPLETES, FAULT, WRITES, Completion, completion
from spec.systems.transactions.frame import frame
from spec.systems.transactions.proof import UNBOUNDED, proved
from spec.systems.transactions.reading import READS, reading
from spec.systems.transactions.variant import followed, guarded, with_action
from spec.systems.transactions.world import CONFIRMED, DECIDED, NOWHERE, OPEN, TransactionKnobs
from spec.vocabulary import ABSENT, TransactionState

# --- coordinators complete transactions -------------------------------------------------------------------------------


_SENT, _KNOWN = "present_coordinator_sends", "marked_is_known"


def _sends_nothing(before: State, after: State, *_: Term) -> State:
    return after.but(sent_by=before.sent_by)


def _counts_as_written(before: State, after: State, partition: Term) -> State:
    def of_stopped(decision: Term, p: Term) -> Term:
        return all_of(decision == before.decision(), p == partition)

    return after.but(marked=rewrite(before.marked, of_stopped, lambda *_: before.coordinator_epoch()))


def _forgets_the_answer(before: State, after: State, *_: Term) -> State:
    return after.but(marked=before.marked)


def _forgets_the_coordinator(before: State, after: State, *_: Term) -> State:
    return after.but(latest_coordinator=before.latest_coordinator)


def _stays_prepared(before: State, after: State, *_: Term) -> State:
    return after.but(decision=before.decision)


def _marks_everything(_: State, after: State, *__: Term) -> State:
    return after.but(to_mark=lambda *_: True)


def _waits_for_the_last_one_too(state: State, *_: Term) -> Iterator[Term]:
    yield state.unmarked_by(state.decision(), state.coordinator_epoch() - 1) == ABSENT


UNCOMPLETED: Final[tuple[tuple[str, str, str, Effect], ...]] = (
    ("a new coordinator sends no marker", _SENT, FAULT, _sends_nothing),
    ("a coordinator sends no marker", _SENT, "coordinator_ends", _sends_nothing),
    (
        "a leader that stops counts as one that wrote its marker",
        "waits_until_marked",
        "leader_fails_over",
        _counts_as_written,
    ),
    ("the answer to a marker is forgotten", "marker_lowers_rank", WRITES, _forgets_the_answer),
    ("a leader forgets whose marker it wrote", _KNOWN, WRITES, _forgets_the_coordinator),
    ("Complete leaves the outcome to be carried out", "completion_ends_it", COMPLETES, _stays_prepared),
    ("every partition gets a marker", "rank_is_finite", "coordinator_ends", _marks_everything),
)
"""What is wrong, the lemma that is lost, the action that loses it, and what this leaves."""


def uncompleted() -> Iterator[Misjudged]:
    """Each control, with its system."""
    true = proved()
    for what, lemma, action, change in UNCOMPLETED:
        yield step_with(what, completion(changed=followed(true, action, change)), lemma, action)
    fails = Completion(UNBOUNDED, true).never_more(true.action(FAULT))
    yield Misjudged("coordinators fail for ever", completion(), fails)
    impatient = completion(changed=guarded(true, COMPLETES, _waits_for_the_last_one_too))
    yield step_with("Complete waits for the coordinator before, too", impatient, "completion_is_possible")
    unrepeated = completion(replace(UNBOUNDED, repeated_marker_accepted=False))
    yield step_with("KAFKA-19999: a repeated marker is refused", unrepeated, "marker_is_possible")
    let = completion(replace(UNBOUNDED, without=frozenset({"stale_coordinator"})))
    yield step_with("a marker of an earlier coordinator is let in", let, "rank_never_rises", WRITES)


# --- what other ids leave unchanged -----------------------------------------------------------------------------------


_STARTS, _BUMPS, _WRITES = "coordinator_initializes", "coordinator_bumps", "leader_writes_marker"


def _draws_again(before: State, after: State, *_: Term) -> State:
    return after.but(drawn=before.drawn)


def _marks_another(before: State, after: State, *_: Term) -> State:
    decision = before.decisions()
    marker = after.marker(decision)
    another = replace(marker, producer_id=marker.producer_id + 1)
    return after.but(marker=update(after.marker, decision, to=another))


def _ends_everything(before: State, after: State, decision: Term, _: Term, partition: Term) -> State:
    def is_open(txn: Term, p: Term, batch: Term) -> Term:
        return all_of(p == partition, before.data(txn, p, batch) == OPEN)

    return after.but(data=rewrite(before.data, is_open, lambda *_: DECIDED + decision))


def _waits_for_another(state: State, txn: Term, partition: Term, _: Term) -> Iterator[Term]:
    yield negate(state.entry(state.identity(txn).producer_id + 1, partition).in_transaction)


UNFRAMED: Final[tuple[tuple[str, str, str, Effect], ...]] = (
    ("a producer id is drawn again", "coordinator_has_own_ids", _STARTS, _draws_again),
    ("a producer id is drawn again", "instance_has_own_id", _STARTS, _draws_again),
    ("a producer id is drawn again", "transaction_has_own_ids", _BUMPS, _draws_again),
    (
        "another id draws a producer id that is drawn again",
        "next_id_is_nobodys",
        "other_id_draws_producer_id",
        _draws_again,
    ),
    ("a marker has another producer id", "marker_has_own_id", "coordinator_ends", _marks_another),
    ("a marker ends every transaction of its partition", "cells_of_others_stay", _WRITES, _ends_everything),
)
"""What is wrong, the lemma that is lost, the action that loses it, and what this leaves."""


def unframed() -> Iterator[Misjudged]:
    """Each control, with its system."""
    true = proved()
    for what, lemma, action, change in UNFRAMED:
        yield step_with(what, frame(changed=followed(true, action, change)), lemma, action)
    waits = frame(changed=guarded(true, "leader_appends", _waits_for_another))
    yield step_with(
        "a leader waits for the transaction of another", waits, "cells_of_others_are_not_read", "leader_appends"
    )
    older = frame(replace(UNBOUNDED, without=frozenset({"committed_later"})))
    yield step_with("an older offset replaces the group's", older, "shared_cells_as_assumed", _WRITES)


# --- readers ----------------------------------------------------------------------------------------------------------


def _stays(before: State, after: State, *_: Term) -> State:
    return after.but(position=before.position)


def _reads_what_is_behind(state: State, reader: Term, txn: Term, partition: Term, batch: Term) -> Iterator[Term]:
    yield state.offset(txn, partition, batch) <= state.position(reader, partition)


def _loses_its_log(before: State, after: State, partition: Term) -> State:
    return after.but(data=rewrite(before.data, lambda _, p, __: p == partition, lambda *_: NOWHERE))


def unread() -> Iterator[Misjudged]:
    """Each control, with its system."""
    true = proved()
    gap = reading(replace(UNBOUNDED, without=frozenset({"successor"})))
    yield step_with("a gap in the sequence is let in", gap, "log_is_in_order", "leader_appends")
    stays = reading(changed=followed(true, READS, _stays))
    yield step_with("a reader stays where it is", stays, "received_is_behind", READS)
    again = reading(changed=with_action(true, READS, guard=_reads_what_is_behind))
    yield step_with("a reader fetches what is behind it", again, "given_once", READS)
    forgets = reading(replace(UNBOUNDED, state_expires=True))
    yield step_with("producer state expires", forgets, "partition_steps_are_durable", "leader_forgets")
    loses = reading(changed=followed(true, "leader_fails_over", _loses_its_log))
    yield step_with("a new leader has nothing", loses, "nothing_in_the_log_is_lost", "leader_fails_over")


# --- judged steps -----------------------------------------------------------------------------------------------------


Change: TypeAlias = Callable[[State, State], State]
"""The state that a defect leaves, from the states before and after a step."""


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
"""For each lemma, by its sentence: what is wrong with the step, and the state that the step leaves."""

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
    """Each control, with the system in which its step is possible."""
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
