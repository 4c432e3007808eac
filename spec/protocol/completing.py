"""After the outcome is decided: markers, Complete; and what time does to a transaction and to its id."""

from dataclasses import dataclass, replace
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol.coordinator import (
    BUMPING,
    TransactionEntry,
    Transition,
    decide,
    is_at_rest,
    is_in,
)
from spec.protocol.ending import EndRequest
from spec.protocol.guards import PASSED
from spec.protocol.ids import WITHOUT_LIMIT, fencing_epoch
from spec.protocol.records import AppendRequest, ProducerEntry
from spec.versions import Profile
from spec.vocabulary import ABSENT, ErrorCode, Origin, TransactionState

RULE: Final = rules.TXN_MARKER_ONCE
"""What every marker is for."""


@dataclass(frozen=True, slots=True)
class MarkerRequest:
    """One marker for one partition, by whichever coordinator."""

    producer_id: Term
    producer_epoch: Term
    coordinator_epoch: Term
    version: Term = 0


def marker_of(entry: TransactionEntry, coordinator_epoch: Term) -> MarkerRequest:
    """The marker that a decided transaction sends to each of its partitions."""
    return MarkerRequest(entry.producer_id, entry.producer_epoch, coordinator_epoch, entry.client_version)


def to_append(marker: MarkerRequest, log_end: Term) -> AppendRequest:
    """The batch of a marker, as the partition's leader appends it."""
    return AppendRequest(
        base_offset=log_end,
        origin=Origin.COORDINATOR.value,
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        transactional=True,
        control=True,
        coordinator_epoch=marker.coordinator_epoch,
        marker_version=marker.version,
    )


def is_done(error: Term) -> Term:
    """The partition has its marker, or can never have one, and leaves the transaction.

    A broker without support for markers has no transactions either (TransactionMarkerRequestCompletionHandler).
    """
    unmarkable = (ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION)
    return any_of(error == ErrorCode.NONE.value, *(error == code.value for code in unmarkable))


def is_given_up(error: Term) -> Term:
    """The partition has seen a newer epoch; no marker of the transaction is sent any more."""
    fenced = (ErrorCode.INVALID_PRODUCER_EPOCH.value, ErrorCode.TRANSACTION_COORDINATOR_FENCED.value)
    return any_of(*(error == code for code in fenced))


def is_dropped(exists: Term, led: Term, profile: Profile) -> Term:
    """The partition leaves the transaction without its marker: it is deleted, or counts as deleted (KAFKA-20734).

    Args:
        exists: the partition is in the coordinator's metadata.
        led: so is its leader.
        profile: the release; whether a partition without a leader counts as deleted.
    """
    return any_of(negate(exists), all_of(profile.leaderless_marker_dropped, negate(led)))


def prepare_complete(entry: TransactionEntry, now: Term, profile: Profile) -> Transition:
    """The record that completes a transaction once every partition has its marker; an exhausted id rotates.

    It is pending as soon as the Prepare record is durable; from then on no fence counts as failed.
    """
    entry = replace(entry, fence_failed=False)
    commits = entry.state == TransactionState.PREPARE_COMMIT.value
    state = choose(commits, TransactionState.COMPLETE_COMMIT.value, TransactionState.COMPLETE_ABORT.value)
    bumped = entry.client_version >= BUMPING
    rotates = all_of(bumped, entry.next_producer_id >= 0)
    forgotten = all_of(bumped, not profile.completion_keeps_last_epoch)
    target = replace(
        entry,
        state=state,
        pending=ABSENT,
        producer_id=choose(rotates, entry.next_producer_id, entry.producer_id),
        producer_epoch=choose(rotates, 0, entry.producer_epoch),
        last_epoch=choose(forgotten, entry.producer_epoch, entry.last_epoch),
        previous_producer_id=entry.producer_id,
        next_producer_id=ABSENT,
        update_time=now,
    )
    return decide(entry, PASSED, ErrorCode.NONE.value, appends=True, target=target)


def fencing_abort(entry: TransactionEntry, fresh_producer_id: Term, now: Term, profile: Profile) -> EndRequest:
    """The coordinator's own abort of an open transaction, in the cluster's transaction version.

    Args:
        entry: the metadata of the open transaction.
        fresh_producer_id: the producer id to rotate to if the epoch is exhausted.
        now: the coordinator's clock, in milliseconds.
        profile: the release, with its transaction version.
    """
    return EndRequest(
        producer_id=entry.producer_id,
        producer_epoch=fencing_epoch(entry, profile),
        commits=False,
        bumps=profile.transaction_version >= BUMPING,
        fresh_producer_id=fresh_producer_id,
        now=now,
        by_client=False,
    )


def is_timed_out(entry: TransactionEntry, now: Term) -> Term:
    """The open transaction is older than its timeout."""
    return all_of(
        is_in(entry, TransactionState.ONGOING),
        entry.pending == ABSENT,
        entry.timeout < WITHOUT_LIMIT,
        entry.start_time + entry.timeout < now,
    )


def is_expired(entry: TransactionEntry, now: Term, expiration: Term) -> Term:
    """The id was idle for so long that its metadata is removed."""
    return all_of(entry.known, is_at_rest(entry), entry.pending == ABSENT, entry.update_time + expiration <= now)


def may_be_forgotten(entry: ProducerEntry) -> Term:
    """A partition drops the state of an idle producer, but never of one with an open transaction."""
    return negate(entry.in_transaction)


def expire(entry: TransactionEntry) -> Transition:
    """The tombstone of an expired id; once it is durable the metadata is gone."""
    dead = replace(entry, state=TransactionState.DEAD.value)
    return decide(entry, PASSED, ErrorCode.NONE.value, appends=True, target=dead)


def fence(entry: TransactionEntry) -> TransactionEntry:
    """The metadata in memory while a timed-out transaction is about to be aborted."""
    return replace(entry, pending=TransactionState.PREPARE_EPOCH_FENCE.value)
