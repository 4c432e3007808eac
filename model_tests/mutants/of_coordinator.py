"""Defects of the transaction coordinator: identities, transitions, decisions, failover, timeouts and expiry."""

from contextlib import suppress
from typing import Final

from model_tests.mutants.planted import Patch, Planted, defect
from reference.broker import (
    end_txn,
    transaction_coordinator,
    transaction_log,
    transaction_metadata,
    transaction_timeouts,
)
from reference.broker.end_txn import BY_RESULT, BY_RETRY, End, EndTransaction
from reference.broker.ids import BlockAllocator, ProducerIdentity
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
    NO_PRODUCER_ID,
    PRODUCER_ID_BLOCK,
    Epoch,
    Offset,
    ProducerId,
    Timestamp,
    TransactionState,
)

_write = TransactionStateManager.write
_increment_epoch = transaction_metadata.increment_epoch
_rotate = transaction_metadata.rotate_producer_id
_prepare_end = transaction_metadata.prepare_end
_complete_end = transaction_metadata.complete_end
_init_producer_id = TransactionCoordinator.init_producer_id
_end_txn = TransactionCoordinator.end_txn
_add_partitions = transaction_metadata.add_partitions
_load_record = transaction_log._load_record


# --- identities -------------------------------------------------------------------------------------------------


def claim_the_same(allocator: BlockAllocator) -> range:
    """Every broker gets the first block."""
    return range(PRODUCER_ID_BLOCK)


def claim_overlapping(allocator: BlockAllocator) -> range:
    """Blocks overlap but for one id."""
    first, allocator._next = allocator._next, allocator._next + 1
    return range(first, first + PRODUCER_ID_BLOCK)


def start_with_same_epoch(
    metadata: TransactionMetadata, timeout_ms: int, expected: Epoch | None, now: Timestamp
) -> TransactionMetadata:
    """A new instance gets the epoch of the one before."""
    epoch = metadata.epoch if metadata.epoch >= 0 and expected is None else None
    started = _increment_epoch(metadata, timeout_ms, expected, now)
    return started if epoch is None else started._replace(epoch=epoch)


def rotate_to_same(
    metadata: TransactionMetadata, producer_id: ProducerId, timeout_ms: int, recall: bool, now: Timestamp
) -> TransactionMetadata:
    """After the last epoch the same producer id starts over."""
    return _rotate(metadata, metadata.producer_id, timeout_ms, recall, now)


def never_exhausted(metadata: TransactionMetadata) -> bool:
    """Epochs go on for ever."""
    return False


def end_with_old_identity(coordinator: TransactionCoordinator, asked: EndTransaction) -> ProducerIdentity:
    """The end of a transaction tells the identity of the one that has ended."""
    _end_txn(coordinator, asked)
    return ProducerIdentity(asked.producer_id, asked.epoch)


def complete_without_rotation(metadata: TransactionMetadata, profile: Profile, now: Timestamp) -> TransactionMetadata:
    """After the last epoch a completed transaction keeps its producer id."""
    return _complete_end(metadata._replace(next_producer_id=NO_PRODUCER_ID), profile, now)


# --- who may do what --------------------------------------------------------------------------------------------


def any_epoch(metadata: TransactionMetadata, producer: ProducerIdentity) -> None:
    """A partition is added for a producer of any epoch."""


def any_epoch_ends(entry: TransactionEntry, asked: EndTransaction, profile: Profile) -> None:
    """A transaction is ended by a producer of any epoch."""


def older_epoch_ends(metadata: TransactionMetadata, asked: EndTransaction, profile: Profile) -> bool:
    """Every epoch up to the current one is taken for a repeated wish."""
    return asked.epoch <= metadata.epoch


def commit_what_is_open(
    coordinator: TransactionCoordinator,
    transactional_id: str | None,
    timeout_ms: int,
    expected: ProducerIdentity | None = None,
) -> ProducerIdentity:
    """A new instance commits what the one before has left open, and need not wait for it."""
    entry = None if transactional_id is None else coordinator.states.find(transactional_id)
    if entry is None or entry.pending is not None or entry.metadata.state != TransactionState.ONGOING:
        return _init_producer_id(coordinator, transactional_id, timeout_ms, expected)
    profile = coordinator._profile
    fenced = entry.begin(transaction_metadata.fence_epoch(entry.metadata, True, profile))
    version = profile.transaction_version
    commit = EndTransaction(entry.transactional_id, fenced.producer_id, fenced.epoch, True, version, False)
    coordinator.end_txn(commit)
    return ProducerIdentity(entry.metadata.producer_id, entry.metadata.epoch)


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
    """Whoever loads takes the first record of an id."""
    if decode_key(record.key or b"") not in loaded.ids:
        _load_record(offset, record, loaded)


