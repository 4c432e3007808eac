"""The actions of the application's instances: they begin transactions, send, and ask for the end or a new epoch."""

from spec.algebra import Term, all_of, any_of, negate
from spec.systems.language import Action, State, rewrite, update
from spec.systems.transactions.action_base import Guard, TransactionActionBase
from spec.systems.transactions.view import TransactionsView
from spec.systems.transactions.world import (
    ABORT,
    BATCH,
    BATCHES,
    BUMP,
    COMMIT,
    DATA,
    INSTANCE,
    NOT_SENT,
    OFFSETS,
    OUTCOME,
    PARTITION,
    SENT,
    TRANSACTION,
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
