"""The unbounded proof about replicas: a leader's high watermark never falls, and is within its log.

For any number of replicas, batches, elections, restarts and losses, with zombies, proposals, and elections that
replicas learn of late. The other rules of replication are searched; their waivers name what a proof would need.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

from spec import rules
from spec.algebra import Term, all_of
from spec.systems.language import Claim, Sort, State, System, given
from spec.systems.replication.claims import high_watermark_is_in_the_log, high_watermark_never_falls
from spec.systems.replication.system import replication
from spec.systems.replication.world import EPOCH, REPLICA, ReplicationKnobs, ReplicationView

_ANY: Final = 10**18
"""More than any run has."""

UNBOUNDED: Final = ReplicationKnobs(
    replicas=_ANY, appends=_ANY, elections=_ANY, losses=_ANY, restarts=True, hears_late=True, min_in_sync=2
)
"""The newest release with every fault, and as many of everything as a run has."""


def _leads(world: ReplicationView, leader: Term) -> Term:
    return all_of(leader >= 0, world.leads(leader))


def leader_counts_itself(world: ReplicationView, leader: Term) -> Term:
    """A replica that takes itself for the leader counts itself in sync, and its own log end as one of the set's."""

    def counts() -> Term:
        return all_of(
            world.state.in_sync_seen(leader, leader),
            world.counted_end(leader, leader) == world.state.length(leader),
        )

    return given(_leads(world, leader), counts)


def leader_awaits_no_reply(world: ReplicationView, leader: Term) -> Term:
    """No answer to a Fetch is on its way to who takes itself for the leader."""
    return given(_leads(world, leader), lambda: world.state.reply(leader).high_watermark < 0)


def leader_is_in_sync(world: ReplicationView) -> Term:
    """The leader that the controller elected is in the in-sync set."""
    return given(world.state.leader() >= 0, lambda: world.state.in_sync(world.state.leader()))


def elected_was_in_sync(world: ReplicationView, epoch: Term) -> Term:
    """So was the leader of each election."""
    elected = world.state.elected(epoch)
    return given(elected.leader >= 0, lambda: world.state.in_sync_then(epoch, elected.leader))


def lengths_are_natural(world: ReplicationView, replica: Term) -> Term:
    """Neither a log nor what is replicated of it is shorter than nothing."""
    return all_of(world.state.length(replica) >= 0, world.state.high_watermark(replica) >= 0)


def reported_is_not_taken_back(world: ReplicationView, leader: Term) -> Term:
    """A leader's high watermark is not below one that it returned in the same epoch."""
    return given(leader >= 0, lambda: high_watermark_never_falls(world, leader))


def watermark_is_in_the_log(world: ReplicationView, replica: Term) -> Term:
    """No replica's high watermark is beyond its own log."""
    return given(replica >= 0, lambda: high_watermark_is_in_the_log(world, replica))


Sentence: TypeAlias = Callable[..., Term]

LEMMAS: Final[tuple[tuple[Sentence, tuple[Sort, ...]], ...]] = (
    (leader_is_in_sync, ()),
    (elected_was_in_sync, (EPOCH,)),
    (lengths_are_natural, (REPLICA,)),
    (leader_counts_itself, (REPLICA,)),
    (leader_awaits_no_reply, (REPLICA,)),
    (watermark_is_in_the_log, (REPLICA,)),
    (reported_is_not_taken_back, (REPLICA,)),
)
"""Each lemma, and what it speaks of; the last two are the theorems."""


def proved(knobs: ReplicationKnobs = UNBOUNDED) -> System:
    """The system with what is proved of it.

    Args:
        knobs: what is in it; by default the true system, without bounds.
    """

    def claim(sentence: Sentence, over: tuple[Sort, ...]) -> Claim:
        def holds(state: State, *at: Term) -> Term:
            return sentence(ReplicationView(knobs, state), *at)

        return Claim(sentence.__name__, rules.REPL_HW_BOUNDS, str(sentence.__doc__), over, holds)

    lemmas = tuple(claim(*each) for each in LEMMAS)
    return replace(replication(knobs), theorems=lemmas[-2:], lemmas=lemmas, goals=())
