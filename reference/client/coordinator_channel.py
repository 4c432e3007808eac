"""The requests of a transactional producer to its coordinators, and the channel on which they wait to be sent.

They wait by priority, and one is in flight. If a coordinator is lost, it is looked up again. In each request, `API` is
Kafka's name.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum, auto, unique
from typing import ClassVar, Final, NamedTuple

from reference.broker.group_requests import NO_CLAIM, MemberClaim, Offsets
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_api import NO_IDENTITY
from reference.broker.transaction_metadata import TopicPartition
from reference.client.transaction_states import ErrorHandling, ProducerRequest, meaning
from spec.vocabulary import Api, ErrorCode

# --- the requests -----------------------------------------------------------------------------------------------------


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
    """A request for the coordinator of a transactional id or a group."""

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
    """Which coordinator a request goes to; FindCoordinator goes to any node."""
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


# --- the channel ------------------------------------------------------------------------------------------------------


NO_NODE: Final = -1
"""The node of a request that any node can answer."""


@unique
class ClientCall(Enum):
    """A call of the application that has an end."""

    INIT_TRANSACTIONS = auto()
    SEND_OFFSETS = auto()
    COMMIT = auto()
    ABORT = auto()


class PendingResult:
    """The result of a call of the application; `error` is None while the call is open, NONE after success."""

    __slots__ = ("error", "operation")

    def __init__(self, operation: ClientCall | None = None) -> None:
        """A call that is under way; None is a request that no call waits for."""
        self.operation = operation
        self.error: ErrorCode | None = None

    @property
    def is_done(self) -> bool:
        """Whether the application has its answer."""
        return self.error is not None

    def succeed(self) -> None:
        """The call has succeeded."""
        self.fail(ErrorCode.NONE)

    def fail(self, error: ErrorCode) -> None:
        """The call ends with an error; the first end counts."""
        if self.error is None:
            self.error = error


class CoordinatorAnswer(NamedTuple):
    """The answer to a coordinator request.

    Attributes:
        error: of the request as a whole.
        node: the coordinator that FindCoordinator found.
        identity: what InitProducerId and EndTxn hand out, -1 if nothing.
        partitions: error by partition, where there is one for each.
    """

    error: ErrorCode = ErrorCode.NONE
    node: int = NO_NODE
    identity: ProducerIdentity = NO_IDENTITY
    partitions: Mapping[TopicPartition, ErrorCode] = {}


class Outgoing(NamedTuple):
    """A request on its way; `node` is -1 where any will do."""

    number: int
    node: int
    request: CoordinatorRequest


class PendingRequest:
    """A request that waits to be sent or answered, and the call that waits for it.

    Attributes:
        unsettled: partitions whose offsets have not been taken yet.
    """

    __slots__ = ("request", "result", "unsettled")

    def __init__(self, request: CoordinatorRequest, result: PendingResult) -> None:
        """A request that has not been sent."""
        self.request = request
        self.result = result
        self.unsettled = set(request.offsets) if isinstance(request, TxnOffsetCommit) else set()

    def settle(self, partitions: Iterable[TopicPartition]) -> None:
        """Partitions whose offsets were committed need no further answer, though the whole request is sent again."""
        self.unsettled.difference_update(partitions)

    def may_ignore(self, partition: TopicPartition, error: ErrorCode) -> bool:
        """Whether an error asks for another try of what was taken before."""
        settled = isinstance(self.request, TxnOffsetCommit) and partition not in self.unsettled
        return settled and meaning(request_of(self.request), error) in (ErrorHandling.RETRY, ErrorHandling.DONE)


class CoordinatorChannel:
    """The requests of one producer to its coordinators.

    Attributes:
        in_flight: the request without an answer, None if there is none.
        nodes: the coordinators that are known.
    """

    __slots__ = ("_awaited", "_queue", "_sent", "in_flight", "nodes")

    def __init__(self) -> None:
        """Nothing waits, no coordinator is known."""
        self.in_flight: Outgoing | None = None
        self.nodes: dict[CoordinatorType, int] = {}
        self._queue: list[PendingRequest] = []
        self._awaited: PendingRequest | None = None
        self._sent = 0

    def enqueue(self, request: CoordinatorRequest, result: PendingResult) -> None:
        """Have a request wait."""
        self.retry(PendingRequest(request, result))

    def retry(self, waiting: PendingRequest) -> None:
        """Have a request wait behind those of its priority."""
        place = sum(priority_of(other.request) <= priority_of(waiting.request) for other in self._queue)
        self._queue.insert(place, waiting)

    def may_send(self, incomplete: bool) -> bool:
        """Whether a request can go out; the end of the transaction waits while batches are incomplete."""
        if self.in_flight is not None or not self._queue:
            return False
        return not (incomplete and isinstance(self._queue[0].request, EndTxn))

    def take(self) -> PendingRequest:
        """Take the first request out of the queue."""
        return self._queue.pop(0)

    def send(self, waiting: PendingRequest) -> Outgoing:
        """Send a request; if its coordinator is unknown, send FindCoordinator first."""
        wanted = coordinator_of(waiting.request)
        if wanted is not None and wanted not in self.nodes:
            self.refind(waiting)
            return self.send(self.take())
        self._awaited = waiting
        self.in_flight = Outgoing(self._sent, NO_NODE if wanted is None else self.nodes[wanted], waiting.request)
        self._sent += 1
        return self.in_flight

    def land(self, number: int) -> PendingRequest | None:
        """The request that an answer belongs to; None if it was given up."""
        if self.in_flight is None or self.in_flight.number != number:
            return None
        self.in_flight = None
        landed, self._awaited = self._awaited, None
        return landed

    def refind(self, waiting: PendingRequest) -> None:
        """Forget the coordinator, look it up, and then send the request again."""
        self.retry(waiting)
        wanted = coordinator_of(waiting.request)
        if wanted is not None:
            self.nodes.pop(wanted, None)
            self.enqueue(FindCoordinator(wanted, key_of(waiting.request)), PendingResult())


def deciding_error(waiting: PendingRequest, answer: CoordinatorAnswer) -> ErrorCode:
    """The error that an answer is taken for: one that more than fails the transaction, else the first that names it."""
    errors = [
        error
        for partition, error in answer.partitions.items()
        if error is not ErrorCode.NONE and not waiting.may_ignore(partition, error)
    ]
    if answer.error is not ErrorCode.NONE or not errors:
        return answer.error
    column = request_of(waiting.request)
    decisive = [error for error in errors if meaning(column, error) is not ErrorHandling.ABORTABLE]
    named = [error for error in errors if error is not ErrorCode.OPERATION_NOT_ATTEMPTED]
    return (decisive or named or errors)[0]