def load_the_dead(offset: Offset, record: Record, loaded: Loaded) -> None:
    """Whoever loads does not see tombstones."""
    if record.value is not None:
        _load_record(offset, record, loaded)


def load_as_aborted(offset: Offset, record: Record, loaded: Loaded) -> None:
    """Whoever loads takes an open transaction for one that is being aborted."""
    _load_record(offset, record, loaded)
    for name, metadata in loaded.ids.items():
        if metadata.state == TransactionState.ONGOING:
            loaded.ids[name] = metadata._replace(state=TransactionState.PREPARE_ABORT)


def load_without_partitions(offset: Offset, record: Record, loaded: Loaded) -> None:
    """Whoever loads forgets the partitions of transactions."""
    _load_record(offset, record, loaded)
    if record.value is not None:
        name = decode_key(record.key or b"")
        loaded.ids[name] = decode_value(record.value).metadata()._replace(partitions=frozenset())


def load_without_markers(coordinator: TransactionCoordinator, partition: int) -> Loaded:
    """Whoever loads does not go on with what was decided."""
    return coordinator.states.load(partition)


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
    """A transaction that timed out is aborted, and its producer goes on (KAFKA-6119)."""
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


TOLD_DONE: Final = dict(BY_RESULT) | {
    TransactionState.COMPLETE_ABORT: (End.DONE, End.DONE),
    TransactionState.PREPARE_ABORT: (End.WAIT, End.WAIT),
}
TOLD_DONE_AGAIN: Final = dict(BY_RETRY) | {
    TransactionState.COMPLETE_ABORT: (End.DONE, End.PREPARE_EMPTY, End.DONE, End.INVALID),
    TransactionState.PREPARE_ABORT: (End.WAIT, End.FENCED, End.WAIT, End.FENCED),
}
"""A commit that comes after the abort is answered as if it had been carried out."""


OF_COORDINATOR: Final = (
    defect(
        "every broker gets the first block of producer ids", rules.IDS_UNIQUE, BlockAllocator, "claim", claim_the_same
    ),
    defect("blocks of producer ids overlap", rules.IDS_UNIQUE, BlockAllocator, "claim", claim_overlapping),
    defect(
        "a new instance gets the epoch of the one before",
        rules.IDS_IDENTITY_NEVER_REPEATS,
        transaction_coordinator,
        "increment_epoch",
        start_with_same_epoch,
    ),
    defect(
        "after the last epoch a producer id starts over",
        rules.FENCE_EPOCH_EXHAUSTION,
        transaction_coordinator,
        "rotate_producer_id",
        rotate_to_same,
    ),
    defect(
        "epochs are never used up",
        rules.FENCE_EPOCH_EXHAUSTION,
        TransactionMetadata,
        "is_exhausted",
        property(never_exhausted),
    ),
    defect(
        "the end of a transaction tells the old identity",
        rules.IDS_IDENTITY_NEVER_REPEATS,
        TransactionCoordinator,
        "end_txn",
        end_with_old_identity,
    ),
    defect(
        "a completed transaction keeps the producer id without epochs",
        rules.FENCE_EPOCH_EXHAUSTION,
        transaction_coordinator,
        "complete_end",
        complete_without_rotation,
    ),
    defect(
        "partitions are added for any epoch",
        rules.TXN_NO_CROSSTALK,
        transaction_coordinator,
        "check_producer",
        any_epoch,
    ),
    defect(
        "a new instance commits what the one before has left open",
        rules.FENCE_ZOMBIE_CANNOT_COMMIT,
        TransactionCoordinator,
        "init_producer_id",
        commit_what_is_open,
    ),
    defect("any epoch ends a transaction", rules.TXN_NO_CROSSTALK, end_txn, "check_identity", any_epoch_ends),
    defect("any older epoch repeats an end", rules.TXN_NO_CROSSTALK, end_txn, "valid_after_bumps", older_epoch_ends),
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
        "a commit after the abort is told done",
        rules.TXN_CLIENT_VERDICT,
        (Patch(end_txn, "BY_RESULT", TOLD_DONE), Patch(end_txn, "BY_RETRY", TOLD_DONE_AGAIN)),
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
