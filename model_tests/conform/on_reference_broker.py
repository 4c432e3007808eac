"""One broker of the reference, put together as a session needs it: partitions, coordinator, their logs, a clock."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final, TypeAlias

from model_tests.conform.on_reference_views import state_name
from reference.broker.coordinator_errors import TransactionalIdNotFound
from reference.broker.group_api import OffsetsVerification, TxnOffsetCommitRequest, handle_txn_offset_commit
from reference.broker.group_coordinator import GroupConfig, GroupCoordinator
from reference.broker.group_log import OffsetsTopic
from reference.broker.ids import BlockAllocator, ProducerIdentity, ProducerIdManager
from reference.broker.marker_channel import VERSION_WITH_TRANSACTION_VERSION, TxnMarker, write_marker
from reference.broker.produce import PartitionAnswer, ProduceRequest, handle_produce
from reference.broker.transaction_api import OFFSETS_TOPIC
from reference.broker.transaction_coordinator import CoordinatorConfig, TransactionCoordinator
from reference.broker.transaction_log import TransactionLog
from reference.broker.transaction_metadata import TopicPartition, TransactionMetadata
from reference.broker.transaction_record import FIXED, value_of
from reference.broker.transaction_timeouts import abort_timed_out, expire_ids, next_change
from reference.broker.verification import ProduceVerification
from reference.clock import Clock
from reference.errors import Impossible, Refusal, UnknownTopicOrPartition
from reference.log.batch import RecordBatch
from reference.log.partition import Partition
from spec.versions import Profile
from spec.vocabulary import NO_TIMESTAMP, CoordinatorEpoch, ErrorCode, ProducerId, TransactionState

STATE_PARTITION: Final = 0
"""The one partition of the coordinator's log."""

PRODUCER_EXPIRATION_MS: Final = 1500
"""Setting producer.id.expiration.ms of the brokers whose producers were waited for; else no time passes."""

SETTINGS: Final = CoordinatorConfig(expiration_ms=2000)
"""Setting transactional.id.expiration.ms of the brokers whose ids were waited for."""

OFFSETS_PARTITIONS: Final = 4
"""Partitions of the offsets topic: as many as the recorded brokers had."""

GROUP_SETTINGS: Final = GroupConfig(initial_delay_ms=0)
"""Setting group.initial.rebalance.delay.ms of brokers on which a member joined alone."""

Known: TypeAlias = tuple[int, ProducerId]
"""A producer that a partition knows, by the partition's number."""

MOST_CHANGES: Final = 3
"""Changes that an id makes by itself at most: its transaction is aborted, then it is forgotten."""


