"""Controls of the ranking by which prepared transactions complete: each change takes one lemma away."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from spec.algebra import Term, all_of
from spec.systems.language import Effect, State, rewrite
from spec.systems.misjudged import Misjudged, step_with
from spec.systems.transactions.completion import COMPLETES, FAULT, WRITES, Completion, completion
from spec.systems.transactions.proof import UNBOUNDED, proved
from spec.systems.transactions.variant import followed, guarded
from spec.vocabulary import ABSENT

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


CHANGED: Final[tuple[tuple[str, str, str, Effect], ...]] = (
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
    for what, lemma, action, change in CHANGED:
        yield step_with(what, completion(changed=followed(true, action, change)), lemma, action)
    fails = Completion(UNBOUNDED, true).never_more(true.action(FAULT))
    yield Misjudged("coordinators fail for ever", completion(), fails)
    impatient = completion(changed=guarded(true, COMPLETES, _waits_for_the_last_one_too))
    yield step_with("Complete waits for the coordinator before, too", impatient, "completion_is_possible")
    unrepeated = completion(replace(UNBOUNDED, repeated_marker_accepted=False))
    yield step_with("KAFKA-19999: a repeated marker is refused", unrepeated, "marker_is_possible")
    let = completion(replace(UNBOUNDED, without=frozenset({"stale_coordinator"})))
    yield step_with("a marker of an earlier coordinator is let in", let, "rank_never_rises", WRITES)
