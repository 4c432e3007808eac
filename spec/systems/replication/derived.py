"""What follows from the state of the replicas, however many there are: each the least of some values."""

from spec.algebra import Term, all_of, any_of, choose, negate
from spec.systems.language import Least, State
from spec.systems.replication.world import EPOCH, POSITION, REPLICA, ReplicationKnobs, ReplicationView
from spec.vocabulary import ABSENT


def derived(knobs: ReplicationKnobs) -> tuple[Least, ...]:
    """Where a later epoch begins in a log, who may be elected, and how far those are that hold the watermark back."""

    def first_later(state: State, replica: Term, epoch: Term, position: Term) -> Term:
        entry = state.log(replica, position)
        return choose(all_of(entry.batch >= 0, entry.epoch > epoch), position, ABSENT)

    def least_end(state: State, leader: Term, replica: Term) -> Term:
        return ReplicationView(knobs, state).counted_end(leader, replica)

    def majority_end(state: State, leader: Term, one: Term, other: Term) -> Term:
        left, right = (
            ReplicationView(knobs, state).known_end(leader, one),
            ReplicationView(knobs, state).known_end(leader, other),
        )
        return choose(one == other, ABSENT, choose(left < right, right, left))

    def first_in_sync(state: State, replica: Term) -> Term:
        return choose(state.in_sync(replica), replica, ABSENT)

    def other_in_sync(state: State, replica: Term, other: Term) -> Term:
        return choose(all_of(state.in_sync(other), negate(other == replica)), other, ABSENT)

    def first_eligible(state: State, replica: Term) -> Term:
        return choose(state.eligible(replica), replica, ABSENT)

    def other_candidate(state: State, replica: Term, other: Term) -> Term:
        candidate = any_of(state.in_sync(other), state.eligible(other))
        return choose(all_of(candidate, negate(other == replica)), other, ABSENT)

    high_watermark = Least("least_end", (REPLICA,), (REPLICA,), least_end)
    return (
        Least("first_later", (REPLICA, EPOCH), (POSITION,), first_later),
        Least("first_in_sync", (), (REPLICA,), first_in_sync),
        Least("other_in_sync", (REPLICA,), (REPLICA,), other_in_sync),
        Least("first_eligible", (), (REPLICA,), first_eligible),
        Least("other_candidate", (REPLICA,), (REPLICA,), other_candidate),
        Least("least_end", (REPLICA,), (REPLICA, REPLICA), majority_end) if knobs.of_majority else high_watermark,
    )
