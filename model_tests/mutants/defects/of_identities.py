"""Defects of identities: producer ids and epochs that repeat or run out, and the checks of a transactional id."""

from typing import Final

from model_tests.mutants.defects.planted import defect
from reference.broker import (
    end_txn,
    transaction_coordinator,
    transaction_log,
    transaction_metadata,
)
from reference.broker.end_txn import EndTransaction
from reference.broker.ids import BlockAllocator, ProducerIdentity
from reference.broker.transaction_coordinator import TransactionCoordinator
from reference.broker.transaction_metadata import TransactionEntry, TransactionMetadata
from spec import rules
from spec.versions import Profile
from spec.vocabulary import (
    NO_PRODUCER_ID,
    PRODUCER_ID_BLOCK,
    Epoch,
    ProducerId,
    Timestamp,
    TransactionState,
)

_increment_epoch = transaction_metadata.increment_epoch
_rotate = transaction_metadata.rotate_producer_id
_complete_end = transaction_metadata.complete_end
_init_producer_id = TransactionCoordinator.init_producer_id
_end_txn = TransactionCoordinator.end_txn
_load_record = transaction_log._load_record


def claim_the_same(allocator: BlockAllocator) -> range:
    """Every broker gets the first block."""
    return range(PRODUCER_ID_BLOCK)


def claim_overlapping(allocator: BlockAllocator) -> range:
    """Blocks overlap but for one id."""
    read = allocator.read()
    allocator.write(read, read.first + 1)
    return range(read.first, read.first + PRODUCER_ID_BLOCK)


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
    """Epochs grow without a limit."""
    return False


def end_with_old_identity(coordinator: TransactionCoordinator, requested: EndTransaction) -> ProducerIdentity:
    """The end of a transaction returns the identity of the one that has ended."""
    _end_txn(coordinator, requested)
    return ProducerIdentity(requested.producer_id, requested.epoch)


def complete_without_rotation(metadata: TransactionMetadata, profile: Profile, now: Timestamp) -> TransactionMetadata:
    """After the last epoch a completed transaction keeps its producer id."""
    return _complete_end(metadata._replace(next_producer_id=NO_PRODUCER_ID), profile, now)


def any_epoch(metadata: TransactionMetadata, producer: ProducerIdentity) -> None:
    """A partition is added for a producer of any epoch."""


def any_epoch_ends(entry: TransactionEntry, requested: EndTransaction, profile: Profile) -> None:
    """A transaction is ended by a producer of any epoch."""


def older_epoch_ends(metadata: TransactionMetadata, requested: EndTransaction, profile: Profile) -> bool:
    """Every epoch up to the current one is taken for a repeated wish."""
    return requested.epoch <= metadata.epoch


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
    profile = coordinator.profile
    fenced = entry.begin(transaction_metadata.fence_epoch(entry.metadata, True, profile))
    entry.raise_epoch(fenced.epoch)
    version = profile.transaction_version
    commit = EndTransaction(entry.transactional_id, fenced.producer_id, fenced.epoch, True, version, False)
    coordinator.end_txn(commit)
    return ProducerIdentity(entry.metadata.producer_id, entry.metadata.epoch)


OF_IDENTITIES: Final = (
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
        "the end of a transaction returns the old identity",
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
)
"""Mutants of identities."""
