"""The transaction coordinator: which producer holds a transactional id, and how its transactions end.

Every change goes prepare -> append to the log -> complete. The record of a decision is the commit point: the client
is answered then, and the markers follow (TransactionCoordinator).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from reference.broker.coordinator_errors import (
    ConcurrentTransactions,
    InvalidProducerIdMapping,
    InvalidTransactionTimeout,
    TransactionalIdNotFound,
)
from reference.broker.end_txn import End, EndTransaction, check_epoch_left, decide
from reference.broker.ids import ProducerIdentity, ProducerIdManager
from reference.broker.marker_channel import MarkerChannel, WriteMarker
from reference.broker.transaction_log import Loaded, TransactionLog
from reference.broker.transaction_metadata import (
    LAST_CLIENT_EPOCH,
    PREPARED,
    TopicPartition,
    TransactionEntry,
    TransactionMetadata,
    add_partitions,
    complete_end,
    fence_epoch,
    increment_epoch,
    new_transactional_id,
    prepare_end,
    rotate_producer_id,
)
from reference.broker.transaction_state_manager import TransactionStateManager
from reference.clock import Clock
from reference.errors import InvalidRequest, ProducerFenced, Refusal
from spec import rules
from spec.versions import Profile
from spec.vocabulary import (
    NO_EPOCH,
    NO_PRODUCER_ID,
    CoordinatorEpoch,
    ErrorCode,
    Timestamp,
    TransactionState,
)

DEFAULT_MAX_TIMEOUT_MS: Final = 15 * 60 * 1000
DEFAULT_EXPIRATION_MS: Final = 7 * 24 * 60 * 60 * 1000

CHANGEABLE: Final = frozenset(
    {TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT}
)


@dataclass(frozen=True, slots=True)
class CoordinatorConfig:
    """A broker's settings: transaction.max.timeout.ms and transactional.id.expiration.ms."""

    max_timeout_ms: int = DEFAULT_MAX_TIMEOUT_MS
    expiration_ms: int = DEFAULT_EXPIRATION_MS


