"""The actions of the application's instances, and of other transactional ids as far as this one's state shows them.

Other ids write to the same partitions, commit offsets of the same group, and draw producer ids. An action of this id
changes the shared state only as `OtherIds` lets the other ids change it (`shared_cells`). The rest of their state is
theirs alone.
"""

from spec.algebra import Term, all_of, any_of, negate
from spec.protocol.offsets import OffsetEntry
from spec.systems.language import Action, State, always, rewrite, update
from spec.systems.transactions.readers import ReaderActions
from spec.systems.transactions.view import Guard, TransactionActionBase, TransactionsView
from spec.systems.transactions.world import (
    ABORT,
    BATCH,
    BATCHES,
    BUMP,
    COMMIT,
    DATA,
    INSTANCE,
    KIND,
    NOT_SENT,
    NUMBER,
    OFFSETS,
    OUTCOME,
    PARTITION,
    READER,
    SENT,
    TRANSACTION,
    UNUSED,
)
from spec.vocabulary import ABSENT


class ClientInstances(TransactionActionBase):
    """The actions of the instances, which follow the protocol; what they send stays on the network."""

    def all(self) -> tuple[Action, ...]:
        """Every action of the clients' transaction version."""
        sends = self._action("client_sends_batch", INSTANCE, TRANSACTION, PARTITION, BATCH)
        ends = self._action("client_ends", TRANSACTION, OUTCOME)
        commits = self._action("client_commits_offset", INSTANCE, TRANSACTION, PARTITION)
        asks = self._action("client_asks_for_bump", INSTANCE, TRANSACTION)
        actions = (sends, ends, *((commits,) * self.knobs.groups), *((asks,) * self.knobs.clients_bump))
        if self.knobs.bumps:
            return actions
        return (self._action("client_adds_partition", INSTANCE, TRANSACTION, PARTITION), *actions)

    def client_adds_partition_if(self, state: State, instance: Term, txn: Term, partition: Term) -> Guard:
        """Before version 2: the partition is not in the instance's transaction yet, which may begin with it."""
        view = self.of(state)
        yield view.added(txn, partition) == NOT_SENT
        yield self._in_transaction(view, instance, txn)

    def client_adds_partition(self, state: State, instance: Term, txn: Term, partition: Term) -> State:
        """AddPartitionsToTxn is on the network."""
        begun = self._begun(state, instance, txn)
        return begun.but(added=update(state.added, txn, partition, to=SENT))

    def client_sends_batch_if(self, state: State, instance: Term, txn: Term, partition: Term, batch: Term) -> Guard:
        """The batch is the next one; before version 2 its partition is known to have joined."""
        view = self.of(state)
        yield view.produced(txn, partition, batch) == ABSENT
        if self.knobs.sends_in_order:
            yield any_of(batch == 0, view.produced(txn, partition, batch - 1) >= 0)
        yield view.is_of_data(partition)
        if not self.knobs.bumps:
            yield view.is_added(txn, partition)
        yield self._in_transaction(view, instance, txn)

    def client_sends_batch(self, state: State, instance: Term, txn: Term, partition: Term, batch: Term) -> State:
        """Produce is on the network, with the next sequence."""
        begun = self._begun(state, instance, txn) if self.knobs.bumps else state
        sequence = begun.next_sequence(instance, partition)
        used = begun.but(kind=update(state.kind, partition, to=DATA)) if self.knobs.groups else begun
        return used.but(
            produced=update(state.produced, txn, partition, batch, to=sequence),
            next_sequence=update(begun.next_sequence, instance, partition, to=sequence + 1),
        )

    def client_commits_offset_if(self, state: State, instance: Term, txn: Term, partition: Term) -> Guard:
        """The transaction has no offset of the group yet; before version 2 its partition is known to have joined."""
        view = self.of(state)
        yield negate(view.kind(partition) == DATA)
        yield view.produced(txn, partition, 0) == ABSENT
        if not self.knobs.bumps:
            yield view.is_added(txn, partition)
        yield self._in_transaction(view, instance, txn)

    def client_commits_offset(self, state: State, instance: Term, txn: Term, partition: Term) -> State:
        """TxnOffsetCommit is on the network, with the generation that the group has now (KIP-447)."""
        begun = self._begun(state, instance, txn) if self.knobs.bumps else state
        return begun.but(
            produced=update(state.produced, txn, partition, 0, to=0),
            next_sequence=update(begun.next_sequence, instance, partition, to=1),
            kind=update(state.kind, partition, to=OFFSETS),
            named=update(state.named, txn, partition, to=state.generation()),
        )

    def client_ends_if(self, state: State, txn: Term, outcome: Term) -> Guard:
        """A commit waits until all that was sent is acknowledged; an abort gives it up."""
        view = self.of(state)
        yield any_of(outcome == ABORT, outcome == COMMIT)
        yield view.is_open(txn)
        if not self.knobs.bumps:
            yield view.joined(txn) >= 0
        if self.knobs.commits_wait:
            yield any_of(outcome == ABORT, view.unanswered(txn) == ABSENT)
        yield any_of(BATCHES in self.knobs.outlive, view.in_process(txn) == ABSENT)

    def client_ends(self, state: State, txn: Term, outcome: Term) -> State:
        """EndTxn is on the network."""
        return state.but(end_sent=update(state.end_sent, txn, to=outcome))

    def client_asks_for_bump_if(self, state: State, instance: Term, txn: Term) -> Guard:
        """The instance has an identity, and no transaction that has not ended."""
        yield self.of(state).may_begin(instance, txn)

    def client_asks_for_bump(self, state: State, instance: Term, txn: Term) -> State:
        """InitProducerId is on the network, with the identity that the instance has (KIP-360)."""
        begun = self._begun(state, instance, txn, anew=True)
        return begun.but(end_sent=update(state.end_sent, txn, to=BUMP))

    def _in_transaction(self, view: TransactionsView, instance: Term, txn: Term) -> Term:
        mine = all_of(view.owner(txn) == instance, view.is_open(txn))
        return any_of(mine, view.may_begin(instance, txn))

    def _begun(self, state: State, instance: Term, txn: Term, *, anew: bool = False) -> State:
        """The transaction is the instance's, with the identity that it has now; a new epoch starts at sequence 0."""
        view = self.of(state)
        new = state.owner(txn) == ABSENT
        identity = view.next_of(instance)

        def starts(of: Term, _: Term) -> Term:
            return all_of(new, of == instance, self.knobs.bumps or anew)

        return state.but(
            owner=update(state.owner, txn, to=instance),
            current=update(state.current, instance, to=txn),
            identity=rewrite(state.identity, lambda of: all_of(new, of == txn), lambda _: identity),
            next_sequence=rewrite(state.next_sequence, starts, lambda *_: 0),
        )


