"""One node: its coordinators, their logs and markers, the requests that wait there, and the storage of its data."""

from collections.abc import Callable, Collection, Mapping
from copy import copy
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from reference.broker.group_api import OffsetsVerification, TxnOffsetCommitRequest
from reference.broker.group_coordinator import GroupCoordinator
from reference.broker.group_log import OffsetsTopic
from reference.broker.ids import BlockAllocator, BlockRecord, ProducerIdentity, ProducerIdManager
from reference.broker.marker_channel import TxnMarker
from reference.broker.transaction_api import (
    NO_IDENTITY,
    AddPartitionsRequest,
    handle_add_offsets,
    handle_add_partitions,
    handle_end_txn,
    handle_init_producer_id,
    offsets_partition_of,
)
from reference.broker.transaction_coordinator import TransactionCoordinator
from reference.broker.transaction_log import TransactionLog
from reference.broker.transaction_metadata import BUMPS_EPOCH, TopicPartition
from reference.broker.verification import AddPartitionsToTxnManager, ProduceVerification, check_registered
from reference.client.coordinator_channel import (
    AddOffsets,
    AddPartitions,
    CoordinatorAnswer,
    EndTxn,
    InitProducerId,
    TxnOffsetCommit,
)
from reference.errors import NotLeaderOrFollower, Refusal
from reference.log.producer_entry import NO_GUARD
from reference.recording.recorder import FIRST_FREE_ID, RECORD_VERSION, Fate, Recorder, Row
from reference.replication.replicated import ReplicatedPartition
from reference.world.messages import Request, Verify
from reference.world.replica_rows import node_name
from spec.versions import Profile
from spec.vocabulary import ErrorCode, LeaderEpoch, Sequence, Timestamp

NO_EPOCHS: Final[Mapping[int, int]] = MappingProxyType({})
"""No coordinator has been elected."""


class NodeTransactionLog(TransactionLog):
    """One node's view of the shared log; what a coordinator appends after it was replaced is refused.

    Attributes:
        node: whose view it is.
        leaders: leader by partition, as the controller has it.
        epochs: leader epoch by partition, likewise.
    """

    __slots__ = ("epochs", "leaders", "node")

    def __init__(
        self,
        profile: Profile,
        shared: TransactionLog,
        node: int,
        leaders: Mapping[int, int],
        epochs: Mapping[int, int] = NO_EPOCHS,
    ) -> None:
        """A view of `shared`; leaders and epochs are looked at with each append."""
        super().__init__(profile, opened=shared.partitions)
        self.node = node
        self.leaders = leaders
        self.epochs = epochs

    def leader_epoch_of(self, partition: int) -> LeaderEpoch:
        """The epoch that is stamped on what is appended to a partition: the coordinator epoch."""
        return LeaderEpoch(self.epochs.get(partition, 0))

    def append(self, transactional_id: str, value: bytes | None, now: Timestamp) -> None:
        """Append one record as the leader of its partition.

        Raises:
            NotLeaderOrFollower: another node leads it.
            Refusal: the append failed.
        """
        partition = self.partition_of(transactional_id)
        if self.leaders.get(partition) != self.node:
            raise NotLeaderOrFollower(partition=partition, node=self.node)
        super().append(transactional_id, value, now)


BLOCKS: Final = "producer-id-blocks"
"""The record of the producer ids that are handed out, as annotations name it."""

GET_DATA: Final = "GetData"
SET_DATA: Final = "SetData"
"""ZooKeeper's requests that read and write the record."""


