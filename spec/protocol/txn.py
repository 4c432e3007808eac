"""Transactions at a partition: when one is open, and which data may join it."""

from spec.algebra import Term, all_of, choose, negate
from spec.protocol.records import AppendRequest, ProducerEntry, Verification
from spec.versions import Profile


def is_ongoing(entry: ProducerEntry, request: AppendRequest, profile: Profile) -> Term:
    """A transaction of the batch's producer is open here, and of its epoch where the version compares it."""
    if profile.ongoing_compares_epoch:
        return all_of(entry.in_transaction, entry.epoch == request.producer_epoch)
    return entry.in_transaction


def joins_unverified(
    entry: ProducerEntry, request: AppendRequest, verification: Verification, profile: Profile
) -> Term:
    """Transactional data would open a transaction that the coordinator has not confirmed.

    Args:
        entry: what the partition knows of the producer.
        request: the batch.
        verification: what it has heard of the coordinator's answer.
        profile: the release.
    """
    return all_of(
        profile.partition_verification,
        request.transactional,
        negate(request.control),
        negate(is_ongoing(entry, request, profile)),
        negate(verification.verification_guarded),
    )


def is_outside(entry: ProducerEntry, request: AppendRequest) -> Term:
    """Data that is not transactional comes while a transaction of its producer is open."""
    return all_of(entry.in_transaction, negate(request.transactional))


def first_offset_after(entry: ProducerEntry, request: AppendRequest) -> Term:
    """First offset of the open transaction after accepted data."""
    opens = all_of(request.transactional, negate(entry.in_transaction))
    return choose(opens, request.base_offset, entry.txn_first_offset)
