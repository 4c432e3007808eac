"""EndTxn: its result in each state, as two tables (TransactionCoordinator.endTransaction)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto, unique
from types import MappingProxyType
from typing import Final

from reference.broker.coordinator_errors import ConcurrentTransactions, InvalidProducerIdMapping, UnknownServerError
from reference.broker.transaction_metadata import (
    BUMPS_EPOCH,
    LAST_CLIENT_EPOCH,
    PREPARED,
    TransactionEntry,
    TransactionMetadata,
)
from reference.errors import Impossible, InvalidTxnState, ProducerFenced
from spec import rules
from spec.versions import Profile
from spec.vocabulary import MAX_EPOCH, Epoch, ProducerId, TransactionState


@dataclass(frozen=True, slots=True)
class EndTransaction:
    """The request to end a transaction.

    Attributes:
        commit: commit, else abort.
        client_version: transaction version of the request.
        from_client: a client sent it; else the coordinator aborts on its own.
    """

    transactional_id: str
    producer_id: ProducerId
    epoch: Epoch
    commit: bool
    client_version: int = 0
    from_client: bool = True

    @property
    def bumps(self) -> bool:
        """Whether the end of the transaction raises the epoch by one."""
        return self.client_version >= BUMPS_EPOCH


@unique
class End(Enum):
    """The result of EndTxn."""

    PREPARE = auto()  # the decision is written
    PREPARE_EMPTY = auto()  # the same, where there is nothing to abort but the epoch
    DONE = auto()  # it was done before: NONE
    WAIT = auto()  # it is being done: CONCURRENT_TRANSACTIONS
    INVALID = auto()  # INVALID_TXN_STATE
    FENCED = auto()  # PRODUCER_FENCED


_ONGOING, _EMPTY = TransactionState.ONGOING, TransactionState.EMPTY
_PREPARE_COMMIT, _PREPARE_ABORT = TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT
_COMPLETE_COMMIT, _COMPLETE_ABORT = TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT

BY_RESULT: Final[Mapping[TransactionState, tuple[End, End]]] = MappingProxyType(
    {  #                abort        commit
        _ONGOING: (End.PREPARE, End.PREPARE),
        _EMPTY: (End.INVALID, End.INVALID),
        _COMPLETE_ABORT: (End.DONE, End.INVALID),
        _COMPLETE_COMMIT: (End.INVALID, End.DONE),
        _PREPARE_COMMIT: (End.INVALID, End.WAIT),
        _PREPARE_ABORT: (End.WAIT, End.INVALID),
    }
)
"""Transaction versions 0 and 1: by state, for an abort and for a commit."""

BY_RETRY: Final[Mapping[TransactionState, tuple[End, End, End, End]]] = MappingProxyType(
    {  #                abort again, abort,             commit again, commit
        _ONGOING: (End.FENCED, End.PREPARE, End.FENCED, End.PREPARE),
        _EMPTY: (End.FENCED, End.PREPARE_EMPTY, End.FENCED, End.INVALID),
        _COMPLETE_ABORT: (End.DONE, End.PREPARE_EMPTY, End.INVALID, End.INVALID),
        _COMPLETE_COMMIT: (End.INVALID, End.PREPARE_EMPTY, End.DONE, End.INVALID),
        _PREPARE_COMMIT: (End.INVALID, End.FENCED, End.WAIT, End.FENCED),
        _PREPARE_ABORT: (End.WAIT, End.FENCED, End.INVALID, End.FENCED),
    }
)
"""Transaction version 2: by state, for a retry of an abort, an abort, a retry of a commit and a commit."""


def decide(entry: TransactionEntry, request: EndTransaction, profile: Profile) -> End:
    """The result of the request.

    Returns:
        PREPARE, PREPARE_EMPTY or DONE; everything else is refused.

    Raises:
        InvalidProducerIdMapping: the id has another producer id.
        ProducerFenced: the id has another epoch.
        ConcurrentTransactions: another change is under way.
        InvalidTxnState: there is no such transaction to end.
    """
    by_retry = request.bumps and not profile.retry_by_stored_version
    if by_retry and profile.pending_checked_first:
        entry.check_not_pending()
    check_identity(entry, request, profile)
    entry.check_not_pending()
    return checked(look_up(entry.metadata, request, by_retry, profile), entry.metadata)


def check_identity(entry: TransactionEntry, request: EndTransaction, profile: Profile) -> None:
    """The request comes from the newest producer with the id, or from its identity before the last end.

    Raises:
        InvalidProducerIdMapping: the producer id is another.
        ProducerFenced: the epoch is another.
    """
    metadata = entry.metadata
    bumped = knows_bumps(entry, request, profile)

    # [fence.stale_epoch]
    if metadata.producer_id != request.producer_id and not (bumped and retries_rotation(metadata, request)):
        raise InvalidProducerIdMapping(current=metadata.producer_id, got=request.producer_id)

    # [fence.stale_epoch]
    valid = (valid_after_bumps if bumped else valid_without_bumps)(metadata, request, profile)
    if not valid:
        raise ProducerFenced(rules.FENCE_STALE_EPOCH, current=metadata.epoch, got=request.epoch)


def knows_bumps(entry: TransactionEntry, request: EndTransaction, profile: Profile) -> bool:
    """Whether the end of the transaction may have bumped the epoch since the client sent its request."""
    version = entry.metadata.client_version if profile.retry_by_stored_version else request.client_version
    return version >= BUMPS_EPOCH and not entry.is_fencing


def retries_bump(metadata: TransactionMetadata, request: EndTransaction) -> bool:
    """Whether the request has the epoch before the last bump."""
    return request.epoch == metadata.epoch - 1


def retries_rotation(metadata: TransactionMetadata, request: EndTransaction) -> bool:
    """Whether the request has the last identity of the producer id before this one."""
    same = metadata.previous_producer_id == request.producer_id
    return same and request.epoch == LAST_CLIENT_EPOCH and metadata.epoch == 0


def is_retry(metadata: TransactionMetadata, request: EndTransaction) -> bool:
    """Whether the request repeats one that was carried out."""
    return retries_bump(metadata, request) or retries_rotation(metadata, request)


def valid_without_bumps(metadata: TransactionMetadata, request: EndTransaction, profile: Profile) -> bool:
    """A client has the current epoch, or in older releases a newer one, as the coordinator itself may."""
    exact = request.from_client and profile.end_txn_epoch_exact
    return request.epoch == metadata.epoch if exact else request.epoch >= metadata.epoch


def valid_after_bumps(metadata: TransactionMetadata, request: EndTransaction, profile: Profile) -> bool:
    """By state: the current epoch, or that before the bump."""
    current = request.epoch == metadata.epoch
    if metadata.state in PREPARED:
        return retries_bump(metadata, request)
    if metadata.state in (_COMPLETE_COMMIT, _COMPLETE_ABORT):
        return is_retry(metadata, request) or (current and profile.empty_abort_accepted)
    return current


def look_up(metadata: TransactionMetadata, request: EndTransaction, by_retry: bool, profile: Profile) -> End:
    """The cell of the table that is in force for the version.

    Args:
        metadata: what is in force for the id; its state is the row of the table.
        request: the request; commit or abort is the column.
        by_retry: whether to look it up in `BY_RETRY` (a client of transaction version 2) or in `BY_RESULT`.
        profile: decides whether an abort of nothing is carried out.

    Raises:
        Impossible: the metadata is in a state that no row of the tables has.
    """
    if metadata.state not in BY_RESULT:
        raise Impossible(f"the coordinator stores no state {metadata.state.name}")
    if not by_retry:
        return BY_RESULT[metadata.state][request.commit]
    again = is_retry(metadata, request)
    end = BY_RETRY[metadata.state][2 * request.commit + (not again)]
    return End.INVALID if end is End.PREPARE_EMPTY and not profile.empty_abort_accepted else end


def checked(end: End, metadata: TransactionMetadata) -> End:
    """The cell if it is carried out; the others are refused.

    Raises:
        ConcurrentTransactions: that same end is being carried out.
        InvalidTxnState: the transaction cannot end so from its state.
        ProducerFenced: the epoch of the request does not fit the state.
    """
    # [txn.legal_transition]
    if end is End.WAIT:
        raise ConcurrentTransactions(state=metadata.state.name)

    # [txn.one_outcome]
    if end is End.INVALID:
        raise InvalidTxnState(rules.TXN_ONE_OUTCOME, state=metadata.state.name)

    # [txn.no_crosstalk]
    if end is End.FENCED:
        raise ProducerFenced(rules.TXN_NO_CROSSTALK, state=metadata.state.name, epoch=metadata.epoch)
    return end


def check_fence_is_no_commit(request: EndTransaction, *, fencing: bool) -> None:
    """A fence under way can only become an abort; a commit meanwhile is an error, and changes nothing.

    Raises:
        UnknownServerError: it wants to commit.
    """
    # [txn.one_outcome]
    if fencing and request.commit:
        raise UnknownServerError(rules.TXN_ONE_OUTCOME, transactional_id=request.transactional_id)


def check_epoch_decided(decided: TransactionMetadata, request: EndTransaction) -> None:
    """Markers follow only for the epoch of the request; the decision is in the log all the same.

    Raises:
        ProducerFenced: the transaction was decided with another epoch.
    """
    # [fence.stale_epoch]
    if not request.bumps and decided.epoch != request.epoch:
        raise ProducerFenced(rules.FENCE_STALE_EPOCH, current=decided.epoch, got=request.epoch)


def check_epoch_left(metadata: TransactionMetadata, request: EndTransaction, profile: Profile) -> None:
    """A bump needs an epoch above the current one; newer versions abort without it.

    Raises:
        UnknownServerError: there is none.
    """
    # [fence.epoch_exhaustion]
    recovers = profile.last_epoch_recovers and not request.commit
    if request.bumps and metadata.epoch == MAX_EPOCH and not recovers:
        raise UnknownServerError(epoch=metadata.epoch, state=metadata.state.name)