class NodeBlocks(BlockAllocator):
    """One node's view of the shared record of producer ids; annotations say what it reads and writes there.

    Attributes:
        meanwhile: what happens between its next reading and the writing; nothing without one.
    """

    __slots__ = ("_node", "_recorder", "_shared", "meanwhile")

    def __init__(self, shared: BlockAllocator, node: int, recorder: Recorder) -> None:
        """The view of a node that has claimed nothing."""
        super().__init__()
        self.meanwhile: Callable[[], object] | None = None
        self._shared = shared
        self._node = node_name(node)
        self._recorder = recorder

    def read(self) -> BlockRecord:
        """The shared record as it is now."""
        self._annotate(Fate.ARRIVED, GET_DATA, {})
        found = self._shared.read()
        self._annotate(Fate.ANSWERED, GET_DATA, {"error": 0, RECORD_VERSION: found.version, FIRST_FREE_ID: found.first})
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return found

    def write(self, read: BlockRecord, first: int) -> bool:
        """Write the shared record if it is still the one that was read; whether it was."""
        self._annotate(Fate.ARRIVED, SET_DATA, {RECORD_VERSION: read.version, FIRST_FREE_ID: first})
        written = self._shared.write(read, first)
        error = ErrorCode.NONE if written else ErrorCode.INVALID_UPDATE_VERSION
        self._annotate(Fate.ANSWERED, SET_DATA, {"error": int(error)})
        return written

    def _annotate(self, fate: Fate, api: str, columns: Row) -> None:
        self._recorder.annotate(fate, api, {"client": self._node, "node": BLOCKS, **columns})


Destination = tuple[TopicPartition, TxnMarker]
SendMarker = Callable[[TopicPartition, TxnMarker], int]
"""Sends a marker; the number of the request."""

IsLed = Callable[[TopicPartition], bool]
"""Whether a partition has a leader."""


class MarkerSender:
    """A coordinator's view of the markers that it writes: for each, the answer, or that there is none yet."""

    __slots__ = ("_answers", "_in_flight", "_is_led", "_send", "is_sending")

    def __init__(self, send: SendMarker, is_led: IsLed) -> None:
        """Nothing is in flight."""
        self._send = send
        self._is_led = is_led
        self._in_flight: dict[Destination, int] = {}
        self._answers: dict[Destination, ErrorCode] = {}
        self.is_sending = False

    def write(self, partition: TopicPartition, marker: TxnMarker) -> ErrorCode | None:
        """The answer about a marker, NETWORK_EXCEPTION while there is none; it is sent if none is in flight.

        LEADER_NOT_AVAILABLE means that it cannot be sent: the partition has no leader.
        """
        destination = (partition, marker)
        if destination in self._answers:
            return self._answers.pop(destination)
        if self.is_sending and destination not in self._in_flight:
            if not self._is_led(partition):
                return ErrorCode.LEADER_NOT_AVAILABLE
            self._in_flight[destination] = self._send(partition, marker)
        return ErrorCode.NETWORK_EXCEPTION

    def take(self, partition: TopicPartition, marker: TxnMarker, number: int, error: ErrorCode) -> None:
        """An answer has come, or its request was lost; the coordinator takes the answer with its next `write`.

        Args:
            partition: that the marker was for.
            marker: as it was sent.
            number: of the attempt.
            error: the answer, or the error that stands for a lost request.
        """
        destination = (partition, marker)
        if self._in_flight.get(destination) == number:
            del self._in_flight[destination]
            self._answers[destination] = error

    def forget_answers(self) -> None:
        """Drop the answers that are left: the transaction belongs to another coordinator now."""
        self._answers.clear()


TransactionRequest = InitProducerId | AddPartitions | AddOffsets | EndTxn
"""A client's request to a transaction coordinator."""


@dataclass(frozen=True, slots=True)
class ParkedRequest:
    """A Produce or TxnOffsetCommit that waits for the answer of the transaction's coordinator."""

    request: Request
    verification: ProduceVerification
    guard: int
    verify: Verify


@dataclass(slots=True)
class Node:
    """The part of a node that is lost when it goes down.

    Attributes:
        log: its view of `__transaction_state`.
        blocks: its view of the record of producer ids.
        producer_ids: its part of the producer ids.
        transactions: its transaction coordinator.
        groups: its group coordinator.
        markers: the markers that it has in flight.
        manager: its questions to transaction coordinators.
        questions: numbers of its requests under way, by the node that is asked.
    """

    log: NodeTransactionLog
    blocks: NodeBlocks
    producer_ids: ProducerIdManager
    transactions: TransactionCoordinator
    groups: GroupCoordinator
    markers: MarkerSender
    manager: AddPartitionsToTxnManager[ParkedRequest]
    questions: dict[int, int]

    def waiting_for(self, number: int) -> tuple[ParkedRequest, ...]:
        """The requests that wait for the answer to the request with this number; the one that names it comes first."""
        requested = [node for node, question in self.questions.items() if question == number]
        return tuple(asker.who for node in requested for asker in self.manager.in_flight[node].askers.values())


