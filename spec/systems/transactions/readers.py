"""The actions of readers: each fetches the batches of a partition one by one, as far as the partition lets it.

A reader counts batches: its position is the number of those that it has behind it, and markers have no number. Where
the first open transaction begins is read off the open batches themselves, and what is aborted off their markers: that
a partition knows both (its producer state, its aborted index) is shown in the system of one partition. Followers are
left out: all that is appended is below the high watermark (A1).
"""

from spec.algebra import Term, all_of
from spec.protocol import lso
from spec.protocol.lso import LogOffsets
from spec.systems.language import Action, State, update
from spec.systems.transactions.action_base import Guard, TransactionActionBase
from spec.systems.transactions.view import TransactionsView
from spec.systems.transactions.world import BATCH, DECIDED, PARTITION, READ_COMMITTED, READER, TRANSACTION
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
