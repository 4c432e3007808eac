"""Defects of the transaction coordinator: decisions, memory and log, failover, timeouts and expiry."""

from contextlib import suppress
from typing import Final

from model_tests.mutants.defects.planted import Patch, Planted, defect
from reference.broker import (
    end_txn,
    transaction_coordinator,
    transaction_log,
    transaction_metadata,
    transaction_timeouts,
)
from reference.broker.end_txn import BY_RESULT, BY_RETRY, End
from reference.broker.transaction_coordinator import TransactionCoordinator
from reference.broker.transaction_log import Loaded
from reference.broker.transaction_metadata import AT_REST, TransactionEntry, TransactionMetadata
from reference.broker.transaction_record import decode_key, decode_value
from reference.broker.transaction_state_manager import TransactionStateManager, append_refusal
from reference.errors import Refusal
from reference.log.record import Record
from spec import rules
from spec.versions import Profile
from spec.vocabulary import (
    Offset,
    ProducerId,
    Timestamp,
    TransactionState,
)

_write = TransactionStateManager.write
_prepare_end = transaction_metadata.prepare_end
_add_partitions = transaction_metadata.add_partitions
_load_record = transaction_log._load_record


# --- decisions --------------------------------------------------------------------------------------------------


def prepare_abort(
    metadata: TransactionMetadata, commit: bool, client_version: int, next_producer_id: ProducerId, now: Timestamp
) -> TransactionMetadata:
    """A commit is decided as an abort."""
    return _prepare_end(metadata, False, client_version, next_producer_id, now)


def prepare_commit(
    metadata: TransactionMetadata, commit: bool, client_version: int, next_producer_id: ProducerId, now: Timestamp
) -> TransactionMetadata:
    """An abort of an open transaction is decided as a commit."""
    commit = commit or metadata.state == TransactionState.ONGOING
    return _prepare_end(metadata, commit, client_version, next_producer_id, now)


def prepare_without_bump(
    metadata: TransactionMetadata, commit: bool, client_version: int, next_producer_id: ProducerId, now: Timestamp
) -> TransactionMetadata:
    """Under version 2 the epoch stays as it is."""
    decided = _prepare_end(metadata, commit, client_version, next_producer_id, now)
    return decided._replace(epoch=metadata.epoch)


def add_the_new_alone(
    metadata: TransactionMetadata, added: frozenset[object], client_version: int, now: Timestamp
) -> TransactionMetadata:
    """A partition that is added replaces the others."""
    return _add_partitions(metadata, added, client_version, now)._replace(partitions=added)  # type: ignore[arg-type]


# --- memory and log ---------------------------------------------------------------------------------------------


def write_in_memory(
    manager: TransactionStateManager, entry: TransactionEntry, change: TransactionMetadata, now: Timestamp
) -> None:
    """Decisions are not written down."""
    if change.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT):
        entry.complete(change)
    else:
        _write(manager, entry, change, now)


def write_whatever_happens(
    manager: TransactionStateManager, entry: TransactionEntry, change: TransactionMetadata, now: Timestamp
) -> None:
    """A change that the log refused is taken over all the same."""
    with suppress(Refusal):
        manager.log.write(entry.transactional_id, change, now)
    entry.complete(change)


def write_without_cancelling(
    manager: TransactionStateManager, entry: TransactionEntry, change: TransactionMetadata, now: Timestamp
) -> None:
    """A change that the log refused stays pending."""
    try:
        manager.log.write(entry.transactional_id, change, now)
    except Refusal as refusal:
        raise append_refusal(refusal) from refusal
    entry.complete(change)


def load_first(offset: Offset, record: Record, loaded: Loaded) -> None:
    """A loading coordinator takes the first record of an id."""
    if decode_key(record.key or b"") not in loaded.ids:
        _load_record(offset, record, loaded)


def load_the_dead(offset: Offset, record: Record, loaded: Loaded) -> None:
    """A loading coordinator does not see tombstones."""
    if record.value is not None:
        _load_record(offset, record, loaded)


def load_as_aborted(offset: Offset, record: Record, loaded: Loaded) -> None:
    """A loading coordinator takes an open transaction for one that is being aborted."""
    _load_record(offset, record, loaded)
    for name, metadata in loaded.ids.items():
        if metadata.state == TransactionState.ONGOING:
            loaded.ids[name] = metadata._replace(state=TransactionState.PREPARE_ABORT)


def load_without_partitions(offset: Offset, record: Record, loaded: Loaded) -> None:
    """A loading coordinator forgets the partitions of transactions."""
    _load_record(offset, record, loaded)
    if record.value is not None:
        name = decode_key(record.key or b"")
        loaded.ids[name] = decode_value(record.value).metadata()._replace(partitions=frozenset())


def load_one_partition(offset: Offset, record: Record, loaded: Loaded) -> None:
    """A loading coordinator remembers one partition of each transaction."""
    _load_record(offset, record, loaded)
    if record.value is not None:
        name = decode_key(record.key or b"")
        metadata = loaded.ids[name]
        loaded.ids[name] = metadata._replace(partitions=frozenset(sorted(metadata.partitions)[:1]))


def load_without_markers(coordinator: TransactionCoordinator, partition: int) -> Loaded:
    """A loading coordinator does not continue decided transactions."""
    return coordinator.states.load(partition)


def send_and_stay_prepared(coordinator: TransactionCoordinator) -> None:
    """A transaction whose markers are all written stays prepared for ever."""
    for _ in coordinator.markers.send(coordinator._write_marker):
        pass


def complete_or_forget(coordinator: TransactionCoordinator) -> None:
    """A completion that the log refuses is not tried again."""
    for owed in coordinator.markers.send(coordinator._write_marker):
        try:
            coordinator.states.write(owed.entry, owed.completed, coordinator.clock.now)
        except Refusal:
            continue


