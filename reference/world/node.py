"""One node: its coordinators, the requests that wait there for a verification, and how coordinators are asked."""

from collections.abc import Collection
from copy import copy
from dataclasses import dataclass

from reference.broker.add_partitions_manager import AddPartitionsToTxnManager
from reference.broker.group_api import OffsetsVerification, TxnOffsetCommitRequest
from reference.broker.group_coordinator import GroupCoordinator
from reference.broker.ids import ProducerIdentity, ProducerIdManager
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
from reference.broker.transaction_metadata import BUMPS_EPOCH, TopicPartition
from reference.broker.verification import ProduceVerification, check_registered
from reference.client.coordinator_channel import CoordinatorAnswer
from reference.client.coordinator_requests import AddOffsets, AddPartitions, EndTxn, InitProducerId, TxnOffsetCommit
from reference.errors import Refusal
from reference.log.producer_entry import NO_GUARD
from reference.world.coordinator_log import NodeTransactionLog
from reference.world.marker_sender import MarkerSender
from reference.world.messages import Request, Verify
from spec.vocabulary import Sequence

TransactionRequest = InitProducerId | AddPartitions | AddOffsets | EndTxn
"""What a client asks a transaction coordinator."""


@dataclass(frozen=True, slots=True)
class ParkedRequest:
    """A Produce or TxnOffsetCommit that waits for the answer of the transaction's coordinator."""

    request: Request
    verification: ProduceVerification
    guard: int
    verify: Verify


@dataclass(slots=True)
class Node:
    """What a node loses when it goes down.

    Attributes:
        log: its view of `__transaction_state`.
        producer_ids: its part of the producer ids.
        transactions: its transaction coordinator.
        groups: its group coordinator.
        markers: the markers that it has in flight.
        manager: what it asks transaction coordinators.
        questions: numbers of its requests under way, by the node that is asked.
    """

    log: NodeTransactionLog
    producer_ids: ProducerIdManager
    transactions: TransactionCoordinator
    groups: GroupCoordinator
    markers: MarkerSender
    manager: AddPartitionsToTxnManager[ParkedRequest]
    questions: dict[int, int]

    def waiting_for(self, number: int) -> tuple[ParkedRequest, ...]:
        """The requests that wait for the answer to the request with a number; the one that it is named by first."""
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
            Refusal: the coordinator said no.
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
        coordinator: that is asked.
        requested: the request.
        existing: partitions that there are.
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
