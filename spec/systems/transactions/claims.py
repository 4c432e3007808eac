"""Claims about transactions, their readers and the offsets that they commit, in every reachable state.

Arguments:
    other: another partition of the transaction.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate
from spec.protocol.coordinator import is_fencing, is_in, is_preparing
from spec.protocol.offsets import fetch
from spec.rules import Rule
from spec.systems.language import Claim, Sort, State, given
from spec.systems.links import is_of_its_generation, is_withheld, outcomes_agree
from spec.systems.transactions.decisions import ReleaseDecisions
from spec.systems.transactions.view import TransactionsView
from spec.systems.transactions.world import (
    ABORT,
    BATCH,
    COMMIT,
    COORDINATOR,
    DECIDED,
    DECISION,
    INSTANCE,
    NOWHERE,
    OFFSETS,
    OPEN,
    PARTITION,
    PRODUCER,
    READ_COMMITTED,
    READER,
    TRANSACTION,
    TransactionKnobs,
)
from spec.vocabulary import ABSENT, TransactionState

# --- offsets of a group -----------------------------------------------------------------------------------------------


def is_committed(view: TransactionsView, txn: Term, partition: Term, batch: Term) -> Term:
    """The batch is in the log and committed."""
    where = view.data(txn, partition, batch)
    return all_of(where >= DECIDED, view.commits(where - DECIDED))


def is_own_offset(view: TransactionsView, partition: Term) -> Term:
    """The group has an offset, and it is of this transactional id."""
    visible = view.group_offset(partition)
    return all_of(visible.present, negate(view.is_of_other_id(partition, visible.recorded_at)))


def offset_is_of_committed(view: TransactionsView, partition: Term) -> Term:
    """The group's offset is of a committed transaction, and of none whose client got an abort as its outcome."""
    txn = view.group_offset(partition).offset

    def committed() -> Term:
        reported = all_of(view.ended(txn), view.end_sent(txn) == ABORT)
        return all_of(is_committed(view, txn, partition, 0), negate(reported))

    return given(is_own_offset(view, partition), committed)


def offsets_come_with_outputs(view: TransactionsView, partition: Term, other: Term, batch: Term) -> Term:
    """Of the transaction whose offset is the group's, nothing is aborted on any partition."""
    where = view.data(view.group_offset(partition).offset, other, batch)
    return given(all_of(is_own_offset(view, partition), where >= DECIDED), lambda: view.commits(where - DECIDED))


def outputs_come_with_offsets(view: TransactionsView, txn: Term, partition: Term, other: Term, batch: Term) -> Term:
    """Where anything of a transaction is committed, its offset is the group's once decided, or a later one is."""
    decided = all_of(view.kind(partition) == OFFSETS, view.data(txn, partition, 0) >= DECIDED)
    both = all_of(decided, is_committed(view, txn, other, batch))
    return implies(both, view.group_offset(partition).recorded_at >= view.offset(txn, partition, 0))


def commit_is_of_its_generation(view: TransactionsView, txn: Term, partition: Term) -> Term:
    """Offsets go to the log only while the generation that they name is the group's."""
    return is_of_its_generation(view.committed_in(txn, partition), view.named(txn, partition))


def stable_fetch_waits(view: TransactionsView, txn: Term, partition: Term, batch: Term) -> Term:
    """While offsets of a transaction are in the log and undecided, a stable fetch returns an error and no offset."""
    is_open = all_of(view.kind(partition) == OFFSETS, view.data(txn, partition, batch) == OPEN)

    def waits() -> Term:
        pending = view.pending(view.producer(view.who(txn)), partition)
        reported = fetch(view.group_offset(partition), pending.present, stable=True, without=view.knobs.without)
        return is_withheld(is_open, reported)

    return given(is_open, waits)


