"""One transactional id at its coordinator as one system: its claims, goals and assumptions."""

from collections.abc import Callable
from functools import partial
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, implies, negate
from spec.protocol.coordinator import is_in
from spec.protocol.ids import cannot_fence
from spec.rules import Rule
from spec.systems import assumptions as assume
from spec.systems.coordinator.actions import CoordinatorActions
from spec.systems.coordinator.transactional_id import (
    INSTANCE,
    OF_DOWNGRADES,
    OUTCOME,
    SHUT_OUT,
    VARIABLES,
    CoordinatorKnobs,
    TransactionalId,
)
from spec.systems.language import Claim, Goal, Sort, State, System
from spec.vocabulary import ABSENT, TransactionState

ASSUMPTIONS: Final = (
    assume.ONE_COORDINATOR_AT_A_TIME,
    assume.ANSWERED_BEFORE_THE_NEXT,
    assume.MARKERS_COME_IN_THE_END,
    assume.REFUSED_INSTANCE_IS_CLOSED,
)


def open_can_be_ended(id_: TransactionalId) -> Term:
    """The coordinator can abort an open transaction, and fence its producer."""
    possible = all_of(id_.fenced().appends, negate(cannot_fence(id_.entry, id_.knobs.profile)))
    return implies(id_.may_be_fenced(), possible)


def last_epoch_is_not_handed_out(id_: TransactionalId, instance: Term) -> Term:
    """No instance gets the epoch that is kept for fencing."""
    return id_.of(instance).producer_epoch() < id_.knobs.profile.max_epoch


def open_can_time_out(id_: TransactionalId) -> Term:
    """No transition is pending of an open transaction, since the coordinator times out none that has one."""
    open_ = all_of(id_.entry.known, is_in(id_.entry, TransactionState.ONGOING))
    return implies(open_, id_.entry.pending == ABSENT)


def epochs_are_not_burnt(id_: TransactionalId) -> Term:
    """The coordinator's epoch is at most one above the last one given out of its producer id."""
    same = id_.entry.producer_id == id_.state.given_producer_id()
    return implies(same, id_.entry.producer_epoch <= id_.state.given_epoch() + 1)


def newest_identity_is_taken(id_: TransactionalId, instance: Term) -> Term:
    """An instance that has the newest identity is never fenced."""
    one = id_.of(instance)
    newest = all_of(one.speaks(), negate(one.in_transaction()), negate(one.shut_out()), id_.entry.known)
    error = id_.registered(instance).error
    return implies(newest, all_of(*(negate(error == refused.value) for refused in SHUT_OUT)))


def replaced_commits_nothing(id_: TransactionalId, instance: Term) -> Term:
    """No instance that was replaced gets an acknowledgement that its transaction is committed."""
    return negate(id_.of(instance).reported_commit_when_replaced())


def commit_is_of_the_whole(id_: TransactionalId, instance: Term) -> Term:
    """No commit is acknowledged to an instance if a part of the transaction was aborted."""
    return negate(id_.of(instance).reported_commit_when_torn())


def rotated(id_: TransactionalId, instance: Term) -> Term:
    """An instance continues under a second producer id."""
    return all_of(id_.of(instance).producer_id() == 1, id_.of(instance).in_transaction())


CLAIMS: Final[tuple[tuple[Callable[..., Term], Rule, tuple[Sort, ...]], ...]] = (
    (open_can_be_ended, rules.FENCE_EPOCH_EXHAUSTION, ()),
    (last_epoch_is_not_handed_out, rules.FENCE_EPOCH_EXHAUSTION, (INSTANCE,)),
    (open_can_time_out, rules.TXN_TIMEOUT, ()),
    (epochs_are_not_burnt, rules.FENCE_EPOCH_EXHAUSTION, ()),
    (newest_identity_is_taken, rules.FENCE_STALE_EPOCH, (INSTANCE,)),
    (replaced_commits_nothing, rules.FENCE_ZOMBIE_CANNOT_COMMIT, (INSTANCE,)),
    (commit_is_of_the_whole, rules.TXN_CLIENT_VERDICT, (INSTANCE,)),
)


def sizes(knobs: CoordinatorKnobs) -> dict[str, int]:
    """How many values each sort has."""
    return {INSTANCE.name: knobs.instances, OUTCOME.name: 2}


def coordinating(knobs: CoordinatorKnobs) -> System:
    """The system with these knobs."""
    of = partial(TransactionalId, knobs)

    def claimed(sentence: Callable[..., Term]) -> Callable[..., Term]:
        def holds(state: State, *at: Term) -> Term:
            return sentence(of(state), *at)

        return holds

    def claim(sentence: Callable[..., Term], rule: Rule, over: tuple[Sort, ...]) -> Claim:
        return Claim(sentence.__name__, rule, str(sentence.__doc__), over, claimed(sentence))

    return System(
        name="coordinator",
        variables=(*VARIABLES, *(OF_DOWNGRADES * (knobs.lowered_to is not None))),
        actions=CoordinatorActions(knobs).all(),
        theorems=tuple(claim(*each) for each in CLAIMS),
        lemmas=(),
        goals=(Goal(rotated.__name__, str(rotated.__doc__), (INSTANCE,), claimed(rotated)),),
        assumptions=ASSUMPTIONS,
    )
