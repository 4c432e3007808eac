"""The unbounded proof about replicas: what is committed survives, and replicas agree on it.

It is for any number of replicas, batches, elections, restarts and losses, with eligible leaders, zombies, proposals,
and elections that replicas learn of late. An instance with so many replicas is a state in which no other replica is in
a set: each obligation is about all states that the lemmas allow.

The system of one partition needs one theorem of it: an elected leader has what is committed.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, negate
from spec.systems.language import Claim, Guard, State, System, given
from spec.systems.links import keeps_committed
from spec.systems.replication.history import ONE_LOG_IS_KEPT, with_history
from spec.systems.replication.lemmas import LEMMAS, RESTS_ON, Lemma
from spec.systems.replication.log_lemmas import ReplicationLemmaView
from spec.systems.replication.system import replication
from spec.systems.replication.world import POSITION, REPLICA, ReplicationKnobs
from spec.vocabulary import ABSENT

_ANY: Final = 10**18
"""More than any run has."""

UNBOUNDED: Final = ReplicationKnobs(
    replicas=_ANY, appends=_ANY, elections=_ANY, losses=_ANY, restarts=True, hears_late=True, min_in_sync=2
)
"""The newest release with every fault, and as many of everything as a run has."""


def proved(knobs: ReplicationKnobs = UNBOUNDED, assumed: Mapping[str, Guard] = ONE_LOG_IS_KEPT) -> System:
    """The system with what is proved of it: its theorems, about what its instances have, and the lemmas.

    Args:
        knobs: what is in it; by default the true system, without bounds.
        assumed: what is assumed of its actions.
    """

    def claim(lemma: Lemma) -> Claim:
        def holds(state: State, *at: Term) -> Term:
            return lemma.sentence(ReplicationLemmaView(knobs, state), *at)

        names = frozenset(one.__name__ for one in lemma.rests_on)
        return Claim(lemma.name, lemma.rule, str(lemma.sentence.__doc__), lemma.over, holds, names, lemma.at_sight_of)

    system = replication(knobs)
    lemmas = tuple(map(claim, LEMMAS))
    theorems = tuple(map(_of_natural_numbers, system.theorems))
    return replace(with_history(system, assumed), theorems=theorems, lemmas=lemmas, goals=())


def _of_natural_numbers(theorem: Claim) -> Claim:
    """What an instance has is numbered from 0; the unbounded proof says so."""

    def holds(state: State, *at: Term) -> Term:
        return given(all_of(*(each >= 0 for each in at)), lambda: theorem.holds(state, *at))

    rests_on = next(lemmas for sentence, lemmas in RESTS_ON.items() if sentence.__name__ == theorem.name)
    return replace(theorem, holds=holds, rests_on=frozenset(one.__name__ for one in rests_on))


# --- what the partition needs -----------------------------------------------------------------------------------------


LOGS: Final = frozenset({"log_is_filled", "batches_are_numbered"})
"""Lemmas about logs that the theorem needs besides those of the theorem of the replicas."""


def elected_leader_keeps_committed(state: State, replica: Term, position: Term) -> Term:
    """The log of a leader that the controller elected has each batch that was below a high watermark, where it was."""
    committed, length = state.committed(position), state.length(replica)
    same = state.log(replica, position).batch == committed
    elected = all_of(replica >= 0, position >= 0, state.leader() == replica)
    return given(elected, lambda: keeps_committed(negate(committed == ABSENT), position, length, same))


def kept() -> System:
    """The system whose theorem is that an elected leader keeps what is committed."""
    system = proved()
    sentence = elected_leader_keeps_committed
    rests_on = system.claim("leader_has_committed_records").rests_on | LOGS
    theorem = Claim(
        sentence.__name__,
        rules.REPL_COMMITTED_SURVIVES,
        str(sentence.__doc__),
        (REPLICA, POSITION),
        sentence,
        rests_on,
    )
    return replace(
        system,
        name="kept",
        actions=(),
        theorems=(theorem,),
        lemmas=(),
        goals=(),
        taken=system.lemmas,
        taken_from=system.name,
    )
