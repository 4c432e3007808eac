"""Controls of the theorem of reading: each change takes one lemma away."""

from collections.abc import Iterator
from dataclasses import replace

from spec.algebra import Term
from spec.systems.language import State, rewrite
from spec.systems.misjudged import Misjudged, step_with
from spec.systems.transactions.proof import UNBOUNDED, proved
from spec.systems.transactions.reading import READS, reading
from spec.systems.transactions.variant import followed, with_action
from spec.systems.transactions.world import NOWHERE


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