OF_GROUPS: Final[tuple[tuple[Callable[..., Term], Rule, tuple[Sort, ...]], ...]] = (
    (offset_is_of_committed, rules.OFFSETS_ATOMIC, (PARTITION,)),
    (offsets_come_with_outputs, rules.OFFSETS_ATOMIC, (PARTITION, PARTITION, BATCH)),
    (outputs_come_with_offsets, rules.OFFSETS_ATOMIC, (TRANSACTION, PARTITION, PARTITION, BATCH)),
    (commit_is_of_its_generation, rules.OFFSETS_GENERATION_FENCE, (TRANSACTION, PARTITION)),
    (stable_fetch_waits, rules.OFFSETS_STABLE_FETCH, (TRANSACTION, PARTITION, BATCH)),
)
"""Each claim, its rule, and what it speaks of."""


# --- readers ----------------------------------------------------------------------------------------------------------


def reads_committed(view: TransactionsView, reader: Term, txn: Term, partition: Term, batch: Term) -> Term:
    """The reader is one of committed data, and was given the batch."""
    return all_of(reader == READ_COMMITTED, view.received(reader, txn, partition, batch))


def has_passed(view: TransactionsView, reader: Term, txn: Term, partition: Term, batch: Term) -> Term:
    """The reader is one of committed data, and has the batch behind it."""
    offset = view.offset(txn, partition, batch)
    return all_of(reader == READ_COMMITTED, offset >= 0, offset < view.position(reader, partition))


def received_is_committed(view: TransactionsView, reader: Term, txn: Term, partition: Term, batch: Term) -> Term:
    """What a reader of committed data has received is in the log and committed, and stays so."""
    where = view.data(txn, partition, batch)
    received = reads_committed(view, reader, txn, partition, batch)
    return given(received, lambda: all_of(where >= DECIDED, view.commits(where - DECIDED)))


def no_committed_record_is_skipped(
    view: TransactionsView, reader: Term, txn: Term, partition: Term, batch: Term
) -> Term:
    """Behind a reader of committed data everything is decided, and it has received all that is committed."""
    at, where = (reader, txn, partition, batch), view.data(txn, partition, batch)

    def all_of_it() -> Term:
        return all_of(where >= DECIDED, implies(view.commits(where - DECIDED), view.received(*at)))

    return given(has_passed(view, *at), all_of_it)


def reader_sees_no_half(view: TransactionsView, reader: Term, txn: Term, p: Term, b: Term, q: Term, c: Term) -> Term:
    """Where such a reader has a batch of a transaction, nothing of that is aborted, on any partition."""
    other = view.data(txn, q, c)
    both = all_of(reads_committed(view, reader, txn, p, b), other >= DECIDED)
    return given(both, lambda: view.commits(other - DECIDED))


def reader_sees_what_the_client_was_reported(
    view: TransactionsView, reader: Term, txn: Term, partition: Term, batch: Term
) -> Term:
    """Abort was answered OK: such a reader has nothing. Commit was: it has every acknowledged batch it has passed."""
    at = (reader, txn, partition, batch)

    def true() -> Term:
        passed = all_of(view.acknowledged(txn, partition, batch), has_passed(view, *at))
        has = reads_committed(view, *at)
        return choose(view.end_sent(txn) == COMMIT, implies(passed, has), negate(has))

    return given(all_of(view.ended(txn), view.requested_end(txn)), true)


_SEEN = (READER, TRANSACTION, PARTITION, BATCH)

OF_READERS: Final[tuple[tuple[Callable[..., Term], Rule, tuple[Sort, ...]], ...]] = (
    (received_is_committed, rules.LSO_READ_COMMITTED, _SEEN),
    (no_committed_record_is_skipped, rules.LSO_DECIDED_BELOW, _SEEN),
    (reader_sees_no_half, rules.TXN_ATOMIC, (*_SEEN, PARTITION, BATCH)),
    (reader_sees_what_the_client_was_reported, rules.TXN_CLIENT_VERDICT, _SEEN),
)
"""Each claim, its rule, and what it speaks of."""


Sentence: TypeAlias = Callable[..., Term]

_COMMITS = (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)
_ABORTS = (TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT)


# --- txn: one transaction and the next ------------------------------------------------------------------------


