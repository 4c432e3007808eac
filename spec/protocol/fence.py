"""Epochs at a partition: who is fenced, and with which error."""

from typing import Final

from spec.algebra import Term, all_of, any_of, negate
from spec.protocol.records import AppendRequest, ProducerEntry
from spec.versions import Profile
from spec.vocabulary import ErrorCode, Origin

STALE_EPOCH: Final = ErrorCode.INVALID_PRODUCER_EPOCH
"""What a fenced producer is told by a partition leader: code 47 in every release, whatever its client calls it."""


def is_stale(entry: ProducerEntry, request: AppendRequest) -> Term:
    """The batch has a lower epoch than its producer has on the partition."""
    return request.producer_epoch < entry.epoch


def is_refused_as_stale(entry: ProducerEntry, request: AppendRequest, profile: Profile) -> Term:
    """A stale batch is refused; a replica that follows its leader only logs it (2.4 and later)."""
    tolerated = all_of(profile.replica_tolerates_stale_epoch, request.origin == Origin.REPLICATION.value)
    return all_of(is_stale(entry, request), negate(tolerated))


def is_marker_not_bumped(entry: ProducerEntry, request: AppendRequest, profile: Profile) -> Term:
    """Under version 2 a marker must carry a higher epoch than the open transaction's (KAFKA-19446).

    A repeated marker, and the last epoch of all, are let through.
    """
    return all_of(
        profile.marker_epoch_strict,
        request.marker_version >= 2,
        negate(request.origin == Origin.REPLICATION.value),
        request.producer_epoch == entry.epoch,
        entry.in_transaction,
        negate(request.producer_epoch == profile.max_epoch),
    )


def is_stale_coordinator(entry: ProducerEntry, request: AppendRequest) -> Term:
    """The marker is of an older coordinator than the last one of its producer; a replica only logs it."""
    return all_of(
        entry.coordinator_epoch > request.coordinator_epoch, negate(request.origin == Origin.REPLICATION.value)
    )


def asks_as_leader(request: AppendRequest) -> Term:
    """The append comes from a client or a coordinator, so that the leader decides and may refuse."""
    return any_of(request.origin == Origin.CLIENT.value, request.origin == Origin.COORDINATOR.value)
