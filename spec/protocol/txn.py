"""Transactions at a partition: when one is open, and which data may belong to it."""

from spec.algebra import Term, all_of, choose, negate
from spec.protocol import seq
from spec.protocol.records import AppendRequest, MetVerification, ProducerEntry
from spec.versions import Profile


def is_ongoing(entry: ProducerEntry, request: AppendRequest, profile: Profile) -> Term:
    """A transaction of the batch's producer is open here, and of its epoch where the version compares it."""
    if profile.ongoing_compares_epoch:
        return all_of(entry.in_transaction, entry.epoch == request.producer_epoch)
    return entry.in_transaction


def joins_unverified(
    entry: ProducerEntry, request: AppendRequest, verification: MetVerification, profile: Profile
) -> Term:
    """Transactional data would open a transaction that the coordinator has not confirmed.

    Args:
        entry: what the partition knows of the producer.
        request: the batch.
        verification: the partition's state of the verification.
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


def first_offset_after(entry: ProducerEntry, request: AppendRequest, profile: Profile) -> Term:
    """First offset of the open transaction after accepted data, as the release computes it.

    From sequences (0.11 and 1.0) it is right for a batch that has them and does not wrap. For one that wraps it is
    beyond the log's end; for a coordinator's data, which have none, it is the last offset of the batch.
    """
    opens = all_of(request.transactional, negate(entry.in_transaction))
    first = request.base_offset
    if profile.first_offset_by_sequences:
        first = seq.last_offset(request, profile) - seq.offset_delta(request, profile)
    return choose(opens, first, entry.txn_first_offset)
