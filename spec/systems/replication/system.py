"""The replicas of one partition as one system: state, actions, claims, goals and assumptions.

The state of the replicas has derived functions, for any number of replicas: each is the least of some values.
"""

from collections.abc import Callable
from typing import Final

from spec.algebra import Term, all_of, any_of, choose, negate
from spec.rules import Rule
from spec.systems import assumptions as assume
from spec.systems.language import Claim, Goal, Least, Sort, State, System
from spec.systems.replication.actions import BrokerActions, ControllerActions, Logs
from spec.systems.replication.claims import LEMMAS, THEOREMS, same_batch
from spec.systems.replication.world import EPOCH, POSITION, REPLICA, ReplicationKnobs, ReplicationView, variables
from spec.vocabulary import ABSENT

# --- derived functions ------------------------------------------------------------------------------------------------


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


# --- the system -------------------------------------------------------------------------------------------------------


ASSUMPTIONS: Final = (
    assume.ONE_CONTROLLER,
    assume.ELECTIONS_ARE_HEARD_IN_ORDER,
    assume.ONE_LOG_IS_KEPT,
    assume.WHO_LOST_RECORDS_LEAVES,
    assume.ONE_FETCH_UNDER_WAY,
)

TRUE_SYSTEM: Final = ReplicationKnobs()
"""As the newest release has it, in the smallest instance."""


def zombie_appends(world: ReplicationView, replica: Term) -> Term:
    """A replica takes itself for the leader, is not, and has more than it knows to be replicated."""
    state = world.state
    beyond = state.length(replica) > state.high_watermark(replica)
    return all_of(world.leads(replica), negate(state.leader() == replica), beyond)


def logs_diverge(world: ReplicationView, one: Term, other: Term, position: Term) -> Term:
    """Two replicas have different batches at one position."""
    state = world.state
    both = all_of(position < state.length(one), position < state.length(other))
    return all_of(both, negate(same_batch(world, one, other, position)))


def high_watermark_lags(world: ReplicationView, leader: Term, position: Term) -> Term:
    """A new leader has, and does not know that it has, what is committed."""
    state = world.state
    leads = all_of(world.leads(leader), state.leader() == leader)
    return all_of(leads, negate(state.committed(position) == ABSENT), state.high_watermark(leader) <= position)


GOALS: Final[tuple[tuple[Callable[..., Term], tuple[Sort, ...]], ...]] = (
    (zombie_appends, (REPLICA,)),
    (logs_diverge, (REPLICA, REPLICA, POSITION)),
    (high_watermark_lags, (REPLICA, POSITION)),
)


def replication(knobs: ReplicationKnobs = TRUE_SYSTEM) -> System:
    """The system with these knobs; by default the true one, in its smallest instance."""

    def of(holds: Callable[..., Term]) -> Callable[..., Term]:
        def held(state: State, *at: Term) -> Term:
            return holds(ReplicationView(knobs, state), *at)

        return held

    def claim(rule: Rule, holds: Callable[..., Term], over: tuple[Sort, ...]) -> Claim:
        return Claim(holds.__name__, rule, str(holds.__doc__), over, of(holds))

    return System(
        name="replication",
        variables=variables(knobs),
        actions=(*Logs(knobs).all(), *ControllerActions(knobs).all(), *BrokerActions(knobs).all()),
        theorems=tuple(claim(*each) for each in THEOREMS),
        lemmas=tuple(claim(*each) for each in LEMMAS),
        goals=tuple(Goal(reached.__name__, str(reached.__doc__), over, of(reached)) for reached, over in GOALS),
        assumptions=ASSUMPTIONS,
        derived=derived(knobs),
    )
