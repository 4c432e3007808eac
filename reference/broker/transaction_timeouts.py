"""The coordinator's own actions as time passes: it aborts open transactions and removes idle ids."""

from reference.broker.transaction_coordinator import TransactionCoordinator
from reference.broker.transaction_metadata import AT_REST, NO_TIMEOUT_MS, TransactionEntry
from reference.errors import Refusal
from spec.vocabulary import Timestamp, TransactionState


def abort_timed_out(coordinator: TransactionCoordinator) -> None:
    """Abort every open transaction that is past its timeout, and fence its producer."""
    for entry in coordinator.states.entries():
        # [txn.timeout]
        if is_timed_out(entry, coordinator.clock.now):
            _fence_quietly(coordinator, entry)


def is_timed_out(entry: TransactionEntry, now: Timestamp) -> bool:
    """Whether a transaction has been open for longer than its timeout."""
    metadata = entry.metadata
    open_and_settled = metadata.state == TransactionState.ONGOING and entry.pending is None
    return open_and_settled and metadata.timeout_ms != NO_TIMEOUT_MS and metadata.started_ms + metadata.timeout_ms < now


def _fence_quietly(coordinator: TransactionCoordinator, entry: TransactionEntry) -> None:
    try:
        coordinator.fence(entry)
    except Refusal:
        return  # the next round tries again


def expire_ids(coordinator: TransactionCoordinator) -> None:
    """Remove every id that has been at rest for too long."""
    idle_since = Timestamp(coordinator.clock.now - coordinator.config.expiration_ms)
    for entry in coordinator.states.entries():
        # [txn.expiry]
        if is_idle(entry, idle_since):
            entry.pending = TransactionState.DEAD
            _bury_quietly(coordinator, entry)


def is_idle(entry: TransactionEntry, since: Timestamp) -> bool:
    """Whether nothing has happened with an id at rest since a moment."""
    at_rest = entry.metadata.state in AT_REST and entry.pending is None
    return at_rest and entry.metadata.updated_ms <= since


def _bury_quietly(coordinator: TransactionCoordinator, entry: TransactionEntry) -> None:
    try:
        coordinator.states.bury(entry, coordinator.clock.now)
    except Refusal:
        return  # the next round tries again


def next_change(coordinator: TransactionCoordinator, transactional_id: str) -> Timestamp:
    """The time from which on an id changes by itself: its transaction is aborted, or it is removed.

    Raises:
        TransactionalIdNotFound: it is unknown.
    """
    metadata = coordinator.describe(transactional_id)
    if metadata.state == TransactionState.ONGOING:
        return Timestamp(metadata.started_ms + metadata.timeout_ms + 1)
    return Timestamp(metadata.updated_ms + coordinator.config.expiration_ms)
