"""The actions of partition leaders: they verify, append, write markers, and fail."""

from typing import TypeAlias

from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol import completing, offsets, seq, verification
from spec.protocol.append import Append
from spec.protocol.ending import IdAndEpoch
from spec.protocol.offsets import NO_OFFSET
from spec.protocol.records import AppendRequest, ProducerEntry
from spec.protocol.verification import NO_VERIFICATION
from spec.systems.language import Action, State, both, pick, rewrite, update
from spec.systems.transactions.view import Guard, TransactionActionBase, TransactionsView
from spec.systems.transactions.world import (
    BATCH,
    BATCHES,
    CONFIRMED,
    COORDINATOR,
    DECIDED,
    DECISION,
    IDLE,
    MARKERS,
    OPEN,
    PARTITION,
    PRODUCER,
    TRANSACTION,
    UNVERIFIED,
    VERIFYING,
)
from spec.vocabulary import ErrorCode

Message: TypeAlias = tuple[Term, Term, Term]
"""Transaction, partition and number of a batch."""


class Leaders(TransactionActionBase):
    """The actions of the partitions' leaders."""

    def all(self) -> tuple[Action, ...]:
        """Every action that the knobs leave in the system."""
        message = (TRANSACTION, PARTITION, BATCH)
        actions = {
            "leader_receives": (True, message),
            "leader_appends": (True, message),
            "leader_writes_marker": (True, (DECISION, COORDINATOR, PARTITION)),
            "leader_fails_over": (self.knobs.leaders_fail, (PARTITION,)),
            "leader_forgets": (self.knobs.state_expires, (PRODUCER, PARTITION)),
        }
        return tuple(self._action(name, *over) for name, (there, over) in actions.items() if there)

    def leader_receives_if(self, state: State, txn: Term, partition: Term, batch: Term) -> Guard:
        """The batch is on the network, and this leader has no copy of it at hand."""
        view = self.of(state)
        known = view.known(view.who(txn), partition)
        request = view.batch(txn, partition, batch)
        yield view.is_of_data(partition)
        yield view.produced(txn, partition, batch) >= 0
        yield view.phase(txn, partition, batch) == IDLE
        yield view.arrives(BATCHES, txn)
        yield negate(verification.is_refused_unasked(known, request, self.knobs.profile))
        if self.knobs.first_in_order:
            met = view.verifying(view.who(txn), partition).pending
            yield any_of(met, negate(seq.is_unknown(known)), request.base_sequence == 0)

    def leader_receives(self, state: State, txn: Term, partition: Term, batch: Term) -> State:
        """The coordinator is asked, or the batch goes to the log at once."""
        view = self.of(state)
        return self._received(view, (txn, partition, batch), view.batch(txn, partition, batch))

    def _received(self, view: TransactionsView, at: Message, request: AppendRequest) -> State:
        """While the coordinator is asked about this request, if it needs to be."""
        state, (txn, partition, _) = view.state, at
        identity, asks = view.who(txn), view.is_asked_about(txn, partition, request)
        before = view.verifying(identity, partition)
        after = verification.started(before, request, view.produce_version)
        return state.but(
            query=update(state.query, view.producer(identity), partition, to=pick(asks, after, before)),
            phase=update(state.phase, *at, to=choose(asks, VERIFYING, UNVERIFIED)),
            guarded=update(state.guarded, *at, to=asks),
            guard_taken=update(state.guard_taken, *at, to=False),
        )

    def leader_appends_if(self, state: State, txn: Term, partition: Term, batch: Term) -> Guard:
        """The batch needs no consent, or has it."""
        yield self.of(state).is_of_data(partition)
        phase = state.phase(txn, partition, batch)
        yield any_of(phase == UNVERIFIED, phase == CONFIRMED)

    def leader_appends(self, state: State, txn: Term, partition: Term, batch: Term) -> State:
        """The batch is appended, recognised as a resend, or refused; the answer is on the network."""
        view, at = self.of(state), (txn, partition, batch)
        request = view.batch(*at)
        return self._appended(view, at, request, view.appended(*at, request), let=True)

    def _appended(
        self, view: TransactionsView, at: Message, request: AppendRequest, decided: Append, let: Term
    ) -> State:
        """After a request that reached the log, unless it was refused earlier."""
        state, (txn, partition, _), reply = view.state, at, decided.reply
        identity, appended = view.who(txn), all_of(let, reply.appended)
        known = view.known(identity, partition)
        outside = all_of(let, reply.error == ErrorCode.INVALID_TXN_STATE.value, state.guard_taken(*at))
        refused = all_of(outside, view.is_registered(txn, partition))
        settled, copies = self._settled(view, identity, partition, request, appended), state.copies(*at)
        return self._numbered(settled, at, appended).but(
            entry=update(state.entry, view.producer(identity), partition, to=pick(let, decided.entry, known)),
            phase=update(state.phase, *at, to=IDLE),
            data=update(state.data, *at, to=choose(appended, OPEN, state.data(*at))),
            copies=update(state.copies, *at, to=choose(all_of(appended, copies < 2), copies + 1, copies)),
            appended_last=update(
                state.appended_last,
                view.producer(identity),
                partition,
                to=choose(appended, txn, state.appended_last(view.producer(identity), partition)),
            ),
            acknowledged=update(state.acknowledged, *at, to=any_of(appended, reply.duplicate, state.acknowledged(*at))),
            refused_wrongly=update(state.refused_wrongly, txn, to=any_of(refused, state.refused_wrongly(txn))),
        )

    def leader_writes_marker_if(self, state: State, decision: Term, coordinator: Term, partition: Term) -> Guard:
        """The marker is on the network and is let in."""
        view = self.of(state)
        yield view.outcome(decision) >= 0
        yield view.to_mark(decision, partition)
        yield view.sent_by(decision, coordinator)
        yield any_of(MARKERS in self.knobs.outlive, view.decision() == decision)
        yield view.marker_accepted(decision, coordinator, partition)

    def leader_writes_marker(self, state: State, decision: Term, coordinator: Term, partition: Term) -> State:
        """It decides all open data of its producer; the answer is on the network."""
        view = self.of(state)
        marker = view.sent_marker(decision, coordinator)
        before = state.entry(marker.producer_id, partition)
        decided = view.marker_appended(decision, coordinator, partition)
        identity = IdAndEpoch(marker.producer_id, marker.producer_epoch)
        settled = self._settled(view, identity, partition, completing.to_append(marker, 0), True)
        effects, latest = state.effects(decision, partition), state.latest_coordinator(marker.producer_id, partition)

        def ended(txn: Term, p: Term, batch: Term) -> Term:
            is_open = both(p == partition, lambda: state.data(txn, p, batch) == OPEN)
            return both(is_open, lambda: view.who(txn).producer_id == marker.producer_id)

        def taken(txn: Term, p: Term, batch: Term) -> Term:
            there = all_of(p == partition, any_of(before.in_transaction, self.knobs.repeated_markers_count))
            lost = both(there, lambda: state.guarded(txn, p, batch))
            lost = both(lost, lambda: negate(settled.guarded(txn, p, batch)))
            return both(lost, lambda: negate(txn == state.opened_by(decision)))

        return self._offsets_ended(settled, marker.producer_id, partition, view.commits(decision)).but(
            entry=update(state.entry, marker.producer_id, partition, to=decided.entry),
            guard_taken=rewrite(state.guard_taken, taken, lambda *_: True),
            data=rewrite(state.data, ended, lambda *_: DECIDED + decision),
            marked=update(state.marked, decision, partition, to=coordinator),
            effects=update(
                state.effects,
                decision,
                partition,
                to=choose(all_of(before.in_transaction, effects < 2), effects + 1, effects),
            ),
            latest_coordinator=update(
                state.latest_coordinator,
                marker.producer_id,
                partition,
                to=choose(latest < coordinator, coordinator, latest),
            ),
        )

    def leader_fails_over_if(self, state: State, partition: Term) -> Guard:
        """A leader may always fail."""
        yield from ()

    def leader_fails_over(self, state: State, partition: Term) -> State:
        """The next leader has the log, and no verification state."""

        def there(*at: Term) -> Term:
            return at[1] == partition

        return state.but(
            query=rewrite(state.query, there, lambda *_: NO_VERIFICATION),
            phase=rewrite(state.phase, there, lambda *_: IDLE),
            guarded=rewrite(state.guarded, there, lambda *_: False),
        )

    def leader_forgets_if(self, state: State, producer: Term, partition: Term) -> Guard:
        """The partition knows the producer, and of no open transaction."""
        known = state.entry(producer, partition)
        yield negate(seq.is_unknown(known))
        yield completing.may_be_forgotten(known)

    def leader_forgets(self, state: State, producer: Term, partition: Term) -> State:
        """The producer's state has expired."""
        return state.but(entry=update(state.entry, producer, partition, to=ProducerEntry()))

    def _offsets_ended(self, state: State, producer: Term, partition: Term, commits: Term) -> State:
        """A producer's pending offset becomes the group's, or is dropped."""
        if not self.knobs.groups:
            return state
        visible, pending = state.group_offset(partition), state.pending(producer, partition)
        applied = offsets.apply(visible, pending, commits=commits, without=self.knobs.without)
        return state.but(
            group_offset=update(state.group_offset, partition, to=applied.committed),
            pending=update(state.pending, producer, partition, to=NO_OFFSET),
        )

    def _numbered(self, state: State, at: Message, appended: Term) -> State:
        """A batch that is appended is the last one of its partition."""
        if not self.knobs.numbers:
            return state
        number, end, partition = self.of(state).number(*at), state.log_end(at[1]), at[1]
        return state.but(
            offset=update(state.offset, *at, to=choose(appended, number, state.offset(*at))),
            log_end=update(state.log_end, partition, to=choose(appended, number + 1, end)),
        )

    def _settled(
        self, view: TransactionsView, identity: IdAndEpoch, partition: Term, request: AppendRequest, appended: Term
    ) -> State:
        """The verification state once a batch is in the log: where the entry is gone, its guards are stale."""
        state, producer = view.state, view.producer(identity)
        before = view.verifying(identity, partition)
        after = verification.after_append(before, request, appended, self.knobs.profile)
        gone = all_of(before.pending, negate(after.pending))

        def stale(txn: Term, p: Term, _: Term) -> Term:
            return both(all_of(gone, p == partition), lambda: view.who(txn).producer_id == producer)

        return state.but(
            query=update(state.query, producer, partition, to=after),
            guarded=rewrite(state.guarded, stale, lambda *_: False),
        )