class TransactionCoordinator:
    """One node's coordinator; its log outlives it.

    Attributes:
        states: the ids that it coordinates.
        markers: the markers that it owes.
    """

    __slots__ = ("_clock", "_config", "_producer_ids", "_profile", "_write_marker", "markers", "states")

    def __init__(
        self,
        profile: Profile,
        producer_ids: ProducerIdManager,
        log: TransactionLog,
        write_marker: WriteMarker,
        clock: Clock,
        config: CoordinatorConfig = CoordinatorConfig(),  # frozen
    ) -> None:
        """A coordinator that leads no partition of the log yet."""
        self._profile = profile
        self._producer_ids = producer_ids
        self._write_marker = write_marker
        self._clock = clock
        self._config = config
        self.states = TransactionStateManager(log)
        self.markers = MarkerChannel()

    # --- election ---------------------------------------------------------------------------------------------

    def elect(self, partition: int, epoch: CoordinatorEpoch) -> Loaded:
        """Lead a partition of the log under a new coordinator epoch; decided transactions go on from there."""
        self.states.begin_loading(partition, epoch)
        loaded = self.states.load(partition)
        for transactional_id in loaded.ids:
            entry = self.states.known(transactional_id)
            if entry.metadata.state in PREPARED:
                self._owe_markers(entry)
        return loaded

    def resign(self, partition: int) -> None:
        """Another node leads a partition now."""
        log = self.states.log
        lost = {entry for entry in self.states.entries() if log.partition_of(entry.transactional_id) == partition}
        self.markers.forget(lost)
        self.states.resign(partition)

    # --- InitProducerId ---------------------------------------------------------------------------------------

    def init_producer_id(
        self, transactional_id: str | None, timeout_ms: int, expected: ProducerIdentity | None = None
    ) -> ProducerIdentity:
        """The producer id and epoch of a producer that starts, or goes on after an error (`expected`, KIP-360).

        Raises:
            ConcurrentTransactions: a change is under way, or an open transaction is aborted first.
            ProducerFenced: `expected` is not the newest producer's identity.
            Refusal: the request makes no sense, or the coordinator cannot answer now.
        """
        if transactional_id is None:
            return self._producer_ids.init_producer_id()
        entry = self._entry_for(transactional_id, timeout_ms)
        entry.check_settled()
        check_expected(entry.metadata, expected)

        # [txn.legal_transition]
        if entry.metadata.state in PREPARED:
            raise ConcurrentTransactions(state=entry.metadata.state.name)

        if entry.metadata.state == TransactionState.ONGOING:
            self._fence(entry)
            raise ConcurrentTransactions(state=TransactionState.ONGOING.name)

        change = entry.begin(self._next_identity(entry.metadata, timeout_ms, expected))
        self.states.write(entry, change, self._clock.now)
        return identity_of(entry.metadata)

    def _entry_for(self, transactional_id: str, timeout_ms: int) -> TransactionEntry:
        if not transactional_id:
            raise InvalidRequest(transactional_id=transactional_id)

        # [txn.timeout]
        if not 0 < timeout_ms <= self._config.max_timeout_ms:
            raise InvalidTransactionTimeout(rules.TXN_TIMEOUT, timeout_ms=timeout_ms)

        entry = self.states.find(transactional_id)
        if entry is not None:
            return entry
        metadata = new_transactional_id(self._producer_ids.generate(), timeout_ms, self._clock.now)
        return self.states.add(transactional_id, metadata)

    def _next_identity(
        self, metadata: TransactionMetadata, timeout_ms: int, expected: ProducerIdentity | None
    ) -> TransactionMetadata:
        """The next epoch, or a new producer id where the epochs are used up."""
        now = self._clock.now
        rotates = metadata.is_exhausted and (expected is None or expected.epoch == metadata.epoch)
        if rotates:
            return rotate_producer_id(metadata, self._producer_ids.generate(), timeout_ms, expected is not None, now)
        return increment_epoch(metadata, timeout_ms, None if expected is None else expected.epoch, now)

    def _fence(self, entry: TransactionEntry) -> None:
        """Shut out the producer of an open transaction, and abort it."""
        fenced = entry.begin(fence_epoch(entry.metadata, not entry.failed_fence, self._profile))
        version = self._profile.transaction_version
        asked = EndTransaction(entry.transactional_id, fenced.producer_id, fenced.epoch, False, version, False)
        self.end_txn(asked)

    # --- partitions -------------------------------------------------------------------------------------------

    def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdentity,
        partitions: Iterable[TopicPartition],
        client_version: int = 0,
    ) -> None:
        """Put partitions into the producer's transaction; the first ones begin it.

        Raises:
            InvalidProducerIdMapping: the id is unknown, or has another producer id.
            ProducerFenced: the id has another epoch.
            ConcurrentTransactions: the transaction before is not complete.
        """
        entry = self.states.known(transactional_id)
        if self._profile.pending_checked_first:
            entry.check_settled()
        check_producer(entry.metadata, producer)
        entry.check_settled()

        # [txn.legal_transition]
        if entry.metadata.state in PREPARED:
            raise ConcurrentTransactions(state=entry.metadata.state.name)

        added = frozenset(partitions)
        if entry.metadata.state == TransactionState.ONGOING and added <= entry.metadata.partitions:
            return
        change = entry.begin(add_partitions(entry.metadata, added, client_version, self._clock.now))
        self.states.write(entry, change, self._clock.now)

    def verify_partitions(
        self, transactional_id: str, producer: ProducerIdentity, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Say of each partition whether it is in the producer's transaction; a pending change does not matter.

        Raises:
            Refusal: as `add_partitions`.
        """
        metadata = self.states.known(transactional_id).metadata
        check_producer(metadata, producer)

        # [txn.legal_transition]
        if metadata.state in PREPARED:
            raise ConcurrentTransactions(state=metadata.state.name)

        # [txn.registered_before_data]
        return {
            partition: ErrorCode.NONE if partition in metadata.partitions else ErrorCode.TRANSACTION_ABORTABLE
            for partition in partitions
        }

    # --- EndTxn -----------------------------------------------------------------------------------------------

    def end_txn(self, asked: EndTransaction) -> ProducerIdentity:
        """Decide a transaction; the identity of the producer's next one (under version 2 another than before).

        Raises:
            Refusal: there is no such transaction to end, or the coordinator cannot answer now.
        """
        entry = self.states.known(asked.transactional_id)
        if decide(entry, asked, self._profile) is not End.DONE:
            return self._prepare_end(entry, asked)
        return identity_of(entry.metadata)

    def _prepare_end(self, entry: TransactionEntry, asked: EndTransaction) -> ProducerIdentity:
        fencing = entry.is_fencing
        next_id = self._producer_ids.generate() if asked.bumps and entry.metadata.is_exhausted else NO_PRODUCER_ID
        if fencing:
            self._make_way(entry, asked)
        check_epoch_left(entry.metadata, asked, self._profile)
        now = self._clock.now
        change = entry.begin(prepare_end(entry.metadata, asked.commit, asked.client_version, next_id, now))
        try:
            self.states.write(entry, change, now)
        except Refusal:
            entry.failed_fence = fencing and not self._bumps_in_prepare(asked)
            raise
        decided = entry.metadata
        completed = self._owe_markers(entry)
        return identity_of(completed if self._profile.exhausted_reply_is_next else decided)

    def _make_way(self, entry: TransactionEntry, asked: EndTransaction) -> None:
        """The fence gives way to the abort; its epoch counts from now on, unless the abort itself bumps it."""
        if self._bumps_in_prepare(asked):
            entry.cancel()
        else:
            entry.raise_epoch(asked.epoch)

    def _bumps_in_prepare(self, asked: EndTransaction) -> bool:
        return asked.bumps and self._profile.fence_bumps_once

    def _owe_markers(self, entry: TransactionEntry) -> TransactionMetadata:
        """A decision is in the log: from now on its markers are owed."""
        entry.failed_fence = False
        completed = entry.begin(complete_end(entry.metadata, self._profile, self._clock.now))
        self.markers.add(entry, self.states.epoch_of(entry.transactional_id), completed)
        return completed

    def send_markers(self) -> None:
        """Send the markers that are owed; a transaction that has them all is complete."""
        for owed in self.markers.send(self._write_marker):
            try:
                self.states.write(owed.entry, owed.completed, self._clock.now)
            except Refusal:
                owed.entry.begin(owed.completed)
                self.markers.put_back(owed)

    # --- time -------------------------------------------------------------------------------------------------

    def abort_timed_out(self) -> None:
        """Abort every open transaction that is past its timeout, and shut out its producer."""
        for entry in self.states.entries():
            if self._is_timed_out(entry):
                self._abort_quietly(entry)

    def _is_timed_out(self, entry: TransactionEntry) -> bool:
        metadata = entry.metadata
        open_and_settled = metadata.state == TransactionState.ONGOING and entry.pending is None
        return open_and_settled and metadata.started_ms + metadata.timeout_ms < self._clock.now

    def _abort_quietly(self, entry: TransactionEntry) -> None:
        try:
            self._fence(entry)
        except Refusal:
            return  # the next round tries again

    def expire_ids(self) -> None:
        """Forget every id that has been at rest for too long."""
        for entry in self.states.entries():
            at_rest = entry.metadata.state in CHANGEABLE and entry.pending is None
            if at_rest and entry.metadata.updated_ms <= self._clock.now - self._config.expiration_ms:
                entry.pending = TransactionState.DEAD
                try:
                    self.states.bury(entry, self._clock.now)
                except Refusal:
                    continue  # the next round tries again

    def next_change(self, transactional_id: str) -> Timestamp:
        """The time from which on an id changes by itself: its transaction is aborted, or it is forgotten.

        Raises:
            TransactionalIdNotFound: it is unknown.
        """
        metadata = self.describe(transactional_id)
        if metadata.state == TransactionState.ONGOING:
            return Timestamp(metadata.started_ms + metadata.timeout_ms + 1)
        return Timestamp(metadata.updated_ms + self._config.expiration_ms)

    # --- views ------------------------------------------------------------------------------------------------

    def describe(self, transactional_id: str) -> TransactionMetadata:
        """A transactional id as DescribeTransactions shows it.

        Raises:
            TransactionalIdNotFound: it is unknown.
        """
        entry = self.states.find(transactional_id)
        if entry is None:
            raise TransactionalIdNotFound(transactional_id=transactional_id)
        return entry.metadata

    def listed(self) -> Iterator[tuple[str, TransactionMetadata]]:
        """Every id that this node coordinates."""
        return ((entry.transactional_id, entry.metadata) for entry in self.states.entries())


def identity_of(metadata: TransactionMetadata) -> ProducerIdentity:
    """Producer id and epoch of an id."""
    return ProducerIdentity(metadata.producer_id, metadata.epoch)


def check_expected(metadata: TransactionMetadata, expected: ProducerIdentity | None) -> None:
    """A producer that goes on has the current producer id, or the last epoch of the one before."""
    if expected is None or metadata.epoch == NO_EPOCH or expected.producer_id == metadata.producer_id:
        return

    # [fence.stale_epoch]
    if expected.producer_id != metadata.previous_producer_id or expected.epoch < LAST_CLIENT_EPOCH:
        raise ProducerFenced(rules.FENCE_STALE_EPOCH, current=metadata.producer_id, got=expected.producer_id)


def check_producer(metadata: TransactionMetadata, producer: ProducerIdentity) -> None:
    """The request comes from the newest producer with the id."""
    # [fence.stale_epoch]
    if producer.producer_id != metadata.producer_id:
        raise InvalidProducerIdMapping(current=metadata.producer_id, got=producer.producer_id)

    # [fence.stale_epoch]
    if producer.epoch != metadata.epoch:
        raise ProducerFenced(rules.FENCE_STALE_EPOCH, current=metadata.epoch, got=producer.epoch)
