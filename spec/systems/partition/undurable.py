"""Controls of the refinement of the durable partition: each change takes one lemma away."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from spec.algebra import Term
from spec.systems.language import Action, State
from spec.systems.misjudged import Misjudged, step_with
from spec.systems.partition.durable import Refinement, durable
from spec.systems.partition.log import PartitionKnobs

_RUN, _STAYS = "each_batch_is_one_durable_step", "committed_prefix_stays"


def guarded_more(elects: Action) -> Action:
    """An election of a leader that has the whole log."""

    def guard(state: State, partition: Term, to: Term, known: Term) -> Iterator[Term]:
        yield from elects.guard(state, partition, to, known)
        yield to == state.length(partition)

    return replace(elects, guard=guard)


CHANGED: Final = (
    ("unclean election", _STAYS, "leader_fails_over", PartitionKnobs(clean_elections=False)),
    ("a new leader knows nothing of producers", _STAYS, "leader_fails_over", PartitionKnobs(replays=False)),
    ("producer state expires", _STAYS, "leader_forgets", PartitionKnobs(state_expires=True)),
    (
        "a failed append changes what is known of its producer",
        _STAYS,
        "append_fails",
        PartitionKnobs(failed_append_undone=False),
    ),
    ("a marker does not end the transaction", _RUN, "coordinator_writes_marker", PartitionKnobs(marker_ends=False)),
)
"""What is wrong, the lemma that is lost, the action that loses it, and the knobs that make it so."""


def undurable() -> Iterator[Misjudged]:
    """Each control, with its system."""
    for what, lemma, action, knobs in CHANGED:
        yield step_with(what, durable(knobs), lemma, action)
    system = durable()
    of = Refinement(PartitionKnobs())
    fails = next(action for action in of.actions if action.name == "leader_fails_over")
    more = of.assumes_no_more(guarded_more(fails))
    yield Misjudged("an election is assumed to lose nothing", system, more)
    yield Misjudged("all below the high watermark is mapped", system, of.stays(fails, "visible"))
