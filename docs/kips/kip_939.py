"""KIP-939: Kafka as a participant of two-phase commit, with a database that decides.

A client prepares its transaction once everything is acknowledged. Then the database commits, or not; then the client
ends the transaction in the same way. A prepared transaction has no timeout (enable2Pc). After a crash the next
instance asks for an identity with keepPreparedTxn: the transaction stays open under its own epoch, earlier instances
are fenced by a higher one, which the new instance has, and which the coordinator keeps beside it. The new instance
commits what the database has committed, and aborts the rest. The marker has the epoch after that of the transaction,
and the next transaction the epoch after that of the instance (the KIP's examples).

The coordinator's log keeps the second epoch, too (NextProducerEpoch in TransactionLogValue of trunk), so that the
next coordinator has it; what happens where it does not is a control (`forgetting`). No release has the whole: trunk
answers keepPreparedTxn with UNSUPPORTED_VERSION (TransactionCoordinator). Here epochs do not run out, and no record of
the coordinator is lost.
"""

from collections.abc import Iterator
from dataclasses import replace

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate
from spec.protocol.coordinator import is_at_rest, is_in
from spec.protocol.ending import EndRequest, IdAndEpoch
from spec.systems.language import Action, State, System, Variable, always, either, given, pick, update
from spec.systems.transactions.broken import quiet
from spec.systems.transactions.coordinators import Coordinators
from spec.systems.transactions.known import TransactionLemmaView
from spec.systems.transactions.variant import (
    Variant,
    VariantInstance,
    VariantView,
    claimed,
    followed,
    guarded,
    restated,
    with_more,
    without_action,
)
from spec.systems.transactions.world import (
    ABORT,
    COMMIT,
    DECISION,
    DURABLE,
    INSTANCE,
    TRANSACTION,
    Bounds,
)
from spec.versions import NEWEST
from spec.vocabulary import ABSENT, TransactionState

NOT_RECOVERED, ENDED = -1, -2
"""Who recovers a transaction: no instance yet, or one that has ended it."""


def prepared_is_ended_by_its_client(view: TransactionLemmaView, decision: Term) -> Term:
    """Neither a timeout nor an InitProducerId ends a prepared transaction."""
    opened = view.opened_by(decision)
    return implies(all_of(opened >= 0, view.prepared(opened)), view.ended_by(decision) >= 0)


def database_agrees(view: TransactionLemmaView, decision: Term) -> Term:
    """A transaction is committed if the database has committed, and no prepared one is without that."""
    opened = view.opened_by(decision)
    prepared = all_of(opened >= 0, view.prepared(opened))
    return implies(prepared, view.commits(decision) == view.database(opened))


def who_recovers_may_end(view: TransactionLemmaView, txn: Term) -> Term:
    """The coordinator knows the epoch of the instance that is to end the open transaction of another."""
    instance = view.recovered_by(txn)
    waits = all_of(instance >= 0, view.opened() == txn, is_in(view.remembers(), TransactionState.ONGOING))
    return given(waits, lambda: view.given(instance).producer_epoch == view.kept_epoch())


