"""Lemmas about the partitions, and about the clients' answers on them."""

from spec.algebra import Term, all_of, any_of, implies, negate
from spec.protocol.ending import IdAndEpoch
from spec.systems.transactions.known import TransactionLemmaView, earlier, not_later
from spec.systems.transactions.world import CONFIRMED, DECIDED, IDLE, OPEN
from spec.vocabulary import ABSENT

# --- the partitions -------------------------------------------------------------------------------------------


def sent_is_of_a_transaction(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term) -> Term:
    """Batches are sent, verified and in the log only of transactions that have begun, and of no bump."""
    sent = view.produced(txn, partition, batch) >= 0
    at_leader = any_of(view.phase(txn, partition, batch) > IDLE, view.data(txn, partition, batch) >= OPEN)
    begun = all_of(view.owner(txn) >= 0, negate(view.is_bump(txn)))
    return all_of(implies(sent, begun), implies(at_leader, sent))


def open_is_due(view: TransactionLemmaView, producer: Term, partition: Term) -> Term:
    """A transaction open on a partition is the coordinator's, or has its marker to come."""
    entry = view.entry(producer, partition)
    epoch = entry.epoch
    bounded = all_of(epoch >= 0, epoch < view.knobs.profile.max_epoch)
    return implies(entry.in_transaction, all_of(bounded, view.is_due(producer, epoch, partition)))


def partition_knows_no_later_identity(view: TransactionLemmaView, producer: Term, partition: Term) -> Term:
    """A partition knows no epoch later than the newest identity, and no coordinator later than the present one."""
    entry = view.entry(producer, partition)
    known = all_of(
        entry.epoch <= view.knobs.profile.max_epoch, not_later(IdAndEpoch(producer, entry.epoch), view.frontier())
    )
    return all_of(any_of(entry.epoch == ABSENT, known), entry.coordinator_epoch <= view.coordinator_epoch())


def coordinator_is_the_latest(view: TransactionLemmaView, producer: Term, partition: Term) -> Term:
    """A partition knows the latest of the coordinators whose markers of a producer it has."""
    return view.entry(producer, partition).coordinator_epoch == view.latest_coordinator(producer, partition)


def open_data_is_of_entry(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term) -> Term:
    """Open data has its transaction open on the partition."""
    identity = view.who(txn)
    entry = view.known(identity, partition)
    there = all_of(entry.in_transaction, entry.epoch == identity.producer_epoch)
    return implies(view.data(txn, partition, batch) == OPEN, there)


def consent_is_current(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term) -> Term:
    """While the guard stands, a batch that was let in belongs to the open transaction, or is stale by now."""
    identity = view.who(txn)
    consent = all_of(view.phase(txn, partition, batch) == CONFIRMED, view.guarded(txn, partition, batch))
    due = view.is_due(identity.producer_id, identity.producer_epoch, partition)
    stale = view.known(identity, partition).epoch > identity.producer_epoch
    return implies(consent, any_of(due, stale))


def queried_is_known(view: TransactionLemmaView, producer: Term, partition: Term) -> Term:
    """A partition asks for clients of version 2, and for no identity later than the newest."""
    query = view.query(producer, partition)
    known = not_later(IdAndEpoch(producer, query.epoch), view.frontier())
    return implies(query.pending, all_of(query.bumps, known))


def guard_is_requested(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term) -> Term:
    """A guard stands only while its partition asks, for the highest epoch that asked."""
    identity = view.who(txn)
    query = view.verifying(identity, partition)
    asks = all_of(view.owner(txn) >= 0, query.pending, query.epoch >= identity.producer_epoch)
    return implies(view.guarded(txn, partition, batch), asks)


def taken_guard_is_stale(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term) -> Term:
    """A marker that ends another transaction takes a guard away only of an identity that is no longer the newest."""
    stale = all_of(view.owner(txn) >= 0, earlier(view.who(txn), view.held()))
    return implies(view.guard_taken(txn, partition, batch), stale)


def no_open_data_is_refused(view: TransactionLemmaView, txn: Term) -> Term:
    """No data of the open transaction was refused for a guard that was taken away."""
    return negate(view.refused_wrongly(txn))


def decided_by_its_own(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term) -> Term:
    """What is decided was decided by a decision on its own transaction."""
    decision = view.data(txn, partition, batch) - DECIDED
    return implies(decision >= 0, all_of(view.is_made(decision), view.opened_by(decision) == txn))


# --- clients --------------------------------------------------------------------------------------------------


def answered_as_decided(view: TransactionLemmaView, txn: Term, decision: Term) -> Term:
    """A client whose end was answered got the outcome of every decision on its transaction."""
    mine = all_of(view.ended(txn), view.is_made(decision), view.opened_by(decision) == txn)
    return implies(mine, view.outcome(decision) == view.end_sent(txn))


def end_is_an_outcome(view: TransactionLemmaView, txn: Term) -> Term:
    """A client asks for commit or for abort, for a new epoch, or for nothing yet."""
    sent = view.end_sent(txn)
    return any_of(sent == ABSENT, view.requested_end(txn), view.is_bump(txn))


def ended_by_its_own(view: TransactionLemmaView, decision: Term) -> Term:
    """A decision that a client asked for is on its own transaction."""
    by_client = all_of(view.is_made(decision), view.ended_by(decision) >= 0)
    return implies(by_client, view.ended_by(decision) == view.opened_by(decision))


def commits_before_the_next(view: TransactionLemmaView, decision: Term, instance: Term) -> Term:
    """No transaction of an earlier instance is committed once a later one has its identity."""
    earlier = all_of(view.is_made(decision), view.owner(view.opened_by(decision)) < instance, view.is_given(instance))
    return implies(all_of(earlier, view.commits(decision)), decision < view.decided_before(instance))
