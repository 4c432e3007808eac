"""Lemmas about the partitions: their sequences, answers and readers, and the offsets that are committed on them."""

from spec.algebra import Term, all_of, any_of, choose, implies, negate, same
from spec.protocol.ending import IdAndEpoch
from spec.protocol.seq import is_unknown
from spec.systems.transactions.claims import (
    commit_is_of_its_generation,
    is_committed,
    is_own_offset,
    no_committed_record_is_skipped,
    received_is_committed,
)
from spec.systems.transactions.known import TransactionLemmaView, earlier, not_later
from spec.systems.transactions.world import CONFIRMED, DATA, DECIDED, IDLE, NOWHERE, OFFSETS, OPEN, UNUSED
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


def unended_is_current(view: TransactionLemmaView, txn: Term) -> Term:
    """A transaction whose end was not answered is the last one of its instance."""
    return implies(view.owner(txn) >= 0, any_of(view.ended(txn), view.current(view.owner(txn)) == txn))


def sequence_is_of_batch(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term) -> Term:
    """A transaction's batches are numbered from 0, and so are their sequences."""
    sequence = view.produced(txn, partition, batch)
    return any_of(sequence == ABSENT, all_of(sequence == batch, batch >= 0))


def sequence_is_next(view: TransactionLemmaView, instance: Term, partition: Term, batch: Term) -> Term:
    """In its open transaction an instance has sent what is below its next sequence."""
    last, following = view.current(instance), view.next_sequence(instance, partition)
    sent = all_of(batch >= 0, batch < following)
    sends = all_of(last >= 0, view.is_open(last))
    return implies(sends, all_of(following >= 0, same(view.produced(last, partition, batch) >= 0, sent)))


def log_has_the_sequences(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term) -> Term:
    """A partition of data has, of the epoch that it knows, the batches up to the last sequence; of later ones none."""
    identity = view.who(txn)
    entry = view.known(identity, partition)
    there = view.data(txn, partition, batch) >= OPEN
    up_to_last = all_of(batch >= 0, batch <= entry.cached[0].last_sequence)
    current = implies(entry.epoch == identity.producer_epoch, same(there, up_to_last))
    later = implies(entry.epoch < identity.producer_epoch, negate(there))
    of_data = all_of(view.owner(txn) >= 0, view.is_of_data(partition))
    return implies(of_data, all_of(current, later))


def log_has_no_gap(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term) -> Term:
    """A batch is in the log only after those that its client sent before it."""
    here = view.data(txn, partition, batch) >= OPEN
    return implies(all_of(here, batch > 0), view.data(txn, partition, batch - 1) > NOWHERE)


def log_has_one_copy(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term) -> Term:
    """A batch in the log of data was appended once; one that is not there was neither appended nor acknowledged."""
    there, copies = view.data(txn, partition, batch) >= OPEN, view.copies(txn, partition, batch)
    absent = all_of(copies == 0, negate(view.acknowledged(txn, partition, batch)))
    return implies(view.is_of_data(partition), choose(there, copies == 1, absent))


def window_is_of_the_log(view: TransactionLemmaView, producer: Term, partition: Term) -> Term:
    """A partition of data remembers of a producer no sequence above the last one."""
    window = view.entry(producer, partition).cached[: view.knobs.profile.cached_batches]
    last = window[0].last_sequence
    within = (implies(each.present, all_of(each.last_sequence >= 0, each.last_sequence <= last)) for each in window)
    return implies(view.is_of_data(partition), all_of(*within))


def sequence_is_of_appended(view: TransactionLemmaView, producer: Term, partition: Term) -> Term:
    """The last sequence that a partition knows is of the transaction that appended last, of the epoch that it knows."""
    entry, last = view.entry(producer, partition), view.appended_last(producer, partition)
    newest = entry.cached[0]
    identity = view.who(last)
    mine = all_of(identity.producer_id == producer, identity.producer_epoch == entry.epoch)
    begun = all_of(last >= 0, view.owner(last) >= 0, mine)
    none = all_of(newest.last_sequence == ABSENT, negate(newest.present))
    return choose(is_unknown(entry), none, any_of(none, all_of(newest.last_sequence >= 0, begun)))


def log_is_numbered(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term) -> Term:
    """Every batch in the log has a number below the end of its partition, and no other batch has one."""
    offset, end = view.offset(txn, partition, batch), view.log_end(partition)
    numbered = all_of(offset >= 0, offset < end)
    return all_of(end >= 0, choose(view.data(txn, partition, batch) >= OPEN, numbered, offset == ABSENT))


