"""The actions of coordinators: they decide, append records, send markers, complete, time out, and fail over.

Arguments:
    fate: how the append to the coordinator's log ends.
"""

from dataclasses import replace

from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol import completing, ending
from spec.protocol.coordinator import (
    is_fencing,
    is_in,
    is_preparing,
    loaded,
)
from spec.protocol.ending import IdAndEpoch
from spec.systems.language import Action, State, always, either, pick, rewrite, update
from spec.systems.transactions.recording import NONE, CoordinatorRecords
from spec.systems.transactions.view import Guard, TransactionsView
from spec.systems.transactions.world import (
    ADDS,
    ANSWERED,
    BATCH,
    BUMPS,
    CONFIRMED,
    COORDINATOR,
    DECISION,
    DURABLE,
    ENDS,
    FATE,
    IDLE,
    INSTANCE,
    LOST,
    NO_IDENTITY,
    NOT_SENT,
    PARTITION,
    TRANSACTION,
    VERIFYING,
)
from spec.vocabulary import ABSENT, ErrorCode, TransactionState

LATER = 2
"""A time after the timeout of every transaction."""


class Coordinators(CoordinatorRecords):
    """The actions of the transactional id's coordinators, one after the other; each record has its fate."""

    def all(self) -> tuple[Action, ...]:
        """Every action that the knobs leave in the system."""
        bounds, bumps = self.knobs.bounds, self.knobs.bumps
        fences = self.knobs.times_out or self.knobs.clients_bump or bounds.instances > 1
        verifies = bumps or self.knobs.profile.partition_verification
        actions = {
            "coordinator_initializes": (True, (INSTANCE, FATE)),
            "coordinator_bumps": (self.knobs.clients_bump, (TRANSACTION, FATE)),
            "bump_meets_open_transaction": (self.knobs.clients_bump, (TRANSACTION,)),
            "coordinator_fences": (bounds.instances > 1, (INSTANCE,)),
            "transaction_times_out": (self.knobs.times_out, ()),
            "coordinator_aborts": (fences, (FATE,)),
            "coordinator_adds": (not bumps, (TRANSACTION, PARTITION, FATE)),
            "coordinator_verifies": (verifies, (TRANSACTION, PARTITION, BATCH, FATE)),
            "coordinator_ends": (True, (TRANSACTION, FATE)),
            "coordinator_completes": (True, ()),
            "coordinator_fails_over": (bounds.coordinators > 1, ()),
            "deposed_coordinator_answers": (self.knobs.deposed_answers, (TRANSACTION, PARTITION, BATCH)),
            "late_completion_arrives": (not self.knobs.completion_is_of_operation, (DECISION, COORDINATOR)),
        }
        return tuple(self._action(name, *over) for name, (there, over) in actions.items() if there)

    # --- identities -------------------------------------------------------------------------------------------

    def coordinator_initializes_if(self, state: State, instance: Term, fate: Term) -> Guard:
        """The next instance requests an identity and gets one; instances are numbered in this order."""
        view = self.of(state)
        yield from self.next_instance(view, instance)
        yield view.initialized().appends
        yield self._has_producer_id(view.initialized())

    def coordinator_initializes(self, state: State, instance: Term, fate: Term) -> State:
        """The record of the new identity is appended; the instance gets its identity once the record is durable."""
        view = self.of(state)
        transition, durable = view.initialized(), self._is_taken(fate)
        identity = IdAndEpoch(transition.target.producer_id, transition.target.producer_epoch)
        before = state.decided_before(instance)
        return self._emptied(view, transition, fate).but(
            given=update(state.given, instance, to=pick(durable, identity, state.given(instance))),
            decided_before=update(state.decided_before, instance, to=choose(durable, state.decisions(), before)),
            newest=always(pick(durable, identity, NO_IDENTITY)),
        )

    def coordinator_bumps_if(self, state: State, txn: Term, fate: Term) -> Guard:
        """An InitProducerId that expects an identity arrives, and is given one."""
        view = self.of(state)
        yield from self.bump_arrives(view, txn)
        yield view.bumped(txn).appends
        yield self._has_producer_id(view.bumped(txn))

    def coordinator_bumps(self, state: State, txn: Term, fate: Term) -> State:
        """The record of the identity is appended; once it is durable the instance gets it, if it still waits."""
        view = self.of(state)
        transition, durable, waits = view.bumped(txn), self._is_taken(fate), negate(state.ended(txn))
        identity = IdAndEpoch(transition.target.producer_id, transition.target.producer_epoch)
        reported = all_of(durable, waits)
        unsure = all_of(waits, negate(fate == LOST))
        return self._emptied(view, transition, fate).but(
            ended=update(state.ended, txn, to=any_of(durable, state.ended(txn))),
            next_identity=update(state.next_identity, txn, to=pick(reported, identity, state.next_identity(txn))),
            newest=always(pick(reported, identity, pick(unsure, NO_IDENTITY, state.newest()))),
            bumped_by=always(choose(reported, txn, state.bumped_by())),
        )

    def bump_meets_open_transaction_if(self, state: State, txn: Term) -> Guard:
        """An InitProducerId that expects an identity arrives while a transaction is open."""
        view = self.of(state)
        yield from self.bump_arrives(view, txn)
        yield is_fencing(view.bumped(txn).entry)

    def bump_meets_open_transaction(self, state: State, txn: Term) -> State:
        """The coordinator is about to abort it."""
        return self._remembers(state, self.of(state).bumped(txn).entry).but(fenced_by=always(txn))

    def bump_arrives(self, view: TransactionsView, txn: Term) -> Guard:
        """An InitProducerId that expects an identity is on the network, and as late as the knobs allow."""
        yield view.is_bump(txn)
        successor = view.given(view.owner(txn) + 1).producer_epoch >= 0
        yield any_of(BUMPS in self.knobs.outlive, negate(any_of(view.ended(txn), successor)))
        yield view.is_compared(txn)

    def coordinator_fences_if(self, state: State, instance: Term) -> Guard:
        """The next instance requests an identity while a transaction is open."""
        view = self.of(state)
        yield from self.next_instance(view, instance)
        yield is_fencing(view.initialized().entry)

    def coordinator_fences(self, state: State, instance: Term) -> State:
        """The coordinator is about to abort it."""
        return self._remembers(state, self.of(state).initialized().entry).but(fenced_by=always(ABSENT))

    def transaction_times_out_if(self, state: State) -> Guard:
        """A transaction is open."""
        yield completing.is_timed_out(self.of(state).remembers(), LATER)

    def transaction_times_out(self, state: State) -> State:
        """The coordinator is about to abort it."""
        fencing = completing.fence(self.of(state).remembers())
        return self._remembers(state, fencing).but(fenced_by=always(ABSENT))

    def next_instance(self, view: TransactionsView, instance: Term) -> Guard:
        """The instance has no identity yet, and the one before it has."""
        yield view.given(instance).producer_epoch == ABSENT
        yield any_of(instance == 0, view.given(instance - 1).producer_epoch >= 0)

    # --- the transaction --------------------------------------------------------------------------------------

    def coordinator_adds_if(self, state: State, txn: Term, partition: Term, fate: Term) -> Guard:
        """A client's AddPartitionsToTxn arrives, and makes a difference."""
        view = self.of(state)
        yield view.added(txn, partition) > NOT_SENT
        yield view.arrives(ADDS, txn)
        yield any_of(view.added_to(txn, partition).error == NONE, self._fences_wrongly(view, txn, partition))

    def coordinator_adds(self, state: State, txn: Term, partition: Term, fate: Term) -> State:
        """The partition joins the transaction; the client gets its answer once that is durable."""
        added, reported = self._joined(state, txn, partition, fate)
        was = state.added(txn, partition)
        return added.but(added=update(state.added, txn, partition, to=choose(reported == NONE, ANSWERED, was)))

    def coordinator_verifies_if(self, state: State, txn: Term, partition: Term, batch: Term, fate: Term) -> Guard:
        """A leader verifies a partition; under version 2 it asks again while a transition is under way."""
        view = self.of(state)
        yield view.phase(txn, partition, batch) == VERIFYING
        if self.knobs.bumps:
            yield negate(view.added_to(txn, partition).error == ErrorCode.CONCURRENT_TRANSACTIONS.value)
        else:
            yield fate == DURABLE

    def coordinator_verifies(self, state: State, txn: Term, partition: Term, batch: Term, fate: Term) -> State:
        """The leader may continue, or the batch is refused; under version 2 the partition joins the transaction."""
        if self.knobs.bumps:
            after, reported = self._joined(state, txn, partition, fate)
        else:
            after, reported = state, self.of(state).verified(txn, partition)
        phase = choose(reported == NONE, CONFIRMED, IDLE)
        return after.but(phase=update(state.phase, txn, partition, batch, to=phase))

    def coordinator_ends_if(self, state: State, txn: Term, fate: Term) -> Guard:
        """A client's EndTxn arrives and is not refused."""
        view = self.of(state)
        yield view.requested_end(txn)
        yield any_of(ENDS in self.knobs.outlive, negate(view.ended(txn)))
        yield view.end_decided(txn).error == NONE
        yield any_of(negate(view.end_decided(txn).appends), self._may_decide(view))
        yield self._has_producer_id(view.end_decided(txn))

    def coordinator_ends(self, state: State, txn: Term, fate: Term) -> State:
        """The outcome is decided, or the request is recognised as repeated; the client gets its next identity."""
        view = self.of(state)
        transition = view.end_decided(txn)
        identity = ending.answered(transition, view.end_request(txn), self.knobs.profile)
        reported = any_of(negate(transition.appends), self._is_taken(fate))
        open_of = choose(is_in(view.remembers(), TransactionState.ONGOING), state.opened(), txn)
        decided = self._decided(view, transition, fate, open_of, txn)
        after = either(transition.appends, decided, state)
        bumped = all_of(reported, identity.producer_epoch >= 0)
        return after.but(
            ended=update(state.ended, txn, to=any_of(reported, state.ended(txn))),
            next_identity=update(state.next_identity, txn, to=pick(bumped, identity, state.next_identity(txn))),
            newest=always(pick(all_of(bumped, transition.appends), identity, state.newest())),
        )

    def coordinator_aborts_if(self, state: State, fate: Term) -> Guard:
        """The coordinator was about to fence the open transaction."""
        view = self.of(state)
        yield is_fencing(view.remembers())
        yield self._may_decide(view)
        yield self._has_producer_id(view.own_abort(view.remembers()))

    def coordinator_aborts(self, state: State, fate: Term) -> State:
        """The transaction is aborted, or cannot be; from now on no identity that was given is the newest."""
        view = self.of(state)
        transition = view.own_abort(view.remembers())
        decided = self._decided(view, transition, fate, state.opened(), ABSENT)
        refused = self._remembers(state, replace(transition.entry, pending=ABSENT))
        return either(transition.appends, decided, refused).but(newest=always(NO_IDENTITY))

    def coordinator_completes_if(self, state: State) -> Guard:
        """Every partition has answered the markers of this coordinator."""
        view = self.of(state)
        yield is_preparing(view.remembers())
        yield view.decision() >= 0
        yield view.awaited()
        yield view.unmarked(view.decision()) == ABSENT

    def coordinator_completes(self, state: State) -> State:
        """The transaction is over; the record is appended again and again until it is durable."""
        view = self.of(state)
        transition = completing.prepare_complete(view.remembers(), 0, self.knobs.profile)
        return self._appended(view, transition, DURABLE).but(
            registered=lambda _: ABSENT,
            recorded=lambda _: ABSENT,
            opened=always(ABSENT),
            record_opened=always(ABSENT),
            decision=always(ABSENT),
            record_decision=always(ABSENT),
        )

    # --- faults -----------------------------------------------------------------------------------------------

    def coordinator_fails_over_if(self, state: State) -> Guard:
        """There may be a further coordinator, and a further decision, if the log has one that no coordinator knows."""
        view = self.of(state)
        yield any_of(not self.knobs.limited, view.coordinator_epoch() < self.knobs.bounds.coordinators - 1)
        yield any_of(negate(is_preparing(view.record())), view.record_decision() >= 0, self._may_decide(view))

    def coordinator_fails_over(self, state: State) -> State:
        """The new coordinator has loaded the log, and sends the markers of a decision to all partitions."""
        view = self.of(state)
        record = self.knobs.settled(loaded(view.record(), self.knobs.profile))
        preparing, epoch = is_preparing(record), state.coordinator_epoch() + 1
        unknown = all_of(preparing, state.record_decision() == ABSENT)
        memory = pick(preparing, completing.prepare_complete(record, 0, self.knobs.profile).entry, record)
        decision = choose(unknown, state.decisions(), state.record_decision())
        loaded_state = state.but(
            memory=always(self.knobs.settled(memory)),
            registered=state.recorded,
            opened=state.record_opened,
            coordinator_epoch=always(epoch),
            awaited=always(True),
        )
        anew = self._new_decision(loaded_state, record, state.record_opened(), state.record_ended())
        after = self._deposed(either(unknown, anew, loaded_state), view)
        return after.but(
            decision=always(choose(preparing, decision, ABSENT)),
            record_decision=always(choose(preparing, decision, ABSENT)),
            sent_by=rewrite(after.sent_by, lambda d, c: all_of(preparing, d == decision, c == epoch), lambda *_: True),
        )

    def _deposed(self, state: State, before: TransactionsView) -> State:
        """The deposed coordinator keeps its state, as long as it does not know of the new one."""
        if not self.knobs.deposed_answers:
            return state
        return state.but(cached=always(before.remembers()), cached_partitions=before.state.registered)

    def deposed_coordinator_answers_if(self, state: State, txn: Term, partition: Term, batch: Term) -> Guard:
        """A leader asks the coordinator before the last failover, which needs no append for its answer."""
        view = self.of(state)
        yield view.coordinator_epoch() > 0
        yield view.phase(txn, partition, batch) == VERIFYING
        answer = view.added_by_deposed(txn, partition)
        yield negate(answer.appends)
        yield negate(answer.error == ErrorCode.CONCURRENT_TRANSACTIONS.value)

    def deposed_coordinator_answers(self, state: State, txn: Term, partition: Term, batch: Term) -> State:
        """The leader continues, or refuses the batch; the newest client may get a fencing error."""
        view = self.of(state)
        reported = view.added_by_deposed(txn, partition).error
        wrongly = any_of(self._reports_wrongly(view, txn, reported), state.fenced_wrongly(txn))
        phase = choose(reported == NONE, CONFIRMED, IDLE)
        return state.but(
            phase=update(state.phase, txn, partition, batch, to=phase),
            fenced_wrongly=update(state.fenced_wrongly, txn, to=wrongly),
        )

    def late_completion_arrives_if(self, state: State, decision: Term, coordinator: Term) -> Guard:
        """All markers of an earlier coordinator have been answered, and its operation is still known."""
        view = self.of(state)
        yield view.decision() == decision
        yield view.sent_by(decision, coordinator)
        yield coordinator < view.coordinator_epoch()
        yield view.unmarked_by(decision, coordinator) == ABSENT

    def late_completion_arrives(self, state: State, decision: Term, coordinator: Term) -> State:
        """Its completion removes the operation of the next one, which has the same key."""
        return state.but(awaited=always(False))
