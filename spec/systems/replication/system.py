"""The replicas of one partition as one system: state, actions, claims, goals and assumptions."""

from collections.abc import Callable
from typing import Final

from spec.algebra import Term, all_of, negate
from spec.rules import Rule
from spec.systems import assumptions as assume
from spec.systems.language import Claim, Goal, Sort, State, System
from spec.systems.replication.brokers import BrokerActions
from spec.systems.replication.claims import LEMMAS, THEOREMS, same_batch
from spec.systems.replication.decisions import ControllerActions
from spec.systems.replication.derived import derived
from spec.systems.replication.logs import Logs
from spec.systems.replication.world import POSITION, REPLICA, ReplicationKnobs, ReplicationView, variables
from spec.vocabulary import ABSENT

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