def ends_its_own(view: TransactionsView, decision: Term) -> Term:
    """A transaction is ended by a request of its own client transaction, or by the coordinator itself."""
    made = view.outcome(decision) >= 0
    by_client = all_of(made, view.ended_by(decision) >= 0)
    return implies(by_client, view.ended_by(decision) == view.opened_by(decision))


def joins_its_own(view: TransactionsView, partition: Term) -> Term:
    """Every partition of the open transaction was registered by the client transaction that opened it."""
    registered = view.registered(partition)
    return implies(all_of(registered >= 0, view.opened() >= 0), registered == view.opened())


def decided_with_its_own(view: TransactionsView, txn: Term, partition: Term, batch: Term, decision: Term) -> Term:
    """The marker that decides a batch is that of the batch's own transaction."""
    here = all_of(decision >= 0, view.data(txn, partition, batch) == DECIDED + decision)
    return implies(here, view.opened_by(decision) == txn)


def bump_ends_no_other(view: TransactionsView) -> Term:
    """A client's bump fences no transaction but an earlier one of its own instance."""
    by, owner = view.fenced_by(), view.opened()
    fences = all_of(is_fencing(view.remembers()), by >= 0)
    return implies(fences, all_of(view.owner(owner) == view.owner(by), owner < by))


def same_outcome_everywhere(view: TransactionsView, txn: Term, p: Term, b: Term, q: Term, c: Term) -> Term:
    """All decisions on a transaction have the same outcome, on every partition."""
    one, other = view.data(txn, p, b), view.data(txn, q, c)
    both = all_of(one >= DECIDED, other >= DECIDED)
    return given(both, lambda: outcomes_agree(view.outcome(one - DECIDED), view.outcome(other - DECIDED)))


def outcome_is_kept(view: TransactionsView, decision: Term) -> Term:
    """Memory and log keep the outcome that was decided, until the transaction is over."""
    memory, record = view.remembers(), view.knobs.settled(view.record())
    carried = all_of(decision >= 0, view.decision() == decision)

    def kept() -> Term:
        same = all_of(is_in(memory, *_COMMITS), is_in(record, *_COMMITS))
        opposite = all_of(is_in(memory, *_ABORTS), is_in(record, *_ABORTS))
        return choose(view.commits(decision), same, opposite)

    return given(carried, kept)


def marker_has_effect_once(view: TransactionsView, decision: Term, partition: Term) -> Term:
    """The marker of a decision ends an open transaction at most once on a partition."""
    return view.effects(decision, partition) <= 1


def open_data_will_be_decided(view: TransactionsView, txn: Term, partition: Term, batch: Term) -> Term:
    """Open data has a marker to come: its partition is in the open transaction, or its marker is on the way."""
    memory, decision = view.remembers(), view.decision()
    is_open = view.data(txn, partition, batch) == OPEN

    def to_come() -> Term:
        ongoing = all_of(is_in(memory, TransactionState.ONGOING), view.registered(partition) >= 0)
        due = negate(view.marked(decision, partition) == view.coordinator_epoch())
        on_the_way = all_of(is_preparing(memory), decision >= 0, view.to_mark(decision, partition), due)
        return all_of(any_of(ongoing, on_the_way), memory.producer_id == view.who(txn).producer_id)

    return given(is_open, to_come)


def client_was_reported_the_truth(view: TransactionsView, txn: Term, partition: Term, batch: Term) -> Term:
    """Commit was answered OK: no acknowledged batch is aborted. Abort was: none is committed."""
    where = view.data(txn, partition, batch)
    reported = all_of(view.ended(txn), negate(view.is_bump(txn)), where >= DECIDED)

    def true() -> Term:
        commits = implies(view.acknowledged(txn, partition, batch), view.commits(where - DECIDED))
        return choose(view.end_sent(txn) == COMMIT, commits, view.aborts(where - DECIDED))

    return given(reported, true)


def no_batch_is_skipped(view: TransactionsView, txn: Term, partition: Term, batch: Term) -> Term:
    """A batch is in the log only after those that its client sent before it."""
    here = view.data(txn, partition, batch) >= OPEN
    return implies(all_of(here, batch > 0), view.data(txn, partition, batch - 1) > NOWHERE)


