"""The transaction coordinator: the producer of each transactional id, and the end of its transactions.

Every change goes prepare -> append to the log -> complete. The record of a decision is the commit point: then the
client gets its answer, and the markers follow (TransactionCoordinator).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from reference.broker.coordinator_errors import (
    ConcurrentTransactions,
    InvalidTransactionTimeout,
    TransactionalIdNotFound,
)
from reference.broker.end_txn import (
    End,
    EndTransaction,
    check_epoch_decided,
    check_epoch_left,
    check_fence_is_no_commit,
    decide,
)
from reference.broker.ids import ProducerIdentity, ProducerIdManager
from reference.broker.marker_channel import MarkerChannel, WriteMarker
from reference.broker.transaction_log import Loaded, TransactionLog
from reference.broker.transaction_metadata import (
    NO_TIMEOUT_MS,
    PREPARED,
    TopicPartition,
    TransactionEntry,
    TransactionMetadata,
    add_partitions,
    check_expected,
    check_producer,
    complete_end,
    fence_epoch,
    identity_of,
    increment_epoch,
    new_transactional_id,
    prepare_end,
    rotate_producer_id,
)
from reference.broker.transaction_state_manager import TransactionStateManager
from reference.clock import Clock
from reference.errors import InvalidRequest, Refusal, TransactionalIdAuthorizationFailed, UnsupportedVersion
from spec import rules
from spec.versions import Profile
from spec.vocabulary import (
    NO_PRODUCER_ID,
    CoordinatorEpoch,
    ErrorCode,
    TransactionState,
)

DEFAULT_MAX_TIMEOUT_MS: Final = 15 * 60 * 1000
"""Kafka's default of `transaction.max.timeout.ms`."""

DEFAULT_EXPIRATION_MS: Final = 7 * 24 * 60 * 60 * 1000
"""Kafka's default of `transactional.id.expiration.ms`."""


@dataclass(frozen=True, slots=True)
class CoordinatorConfig:
    """A broker's settings.

    Attributes:
        max_timeout_ms: transaction.max.timeout.ms.
        expiration_ms: transactional.id.expiration.ms.
        two_phase_commit: transaction.two.phase.commit.enable (KIP-939).
    """

    max_timeout_ms: int = DEFAULT_MAX_TIMEOUT_MS
    expiration_ms: int = DEFAULT_EXPIRATION_MS
    two_phase_commit: bool = False


@dataclass(frozen=True, slots=True)
class TwoPhaseOptions:
    """InitProducerId's options for two-phase commit, where another coordinator decides the transactions (KIP-939).

    Attributes:
        enabled: its transactions have no timeout.
        keeps_prepared: a transaction that it has left prepared is to stay; no release can do that yet.
    """

    enabled: bool = False
    keeps_prepared: bool = False


ONE_PHASE: Final = TwoPhaseOptions()