class TwoPhaseCommit(Coordinators):
    """The actions of clients, database and coordinator that the newest release does not have."""

    def clients(self) -> tuple[Action, ...]:
        """What clients and their database do."""
        return (
            self._action("client_prepares", TRANSACTION),
            self._action("database_commits", TRANSACTION),
        )

    def recovery(self) -> tuple[Action, ...]:
        """What an instance does that finds a transaction open."""
        return (
            self._action("coordinator_keeps", INSTANCE),
            self._action("recovering_instance_ends", TRANSACTION),
        )

    def client_prepares_if(self, state: State, txn: Term) -> Iterator[Term]:
        """Everything that was sent is acknowledged."""
        view = self.of(state)
        yield view.is_open(txn)
        yield negate(state.prepared(txn))
        yield view.unanswered(txn) == ABSENT
        yield state.recovered_by(txn) == NOT_RECOVERED

    def client_prepares(self, state: State, txn: Term) -> State:
        """The producer id and the epoch are in the database's transaction."""
        return state.but(prepared=update(state.prepared, txn, to=True))

    def database_commits_if(self, state: State, txn: Term) -> Iterator[Term]:
        """The client has prepared and not given up; an instance that recovers fences the database first."""
        yield state.prepared(txn)
        yield negate(state.database(txn))
        yield state.end_sent(txn) == ABSENT
        yield state.recovered_by(txn) == NOT_RECOVERED

    def database_commits(self, state: State, txn: Term) -> State:
        """The database has the identity of the prepared transaction for ever."""
        return state.but(database=update(state.database, txn, to=True))

    def coordinator_keeps_if(self, state: State, instance: Term) -> Iterator[Term]:
        """InitProducerId with keepPreparedTxn arrives while a transaction is open."""
        view = self.of(state)
        yield from self.next_instance(view, instance)
        yield is_in(view.remembers(), TransactionState.ONGOING)
        yield view.remembers().pending == ABSENT
        yield view.opened() >= 0

    def coordinator_keeps(self, state: State, instance: Term) -> State:
        """The transaction stays open under its epoch; the instance gets a higher one, which fences those before."""
        view = self.of(state)
        memory, kept, opened = view.remembers(), state.kept_epoch(), state.opened()
        epoch = choose(kept >= 0, kept, memory.producer_epoch) + 1
        identity = IdAndEpoch(memory.producer_id, epoch)
        return state.but(
            kept_epoch=always(epoch),
            logged_epoch=always(epoch),
            given=update(state.given, instance, to=identity),
            decided_before=update(state.decided_before, instance, to=state.decisions()),
            newest=always(identity),
            recovered_by=update(state.recovered_by, opened, to=instance),
        )

    def recovering_instance_ends_if(self, state: State, txn: Term) -> Iterator[Term]:
        """Its EndTxn has the epoch that is kept; the coordinator is in no transition."""
        view = self.of(state)
        instance = state.recovered_by(txn)
        yield instance >= 0
        yield state.opened() == txn
        yield is_in(view.remembers(), TransactionState.ONGOING)
        yield view.given(instance).producer_epoch == state.kept_epoch()
        yield self._may_decide(view)

    def recovering_instance_ends(self, state: State, txn: Term) -> State:
        """The outcome is that of the database; the instance goes on with the epoch after its own."""
        view = self.of(state)
        memory, instance, commits = view.remembers(), state.recovered_by(txn), state.database(txn)
        request = EndRequest(
            memory.producer_id, memory.producer_epoch, commits=commits, bumps=True, fresh_producer_id=view.fresh()
        )
        decided = self._decided(view, view.taken.end(memory, request), DURABLE, txn, txn)
        following = IdAndEpoch(memory.producer_id, state.kept_epoch() + 1)
        return decided.but(
            given=update(state.given, instance, to=following),
            newest=always(following),
            recovered_by=update(state.recovered_by, txn, to=ENDED),
        )


def two_phases(system: System, view: VariantView, *, keeps: bool) -> System:
    """The system with clients that prepare; a coordinator that keeps what is prepared, or the newest release's."""
    actions = TwoPhaseCommit(view.knobs, view.taken)
    more = with_more(
        system,
        variables=(
            Variable("prepared", (TRANSACTION,), initial=False),
            Variable("database", (TRANSACTION,), initial=False),
            Variable("recovered_by", (TRANSACTION,), NOT_RECOVERED),
            Variable("kept_epoch", (), ABSENT),
            Variable("logged_epoch", (), ABSENT),
        ),
        actions=(*actions.clients(), *(actions.recovery() if keeps else ())),
        theorems=(
            claimed(prepared_is_ended_by_its_client, rules.TXN_TIMEOUT, view, DECISION),
            claimed(database_agrees, rules.TXN_ATOMIC, view, DECISION),
            claimed(who_recovers_may_end, rules.TXN_FAILOVER, view, TRANSACTION),
        ),
    )
    after_prepare = guarded(guarded(more, "client_sends_batch", _is_not_prepared), "client_ends", _as_the_database)
    return _keeping(after_prepare, view) if keeps else after_prepare


def _is_not_prepared(state: State, instance: Term, txn: Term, *_: Term) -> Iterator[Term]:
    """Nothing is sent in a prepared transaction, nor by an instance that has one to recover."""
    yield negate(state.prepared(txn))


def _as_the_database(state: State, txn: Term, outcome: Term) -> Iterator[Term]:
    """A prepared transaction is ended as the database has decided; one that is not prepared may only be aborted."""
    yield any_of(outcome == ABORT, state.database(txn))
    yield any_of(outcome == COMMIT, negate(state.database(txn)))


