"""What has happened to the replicas so far, as functions of the state that no decision reads.

A proof by induction sees one state. These ghosts keep what a run has left behind: the log of each leader epoch,
which epoch committed what, and how far a replica's log is known to be that of an earlier epoch.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from spec.algebra import Term, all_of, any_of, choose, negate
from spec.systems.language import Action, Guard, State, System, Variable, always, rewrite, update
from spec.systems.replication.world import EPOCH, NOTHING, POSITION, REPLICA
from spec.vocabulary import ABSENT

HISTORY: Final = (
    # of each epoch: whether its leader has begun to lead, and the log of that leader as long as it led
    Variable("begins", (EPOCH,), initial=False),
    Variable("epoch_log", (EPOCH, POSITION), NOTHING),
    Variable("epoch_length", (EPOCH,), 0),
    # the last epoch that a replica was elected for
    Variable("last_elected", (REPLICA,), ABSENT),
    # one that may be elected
    Variable("keeper", (), 0),
    # how far a replica's log is that of an epoch, and who never gets further there; -1 where that is itself
    Variable("shared", (EPOCH, REPLICA), 0),
    Variable("slowest", (EPOCH, REPLICA), ABSENT),
    # of what is committed: the leader epoch of the batch, and the epoch of the leader that committed it
    Variable("committed_batch_epoch", (POSITION,), ABSENT),
    Variable("committed_in", (POSITION,), ABSENT),
)

Kept: TypeAlias = Callable[..., State]
"""From the state before an action, the one after it without its ghosts, and the arguments, to the state after it."""


def with_history(system: System, assumed: Mapping[str, Guard]) -> System:
    """The same system, in which every action also keeps the history.

    Args:
        system: the replicas.
        assumed: what is assumed of an action besides its guard, by its name.
    """
    actions = tuple(_remembering(action, assumed.get(action.name, _nothing)) for action in system.actions)
    return replace(system, variables=(*system.variables, *HISTORY), actions=actions)


def has_begun(state: State, epoch: Term) -> Term:
    """Some replica has learned that it leads in this epoch; in the first one it does from the start."""
    return any_of(epoch == 0, state.begins(epoch))


def slowest(state: State, epoch: Term, replica: Term) -> Term:
    """Who never gets further in an epoch than a replica's log has of it."""
    other = state.slowest(epoch, replica)
    return choose(other == ABSENT, replica, other)


def _remembering(action: Action, assumed: Guard) -> Action:
    kept = KEPT.get(action.name)

    def guard(state: State, *at: Term) -> Iterator[Term]:
        yield all_of(*(each >= 0 for each in at))  # as in every instance
        yield from assumed(state, *at)
        yield from action.guard(state, *at)

    def effect(state: State, *at: Term) -> State:
        after = action.effect(state, *at)
        return after if kept is None else kept(state, after, *at)

    return replace(action, guard=guard, effect=effect)


def _nothing(*_: Any) -> Iterator[Term]:
    return iter(())


def _one_log_is_kept(state: State, replica: Term, kept: Term) -> Iterator[Term]:
    """Whoever loses records is not the last that may be elected."""
    yield any_of(kept == state.length(replica), state.other_candidate(replica) >= 0)


ONE_LOG_IS_KEPT: Final[Mapping[str, Guard]] = MappingProxyType({"broker_restarts": _one_log_is_kept})
"""What is assumed of losses, however many there are."""

LOSSES_ARE_COUNTED: Final[Mapping[str, Guard]] = MappingProxyType({})
"""Nothing more: in an instance there are fewer losses than min.insync.replicas, which says the same."""


def _committed(before: State, after: State, leader: Term) -> State:
    """What is committed now, and was not, is so by this leader."""

    def newly(position: Term) -> Term:
        return all_of(before.committed(position) == ABSENT, negate(after.committed(position) == ABSENT))

    epoch = before.view(leader).epoch
    return after.but(
        committed_in=rewrite(before.committed_in, newly, lambda _: epoch),
        committed_batch_epoch=rewrite(
            before.committed_batch_epoch, newly, lambda position: after.log(leader, position).epoch
        ),
    )