@dataclass(frozen=True, slots=True)
class AnsweredVerification(OffsetsVerification):
    """A verification whose answer has come: the guard, or the refusal."""

    guard: int = NO_GUARD
    refusal: Refusal | None = None

    def guard_for(self, transactional_id: str, number: int, producer: ProducerIdentity, base_sequence: Sequence) -> int:
        """The guard that the verification began with.

        Args:
            transactional_id: that the request names.
            number: of the partition in the request.
            producer: id and epoch of the batch.
            base_sequence: of the batch.

        Raises:
            Refusal: the coordinator has refused.
        """
        if self.refusal is not None:
            raise copy(self.reported(self.refusal))  # it is kept, and would keep the frames that it goes through
        return self.guard


def ask_transactions(
    coordinator: TransactionCoordinator,
    requested: TransactionRequest,
    existing: Collection[TopicPartition],
    offsets_partitions: int,
) -> CoordinatorAnswer:
    """Put a client's request to a transaction coordinator.

    Args:
        coordinator: that the request goes to.
        requested: the request.
        existing: partitions that exist.
        offsets_partitions: of `__consumer_offsets`.
    """
    match requested:
        case InitProducerId(version, transactional_id, timeout_ms, expected):
            error, identity = handle_init_producer_id(
                coordinator, version, transactional_id, timeout_ms, expected or NO_IDENTITY
            )
            return CoordinatorAnswer(error, identity=identity)
        case AddPartitions(version, transactional_id, producer, partitions, verify_only):
            request = AddPartitionsRequest(version, transactional_id, producer, partitions, verify_only)
            return CoordinatorAnswer(partitions=handle_add_partitions(coordinator, request, existing))
        case AddOffsets(version, transactional_id, producer, group):
            partition = offsets_partition_of(group, offsets_partitions)
            return CoordinatorAnswer(handle_add_offsets(coordinator, version, transactional_id, producer, partition))
        case EndTxn(version, transactional_id, producer, commit):
            error, identity = handle_end_txn(coordinator, version, transactional_id, producer, commit)
            return CoordinatorAnswer(error, identity=identity)


def agree(coordinator: TransactionCoordinator, request: Verify) -> None:
    """Put a broker's question to a transaction coordinator.

    Raises:
        Refusal: the partition is not in the producer's transaction, and cannot be put there.
    """
    if request.adds:
        coordinator.add_partitions(request.transactional_id, request.producer, (request.partition,), BUMPS_EPOCH)
        return
    check_registered(coordinator, request.transactional_id, request.producer, request.partition)


def offset_commit(request: TxnOffsetCommit) -> TxnOffsetCommitRequest:
    """A client's TxnOffsetCommit as its broker reads it."""
    return TxnOffsetCommitRequest(
        request.version, request.transactional_id, request.group, request.producer, request.offsets, request.claim
    )


class Storage:
    """Logs in memory, all empty: a node that starts with them knows nothing of earlier runs."""

    def __init__(self, profile: Profile, first_producer_id: int = 0) -> None:
        """Logs of nodes of that release; producer ids below the first one have been handed out."""
        self.profile = profile
        self._first_producer_id = first_producer_id

    def partition(self, name: TopicPartition, replicas: int, expiration_ms: int) -> ReplicatedPartition:
        """A data partition with so many replicas, which forgets silent producers after so many milliseconds."""
        return ReplicatedPartition(self.profile, replicas, expiration_ms)

    def transaction_log(self, partitions: int) -> TransactionLog:
        """`__transaction_state`."""
        return TransactionLog(self.profile, partitions)

    def offsets_topic(self, partitions: int) -> OffsetsTopic:
        """`__consumer_offsets`."""
        return OffsetsTopic(self.profile, partitions)

    def allocator(self) -> BlockAllocator:
        """The record of the producer ids that are handed out."""
        return BlockAllocator(self._first_producer_id)

    def coordinator_epochs(self) -> dict[int, int]:
        """The latest leader epoch of each partition of `__transaction_state` that has had a leader."""
        return {}

    def coordinator_elected(self, partition: int, epoch: int) -> None:
        """A partition of `__transaction_state` has a leader under a new epoch."""
