"""The actions of a group's coordinator: it commits the offsets of a transaction, and generations pass.

The group's partition of offsets is one more partition of the transaction: it is registered, verified and marked as the
others are. A transaction commits one offset of the group, which its client may send again; whatever was appended last
is what counts. The group has one member that comes back in each generation with the id that it had.
"""

from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol import offsets, verification
from spec.protocol.offsets import OffsetEntry
from spec.systems.language import Action, State, always, pick, update
from spec.systems.transactions.action_base import Guard
from spec.systems.transactions.leaders import Leaders
from spec.systems.transactions.world import BATCHES, CONFIRMED, IDLE, OFFSETS, PARTITION, TRANSACTION, UNVERIFIED


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
