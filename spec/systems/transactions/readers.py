"""The actions of readers and of their group's coordinator: fetches, offsets of transactions, and generations.

A reader counts batches: its position is the number of batches behind it, and markers have no number. The start of the
first open transaction follows from the open batches themselves, and aborted data from their markers. That a partition
knows both (by its producer state and its aborted index) is shown in the system of one partition. Followers are
left out: everything that is appended is below the high watermark (A1).

The group's partition of offsets is one more partition of the transaction: it is registered, verified and marked as the
others are. A transaction commits one offset of the group, which its client may send again; the offset that was appended
last counts. The group has one member, which comes back in each generation with the same id.
"""

from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol import lso, offsets, verification
from spec.protocol.lso import LogOffsets
from spec.protocol.offsets import OffsetEntry
from spec.systems.language import Action, State, always, pick, update
from spec.systems.transactions.leaders import Leaders
from spec.systems.transactions.view import Guard, TransactionActionBase, TransactionsView
from spec.systems.transactions.world import (
    BATCH,
    BATCHES,
    CONFIRMED,
    DECIDED,
    IDLE,
    OFFSETS,
    PARTITION,
    READ_COMMITTED,
    READER,
    TRANSACTION,
    UNVERIFIED,
)
from spec.vocabulary import ABSENT


class ReaderActions(TransactionActionBase):
    """The actions of two readers, of committed data and of all of it."""

    def all(self) -> tuple[Action, ...]:
        """The one action, where there are readers."""
        return (self._action("reader_fetches", READER, TRANSACTION, PARTITION, BATCH),) * self.knobs.readers

    def reader_fetches_if(self, state: State, reader: Term, txn: Term, partition: Term, batch: Term) -> Guard:
        """The batch is the reader's next one, and below the bound of its fetch."""
        view = self.of(state)
        position = view.position(reader, partition)
        yield view.offset(txn, partition, batch) == position
        yield position < self.bound(view, reader, partition)

    def reader_fetches(self, state: State, reader: Term, txn: Term, partition: Term, batch: Term) -> State:
        """It is given to the application or filtered out, and the reader continues."""
        at = (reader, txn, partition, batch)
        given = self._is_given(self.of(state), *at)
        return state.but(
            position=update(state.position, reader, partition, to=state.position(reader, partition) + 1),
            received=update(state.received, *at, to=given),
        )

    def bound(self, view: TransactionsView, reader: Term, partition: Term) -> Term:
        """Where the reader's fetch ends."""
        end = view.log_end(partition)
        offsets = LogOffsets(
            log_start=0,
            first_ongoing=view.first_ongoing(partition),
            first_unreplicated=ABSENT,
            high_watermark=end,
            log_end=end,
        )
        waits = all_of(reader == READ_COMMITTED, self.knobs.readers_wait)
        return lso.fetch(offsets, view.position(reader, partition), waits).bound

    def _is_given(self, view: TransactionsView, reader: Term, txn: Term, partition: Term, batch: Term) -> Term:
        """The application is given the batch."""
        where = view.data(txn, partition, batch)
        aborted = all_of(where >= DECIDED, view.aborts(where - DECIDED), self.knobs.aborted_filtered)
        return lso.is_delivered(
            control=False, transactional=True, aborted=aborted, read_committed=reader == READ_COMMITTED
        )


# --- the group's coordinator ------------------------------------------------------------------------------------------


class GroupActions(Leaders):
    """The actions of the group's coordinator, which leads a partition of offsets."""

    def all(self) -> tuple[Action, ...]:
        """Every action, where transactions commit offsets."""
        actions = {
            "group_receives_commit": (TRANSACTION, PARTITION),
            "group_appends_commit": (TRANSACTION, PARTITION),
            "group_rebalances": (),
        }
        return tuple(self._action(name, *over) for name, over in actions.items() if self.knobs.groups)

    def group_receives_commit_if(self, state: State, txn: Term, partition: Term) -> Guard:
        """TxnOffsetCommit is on the network, and this coordinator has no copy of it at hand."""
        view = self.of(state)
        known, request = view.known(view.who(txn), partition), view.offset_batch(txn)
        yield view.kind(partition) == OFFSETS
        yield view.produced(txn, partition, 0) >= 0
        yield view.phase(txn, partition, 0) == IDLE
        yield view.arrives(BATCHES, txn)
        yield negate(verification.is_refused_unasked(known, request, self.knobs.profile))
        yield any_of(self.knobs.profile.offsets_verified_first, view.is_let_commit(txn, partition))

    def group_receives_commit(self, state: State, txn: Term, partition: Term) -> State:
        """The transaction's coordinator is asked, or the offset goes to the log at once."""
        view = self.of(state)
        return self._received(view, (txn, partition, 0), view.offset_batch(txn))

    def group_appends_commit_if(self, state: State, txn: Term, partition: Term) -> Guard:
        """The commit needs no consent, or has it."""
        yield state.kind(partition) == OFFSETS
        phase = state.phase(txn, partition, 0)
        yield any_of(phase == UNVERIFIED, phase == CONFIRMED)

    def group_appends_commit(self, state: State, txn: Term, partition: Term) -> State:
        """The offset is in the log and pending, or refused by the group or by the log."""
        view = self.of(state)
        at, producer = (txn, partition, 0), view.producer(view.who(txn))
        let = any_of(not self.knobs.profile.offsets_verified_first, view.is_let_commit(txn, partition))
        decided = view.appended(*at, view.offset_batch(txn))
        appended = all_of(let, decided.reply.appended)
        statement, before = OffsetEntry(txn, view.number(*at)), state.pending(producer, partition)
        pending = offsets.pending_after(before, statement, self.knobs.profile, appended=decided.reply.appended)
        in_generation = choose(appended, state.generation(), state.committed_in(txn, partition))
        return self._appended(view, at, view.offset_batch(txn), decided, let).but(
            pending=update(state.pending, producer, partition, to=pick(let, pending, before)),
            committed_in=update(state.committed_in, txn, partition, to=in_generation),
        )

    def group_rebalances_if(self, state: State) -> Guard:
        """There may be a further generation."""
        yield any_of(not self.knobs.limited, state.generation() < self.knobs.bounds.generations)

    def group_rebalances(self, state: State) -> State:
        """The next generation begins."""
        return state.but(generation=always(state.generation() + 1))