class TransactionCoordinator:
    """One node's coordinator; its log outlives it.

    Attributes:
        profile: its release.
        states: the ids that it coordinates.
        markers: its outstanding markers.
        clock: its own; start times and timeouts are read on it.
        config: its broker's settings.
    """

    __slots__ = ("_producer_ids", "_write_marker", "clock", "config", "markers", "profile", "states")

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
        self.profile = profile
        self._producer_ids = producer_ids
        self._write_marker = write_marker
        self.clock = clock
        self.config = config
        self.states = TransactionStateManager(log)
        self.markers = MarkerChannel(profile)

    # --- election ---------------------------------------------------------------------------------------------

    def elect(self, partition: int, epoch: CoordinatorEpoch) -> Loaded:
        """Lead a partition of the log under a new coordinator epoch; decided transactions continue from there."""
        self.states.begin_loading(partition, epoch)
        return self.load(partition)

    def load(self, partition: int) -> Loaded:
        """Read a partition of the log that this node leads now, and send the markers of decided transactions."""
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
        self,
        transactional_id: str | None,
        timeout_ms: int,
        expected: ProducerIdentity | None = None,
        phases: TwoPhaseOptions = ONE_PHASE,
    ) -> ProducerIdentity:
        """The producer id and epoch of a producer that starts, or resumes after an error (`expected`, KIP-360).

        Args:
            transactional_id: none for a producer without transactions.
            timeout_ms: transaction.timeout.ms of the client.
            expected: the identity that it resumes from.
            phases: its options for two-phase commit.

        Raises:
            ConcurrentTransactions: a change is under way, or an open transaction is aborted first.
            ProducerFenced: `expected` is not the newest producer's identity.
            Refusal: the request is malformed, or the coordinator cannot answer now.
        """
        if transactional_id is None:
            return self._producer_ids.init_producer_id()
        timeout_ms = self._timeout_for(transactional_id, timeout_ms, phases)
        entry = self._entry_for(transactional_id, timeout_ms)
        entry.check_settled()
        check_expected(entry.metadata, expected)

        # [txn.legal_transition]
        if entry.metadata.state in PREPARED:
            raise ConcurrentTransactions(state=entry.metadata.state.name)

        if entry.metadata.state == TransactionState.ONGOING:
            self.fence(entry)
            raise ConcurrentTransactions(state=TransactionState.ONGOING.name)

        change = entry.begin(self._next_identity(entry.metadata, timeout_ms, expected))
        self.states.write(entry, change, self.clock.now)
        return identity_of(entry.metadata)

    def _timeout_for(self, transactional_id: str, timeout_ms: int, phases: TwoPhaseOptions) -> int:
        """The timeout of the producer's transactions, none (the largest) under two-phase commit."""
        if not transactional_id:
            raise InvalidRequest(transactional_id=transactional_id)
        if phases.enabled and not self.config.two_phase_commit:
            raise TransactionalIdAuthorizationFailed(transactional_id=transactional_id)
        if phases.keeps_prepared:
            raise UnsupportedVersion(keeps_prepared=True)
        if phases.enabled:
            return NO_TIMEOUT_MS

        # [txn.timeout]
        if not 0 < timeout_ms <= self.config.max_timeout_ms:
            raise InvalidTransactionTimeout(rules.TXN_TIMEOUT, timeout_ms=timeout_ms)
        return timeout_ms

    def _entry_for(self, transactional_id: str, timeout_ms: int) -> TransactionEntry:
        entry = self.states.find(transactional_id)
        if entry is not None:
            return entry
        metadata = new_transactional_id(self._producer_ids.generate(), timeout_ms, self.clock.now)
        return self.states.add(transactional_id, metadata)

    def _next_identity(
        self, metadata: TransactionMetadata, timeout_ms: int, expected: ProducerIdentity | None
    ) -> TransactionMetadata:
        """The next epoch, or a new producer id where the epochs are used up."""
        now = self.clock.now
        rotates = metadata.is_exhausted and (expected is None or expected.epoch == metadata.epoch)
        if rotates:
            return rotate_producer_id(metadata, self._producer_ids.generate(), timeout_ms, expected is not None, now)
        return increment_epoch(metadata, timeout_ms, None if expected is None else expected.epoch, now)

    def fence(self, entry: TransactionEntry) -> None:
        """Fence the producer of an open transaction, and abort it.

        Raises:
            Refusal: no epoch is left, or the log does not take the decision.
        """
        fenced = entry.begin(fence_epoch(entry.metadata, not entry.failed_fence, self.profile))
        version = self.profile.transaction_version
        request = EndTransaction(entry.transactional_id, fenced.producer_id, fenced.epoch, False, version, False)
        self.end_txn(request)

    # --- partitions -------------------------------------------------------------------------------------------

    def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdentity,
        partitions: Iterable[TopicPartition],
        client_version: int = 0,
    ) -> None:
        """Add partitions to the producer's transaction; the first ones begin it.

        Args:
            transactional_id: whose transaction.
            producer: the identity in the request.
            partitions: those that are in it already change nothing.
            client_version: transaction version of the client: 0, 1 or 2.

        Raises:
            InvalidProducerIdMapping: the id is unknown, or has another producer id.
            ProducerFenced: the id has another epoch.
            ConcurrentTransactions: the transaction before is not complete.
        """
        entry = self.states.known(transactional_id)
        if self.profile.pending_checked_first:
            entry.check_settled()
        check_producer(entry.metadata, producer)
        entry.check_settled()

        # [txn.legal_transition]
        if entry.metadata.state in PREPARED:
            raise ConcurrentTransactions(state=entry.metadata.state.name)

        added = frozenset(partitions)
        if entry.metadata.state == TransactionState.ONGOING and added <= entry.metadata.partitions:
            return
        change = entry.begin(add_partitions(entry.metadata, added, client_version, self.clock.now))
        self.states.write(entry, change, self.clock.now)

    def verify_partitions(
        self, transactional_id: str, producer: ProducerIdentity, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Verify each partition of the producer's transaction; a pending change does not matter.

        Raises:
            Refusal: as `add_partitions`.
        """
        metadata = self.states.known(transactional_id).metadata
        check_producer(metadata, producer)

        # [txn.legal_transition]
        if metadata.state in PREPARED:
            raise ConcurrentTransactions(state=metadata.state.name)

        # [txn.registered_before_data]
        absent = ErrorCode.TRANSACTION_ABORTABLE if self.profile.abortable_has_code else ErrorCode.INVALID_TXN_STATE
        return {partition: ErrorCode.NONE if partition in metadata.partitions else absent for partition in partitions}

    # --- EndTxn -----------------------------------------------------------------------------------------------

    def end_txn(self, request: EndTransaction) -> ProducerIdentity:
        """Decide a transaction; returns the identity of the producer's next one (a new one under version 2).

        Raises:
            ProducerFenced: another producer has the id; a decision for a newer epoch than the coordinator's is written
                all the same in releases that let it through, and no marker follows.
            Refusal: there is no such transaction to end, or the coordinator cannot answer now.
        """
        entry = self.states.known(request.transactional_id)
        if decide(entry, request, self.profile) is not End.DONE:
            return self._prepare_end(entry, request)
        return identity_of(entry.metadata)

    def _prepare_end(self, entry: TransactionEntry, request: EndTransaction) -> ProducerIdentity:
        fencing = entry.is_fencing
        check_fence_is_no_commit(request, fencing=fencing)
        rotates = entry.metadata.is_exhausted and request.bumps and (not fencing or self.profile.fence_rotates)
        next_id = self._producer_ids.generate() if rotates else NO_PRODUCER_ID
        if fencing:
            self._make_way(entry, request)
        check_epoch_left(entry.metadata, request, self.profile)
        now = self.clock.now
        change = entry.begin(prepare_end(entry.metadata, request.commit, self._recorded_version(request), next_id, now))
        try:
            self.states.write(entry, change, now)
        except Refusal:
            remembered = self.profile.failed_fence_remembered and not self._bumps_in_prepare(request)
            entry.failed_fence |= fencing and remembered
            raise
        decided = entry.metadata
        check_epoch_decided(decided, request)
        completed = self._owe_markers(entry)
        return identity_of(completed if self.profile.exhausted_reply_is_next else decided)

    def _recorded_version(self, request: EndTransaction) -> int:
        """The transaction version in the record of the end: since 4.0, 0 where the epoch stays."""
        return request.client_version if request.bumps or not self.profile.client_version_kept else 0

    def _make_way(self, entry: TransactionEntry, request: EndTransaction) -> None:
        """The abort replaces the fence; the fencing epoch is in force from now on, unless the abort itself bumps it."""
        if self._bumps_in_prepare(request):
            entry.cancel()
        else:
            entry.raise_epoch(request.epoch)

    def _bumps_in_prepare(self, request: EndTransaction) -> bool:
        return request.bumps and self.profile.fence_bumps_once

    def _owe_markers(self, entry: TransactionEntry) -> TransactionMetadata:
        """A decision is in the log: from now on its markers are outstanding."""
        entry.failed_fence = False
        completed = entry.begin(complete_end(entry.metadata, self.profile, self.clock.now))
        self.markers.add(entry, self.states.epoch_of(entry.transactional_id), completed)
        return completed

    def send_markers(self) -> None:
        """Send the outstanding markers; a transaction that has them all is complete.

        An end that no record can hold stays pending and is not retried.
        """
        for owed in self.markers.send(self._write_marker):
            try:
                self.states.write(owed.entry, owed.completed, self.clock.now)
            except UnsupportedVersion:
                continue
            except Refusal:
                owed.entry.begin(owed.completed)
                self.markers.put_back(owed)

    # --- views ------------------------------------------------------------------------------------------------

    def describe(self, transactional_id: str) -> TransactionMetadata:
        """A transactional id in the answer to DescribeTransactions.

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
