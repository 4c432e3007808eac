"""Partition verification (KIP-890): whether the leader asks the coordinator before it appends the batch."""

from dataclasses import dataclass
from typing import Final

from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol import fence, txn
from spec.protocol.records import AppendRequest, MetVerification, ProducerEntry
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT, ErrorCode, Origin

ADDS_SINCE: Final = 12
"""First version of Produce that adds the partition to the transaction, instead of verifying that it was added."""

ABORTABLE_SINCE: Final = 11
"""First version of Produce that knows TRANSACTION_ABORTABLE."""

UNAVAILABLE: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
"""The coordinator's error for an unregistered partition; a producer gets NOT_ENOUGH_REPLICAS and retries."""


@dataclass(frozen=True, slots=True)
class VerificationEntry:
    """A partition's verification state of a producer.

    Attributes:
        pending: there is such an entry.
        lowest: lowest base sequence that started a verification in this epoch.
        bumps: the client is of transaction version 2.
    """

    pending: Term = False
    lowest: Term = ABSENT
    epoch: Term = ABSENT
    bumps: Term = False


NO_VERIFICATION: Final = VerificationEntry()


def needs_verification(entry: ProducerEntry, request: AppendRequest, version: Term, profile: Profile) -> Term:
    """The leader asks the coordinator: the batch would open a transaction on the partition, and verification is on.

    A Produce skips batches without a producer id (ReplicaManager.handleProduceAppend). For offsets the coordinator is
    asked whatever the id, and knows no such producer (CoordinatorPartitionWriter.maybeStartTransactionVerification),
    or is not asked at all (before 3.7).

    Args:
        entry: what the partition knows of the producer.
        request: the batch.
        version: of the Produce that it came in; of offsets, the one that their commit stands for.
        profile: the release.
    """
    verifies = any_of(profile.partition_verification, version >= ADDS_SINCE)
    of_commit = request.origin == Origin.COORDINATOR.value
    return all_of(
        verifies,
        request.transactional,
        any_of(request.producer_id >= 0, of_commit),
        any_of(profile.commits_verified, negate(of_commit)),
        negate(txn.is_ongoing(entry, request, profile)),
    )


def is_refused_unasked(entry: ProducerEntry, request: AppendRequest, profile: Profile) -> Term:
    """A stale epoch is refused without verification (KAFKA-18042)."""
    return all_of(profile.stale_epoch_before_coordinator, fence.is_stale(entry, request))


def started(entry: VerificationEntry, request: AppendRequest, version: Term) -> VerificationEntry:
    """The entry while a verification runs; a higher epoch replaces it, a lower sequence lowers `lowest`."""
    renewed = any_of(negate(entry.pending), request.producer_epoch > entry.epoch)
    lower = all_of(request.producer_epoch == entry.epoch, request.base_sequence < entry.lowest)
    return VerificationEntry(
        pending=True,
        lowest=choose(any_of(renewed, lower), request.base_sequence, entry.lowest),
        epoch=choose(renewed, request.producer_epoch, entry.epoch),
        bumps=choose(entry.pending, entry.bumps, version >= ADDS_SINCE),
    )


def met(entry: VerificationEntry, guarded: Term) -> MetVerification:
    """The entry as an append sees it, verified or not."""
    return MetVerification(entry.pending, guarded, entry.bumps, entry.lowest)


def after_append(
    entry: VerificationEntry, request: AppendRequest, appended: Term, profile: Profile
) -> VerificationEntry:
    """An appended transactional batch clears the entry; a marker keeps that of the next transaction.

    Args:
        entry: the entry before.
        request: the batch, or the marker.
        appended: the log took it.
        profile: the release.
    """
    of_next = all_of(
        profile.marker_keeps_next_guard, entry.bumps, request.control, request.producer_epoch == entry.epoch
    )
    settled = all_of(appended, request.transactional, negate(of_next))
    return VerificationEntry(
        pending=all_of(entry.pending, negate(settled)),
        lowest=choose(settled, ABSENT, entry.lowest),
        epoch=choose(settled, ABSENT, entry.epoch),
        bumps=all_of(entry.bumps, negate(settled)),
    )


def reported(error: Term, version: Term, profile: Profile = NEWEST) -> Term:
    """The producer's error, in this version of Produce, for the coordinator's refusal.

    Args:
        error: the coordinator's answer.
        version: of the Produce.
        profile: the release of the broker that asked.
    """
    fenced = error == ErrorCode.PRODUCER_FENCED.value
    unknown = all_of(error == ErrorCode.TRANSACTION_ABORTABLE.value, version < ABORTABLE_SINCE)
    busy = all_of(error == ErrorCode.CONCURRENT_TRANSACTIONS.value, version < ADDS_SINCE)
    cut_off = all_of(profile.network_exception_converted, error == ErrorCode.NETWORK_EXCEPTION.value)
    absent = any_of(busy, cut_off, *(error == code.value for code in UNAVAILABLE))
    state, replicas = ErrorCode.INVALID_TXN_STATE.value, ErrorCode.NOT_ENOUGH_REPLICAS.value
    renamed = choose(unknown, state, choose(absent, replicas, error))
    return choose(fenced, ErrorCode.INVALID_PRODUCER_EPOCH.value, renamed)