# --- other transactional ids ------------------------------------------------------------------------------------------


class OtherIds(ReaderActions):
    """What other ids do to partitions, to the group, and to the producer ids that are drawn; and who reads it."""

    def all(self) -> tuple[Action, ...]:
        """Every action, where there are other ids, readers and groups."""
        knobs = self.knobs
        actions = {
            "other_id_begins_to_use": (knobs.groups, (PARTITION, KIND)),
            "other_id_appends": (knobs.numbers, (PARTITION,)),
            "other_id_offset_is_committed": (knobs.groups, (PARTITION, NUMBER)),
            "other_id_draws_producer_id": (knobs.rotates, ()),
            "reader_passes_other_id": (knobs.readers, (READER, PARTITION)),
        }
        return tuple(self._action(name, *over) for name, (there, over) in actions.items() if knobs.other_ids and there)

    def other_id_begins_to_use_if(self, state: State, partition: Term, kind: Term) -> Guard:
        """The partition is unused."""
        yield state.kind(partition) == UNUSED
        yield any_of(kind == DATA, kind == OFFSETS)

    def other_id_begins_to_use(self, state: State, partition: Term, kind: Term) -> State:
        """It is for data, or for offsets."""
        return state.but(kind=update(state.kind, partition, to=kind))

    def other_id_appends_if(self, state: State, partition: Term) -> Guard:
        """The log of an instance has room."""
        yield any_of(not self.knobs.limited, state.log_end(partition) < self.knobs.sizes()[NUMBER.name])

    def other_id_appends(self, state: State, partition: Term) -> State:
        """The last batch of the partition is another id's."""
        end = state.log_end(partition)
        return state.but(
            log_end=update(state.log_end, partition, to=end + 1),
            of_other_id=update(state.of_other_id, partition, end, to=True),
        )

    def other_id_offset_is_committed_if(self, state: State, partition: Term, number: Term) -> Guard:
        """An offset of another id is in the log, later than the one that the group has."""
        yield state.kind(partition) == OFFSETS
        yield state.of_other_id(partition, number)
        yield number > state.group_offset(partition).recorded_at

    def other_id_offset_is_committed(self, state: State, partition: Term, number: Term) -> State:
        """A marker of that id has made it the group's; it is of no transaction of this id."""
        return state.but(group_offset=update(state.group_offset, partition, to=OffsetEntry(ABSENT, number)))

    def other_id_draws_producer_id_if(self, state: State) -> Guard:
        """At any time."""
        yield any_of(not self.knobs.limited, state.drawn() < self.knobs.bounds.producer_ids)

    def other_id_draws_producer_id(self, state: State) -> State:
        """The next producer id is not this id's."""
        drawn = state.drawn()
        return state.but(drawn=always(drawn + 1), drawn_by_other_id=update(state.drawn_by_other_id, drawn, to=True))

    def reader_passes_other_id_if(self, state: State, reader: Term, partition: Term) -> Guard:
        """The reader's next batch is another id's, and below the bound of its fetch."""
        view = self.of(state)
        position = view.position(reader, partition)
        yield view.of_other_id(partition, position)
        yield position < self.bound(view, reader, partition)

    def reader_passes_other_id(self, state: State, reader: Term, partition: Term) -> State:
        """It is given to the application or filtered out, and the reader continues."""
        position = state.position(reader, partition)
        return state.but(position=update(state.position, reader, partition, to=position + 1))


def _may_become(before: Term, after: Term) -> Term:
    return any_of(after == before, after == before + 1)


def shared_cells(before: State, after: State, partition: Term) -> Term:
    """What ids share has changed only as `OtherIds` lets it: this id is to others what they are to it.

    Args:
        before: the state of the system before the step.
        after: the state after it.
        partition: any.
    """
    was, now = before.group_offset(partition), after.group_offset(partition)
    same = all_of(now.offset == was.offset, now.recorded_at == was.recorded_at)
    later = all_of(
        after.kind(partition) == OFFSETS,
        now.recorded_at > was.recorded_at,
        now.recorded_at < before.log_end(partition),
        negate(before.of_other_id(partition, now.recorded_at)),
    )
    used = any_of(after.kind(partition) == DATA, after.kind(partition) == OFFSETS)
    begins = all_of(before.kind(partition) == UNUSED, used)
    return all_of(
        any_of(after.kind(partition) == before.kind(partition), begins),
        _may_become(before.log_end(partition), after.log_end(partition)),
        any_of(same, later),
        after.generation() == before.generation(),
        _may_become(before.drawn(), after.drawn()),
    )
