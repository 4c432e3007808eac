"""The effects of a coordinator's record: on its memory, on its log, and on the network once it is durable."""

from dataclasses import replace
from typing import Final

from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol import completing
from spec.protocol.completing import MarkerRequest
from spec.protocol.coordinator import (
    TransactionEntry,
    Transition,
    append_failed,
    completed,
    is_in,
)
from spec.systems.language import State, always, either, pick, rewrite, update
from spec.systems.transactions.view import TransactionActionBase, TransactionsView
from spec.systems.transactions.world import DURABLE, LOST
from spec.vocabulary import ABSENT, ErrorCode, TransactionState

NONE: Final = ErrorCode.NONE.value


class CoordinatorRecords(TransactionActionBase):
    """Memory and log after each kind of record, whatever its fate."""

    def _remembers(self, state: State, entry: TransactionEntry) -> State:
        return state.but(memory=always(self.knobs.settled(entry)))

    def _is_taken(self, fate: Term) -> Term:
        """The coordinator takes its record for durable."""
        return any_of(fate == DURABLE, not self.knobs.waits_for_log)

    def _appended(self, view: TransactionsView, transition: Transition, fate: Term) -> State:
        """Memory and log after a record with this fate."""
        state, before = view.state, view.remembers()
        profile = self.knobs.profile
        failed = append_failed(before, transition, profile)
        if not self.knobs.failed_fence_remembered:
            failed = replace(failed, fence_failed=False)
        memory = pick(self._is_taken(fate), completed(transition.entry, transition.target, profile), failed)
        target, drawn = self.knobs.settled(transition.target), state.drawn()
        draws = any_of(target.producer_id == drawn, target.next_producer_id == drawn)
        changed = self._remembers(state, memory).but(
            record=always(pick(fate == LOST, view.record(), target)), awaited=always(True)
        )
        return changed.but(drawn=always(choose(draws, drawn + 1, drawn))) if self.knobs.rotates else changed

    def _emptied(self, view: TransactionsView, transition: Transition, fate: Term) -> State:
        """After the record of an identity that has no transaction yet, with this fate."""
        state, lost = view.state, fate == LOST
        return self._appended(view, transition, fate).but(
            recorded=rewrite(state.recorded, lambda _: negate(lost), lambda _: ABSENT),
            record_opened=always(choose(lost, state.record_opened(), ABSENT)),
            record_decision=always(choose(lost, state.record_decision(), ABSENT)),
        )

    def _joined(self, state: State, txn: Term, partition: Term, fate: Term) -> tuple[State, Term]:
        """After a partition asked to join: the state, and the answer; a failed record is answered with an error."""
        view = self.of(state)
        transition = view.added_to(txn, partition)
        begins = negate(is_in(view.remembers(), TransactionState.ONGOING))
        opened = choose(begins, txn, state.opened())
        durable, known = self._is_taken(fate), state.registered(partition) >= 0
        joins = all_of(transition.appends, durable, negate(known))
        in_log = all_of(transition.appends, negate(fate == LOST))
        failed = all_of(transition.appends, negate(durable))
        wrongly = any_of(self._fences_wrongly(view, txn, partition), state.fenced_wrongly(txn))

        def logged(p: Term) -> Term:
            return choose(all_of(p == partition, negate(known)), txn, state.registered(p))

        grown = self._appended(view, transition, fate).but(
            registered=update(state.registered, partition, to=choose(joins, txn, state.registered(partition))),
            opened=always(choose(durable, opened, state.opened())),
            recorded=rewrite(state.recorded, lambda _: in_log, logged),
            record_opened=always(choose(in_log, opened, state.record_opened())),
            record_decision=always(choose(in_log, ABSENT, state.record_decision())),
        )
        after = either(transition.appends, grown, state)
        reported = choose(failed, ErrorCode.COORDINATOR_NOT_AVAILABLE.value, transition.error)
        return after.but(fenced_wrongly=update(state.fenced_wrongly, txn, to=wrongly)), reported

    def _fences_wrongly(self, view: TransactionsView, txn: Term, partition: Term) -> Term:
        """The client with the newest identity of all gets a fencing error."""
        return self._reports_wrongly(view, txn, view.added_to(txn, partition).error)

    def _reports_wrongly(self, view: TransactionsView, txn: Term, error: Term) -> Term:
        """An answer to the client with the newest identity of all has a fencing error."""
        return all_of(view.is_fatal(error), view.is_open(txn), view.is_current(view.who(txn)))

    # --- decisions --------------------------------------------------------------------------------------------

    def _has_producer_id(self, transition: Transition) -> Term:
        """The instance has every producer id that the record needs."""
        ids, target = self.knobs.bounds.producer_ids, self.knobs.settled(transition.target)
        return any_of(not self.knobs.limited, all_of(target.producer_id < ids, target.next_producer_id < ids))

    def _may_decide(self, view: TransactionsView) -> Term:
        return any_of(not self.knobs.limited, view.decisions() < self.knobs.bounds.decisions)

    def _decided(
        self, view: TransactionsView, transition: Transition, fate: Term, opened_by: Term, ended_by: Term
    ) -> State:
        """After a Prepare record with this fate: where it is durable its markers are sent, and Complete is pending."""
        state, profile = view.state, self.knobs.profile
        appended = self._appended(view, transition, fate)
        recorded = appended.but(
            recorded=state.registered,
            record_opened=always(opened_by),
            record_ended=always(ended_by),
            record_decision=always(choose(self._is_taken(fate), state.decisions(), ABSENT)),
        )
        kept = either(fate == LOST, appended, recorded)
        prepared = self.knobs.settled(transition.target)
        durable_entry = completed(transition.entry, prepared, profile)
        pending = completing.prepare_complete(durable_entry, 0, profile).entry
        durable = self._new_decision(self._remembers(kept, pending), prepared, opened_by, ended_by)
        return either(self._is_taken(fate), durable, kept)

    def _new_decision(self, state: State, prepared: TransactionEntry, opened_by: Term, ended_by: Term) -> State:
        """One more decision, carried out by this coordinator."""
        number, epoch = state.decisions(), state.coordinator_epoch()
        marker: MarkerRequest = completing.marker_of(prepared, ABSENT)
        commits = choose(prepared.state == TransactionState.PREPARE_COMMIT.value, 1, 0)
        return state.but(
            decisions=always(number + 1),
            decision=always(number),
            outcome=update(state.outcome, number, to=commits),
            marker=update(state.marker, number, to=marker),
            to_mark=rewrite(state.to_mark, lambda d, _: d == number, lambda _, p: state.registered(p) >= 0),
            sent_by=update(state.sent_by, number, epoch, to=True),
            opened_by=update(state.opened_by, number, to=opened_by),
            ended_by=update(state.ended_by, number, to=ended_by),
        )
