"""A mended AddPartitionsToTxnManager: epochs are compared only of one producer id.

A leader's manager keeps one waiting request for each transactional id. When another one arrives, the newest release
compares only their epochs. After a rotation of the producer id, the newest producer begins at epoch 0. It is fenced as
stale while a late request of the previous producer id still waits; or the other way round. In this variant, a waiting
request of another producer id is answered NETWORK_EXCEPTION, as one with the same epoch is, so its sender retries.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.systems.language import Action, State, System, Variable, rewrite, update
from spec.systems.transactions.broken import NEAR_THE_END, quiet
from spec.systems.transactions.known import TransactionLemmaView
from spec.systems.transactions.variant import (
    Variant,
    VariantInstance,
    VariantView,
    claimed,
    followed,
    guarded,
    with_more,
)
from spec.systems.transactions.world import BATCHES, IDLE, PARTITION, TRANSACTION, VERIFYING, Bounds
from spec.versions import NEWEST
from spec.vocabulary import ABSENT


def newest_is_never_fenced_as_stale(view: TransactionLemmaView, txn: Term) -> Term:
    """No leader fences the client with the newest identity as stale."""
    return negate(view.was_fenced(txn))


def newest_was_never_fenced_as_stale(view: TransactionLemmaView, txn: Term) -> Term:
    """No client with the newest identity was fenced as stale."""
    return negate(view.was_fenced(txn))


def waiting_has_begun(view: TransactionLemmaView, partition: Term) -> Term:
    """The request that waits is of a transaction that has begun."""
    waiting = view.waiting(partition)
    return any_of(waiting == ABSENT, view.owner(waiting) >= 0)


@dataclass(frozen=True, slots=True)
class Manager:
    """The managers of the leaders, one for each partition.

    Attributes:
        compares_ids: epochs are compared only of one producer id.
    """

    compares_ids: bool

    def system(self, system: System, view: VariantView) -> System:
        """The system with a manager between each leader and the coordinator."""

        def asks(before: State, after: State, txn: Term, partition: Term, batch: Term) -> State:
            return self._added(view, before, after, (txn, partition, batch))

        def is_sent(state: State, txn: Term, partition: Term, batch: Term, *_: Term) -> Iterator[Term]:
            yield negate(all_of(state.waiting(partition) == txn, state.waiting_batch(partition) == batch))

        def failed_over(_: State, after: State, partition: Term) -> State:
            return after.but(waiting=update(after.waiting, partition, to=ABSENT))

        more = with_more(
            system,
            variables=(
                Variable("waiting", (PARTITION,), ABSENT),
                Variable("waiting_batch", (PARTITION,), ABSENT),
                Variable("was_fenced", (TRANSACTION,), initial=False),
            ),
            actions=(Action("manager_sends", (PARTITION,), _waits, _sent),),
            theorems=(claimed(newest_is_never_fenced_as_stale, rules.FENCE_STALE_EPOCH, view, TRANSACTION),),
            lemmas=(
                claimed(newest_was_never_fenced_as_stale, rules.FENCE_STALE_EPOCH, view, TRANSACTION),
                claimed(waiting_has_begun, rules.FENCE_STALE_EPOCH, view, PARTITION),
            ),
        )
        with_asks = followed(followed(more, "leader_receives", asks), "leader_fails_over", failed_over)
        return guarded(with_asks, "coordinator_verifies", is_sent)

    def _added(self, words: VariantView, before: State, after: State, at: tuple[Term, Term, Term]) -> State:
        """The request waits; another one that waits gives way, or it is refused itself."""
        txn, partition, batch = at
        view = words(after)
        other, other_batch = before.waiting(partition), before.waiting_batch(partition)
        mine, theirs = view.one_id(view.identity(txn)), view.one_id(view.identity(other))
        asks = after.phase(*at) == VERIFYING
        meets = all_of(asks, other >= 0, negate(all_of(other == txn, other_batch == batch)))
        comparable = any_of(not self.compares_ids, mine.producer_id == theirs.producer_id)
        lower = all_of(meets, comparable, mine.producer_epoch < theirs.producer_epoch)
        overtaken = all_of(meets, comparable, theirs.producer_epoch < mine.producer_epoch)
        gives_way = all_of(meets, negate(lower))

        def stale(of: Term) -> Term:
            wrongly = all_of(view.is_open(of), view.is_current(view.who(of)))
            return all_of(wrongly, any_of(all_of(lower, of == txn), all_of(overtaken, of == other)))

        def answered(of: Term, p: Term, number: Term) -> Term:
            refused = all_of(lower, of == txn, number == batch)
            return all_of(p == partition, any_of(refused, all_of(gives_way, of == other, number == other_batch)))

        queued = all_of(asks, negate(lower))
        return after.but(
            was_fenced=rewrite(after.was_fenced, stale, lambda _: True),
            phase=rewrite(after.phase, answered, lambda *_: IDLE),
            waiting=update(after.waiting, partition, to=choose(queued, txn, other)),
            waiting_batch=update(after.waiting_batch, partition, to=choose(queued, batch, other_batch)),
        )


def _waits(state: State, partition: Term) -> Iterator[Term]:
    """A request waits for the manager's thread."""
    yield state.waiting(partition) >= 0


def _sent(state: State, partition: Term) -> State:
    """It is on its way to the coordinator."""
    return state.but(waiting=update(state.waiting, partition, to=ABSENT))


_ROTATING = quiet(NEWEST, NEAR_THE_END, first_epoch=NEAR_THE_END - 1, outlive=frozenset({BATCHES}))

RELEASE = Variant(
    name=f"{NEWEST.name} with its managers",
    sentence="the newest release, with the request that waits in each leader's AddPartitionsToTxnManager",
    source=("AddPartitionsToTxnManager.addTxnData",),
    system=Manager(compares_ids=False).system,
)

VARIANT = Variant(
    name="mended AddPartitionsToTxnManager",
    sentence=(
        "a waiting request gives way to one of another producer id, and is to be sent again; epochs are compared only"
        " of one producer id"
    ),
    source=("AddPartitionsToTxnManager.addTxnData",),
    system=Manager(compares_ids=True).system,
    instances=(
        VariantInstance("two transactions", quiet(NEWEST, outlive=frozenset({BATCHES}))),
        VariantInstance(
            "a producer id that runs out",
            replace(_ROTATING, bounds=Bounds(producer_ids=2)),
            mends="newest_is_never_fenced_as_stale",
        ),
    ),
    before=RELEASE,
)
