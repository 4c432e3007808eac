"""Claims about the replicas in every reachable state: the theorems, and the lemmas beside them."""

from collections.abc import Callable
from typing import Final, TypeAlias

from spec import rules
from spec.algebra import Term, all_of, negate
from spec.rules import Rule
from spec.systems.language import Sort, given
from spec.systems.replication.world import POSITION, REPLICA, ReplicationView
from spec.vocabulary import ABSENT

Sentence: TypeAlias = tuple[Rule, Callable[..., Term], tuple[Sort, ...]]
"""A rule, what holds by it, and the sorts that it speaks of."""

# --- theorems -------------------------------------------------------------------------------------------------


def high_watermark_is_in_every_in_sync_log(world: ReplicationView, leader: Term, replica: Term) -> Term:
    """A replica that takes itself for the leader has a high watermark of at most each in-sync replica's log end."""
    state = world.state
    there = all_of(world.leads(leader), state.in_sync(replica))
    return given(there, lambda: state.high_watermark(leader) <= state.length(replica))


def high_watermark_never_falls(world: ReplicationView, leader: Term) -> Term:
    """A leader's high watermark is not below one that it returned in the same epoch."""
    return given(world.leads(leader), lambda: world.state.reported(leader) <= world.state.high_watermark(leader))


def leader_has_committed_records(world: ReplicationView, replica: Term, position: Term) -> Term:
    """Every leader that the controller elected has every batch that was below a high watermark."""
    return given(world.state.leader() == replica, lambda: _has_committed(world, replica, position))


def replicas_agree_below_high_watermarks(world: ReplicationView, one: Term, other: Term, position: Term) -> Term:
    """Below the high watermarks that two replicas know they have the same batches."""
    state = world.state
    both = all_of(position < state.high_watermark(one), position < state.high_watermark(other))
    return given(both, lambda: same_batch(world, one, other, position))


def followers_have_the_leaders_history(world: ReplicationView, leader: Term, follower: Term, position: Term) -> Term:
    """A follower whose Fetch was answered has what the leader of its epoch has, as far as its log goes.

    Args:
        world: all replicas, the controller, and the messages between them.
        leader: a replica that takes itself for the leader.
        follower: a replica.
        position: in the log, counted in batches from 0.
    """
    state = world.state
    answered = all_of(state.reply(follower).high_watermark >= 0, position < state.length(follower))
    its = world.follows(follower, leader)
    return given(all_of(answered, its), lambda: same_batch(world, leader, follower, position))


# --- lemmas ---------------------------------------------------------------------------------------------------


def in_sync_replicas_have_committed_records(world: ReplicationView, replica: Term, position: Term) -> Term:
    """Every electable replica has every batch that was below a high watermark."""
    return given(world.is_electable(replica), lambda: _has_committed(world, replica, position))


def high_watermark_is_in_the_log(world: ReplicationView, replica: Term) -> Term:
    """No replica's high watermark is beyond its own log."""
    return world.state.high_watermark(replica) <= world.state.length(replica)


def _has_committed(world: ReplicationView, replica: Term, position: Term) -> Term:
    committed = world.state.committed(position)
    return given(negate(committed == ABSENT), lambda: world.state.log(replica, position).batch == committed)


def same_batch(world: ReplicationView, one: Term, other: Term, position: Term) -> Term:
    """Two replicas have the same batch at a position, or both none."""
    return world.state.log(one, position).batch == world.state.log(other, position).batch


THEOREMS: Final[tuple[Sentence, ...]] = (
    (rules.REPL_HW_BOUNDS, high_watermark_is_in_every_in_sync_log, (REPLICA, REPLICA)),
    (rules.REPL_HW_BOUNDS, high_watermark_never_falls, (REPLICA,)),
    (rules.REPL_COMMITTED_SURVIVES, leader_has_committed_records, (REPLICA, POSITION)),
    (rules.REPL_PREFIX_AGREEMENT, replicas_agree_below_high_watermarks, (REPLICA, REPLICA, POSITION)),
    (rules.REPL_PREFIX_AGREEMENT, followers_have_the_leaders_history, (REPLICA, REPLICA, POSITION)),
)
LEMMAS: Final[tuple[Sentence, ...]] = (
    (rules.REPL_COMMITTED_SURVIVES, in_sync_replicas_have_committed_records, (REPLICA, POSITION)),
    (rules.REPL_HW_BOUNDS, high_watermark_is_in_the_log, (REPLICA,)),
)
