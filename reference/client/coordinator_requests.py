"""The requests of a transactional producer to its coordinators, as they wait to be sent; `API` is Kafka's name."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum, unique
from typing import ClassVar

from reference.broker.group_requests import NO_CLAIM, MemberClaim, Offsets
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_metadata import TopicPartition
from reference.client.transaction_errors import ProducerRequest
from spec.vocabulary import Api


@unique
class Priority(IntEnum):
    """Order in which waiting requests are sent."""

    FIND_COORDINATOR = 0
    INIT_PRODUCER_ID = 1
    ADD_PARTITIONS_OR_OFFSETS = 2
    END_TXN = 3
    EPOCH_BUMP = 4


@unique
class CoordinatorType(StrEnum):
    """What a coordinator coordinates."""

    TRANSACTION = "transaction"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class FindCoordinator:
    """The question who coordinates a transactional id or a group."""

    API: ClassVar[str] = Api.FIND_COORDINATOR

    coordinator: CoordinatorType
    key: str


@dataclass(frozen=True, slots=True)
class InitProducerId:
    """A producer id and epoch; `expected` is the identity that the producer has and wants to raise."""

    API: ClassVar[str] = Api.INIT_PRODUCER_ID

    version: int
    transactional_id: str
    timeout_ms: int
    expected: ProducerIdentity | None = None


@dataclass(frozen=True, slots=True)
class AddPartitions:
    """Partitions join the transaction; `verify_only` asks whether they are in it (since version 4, by brokers)."""

    API: ClassVar[str] = Api.ADD_PARTITIONS_TO_TXN

    version: int
    transactional_id: str
    producer: ProducerIdentity
    partitions: tuple[TopicPartition, ...]
    verify_only: bool = False


@dataclass(frozen=True, slots=True)
class AddOffsets:
    """The offsets of a group join the transaction; they follow in a TxnOffsetCommit."""

    API: ClassVar[str] = Api.ADD_OFFSETS_TO_TXN

    version: int
    transactional_id: str
    producer: ProducerIdentity
    group: str
    offsets: Offsets
    claim: MemberClaim = NO_CLAIM


@dataclass(frozen=True, slots=True)
class TxnOffsetCommit:
    """Offsets of a group, committed with the transaction; `claim` says which member of it asks (KIP-447)."""

    API: ClassVar[str] = Api.TXN_OFFSET_COMMIT

    version: int
    transactional_id: str
    producer: ProducerIdentity
    group: str
    offsets: Offsets
    claim: MemberClaim = NO_CLAIM


@dataclass(frozen=True, slots=True)
class EndTxn:
    """The transaction ends."""

    API: ClassVar[str] = Api.END_TXN

    version: int
    transactional_id: str
    producer: ProducerIdentity
    commit: bool


CoordinatorRequest = FindCoordinator | InitProducerId | AddPartitions | AddOffsets | TxnOffsetCommit | EndTxn


def request_of(request: CoordinatorRequest) -> ProducerRequest:
    """The column of the error table that answers to the request are looked up in."""
    match request:
        case FindCoordinator():
            return ProducerRequest.FIND_COORDINATOR
        case InitProducerId():
            return ProducerRequest.INIT_PRODUCER_ID
        case AddPartitions():
            return ProducerRequest.ADD_PARTITIONS
        case AddOffsets():
            return ProducerRequest.ADD_OFFSETS
        case TxnOffsetCommit():
            return ProducerRequest.TXN_OFFSET_COMMIT
        case EndTxn(commit=commit):
            return ProducerRequest.END_TXN_COMMIT if commit else ProducerRequest.END_TXN_ABORT


def priority_of(request: CoordinatorRequest) -> Priority:
    """When a request is sent among those that wait; a bump follows the end of the transaction."""
    match request:
        case FindCoordinator():
            return Priority.FIND_COORDINATOR
        case InitProducerId(expected=expected):
            return Priority.INIT_PRODUCER_ID if expected is None else Priority.EPOCH_BUMP
        case EndTxn():
            return Priority.END_TXN
        case _:
            return Priority.ADD_PARTITIONS_OR_OFFSETS


def coordinator_of(request: CoordinatorRequest) -> CoordinatorType | None:
    """Which coordinator a request goes to; any node knows who coordinates."""
    match request:
        case FindCoordinator():
            return None
        case TxnOffsetCommit():
            return CoordinatorType.GROUP
        case _:
            return CoordinatorType.TRANSACTION


def key_of(request: CoordinatorRequest) -> str:
    """The transactional id or group whose coordinator a request goes to."""
    match request:
        case FindCoordinator(key=key):
            return key
        case TxnOffsetCommit(group=group):
            return group
        case _:
            return request.transactional_id
