"""The reference's coordinator with one transaction on two partitions, whose brokers leave and return."""

from collections.abc import Callable, Mapping
from typing import Final

from model_tests.bugs.coordinator_steps import COORDINATOR, ID, TIMEOUT_MS, CoordinatorSteps
from model_tests.bugs.world import Diverged, GhostViolation
from model_tests.monitor.story import Columns
from reference.broker.ids import BlockAllocator, ProducerIdManager
from reference.broker.marker_channel import TxnMarker
from reference.broker.transaction_coordinator import TransactionCoordinator
from reference.broker.transaction_log import TransactionLog
from reference.broker.transaction_metadata import PREPARED, TopicPartition, TransactionMetadata
from reference.clock import Clock
from reference.log.batch import blank_batch
from reference.log.partition import Partition
from reference.world.messages import Verify
from spec import rules
from spec.versions import Profile
from spec.vocabulary import CoordinatorEpoch, ErrorCode, Sequence, TransactionState

NAMES: Final = (TopicPartition("orders", 0), TopicPartition("orders", 1))
PRODUCER: Final = "producer"
PARTITIONS: Final = ("partition 0", "partition 1")
COMMIT: Final = 0  # the outcome as `spec.systems.marking` numbers it


class MarkersWorld:
    """One transactional id, its coordinator, and two partitions of one replica each."""

    cast = (PRODUCER, COORDINATOR, *PARTITIONS)

    def __init__(self, profile: Profile) -> None:
        """The producer has its identity."""
        self.clock = Clock(1000)
        self.steps = CoordinatorSteps(profile, self.clock, (PRODUCER,), PARTITIONS)
        self.story = self.steps.story
        log = TransactionLog(profile, partitions=1)
        producer_ids = ProducerIdManager(BlockAllocator(), profile)
        self.coordinator = TransactionCoordinator(profile, producer_ids, log, self._write, self.clock)
        self.coordinator.elect(0, CoordinatorEpoch(0))
        self.producer = self.coordinator.init_producer_id(ID, TIMEOUT_MS)
        self.logs = {name: Partition(profile) for name in NAMES}
        self.led = set(NAMES)
        self.marked: dict[TopicPartition, bool] = {}

    @property
    def acts(self) -> Mapping[str, Callable[..., None]]:
        """What each action does."""
        return {
            "producer_writes": self.producer_writes,
            "producer_ends": self.producer_ends,
            "leader_writes_marker": self.leader_writes_marker,
            "coordinator_drops_marker": self.coordinator_drops_marker,
            "transaction_completes": self.transaction_completes,
            "broker_leaves": self.broker_leaves,
            "broker_returns": self.broker_returns,
            "topic_is_deleted": self.topic_is_deleted,
        }

    def producer_writes(self, partition: int) -> None:
        """Produce, by which the partition joins the transaction."""
        name = NAMES[partition]
        log, (producer_id, epoch) = self.logs[name], self.producer
        guard = log.state.start_verification(producer_id, Sequence(0), epoch, True, self.clock.now)
        self.steps.verify(self.coordinator, Verify(ID, self.producer, name, adds=True))
        batch = blank_batch(1, producer_id=producer_id, epoch=epoch, base_sequence=0, transactional=True)
        where: Columns = {
            "client": PRODUCER,
            "node": PARTITIONS[partition],
            "topic": name.topic,
            "partition": partition,
        }
        self.story.append(where, log, batch, guard)

    def producer_ends(self, outcome: int) -> None:
        """EndTxn; the coordinator looks up where its markers go."""
        self.steps.end(self.coordinator, 0, self.producer, commit=outcome == COMMIT)

    def leader_writes_marker(self, partition: int) -> None:
        """A marker arrives, and the coordinator gets the answer."""
        marker = self.coordinator.markers.owed[-1].marker
        self.steps.write_marker(NAMES[partition], self.logs[NAMES[partition]], marker)
        self.marked[NAMES[partition]] = marker.committed
        self._send_markers()

    def coordinator_drops_marker(self, partition: int) -> None:
        """The coordinator looks up where a marker goes, and sends it no more.

        Raises:
            Diverged: it keeps waiting for the partition.
        """
        why = "it has no leader" if NAMES[partition] in self.logs else "there is none"
        self.story.remark(COORDINATOR, f"no endpoint for {PARTITIONS[partition]}: {why}")
        self._send_markers()
        if NAMES[partition] in self._known.partitions:
            raise Diverged(f"the id stays {self._known.state.name}, and the marker for partition {partition} waits")

    def transaction_completes(self) -> None:
        """The coordinator waits for no marker.

        Raises:
            Diverged: it does.
        """
        self._send_markers()
        if self._known.state in PREPARED:
            raise Diverged(f"the transaction does not complete: it stays {self._known.state.name}")

    def _send_markers(self) -> None:
        with self.steps.by_itself(self.coordinator, "MarkersSent"):
            self.coordinator.send_markers()

    def broker_leaves(self, partition: int) -> None:
        """The partition has no leader."""
        self.led.discard(NAMES[partition])
        self.story.remark(PARTITIONS[partition], "its broker is gone")

    def broker_returns(self, partition: int) -> None:
        """The partition has a leader again, with its log."""
        self.led.add(NAMES[partition])
        self.story.remark(PARTITIONS[partition], "its broker is back, with the log as it was")

    def topic_is_deleted(self, partition: int) -> None:
        """The partition goes with its log."""
        self.story.remark(PARTITIONS[partition], "is deleted")
        self.led.discard(NAMES[partition])
        del self.logs[NAMES[partition]]

    def broken(self) -> GhostViolation | None:
        """The transaction is complete, decided on one partition and open on another."""
        if self._known.state not in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT):
            return None
        left = [name for name in NAMES if name in self.led and self._is_open(self.logs[name])]
        if not left or not self.marked:
            return None
        where, stable = left[0].partition, self.logs[left[0]].last_stable
        text = f"the id is {self._known.state.name}, and its transaction is open on partition {where}"
        return GhostViolation(rules.TXN_ATOMIC, f"{text}: readers wait at offset {stable}")

    def instead(self) -> str:
        """Where the transaction stands."""
        return f"the id is {self._known.state.name}, and waits for {len(self._known.partitions)} markers"

    def _is_open(self, log: Partition) -> bool:
        return log.state.entry(self.producer.producer_id).in_transaction

    @property
    def _known(self) -> TransactionMetadata:
        return self.coordinator.states.known(ID).metadata

    def _write(self, partition: TopicPartition, _: TxnMarker) -> ErrorCode | None:
        """The coordinator's result when it looks up a marker's partition, or the marker's answer."""
        if partition in self.marked:
            return ErrorCode.NONE
        if partition not in self.logs:
            return None
        if partition not in self.led:
            return ErrorCode.LEADER_NOT_AVAILABLE
        return ErrorCode.REQUEST_TIMED_OUT
