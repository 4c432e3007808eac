"""Controls of the independence of transactional ids: each change takes one lemma away."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from spec.algebra import Term, all_of, negate
from spec.systems.language import Effect, State, rewrite, update
from spec.systems.misjudged import Misjudged, step_with
from spec.systems.transactions.frame import frame
from spec.systems.transactions.proof import UNBOUNDED, proved
from spec.systems.transactions.variant import followed, guarded
from spec.systems.transactions.world import DECIDED, OPEN

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


CHANGED: Final[tuple[tuple[str, str, str, Effect], ...]] = (
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
    for what, lemma, action, change in CHANGED:
        yield step_with(what, frame(changed=followed(true, action, change)), lemma, action)
    waits = frame(changed=guarded(true, "leader_appends", _waits_for_another))
    yield step_with(
        "a leader waits for the transaction of another", waits, "cells_of_others_are_not_read", "leader_appends"
    )
    older = frame(replace(UNBOUNDED, without=frozenset({"committed_later"})))
    yield step_with("an older offset replaces the group's", older, "shared_cells_as_assumed", _WRITES)
