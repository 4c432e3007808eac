"""What the replicas give to the partition: an elected leader has what is committed."""

from dataclasses import replace
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, negate
from spec.systems.language import Claim, State, System, given
from spec.systems.links import keeps_committed
from spec.systems.replication.proof import proved
from spec.systems.replication.world import POSITION, REPLICA
from spec.vocabulary import ABSENT

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
