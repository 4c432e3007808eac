"""The steps of leaders and of a group's coordinator in the system of transactions, put to the judges of recorded steps.

The system counts batches and has no offsets: that these decide nothing is a fact of the append decision
(`decisions_do_not_depend_on_offsets`).
"""

from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate, same
from spec.judging.judge import entries_agree
from spec.judging.judge_groups import OffsetCommitStep, judge_marker, judge_offset_commit
from spec.protocol import completing, verification
from spec.protocol.append import append
from spec.protocol.offsets import OffsetEntry
from spec.protocol.records import AppendRequest
from spec.systems.judged_append import is_as_judged
from spec.systems.language import State, StepLemma, given
from spec.systems.transactions.decisions import ReleaseDecisions
from spec.systems.transactions.groups import GroupActions
from spec.systems.transactions.judged_base import Given, JudgedActions, unbroken
from spec.systems.transactions.leaders import Leaders
from spec.systems.transactions.world import BATCH, CONFIRMED, OFFSETS, OPEN, TRANSACTION, TransactionKnobs
from spec.vocabulary import ABSENT, ErrorCode

NONE: Final = ErrorCode.NONE.value
REFUSED: Final = ErrorCode.INVALID_TXN_STATE.value


class JudgedAppends(JudgedActions):
    """A lemma for each action that appends to a partition, by the name of the action."""

    def __init__(self, knobs: TransactionKnobs, taken: ReleaseDecisions) -> None:
        super().__init__(knobs, taken, (*Leaders(knobs, taken).all(), *GroupActions(knobs, taken).all()))

    def all(self) -> tuple[StepLemma, ...]:
        """The lemmas of the actions that the knobs leave in the system."""
        # decision, coordinator and partition are the marker's; then come a transaction and a batch of its own
        pending: Given = (("open_is_pending", (3, 2, 4)),)
        return self._lemmas(
            (self.appends, rules.SEQ_SUCCESSOR, ("leader_appends",), (), ()),
            (self.marker, rules.TXN_MARKER_ONCE, ("leader_writes_marker",), (TRANSACTION, BATCH), pending),
            (self.commits, rules.OFFSETS_GENERATION_FENCE, ("group_appends_commit",), (), ()),
        )

    def appends(self, before: State, after: State, txn: Term, partition: Term, batch: Term) -> Term:
        """A batch that has reached the log is judged as the system decides it, and acknowledged as it is answered."""
        return self._appended(before, after, (txn, partition, batch), self.of(before).batch(txn, partition, batch))

    def commits(self, before: State, after: State, txn: Term, partition: Term) -> Term:
        """A group's commit in a transaction is judged as the system decides it: as a commit and as an append."""
        view, at = self.of(before), (txn, partition, 0)
        late = not self.knobs.profile.offsets_verified_first
        let = any_of(late, view.is_let_commit(txn, partition))
        written = negate(after.log_end(partition) == before.log_end(partition))
        step = OffsetCommitStep(
            before.named(txn, partition),
            before.generation(),
            choose(written, NONE, REFUSED),
            before.group_offset(partition).recorded_at,
            after.group_offset(partition).recorded_at,
        )
        _, checks = judge_offset_commit(step, self.knobs.profile)
        producer = view.producer(view.who(txn))
        untouched = entries_agree(before.entry(producer, partition), after.entry(producer, partition))
        return all_of(
            late or unbroken(checks),
            implies(negate(let), untouched),
            given(let, lambda: self._appended(before, after, at, view.offset_batch(txn))),
        )

    def marker(
        self, before: State, after: State, decision: Term, coordinator: Term, partition: Term, txn: Term, batch: Term
    ) -> Term:
        """A marker is judged as the system decides it; what the transaction said of an offset is pending until then."""
        view = self.of(before)
        sent = view.sent_marker(decision, coordinator)
        request = completing.to_append(sent, 0)
        seen = verification.met(before.query(sent.producer_id, partition), guarded=False)
        known, knows = before.entry(sent.producer_id, partition), after.entry(sent.producer_id, partition)
        return all_of(
            is_as_judged(known, request, knows, self.knobs.profile, seen),
            self._takes_over(before, decision, partition, sent.producer_id, txn, batch) if self.knobs.groups else True,
        )

    def _takes_over(
        self, before: State, decision: Term, partition: Term, producer: Term, txn: Term, batch: Term
    ) -> Term:
        """Of any transaction that the marker ends, the judge finds pending what it said of an offset."""
        view = self.of(before)
        mine = all_of(view.who(txn).producer_id == producer, before.kind(partition) == OFFSETS)
        undecided = all_of(mine, before.data(txn, partition, batch) == OPEN)
        settled_entry = OffsetEntry(txn, choose(undecided, before.offset(txn, partition, batch), ABSENT))
        return unbroken([judge_marker(settled_entry, before.pending(producer, partition), view.commits(decision))])

    def _appended(self, before: State, after: State, at: tuple[Term, Term, Term], request: AppendRequest) -> Term:
        """A batch, as the judge expects it; its client is answered so, and the batch is where it is answered to be."""
        view = self.of(before)
        producer, partition = view.producer(view.who(at[0])), at[1]
        guarded = all_of(before.phase(*at) == CONFIRMED, before.guarded(*at))
        seen = verification.met(before.query(producer, partition), guarded)
        known, knows = before.entry(producer, partition), after.entry(producer, partition)
        reply = append(known, request, self.knobs.profile, seen).reply
        acknowledged = any_of(before.acknowledged(*at), reply.appended, reply.duplicate)
        return all_of(
            is_as_judged(known, request, knows, self.knobs.profile, seen),
            same(after.acknowledged(*at), acknowledged),
            after.data(*at) == choose(reply.appended, OPEN, before.data(*at)),
        )