# --- time -------------------------------------------------------------------------------------------------------


def never_timed_out(entry: TransactionEntry, now: Timestamp) -> bool:
    """Open transactions stay open."""
    return False


def timed_out_early(entry: TransactionEntry, now: Timestamp) -> bool:
    """Half the time is enough."""
    metadata = entry.metadata
    open_now = metadata.state == TransactionState.ONGOING and entry.pending is None
    return open_now and metadata.started_ms + metadata.timeout_ms // 3 < now


def fence_without_bump(metadata: TransactionMetadata, bump: bool, profile: Profile) -> TransactionMetadata:
    """A transaction that timed out is aborted, and its producer continues (KAFKA-6119)."""
    return metadata._replace(state=TransactionState.PREPARE_EPOCH_FENCE)


def idle_at_once(entry: TransactionEntry, since: Timestamp) -> bool:
    """Every id at rest is forgotten, however short its rest."""
    return entry.pending is None and entry.metadata.state in AT_REST


def idle_while_open(entry: TransactionEntry, since: Timestamp) -> bool:
    """An id with an open transaction is forgotten too."""
    return entry.pending is None and entry.metadata.updated_ms <= since


def never_idle(entry: TransactionEntry, since: Timestamp) -> bool:
    """No id is ever forgotten."""
    return False


REPORTED_DONE: Final = dict(BY_RESULT) | {
    TransactionState.COMPLETE_ABORT: (End.DONE, End.DONE),
    TransactionState.PREPARE_ABORT: (End.WAIT, End.WAIT),
}
REPORTED_DONE_AGAIN: Final = dict(BY_RETRY) | {
    TransactionState.COMPLETE_ABORT: (End.DONE, End.PREPARE_EMPTY, End.DONE, End.INVALID),
    TransactionState.PREPARE_ABORT: (End.WAIT, End.FENCED, End.WAIT, End.FENCED),
}
"""A commit that comes after the abort is answered as if it had been carried out."""


OF_COORDINATOR: Final = (
    defect(
        "a commit is decided as an abort",
        rules.TXN_CLIENT_VERDICT,
        transaction_coordinator,
        "prepare_end",
        prepare_abort,
    ),
    defect(
        "an abort is decided as a commit",
        rules.TXN_CLIENT_VERDICT,
        transaction_coordinator,
        "prepare_end",
        prepare_commit,
    ),
    Planted(
        "a commit after the abort is answered with success",
        rules.TXN_CLIENT_VERDICT,
        (Patch(end_txn, "BY_RESULT", REPORTED_DONE), Patch(end_txn, "BY_RETRY", REPORTED_DONE_AGAIN)),
    ),
    defect(
        "the end of a transaction bumps no epoch",
        rules.TXN_COMPLETES,
        transaction_coordinator,
        "prepare_end",
        prepare_without_bump,
    ),
    defect(
        "a partition that is added replaces the others",
        rules.TXN_REGISTERED_BEFORE_DATA,
        transaction_coordinator,
        "add_partitions",
        add_the_new_alone,
    ),
    defect(
        "decisions are not written down", rules.TXN_LEGAL_TRANSITION, TransactionStateManager, "write", write_in_memory
    ),
    defect(
        "what the log refused is taken over",
        rules.TXN_LEGAL_TRANSITION,
        TransactionStateManager,
        "write",
        write_whatever_happens,
    ),
    defect(
        "what the log refused stays pending",
        rules.TXN_COMPLETES,
        TransactionStateManager,
        "write",
        write_without_cancelling,
    ),
    defect("the first record of an id is loaded", rules.TXN_FAILOVER, transaction_log, "_load_record", load_first),
    defect("tombstones are not loaded", rules.TXN_FAILOVER, transaction_log, "_load_record", load_the_dead),
    defect(
        "an open transaction is loaded as aborted", rules.TXN_FAILOVER, transaction_log, "_load_record", load_as_aborted
    ),
    defect("partitions are not loaded", rules.TXN_FAILOVER, transaction_log, "_load_record", load_without_partitions),
    defect("one partition is loaded", rules.TXN_FAILOVER, transaction_log, "_load_record", load_one_partition),
    defect(
        "a new coordinator leaves decisions alone",
        rules.TXN_FAILOVER,
        TransactionCoordinator,
        "load",
        load_without_markers,
    ),
    defect(
        "a refused completion is forgotten",
        rules.TXN_COMPLETES,
        TransactionCoordinator,
        "send_markers",
        complete_or_forget,
    ),
    defect(
        "a decided transaction is never completed",
        rules.TXN_COMPLETES,
        TransactionCoordinator,
        "send_markers",
        send_and_stay_prepared,
    ),
    defect("nothing times out", rules.TXN_TIMEOUT, transaction_timeouts, "is_timed_out", never_timed_out),
    defect("timeouts come early", rules.TXN_TIMEOUT, transaction_timeouts, "is_timed_out", timed_out_early),
    defect(
        "a timeout fences nobody (KAFKA-6119)",
        rules.TXN_TIMEOUT,
        transaction_coordinator,
        "fence_epoch",
        fence_without_bump,
    ),
    defect("ids at rest are forgotten at once", rules.TXN_EXPIRY, transaction_timeouts, "is_idle", idle_at_once),
    defect(
        "ids with open transactions are forgotten", rules.TXN_EXPIRY, transaction_timeouts, "is_idle", idle_while_open
    ),
    defect("no id is ever forgotten", rules.TXN_EXPIRY, transaction_timeouts, "is_idle", never_idle),
)
"""Mutants of the transaction coordinator."""
