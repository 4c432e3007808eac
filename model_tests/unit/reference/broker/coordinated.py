"""A coordinator with partitions, for tests: it answers, time passes, it crashes and comes back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from reference.broker.end_txn import EndTransaction
from reference.broker.ids import BlockAllocator, ProducerIdentity, ProducerIdManager
from reference.broker.marker_channel import TxnMarker, write_marker
from reference.broker.transaction_coordinator import CoordinatorConfig, TransactionCoordinator
from reference.broker.transaction_log import TransactionLog
from reference.broker.transaction_metadata import TopicPartition, TransactionEntry, TransactionMetadata
from reference.clock import Clock
from reference.errors import Refusal
from reference.log.batch import value_batch
from reference.log.partition import Partition
from spec.versions import NEWEST, Profile
from spec.vocabulary import CoordinatorEpoch, Epoch, ErrorCode, Origin, ProducerId, Timestamp, TransactionState

ID: Final = "payments"
TIMEOUT_MS: Final = 60_000
EXPIRATION_MS: Final = 1_000_000
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@dataclass(slots=True)
class CoordinatedBroker:
    """One broker: coordinator, two partitions, a clock that stands at 1000.

    Attributes:
        refusing: partitions that answer markers with this error instead of writing them.
    """

    profile: Profile = NEWEST
    clock: Clock = field(default_factory=lambda: Clock(1000))
    refusing: dict[TopicPartition, ErrorCode | None] = field(default_factory=dict)
    partitions: dict[TopicPartition, Partition] = field(init=False)
    log: TransactionLog = field(init=False)
    coordinator: TransactionCoordinator = field(init=False)
    allocator: BlockAllocator = field(default_factory=BlockAllocator)
    producer_ids: ProducerIdManager = field(init=False)

    def __post_init__(self) -> None:
        """Elect the first coordinator."""
        self.partitions = {T0: Partition(self.profile), T1: Partition(self.profile)}
        self.log = TransactionLog(self.profile, partitions=1)
        self.producer_ids = ProducerIdManager(self.allocator, self.profile)
        self.crash(0)

    def crash(self, epoch: int) -> None:
        """A new coordinator reads what the old one left in the log."""
        config = CoordinatorConfig(expiration_ms=EXPIRATION_MS)
        self.coordinator = TransactionCoordinator(
            self.profile, self.producer_ids, self.log, self.write, self.clock, config
        )
        self.coordinator.elect(0, CoordinatorEpoch(epoch))

    def write(self, partition: TopicPartition, marker: TxnMarker) -> ErrorCode | None:
        """Write a marker of the coordinator, unless the partition refuses."""
        if partition in self.refusing:
            return self.refusing[partition]
        try:
            write_marker(self.partitions[partition], marker, 2, self.clock.now)
        except Refusal as refusal:
            return refusal.code
        return ErrorCode.NONE

    def init(self, expected: tuple[int, int] | None = None, timeout_ms: int = TIMEOUT_MS) -> ProducerIdentity:
        """InitProducerId."""
        return self.coordinator.init_producer_id(ID, timeout_ms, None if expected is None else identity(*expected))

    def begin(self, producer: ProducerIdentity, partitions: Iterable[TopicPartition] = (T0,)) -> None:
        """AddPartitionsToTxn."""
        self.coordinator.add_partitions(ID, producer, partitions)

    def write_data(self, producer: ProducerIdentity, partition: TopicPartition = T0, sequence: int = 0) -> None:
        """One transactional record, verified."""
        target = self.partitions[partition]
        batch = value_batch(
            [b"v"],
            producer_id=producer.producer_id,
            epoch=producer.epoch,
            base_sequence=sequence,
            transactional=True,
        )
        guard = target.state.start_verification(
            batch.producer_id, batch.base_sequence, batch.producer_epoch, False, self.clock.now
        )
        target.append(batch, Origin.CLIENT, guard)

    def end(self, producer: ProducerIdentity, commit: bool = True, version: int | None = None) -> ProducerIdentity:
        """EndTxn, by the profile's transaction version; the markers follow only when they are sent."""
        used = self.profile.transaction_version if version is None else version
        return self.coordinator.end_txn(EndTransaction(ID, *producer, commit, used))

    def put(self, state: TransactionState, epoch: int = 5, client_version: int = 0) -> TransactionEntry:
        """An id of producer 7 as it stands in memory, with a partition where its state has one."""
        open_states = (TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
        metadata = TransactionMetadata(
            ProducerId(7),
            Epoch(epoch),
            TIMEOUT_MS,
            state,
            frozenset({T0}) if state in open_states else frozenset(),
            self.clock.now,
            Timestamp(1000),
        )
        return self.coordinator.states.add(ID, metadata._replace(client_version=client_version))

    def metadata(self) -> TransactionMetadata:
        """What the coordinator knows now."""
        return self.coordinator.describe(ID)

    def written(self) -> Sequence[TransactionMetadata]:
        """The state that the log gives when it is read now: one id at most."""
        return tuple(self.log.load(0).ids.values())


def identity(producer_id: int, epoch: int) -> ProducerIdentity:
    """Producer id and epoch."""
    return ProducerIdentity(ProducerId(producer_id), Epoch(epoch))