def numbers_differ(
    view: TransactionLemmaView, txn: Term, batch: Term, other: Term, another: Term, partition: Term
) -> Term:
    """No two batches of a partition have the same number.

    Args:
        view: the state of the system, and what is asked of it.
        txn: a client's transaction, by its number, or a bump that it has asked for.
        batch: its number among those of the transaction to the partition, from 0.
        other: another transaction, or the same.
        another: a batch of that one.
        partition: which one.
    """
    one, two = view.offset(txn, partition, batch), view.offset(other, partition, another)
    return implies(all_of(one >= 0, one == two), all_of(txn == other, batch == another))


def numbers_are_of_one_id(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term, number: Term) -> Term:
    """Numbers of other ids are below the end of their partition, and no batch of this id has one of them.

    Args:
        view: the state of the system, and what is asked of it.
        txn: a client's transaction, by its number, or a bump that it has asked for.
        partition: which one.
        batch: its number among those of the transaction to the partition, from 0.
        number: that of a batch of another id in the partition.
    """
    apart = all_of(number < view.log_end(partition), negate(view.offset(txn, partition, batch) == number))
    return implies(view.is_of_other_id(partition, number), apart)


def readers_are_within(view: TransactionLemmaView, reader: Term, partition: Term) -> Term:
    """No reader is beyond the end of a partition."""
    position = view.position(reader, partition)
    return all_of(position >= 0, position <= view.log_end(partition))


def received_was_committed(view: TransactionLemmaView, reader: Term, txn: Term, partition: Term, batch: Term) -> Term:
    """What a reader of committed data has received was committed when it was given, and nothing undoes that."""
    return received_is_committed(view, reader, txn, partition, batch)


def passed_was_decided(view: TransactionLemmaView, reader: Term, txn: Term, partition: Term, batch: Term) -> Term:
    """What a reader of committed data has passed was decided by then, and was given to it if it was committed."""
    return no_committed_record_is_skipped(view, reader, txn, partition, batch)


def kind_is_of_what_was_sent(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term) -> Term:
    """To a partition of offsets a transaction has sent one commit at most, and nothing to one that is not in use."""
    kind, sent = view.kind(partition), view.produced(txn, partition, batch) >= 0
    to_offsets = all_of(kind == OFFSETS, batch == 0)
    return choose(sent, any_of(kind == DATA, to_offsets), any_of(kind == UNUSED, kind == DATA, kind == OFFSETS))


def decided_is_stale(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term) -> Term:
    """A partition that has decided a batch knows a later epoch than the batch's."""
    later = view.known(view.who(txn), partition).epoch > view.who(txn).producer_epoch
    return implies(view.data(txn, partition, batch) >= DECIDED, later)


def pending_is_open(view: TransactionLemmaView, producer: Term, partition: Term) -> Term:
    """What a producer has pending is in the log and undecided."""
    pending = view.pending(producer, partition)
    txn = pending.offset
    mine = all_of(txn >= 0, view.owner(txn) >= 0, view.who(txn).producer_id == producer)
    there = all_of(view.data(txn, partition, 0) == OPEN, view.offset(txn, partition, 0) == pending.recorded_at)
    return implies(pending.present, all_of(view.kind(partition) == OFFSETS, mine, there))


def open_is_pending(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term) -> Term:
    """An offset in the log that is undecided is pending for its producer."""
    pending = view.pending(view.producer(view.who(txn)), partition)
    is_open = all_of(view.kind(partition) == OFFSETS, view.data(txn, partition, batch) == OPEN)
    return implies(is_open, all_of(pending.offset == txn, pending.recorded_at == view.offset(txn, partition, batch)))


def visible_was_committed(view: TransactionLemmaView, partition: Term) -> Term:
    """The group's offset is of a transaction whose commit is in the log, and nothing undoes that."""
    txn = view.group_offset(partition).offset
    begun = all_of(txn >= 0, view.owner(txn) >= 0)
    return implies(is_own_offset(view, partition), all_of(begun, is_committed(view, txn, partition, 0)))


def committed_was_visible(view: TransactionLemmaView, txn: Term, partition: Term, batch: Term) -> Term:
    """An offset that is committed became the group's, and only a later one replaced it."""
    of_group = all_of(view.kind(partition) == OFFSETS, is_committed(view, txn, partition, batch))
    return implies(of_group, view.group_offset(partition).recorded_at >= view.offset(txn, partition, batch))


def written_is_of_its_generation(view: TransactionLemmaView, txn: Term, partition: Term) -> Term:
    """No offset was written in a generation that its commit does not name, nor before its commit was sent."""
    unsent = view.produced(txn, partition, 0) == ABSENT
    unwritten = implies(unsent, view.committed_in(txn, partition) == ABSENT)
    return all_of(commit_is_of_its_generation(view, txn, partition), unwritten)