def batch_is_in_the_log_once(view: TransactionsView, txn: Term, partition: Term, batch: Term) -> Term:
    """A batch of a transaction is in the log at most once, and exactly once where it was acknowledged."""
    copies = view.copies(txn, partition, batch)
    acknowledged = implies(view.acknowledged(txn, partition, batch), copies == 1)
    return implies(view.is_of_data(partition), all_of(copies <= 1, acknowledged))


# --- fencing and failover -------------------------------------------------------------------------------------


def zombie_does_not_commit(view: TransactionsView, txn: Term, partition: Term, batch: Term, instance: Term) -> Term:
    """Once a later instance has its identity, nothing of an earlier one becomes committed."""
    where = view.data(txn, partition, batch)
    earlier = all_of(view.owner(txn) >= 0, view.owner(txn) < instance, view.given(instance).producer_epoch >= 0)

    def before() -> Term:
        decision = where - DECIDED
        return implies(view.commits(decision), decision < view.decided_before(instance))

    return given(all_of(earlier, where >= DECIDED), before)


def log_knows_the_decision(view: TransactionsView) -> Term:
    """The decision that would be loaded after a crash is the one whose markers are being sent."""
    deciding = all_of(is_preparing(view.remembers()), view.decision() >= 0)
    return implies(deciding, all_of(is_preparing(view.record()), view.record_decision() == view.decision()))


def coordinator_epochs_never_fall(view: TransactionsView, partition: Term, producer: Term) -> Term:
    """A partition accepts no marker of a coordinator older than one whose marker it has of the same producer."""
    known = view.entry(producer, partition).coordinator_epoch
    return any_of(known == ABSENT, known >= view.latest_coordinator(producer, partition))


def identities_differ(view: TransactionsView, one: Term, other: Term) -> Term:
    """No two client transactions have the same identity; before version 2, no two of different instances."""
    both = all_of(view.owner(one) >= 0, view.owner(other) >= 0, negate(one == other))
    apart = True if view.knobs.bumps else negate(view.owner(one) == view.owner(other))
    mine, theirs = view.who(one), view.who(other)
    alike = all_of(mine.producer_id == theirs.producer_id, mine.producer_epoch == theirs.producer_epoch)
    return implies(all_of(both, apart), negate(alike))


def newest_is_not_fenced(view: TransactionsView, txn: Term) -> Term:
    """The client with the newest identity is never fenced."""
    return negate(view.fenced_wrongly(txn))


def marker_leaves_next_guard(view: TransactionsView, txn: Term) -> Term:
    """Data of the open transaction is not refused because an earlier transaction's marker took its guard away."""
    return negate(view.refused_wrongly(txn))


# --- nothing is stuck -----------------------------------------------------------------------------------------


def markers_are_let_in(view: TransactionsView, partition: Term, decision: Term, coordinator: Term) -> Term:
    """While a coordinator waits for a marker to be written, the leader does not refuse it."""
    waits = all_of(
        is_preparing(view.remembers()),
        view.decision() == decision,
        view.coordinator_epoch() == coordinator,
        view.to_mark(decision, partition),
    )
    return given(waits, lambda: view.marker_accepted(decision, coordinator, partition))


def complete_is_awaited(view: TransactionsView) -> Term:
    """A coordinator that has sent markers completes the transaction when they are answered."""
    return implies(is_preparing(view.remembers()), view.awaited())


def open_can_be_ended(view: TransactionsView) -> Term:
    """An open transaction can be aborted by its coordinator, or ended by its client."""
    memory, owner = view.remembers(), view.opened()
    is_open = all_of(is_in(memory, TransactionState.ONGOING), memory.pending == ABSENT)

    def ended() -> Term:
        identity = view.who(owner)
        mine = all_of(identity.producer_id == memory.producer_id, identity.producer_epoch == memory.producer_epoch)
        by_client = all_of(mine, view.may_abort(owner))
        return any_of(view.own_abort(view.fenced(memory)).appends, by_client)

    return given(is_open, ended)