def _keeping(system: System, view: VariantView) -> System:
    """The coordinator of the KIP: it neither times out nor fences, and compares with the epoch that it keeps."""

    def is_not_kept(state: State, *_: Term) -> Iterator[Term]:
        yield state.kept_epoch() == ABSENT

    def refused(before: State, after: State, txn: Term, partition: Term, batch: Term, *_: Term) -> State:
        """The coordinator answers the leader that the epoch is stale: nothing joins, and nothing is appended."""
        stale = before.but(phase=update(before.phase, txn, partition, batch, to=0))
        return either(before.kept_epoch() >= 0, stale, after)

    def completed(before: State, after: State) -> State:
        """The id goes on with the epoch after the kept one."""
        kept = before.kept_epoch()
        memory, record = (replace(view.knobs.settled(each)) for each in (after.memory(), after.record()))
        follows = all_of(kept >= 0, is_at_rest(memory))
        raised = replace(memory, producer_epoch=kept + 1, last_epoch=kept)
        logged = replace(record, producer_epoch=kept + 1, last_epoch=kept)
        return after.but(
            memory=always(pick(follows, raised, memory)),
            record=always(pick(follows, logged, record)),
            kept_epoch=always(choose(follows, ABSENT, kept)),
            logged_epoch=always(choose(follows, ABSENT, before.logged_epoch())),
        )

    def loaded(before: State, after: State) -> State:
        """The next coordinator has the second epoch from the log."""
        return after.but(kept_epoch=always(before.logged_epoch()))

    def has_no_recovered_transaction(state: State, instance: Term, *_: Term) -> Iterator[Term]:
        yield from (negate(state.recovered_by(txn) == instance) for txn in range(view.knobs.bounds.transactions))

    kept = without_action(system, "transaction_times_out", "coordinator_fences", "coordinator_aborts")
    kept = guarded(guarded(kept, "coordinator_ends", is_not_kept), "client_sends_batch", has_no_recovered_transaction)
    kept = followed(followed(kept, "coordinator_verifies", refused), "coordinator_completes", completed)
    kept = followed(kept, "coordinator_fails_over", loaded)
    return restated(kept, "zombie_does_not_commit", _by_its_successor)


def _by_its_successor(state: State, txn: Term, partition: Term, batch: Term, instance: Term) -> Term:
    """What is prepared may be committed once its client has a successor: that is what the KIP is for."""
    return state.prepared(txn)


def keeping(system: System, view: VariantView) -> System:
    """With the KIP."""
    return two_phases(system, view, keeps=True)


def aborting(system: System, view: VariantView) -> System:
    """Without it: clients prepare, and the coordinator knows nothing of it."""
    return two_phases(system, view, keeps=False)


def forgetting(system: System, view: VariantView) -> System:
    """With the KIP, and a log without the second epoch: a coordinator that takes over does not know it."""

    def forgotten(_: State, after: State) -> State:
        return after.but(kept_epoch=always(ABSENT))

    return followed(keeping(system, view), "coordinator_fails_over", forgotten)


def with_later_guards(system: System, view: VariantView) -> System:
    """A marker leaves the guard of every later epoch alone, and not only that of the epoch that it has itself."""

    def kept(before: State, after: State, decision: Term, coordinator: Term, partition: Term) -> State:
        marker = view(before).sent_marker(decision, coordinator)
        waiting = before.query(marker.producer_id, partition)
        later = all_of(waiting.pending, waiting.bumps, marker.producer_epoch < waiting.epoch)
        guards = after.but(query=before.query, guarded=before.guarded, guard_taken=before.guard_taken)
        return either(later, guards, after)

    return followed(keeping(system, view), "leader_writes_marker", kept)


_RECOVERING = quiet(NEWEST, times_out=True, bounds=Bounds(instances=2))

NEXT_COORDINATOR = quiet(NEWEST, bounds=Bounds(transactions=1, instances=2, coordinators=2))

WITHOUT_TIMEOUTS = frozenset(
    {
        "KAFKA-19367: a fence bumps twice",
        "KAFKA-20090: a fence at the last epoch draws no producer id",
        "KAFKA-6119: a timeout does not raise the epoch",
        "KAFKA-9666: a failed fence is forgotten",
        "a fenced zombie's commit takes with it what its successor has pending",
    }
)
"""Controls that need a timeout or a fence, of which clients in two phases have none."""

RELEASE = Variant(
    name=f"{NEWEST.name} with clients that prepare",
    sentence="the newest release: a timeout or an InitProducerId aborts what is prepared",
    system=aborting,
)

VARIANT = Variant(
    name="KIP-939",
    sentence="a prepared transaction has no timeout, and the next instance ends it as the database has decided",
    source=("KIP-939", "TransactionCoordinator.handleInitProducerId on trunk"),
    system=keeping,
    spared_by=WITHOUT_TIMEOUTS,
    instances=(
        VariantInstance(
            "a prepared transaction",
            quiet(NEWEST, times_out=True, bounds=Bounds(transactions=1)),
            mends="prepared_is_ended_by_its_client",
        ),
        VariantInstance("a successor", _RECOVERING, mends="database_agrees"),
        VariantInstance(
            "a successor of a successor",
            quiet(NEWEST, bounds=Bounds(transactions=1, instances=3)),
            mends="database_agrees",
        ),
        VariantInstance("a successor, and the next coordinator", NEXT_COORDINATOR, mends="database_agrees"),
    ),
    before=RELEASE,
)
