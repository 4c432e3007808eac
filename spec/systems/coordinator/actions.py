"""The actions on a transactional id: of its instances, its coordinator and time."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol import completing, coordinator, ending
from spec.protocol.coordinator import TransactionEntry, Transition, choose_entry
from spec.protocol.ending import IdAndEpoch
from spec.systems.coordinator.transactional_id import (
    COMMIT,
    INSTANCE,
    OUTCOME,
    CoordinatorKnobs,
    TransactionalId,
    decided,
    drawn,
)
from spec.systems.language import Action, Function, Sort, State, Updated, rewrite, update
from spec.vocabulary import ABSENT, ErrorCode, TransactionState

NONE = ErrorCode.NONE.value
WAIT = ErrorCode.CONCURRENT_TRANSACTIONS.value


class CoordinatorActions:
    """The actions of the system, as guards (a fact a line) and effects."""

    def __init__(self, knobs: CoordinatorKnobs) -> None:
        self.knobs = knobs
        self.of = partial(TransactionalId, knobs)

    def all(self) -> tuple[Action, ...]:
        """Every action that the knobs leave in the system."""
        knobs = self.knobs
        actions = {
            "instance_starts": (True, (INSTANCE,)),
            "start_fences": (True, (INSTANCE,)),
            "instance_adds": (True, (INSTANCE,)),
            "instance_ends": (True, (INSTANCE, OUTCOME)),
            "end_without_answer": (knobs.loses_replies, (INSTANCE, OUTCOME)),
            "instance_ends_again": (knobs.loses_replies, (INSTANCE,)),
            "instance_recovers": (knobs.mapping_error_abortable, (INSTANCE,)),
            "transaction_completes": (True, ()),
            "transaction_times_out": (knobs.times_out, ()),
            "timeout_in_vain": (knobs.append_fails, ()),
            "coordinator_fails_over": (knobs.fails_over, ()),
            "id_expires": (knobs.expires, ()),
            "version_is_lowered": (knobs.lowered_to is not None, ()),
        }
        return tuple(self._action(name, *over) for name, (there, over) in actions.items() if there)

    def _action(self, name: str, *over: Sort) -> Action:
        return Action(name, over, getattr(self, f"{name}_if"), getattr(self, name))

    # --- instances --------------------------------------------------------------------------------------------

    def instance_starts_if(self, state: State, instance: Term) -> Iterator[Term]:
        """The application starts an instance, and the coordinator has an identity for it."""
        yield state.starts() < self.knobs.starts
        yield self.of(state).ids_left()
        yield self.of(state).initialised(instance).appends

    def instance_starts(self, state: State, instance: Term) -> State:
        """It is the newest one."""
        after = self._identified(state, instance, self.of(state).initialised(instance))
        others = partial(rewrite, where=lambda i: negate(i == instance), to=lambda _: True)
        return after.but(
            starts=update(state.starts, to=state.starts() + 1),
            replaced=update(others(state.replaced), instance, to=False),
            shut_out=update(others(state.shut_out), instance, to=False),
        )

    def start_fences_if(self, state: State, instance: Term) -> Iterator[Term]:
        """An instance starts while a transaction is open; it will ask again."""
        yield state.starts() < self.knobs.starts
        yield self.of(state).may_be_fenced()
        yield coordinator.is_fencing(self.of(state).initialised(instance).entry)
        yield self.of(state).ids_left()

    def start_fences(self, state: State, _: Term) -> State:
        """The coordinator aborts it first."""
        return self._fenced(state, self.of(state).fenced())

    def instance_adds_if(self, state: State, instance: Term) -> Iterator[Term]:
        """An instance has something to write; a transition under way makes it wait."""
        id_ = self.of(state)
        yield id_.of(instance).speaks()
        yield negate(coordinator.is_in(id_.entry, TransactionState.ONGOING))
        yield negate(id_.registered(instance).error == WAIT)

    def instance_adds(self, state: State, instance: Term) -> State:
        """Its partition is in the transaction, or it learns that its identity is not the newest one."""
        transition = self.of(state).registered(instance)
        added = transition.error == NONE
        unknown = transition.error == ErrorCode.INVALID_PRODUCER_ID_MAPPING.value
        recovers = all_of(unknown, self.knobs.mapping_error_abortable)
        return self._written(state, transition).but(
            in_transaction=update(state.in_transaction, instance, to=any_of(added, state.in_transaction(instance))),
            alive=update(state.alive, instance, to=any_of(added, recovers)),
            must_recover=update(state.must_recover, instance, to=recovers),
        )

    def instance_ends_if(self, state: State, instance: Term, outcome: Term) -> Iterator[Term]:
        """An instance ends its transaction."""
        id_ = self.of(state)
        yield id_.of(instance).speaks()
        yield state.in_transaction(instance)
        yield id_.ids_left()
        yield negate(id_.ended(instance, outcome == COMMIT).error == WAIT)

    def instance_ends(self, state: State, instance: Term, outcome: Term) -> State:
        """It gets the outcome and its next identity, or an error."""
        return self._answered(state, instance, outcome)

    def end_without_answer_if(self, state: State, instance: Term, outcome: Term) -> Iterator[Term]:
        """An instance ends its transaction, and the coordinator does so."""
        yield from self.instance_ends_if(state, instance, outcome)
        yield self.of(state).ended(instance, outcome == COMMIT).appends

    def end_without_answer(self, state: State, instance: Term, outcome: Term) -> State:
        """The answer is lost."""
        written = self._written(state, self.of(state).ended(instance, outcome == COMMIT))
        return written.but(in_doubt=update(state.in_doubt, instance, to=outcome))

    def instance_ends_again_if(self, state: State, instance: Term) -> Iterator[Term]:
        """It asks again, with the identity that it has."""
        yield state.alive(instance)
        yield state.in_doubt(instance) >= 0
        yield self.of(state).ids_left()
        yield negate(self.of(state).ended(instance, state.in_doubt(instance) == COMMIT).error == WAIT)

    def instance_ends_again(self, state: State, instance: Term) -> State:
        """It gets the outcome and its next identity, or an error."""
        after = self._answered(state, instance, state.in_doubt(instance))
        return after.but(in_doubt=update(state.in_doubt, instance, to=ABSENT))

    def instance_recovers_if(self, state: State, instance: Term) -> Iterator[Term]:
        """A client continues by itself with a new identity."""
        yield state.must_recover(instance)
        yield self.of(state).ids_left()
        yield self.of(state).initialised(instance, expects=True).appends

    def instance_recovers(self, state: State, instance: Term) -> State:
        """It does not know that another instance has taken over."""
        return self._identified(state, instance, self.of(state).initialised(instance, expects=True))

    # --- the coordinator --------------------------------------------------------------------------------------

    def transaction_completes_if(self, state: State) -> Iterator[Term]:
        """All markers of a decided transaction are written."""
        yield coordinator.is_preparing(state.entry())
        yield self.of(state).can_be_recorded()

    def transaction_completes(self, state: State) -> State:
        """The id is at rest; an exhausted one has its new producer id."""
        return self._written(state, self.of(state).completes())

    def transaction_times_out_if(self, state: State) -> Iterator[Term]:
        """A transaction is open for too long."""
        yield self.of(state).may_be_fenced()
        yield self.of(state).ids_left()

    def transaction_times_out(self, state: State) -> State:
        """The coordinator aborts it."""
        return self._fenced(state, self.of(state).fenced(raises=self.knobs.timeout_fences))

    def timeout_in_vain_if(self, state: State) -> Iterator[Term]:
        """A transaction is open for too long, and the log does not take the abort."""
        yield from self.transaction_times_out_if(state)
        yield state.faults() < self.knobs.faults
        yield self.of(state).fenced().appends

    def timeout_in_vain(self, state: State) -> State:
        """The transaction stays open."""
        id_ = self.of(state)
        failed = coordinator.append_failed(id_.fencing(), id_.fenced(), self.knobs.profile)
        return self._faulty(state).but(entry=update(state.entry, to=failed))

    def coordinator_fails_over_if(self, state: State) -> Iterator[Term]:
        """The id is in the log."""
        yield state.faults() < self.knobs.faults
        yield state.record().known

    def coordinator_fails_over(self, state: State) -> State:
        """Another coordinator knows what the log says."""
        loaded = coordinator.loaded(state.record(), self.knobs.profile)
        return self._faulty(state).but(entry=update(state.entry, to=decided(loaded, self.knobs.profile)))

    def id_expires_if(self, state: State) -> Iterator[Term]:
        """The id has been at rest for long."""
        yield state.faults() < self.knobs.faults
        yield state.entry().known
        yield all_of(coordinator.is_at_rest(state.entry()), state.entry().pending == ABSENT)

    def id_expires(self, state: State) -> State:
        """Nothing is known of it."""
        return self._faulty(self._written(state, completing.expire(state.entry()))).but(
            record=update(state.record, to=TransactionEntry()),
            shut_out=rewrite(state.shut_out, lambda _: True, lambda _: True),
        )

    def version_is_lowered_if(self, state: State) -> Iterator[Term]:
        """The cluster's transaction version is that of the instances."""
        yield negate(state.lowered())

    def version_is_lowered(self, state: State) -> State:
        """An administrator lowers it; instances learn of it later, if at all."""
        return state.but(lowered=update(state.lowered, to=True))

    # --- what several do --------------------------------------------------------------------------------------

    def _written(self, state: State, transition: Transition) -> State:
        """The record is durable, and the transition complete; without a record memory is what was decided."""
        appends = transition.appends
        profile = self.knobs.profile
        complete = decided(coordinator.completed(transition.entry, transition.target, profile), profile)
        return state.but(
            entry=update(state.entry, to=choose_entry(appends, complete, self._unwritten(transition))),
            record=update(state.record, to=choose_entry(appends, transition.target, state.record())),
            fresh=update(state.fresh, to=choose(appends, drawn(transition, state.fresh()), state.fresh())),
        )

    def _unwritten(self, transition: Transition) -> TransactionEntry:
        """Memory where nothing is appended."""
        if not self.knobs.unwritable_rolled_back:
            return transition.entry
        refused = transition.error == ErrorCode.UNSUPPORTED_VERSION.value
        return choose_entry(refused, replace(transition.entry, pending=ABSENT), transition.entry)

    def _identified(self, state: State, instance: Term, transition: Transition) -> State:
        """An instance has the identity that InitProducerId handed out."""
        target = transition.target
        return self._written(state, transition).but(
            **self._given(state, instance, IdAndEpoch(target.producer_id, target.producer_epoch)),
            alive=update(state.alive, instance, to=True),
            in_transaction=update(state.in_transaction, instance, to=False),
            in_doubt=update(state.in_doubt, instance, to=ABSENT),
            must_recover=update(state.must_recover, instance, to=False),
            torn=update(state.torn, instance, to=False),
        )

    def _given(self, state: State, instance: Term, identity: IdAndEpoch, reported: Term = True) -> dict[str, Term]:
        """The identity of an instance, and the newest one that any instance got, where the answer has one."""
        producer_id, epoch = identity.producer_id, identity.producer_epoch
        return {
            "producer_id": update(
                state.producer_id, instance, to=choose(reported, producer_id, state.producer_id(instance))
            ),
            "producer_epoch": update(
                state.producer_epoch, instance, to=choose(reported, epoch, state.producer_epoch(instance))
            ),
            "given_producer_id": update(
                state.given_producer_id, to=choose(reported, producer_id, state.given_producer_id())
            ),
            "given_epoch": update(state.given_epoch, to=choose(reported, epoch, state.given_epoch())),
        }

    def _fenced(self, state: State, transition: Transition) -> State:
        """The open transaction is aborted, and the instance that has it open does not know."""
        tears = all_of(transition.appends, True)
        return self._written(state, transition).but(
            torn=rewrite(state.torn, lambda i: all_of(tears, state.in_transaction(i)), lambda _: True),
            shut_out=rewrite(state.shut_out, lambda _: tears, lambda _: True),
        )

    def _answered(self, state: State, instance: Term, outcome: Term) -> State:
        """EndTxn is answered: an instance that is refused is closed by its application."""
        commits = outcome == COMMIT
        request = self.of(state).end_request(instance, commits)
        transition = self.of(state).ended(instance, commits)
        reported = transition.error == NONE
        reported_commit = all_of(reported, commits)
        after = self._written(state, transition).but(
            alive=update(state.alive, instance, to=reported),
            in_transaction=update(state.in_transaction, instance, to=False),
            reported_commit_when_replaced=self._noted(
                state.reported_commit_when_replaced, state.replaced, instance, reported_commit
            ),
            reported_commit_when_torn=self._noted(
                state.reported_commit_when_torn, state.torn, instance, reported_commit
            ),
            torn=update(state.torn, instance, to=False),
        )
        next_one = ending.answered(transition, request, self.knobs.profile)
        bumped = next_one.producer_id >= 0
        return after.but(
            **self._given(after, instance, next_one, reported=bumped),
            shut_out=update(state.shut_out, instance, to=all_of(state.shut_out(instance), negate(bumped))),
        )

    @staticmethod
    def _noted(before: Function, fact: Function, instance: Term, reported_commit: Term) -> Updated:
        return update(before, instance, to=any_of(before(instance), all_of(reported_commit, fact(instance))))

    @staticmethod
    def _faulty(state: State) -> State:
        return state.but(faults=update(state.faults, to=state.faults() + 1))