class ReferenceBroker:
    """A broker that leads every partition and coordinates every transactional id.

    Attributes:
        leaderless: the broker does not know any leader yet.
        late: numbers of partitions that have not looked yet for producers that were idle for too long.
        partitions: by number.
        names: topic and number in it, by number.
    """

    def __init__(self, profile: Profile, names: Sequence[TopicPartition], segment_bytes: int) -> None:
        """Fresh partitions, an empty coordinator's log."""
        self._profile = profile
        self.clock = Clock()
        self.names = dict(enumerate(names))
        self.partitions = {
            number: Partition(profile, expiration_ms=PRODUCER_EXPIRATION_MS, segment_bytes=segment_bytes)
            for number in self.names
        }
        self._numbers = {name: number for number, name in self.names.items()}
        self.offsets = OffsetsTopic(profile, OFFSETS_PARTITIONS)
        self._producer_ids = ProducerIdManager(BlockAllocator(), profile)
        self._to_be_written: int | None = None
        self.late: set[int] = set()
        self.lagging = False
        self.leaderless = False
        self._log = TransactionLog(profile, partitions=1)
        self.coordinator = self._elected(CoordinatorEpoch(0))
        self.groups = self._elected_of_groups()

    def _elected(self, epoch: CoordinatorEpoch) -> TransactionCoordinator:
        coordinator = TransactionCoordinator(
            self._profile, self._producer_ids, self._log, self._send_marker, self.clock, SETTINGS
        )
        coordinator.elect(STATE_PARTITION, epoch)
        return coordinator

    def _elected_of_groups(self) -> GroupCoordinator:
        coordinator = GroupCoordinator(self._profile, self.offsets, self.clock, GROUP_SETTINGS)
        for number in self.offsets.names():
            coordinator.elect(number)
        return coordinator

    def owed(self) -> int:
        """How many markers, or ends of transactions without any, are still to come."""
        return sum(max(1, len(owed.partitions)) for owed in self.coordinator.markers.owed)

    def settle(self, most: int | None = None) -> None:
        """Write the markers that are owed, or the first so many; groups take over what they decide about, or lag."""
        if most != 0:
            self._to_be_written = most
            self.coordinator.send_markers()
        if not self.lagging:
            self.groups.take_over_decided()

    # --- partitions -------------------------------------------------------------------------------------------

    def produce(self, request: ProduceRequest, overtaking: int = 0) -> dict[int, PartitionAnswer]:
        """Answer a Produce; so many owed markers are written while a batch is verified and not yet appended."""
        verification = ProduceVerification(
            self._profile, self.coordinator, self.partitions, self.names, request.version, self.clock.now
        )

        def verify(transactional_id: str, number: int, batch: RecordBatch) -> int:
            guard = verification(transactional_id, number, batch)
            self.settle(overtaking)
            return guard

        return handle_produce(self._profile, self.partitions, request, verify)

    def write_marker(self, name: TopicPartition, marker: TxnMarker, version: int) -> ErrorCode:
        """Answer WriteTxnMarkers about one partition."""
        try:
            if name.topic == OFFSETS_TOPIC:
                self.groups.write_marker(name.partition, marker, version)
            elif name in self._numbers:
                write_marker(self.partitions[self._numbers[name]], marker, version, self.clock.now)
            else:
                return UnknownTopicOrPartition.code
        except Refusal as refusal:
            return refusal.code
        return ErrorCode.NONE

    def _send_marker(self, partition: TopicPartition, marker: TxnMarker) -> ErrorCode | None:
        if partition.topic != OFFSETS_TOPIC and partition not in self._numbers:
            return None
        if self.leaderless:
            return ErrorCode.LEADER_NOT_AVAILABLE
        if self._to_be_written is not None:
            if self._to_be_written == 0:
                return ErrorCode.NOT_LEADER_OR_FOLLOWER  # which is asked again
            self._to_be_written -= 1
        version = VERSION_WITH_TRANSACTION_VERSION if self._profile.marker_epoch_strict else 1
        return self.write_marker(partition, marker, version)

    def commit_in_transaction(self, request: TxnOffsetCommitRequest) -> dict[TopicPartition, ErrorCode]:
        """Answer TxnOffsetCommit."""
        partitions = dict(enumerate(self.offsets.partitions))
        verification = OffsetsVerification(
            self._profile, self.coordinator, partitions, self.offsets.names(), request.version, self.clock.now
        )
        return handle_txn_offset_commit(self.groups, request, verification, self.names.values())

    # --- what the recorder did --------------------------------------------------------------------------------

    def restart(self, epoch: CoordinatorEpoch, *, leaderless: bool = False) -> None:
        """Load everything again; the rest of the block of producer ids is lost.

        Args:
            epoch: of the coordinator that comes back.
            leaderless: whether it continues its transactions before it knows of any leader.
        """
        for partition in (*self.partitions.values(), *self.offsets.partitions):
            partition.restart(self.clock.now)
        self._producer_ids.restart()
        self.coordinator = self._elected(epoch)
        self.groups = self._elected_of_groups()
        if leaderless:
            self.leaderless = True
            self.coordinator.send_markers()
            self.leaderless = False

    def await_state(self, transactional_id: str, states: Sequence[str], kept: Collection[Known]) -> None:
        """Let time pass until a transactional id has one of these states.

        Args:
            transactional_id: whose state.
            states: as Kafka names them, or the error's name where the id is forgotten.
            kept: idle producers that the recording still shows; their partitions have not looked for them yet.

        Raises:
            Impossible: it has none of them after all that it does by itself.
        """
        for _ in range(MOST_CHANGES):
            if self._state_of(transactional_id) in states:
                return
            self._pass_until(next_change(self.coordinator, transactional_id), kept)
        raise Impossible(f"{transactional_id} gets none of the states {', '.join(states)} by itself")

    def _state_of(self, transactional_id: str) -> str:
        try:
            return state_name(self.coordinator.describe(transactional_id).state)
        except TransactionalIdNotFound as refusal:
            return refusal.code.name

    def await_producer_expiry(self, number: int, producer_id: int, kept: Collection[Known]) -> None:
        """Let time pass until a partition has forgotten a producer."""
        state = self.partitions[number].state
        entry = state.producers.get(ProducerId(producer_id))
        if entry is not None:
            self._pass_until(entry.last_timestamp + state.expiration_ms, kept)

    def _pass_until(self, moment: int, kept: Collection[Known]) -> None:
        """Let time pass; whatever is due by then happens.

        Each partition looks for idle producers on a schedule of its own: where one of `kept` is due, it has not yet.
        """
        self.clock.advance(moment - self.clock.now)
        abort_timed_out(self.coordinator)
        self.settle()
        expire_ids(self.coordinator)
        due = {(number, each) for number, p in self.partitions.items() for each in p.state.due(self.clock.now)}
        self.late = {number for number, _ in due.intersection(kept)}
        for number in self.partitions.keys() - self.late:
            self.partitions[number].state.expire(self.clock.now)

    def catch_up(self) -> None:
        """The partitions that had not looked for idle producers do so."""
        for number in self.late:
            self.partitions[number].state.expire(self.clock.now)
        self.late = set()

    def inject(
        self,
        transactional_id: str,
        producer: ProducerIdentity,
        timeout_ms: int,
        state: TransactionState,
        partitions: Iterable[TopicPartition],
    ) -> None:
        """Write a record into the coordinator's log behind its back.

        Args:
            transactional_id: whose record.
            producer: the identity in it.
            timeout_ms: milliseconds.
            state: as which it says the transaction is.
            partitions: in that transaction.
        """
        now = self.clock.now
        started = NO_TIMESTAMP if state == TransactionState.EMPTY else now
        metadata = TransactionMetadata(*producer, timeout_ms, state, frozenset(partitions), now, started)
        self._log.append(transactional_id, value_of(metadata, FIXED, rotation_persisted=False).encode(), now)