def _appended(before: State, after: State, leader: Term) -> State:
    epoch, end = before.view(leader).epoch, before.length(leader)
    return _committed(before, after, leader).but(
        epoch_log=update(before.epoch_log, epoch, end, to=after.log(leader, end)),
        epoch_length=update(before.epoch_length, epoch, to=end + 1),
    )


def _fetched(before: State, after: State, leader: Term, follower: Term) -> State:
    """Up to its end the follower's log is that of the leader's epoch."""
    epoch = before.view(leader).epoch
    return after.but(shared=update(before.shared, epoch, follower, to=before.length(follower)))


def _truncated(before: State, after: State, leader: Term, follower: Term) -> State:
    """The follower keeps what it shares with its leader: of earlier epochs perhaps no more than that one has."""

    def less(epoch: Term, replica: Term) -> Term:
        earlier = all_of(replica == follower, epoch < before.view(follower).epoch)
        return all_of(earlier, before.shared(epoch, leader) < before.shared(epoch, follower))

    return _as_its_leader(before, after, less, leader)


def _returned(before: State, after: State, leader: Term) -> State:
    """Of earlier epochs the follower has what its leader had when it began to lead."""
    follower, now = before.view(leader).proposed, before.view(leader).epoch
    earlier = _as_its_leader(before, after, lambda epoch, replica: all_of(replica == follower, epoch < now), leader)
    return earlier.but(keeper=always(leader))


def _left(before: State, after: State, replica: Term) -> State:
    gone = all_of(before.keeper() == replica, negate(after.eligible(replica)))
    return after.but(keeper=always(choose(gone, before.other_in_sync(replica), before.keeper())))


def _as_its_leader(before: State, after: State, where: Callable[..., Term], leader: Term) -> State:
    return after.but(
        shared=rewrite(before.shared, where, lambda epoch, _: before.shared(epoch, leader)),
        slowest=rewrite(before.slowest, where, lambda epoch, _: slowest(before, epoch, leader)),
    )


def _elected(before: State, after: State, replica: Term) -> State:
    return after.but(last_elected=update(before.last_elected, replica, to=after.epoch()), keeper=always(replica))


def _heard(before: State, after: State, replica: Term, *_: Term) -> State:
    """An epoch begins where its leader learns of it."""
    epoch = after.view(replica).epoch
    begins = all_of(after.view(replica).leader == replica, negate(has_begun(before, epoch)))
    return after.but(
        begins=rewrite(before.begins, lambda e: all_of(begins, e == epoch), lambda _: True),
        epoch_log=rewrite(
            before.epoch_log, lambda e, _: all_of(begins, e == epoch), lambda _, position: before.log(replica, position)
        ),
        epoch_length=rewrite(
            before.epoch_length, lambda e: all_of(begins, e == epoch), lambda _: before.length(replica)
        ),
    )


def _restarted(before: State, after: State, replica: Term, kept: Term) -> State:
    """What is lost is shared no more."""

    def lost(epoch: Term, other: Term) -> Term:
        return all_of(other == replica, before.shared(epoch, other) > kept)

    gone = all_of(before.keeper() == replica, kept < before.length(replica))
    return after.but(
        shared=rewrite(before.shared, lost, lambda *_: kept),
        keeper=always(choose(gone, before.other_candidate(replica), before.keeper())),
    )


KEPT: Final[dict[str, Kept]] = {
    "producer_appends": _appended,
    "leader_answers_fetch": _fetched,
    "follower_truncates": _truncated,
    "leader_raises_high_watermark": _committed,
    "controller_lets_return": _returned,
    "replica_leaves_in_sync_set": _left,
    "controller_elects": _elected,
    "replica_learns_newest_election": _heard,
    "replica_learns_past_election": _heard,
    "broker_restarts": _restarted,
}
"""What each action leaves in the history, where it leaves anything."""
