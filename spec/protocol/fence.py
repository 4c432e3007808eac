"""Epochs at a partition: which batches are fenced, and with which error."""

from typing import Final

from spec.algebra import Term, all_of, any_of, negate
from spec.protocol.records import AppendRequest, ProducerEntry
from spec.versions import Profile
from spec.vocabulary import ErrorCode, Origin

STALE_EPOCH: Final = ErrorCode.INVALID_PRODUCER_EPOCH
"""The error of a fenced producer at a partition leader: code 47 in every release, whatever the client's name for it."""


def is_stale(entry: ProducerEntry, request: AppendRequest) -> Term:
    """The batch has a lower epoch than its producer has on the partition."""
    return request.producer_epoch < entry.epoch


def is_held_to_epoch(request: AppendRequest, profile: Profile) -> Term:
    """The partition checks the epoch: the leader does, and before 2.2 a replica does for a marker.

    Before 2.2 the leader accepts a coordinator's data (a transaction's offsets) with any epoch.
    """
    copied = request.origin == Origin.REPLICATION.value
    of_leader = any_of(request.control, request.origin == Origin.CLIENT.value, profile.coordinator_data_checked)
    of_replica = all_of(request.control, negate(profile.replica_tolerates_stale_marker))
    return any_of(all_of(negate(copied), of_leader), all_of(copied, of_replica))


def is_refused_as_stale(entry: ProducerEntry, request: AppendRequest, profile: Profile) -> Term:
    """A stale batch is refused where its epoch is checked; elsewhere it is appended, and lowers the epoch."""
    return all_of(is_stale(entry, request), is_held_to_epoch(request, profile))


def is_marker_not_bumped(entry: ProducerEntry, request: AppendRequest, profile: Profile) -> Term:
    """Under version 2 a marker must carry a higher epoch than the open transaction's (KAFKA-19446).

    A repeated marker passes, and since 4.3 one of the largest epoch.
    """
    recovers = all_of(profile.last_epoch_recovers, request.producer_epoch == profile.max_epoch)
    return all_of(
        profile.marker_epoch_strict,
        request.marker_version >= 2,
        negate(request.origin == Origin.REPLICATION.value),
        request.producer_epoch == entry.epoch,
        entry.in_transaction,
        negate(recovers),
    )


def is_stale_coordinator(entry: ProducerEntry, request: AppendRequest, profile: Profile) -> Term:
    """The marker is of an older coordinator than the last one of its producer; since 2.2 a replica only logs it."""
    tolerated = all_of(profile.replica_tolerates_stale_marker, request.origin == Origin.REPLICATION.value)
    return all_of(entry.coordinator_epoch > request.coordinator_epoch, negate(tolerated))


def asks_as_leader(request: AppendRequest) -> Term:
    """The append comes from a client or a coordinator, so that the leader decides and may refuse."""
    return any_of(request.origin == Origin.CLIENT.value, request.origin == Origin.COORDINATOR.value)