def last_epoch_is_the_coordinators(view: TransactionsView, txn: Term) -> Term:
    """No client has the epoch that is kept for its fence."""
    return negate(view.who(txn).producer_epoch == view.knobs.profile.max_epoch)


def one_fence_takes_one_epoch(view: TransactionsView) -> Term:
    """While a transaction is open its epoch is at most one above that of its client."""
    memory, owner = view.remembers(), view.opened()
    is_open = all_of(is_in(memory, TransactionState.ONGOING), owner >= 0)
    return given(is_open, lambda: memory.producer_epoch <= view.who(owner).producer_epoch + 1)


class TransactionClaims:
    """The claims about a system with these knobs."""

    def __init__(self, knobs: TransactionKnobs, taken: ReleaseDecisions) -> None:
        self._knobs = knobs
        self._of = partial(TransactionsView, knobs, taken)

    def theorems(self) -> tuple[Claim, ...]:
        """The claims of the rules."""
        message = (TRANSACTION, PARTITION, BATCH)
        return (
            self._claim(ends_its_own, rules.TXN_NO_CROSSTALK, DECISION),
            self._claim(joins_its_own, rules.TXN_NO_CROSSTALK, PARTITION),
            self._claim(decided_with_its_own, rules.TXN_NO_CROSSTALK, *message, DECISION),
            self._claim(bump_ends_no_other, rules.TXN_NO_CROSSTALK),
            self._claim(same_outcome_everywhere, rules.TXN_ATOMIC, *message, PARTITION, BATCH),
            self._claim(outcome_is_kept, rules.TXN_ONE_OUTCOME, DECISION),
            self._claim(marker_has_effect_once, rules.TXN_MARKER_ONCE, DECISION, PARTITION),
            self._claim(open_data_will_be_decided, rules.TXN_REGISTERED_BEFORE_DATA, *message),
            self._claim(marker_leaves_next_guard, rules.TXN_NO_CROSSTALK, TRANSACTION),
            self._claim(client_was_reported_the_truth, rules.TXN_CLIENT_VERDICT, *message),
            self._claim(no_batch_is_skipped, rules.SEQ_ORDER, *message),
            self._claim(batch_is_in_the_log_once, rules.SEQ_EXACTLY_ONCE, *message),
            self._claim(zombie_does_not_commit, rules.FENCE_ZOMBIE_CANNOT_COMMIT, *message, INSTANCE),
            self._claim(log_knows_the_decision, rules.TXN_FAILOVER),
            self._claim(identities_differ, rules.IDS_IDENTITY_NEVER_REPEATS, TRANSACTION, TRANSACTION),
            self._claim(newest_is_not_fenced, rules.FENCE_STALE_EPOCH, TRANSACTION),
            *self._of_coordinators(),
            *(self._claim(sentence, rule, *over) for sentence, rule, over in OF_READERS if self._knobs.readers),
            *(self._claim(sentence, rule, *over) for sentence, rule, over in OF_GROUPS if self._knobs.groups),
        )

    def _of_coordinators(self) -> tuple[Claim, ...]:
        return (
            self._claim(coordinator_epochs_never_fall, rules.FENCE_COORDINATOR_EPOCH, PARTITION, PRODUCER),
            self._claim(markers_are_let_in, rules.TXN_COMPLETES, PARTITION, DECISION, COORDINATOR),
            self._claim(complete_is_awaited, rules.TXN_COMPLETES),
            self._claim(open_can_be_ended, rules.FENCE_EPOCH_EXHAUSTION),
            self._claim(last_epoch_is_the_coordinators, rules.FENCE_EPOCH_EXHAUSTION, TRANSACTION),
            self._claim(one_fence_takes_one_epoch, rules.FENCE_EPOCH_EXHAUSTION),
        )

    def _claim(self, sentence: Sentence, rule: Rule, *over: Sort) -> Claim:
        def holds(state: State, *at: Term) -> Term:
            return sentence(self._of(state), *at)

        return Claim(sentence.__name__, rule, str(sentence.__doc__), over, holds)
