"""The requests to coordinators: they wait by priority, one is in flight, a lost coordinator is looked up again."""

from collections.abc import Iterable, Mapping
from enum import Enum, auto, unique
from typing import Final, NamedTuple

from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_api import NO_IDENTITY
from reference.broker.transaction_metadata import TopicPartition
from reference.client.coordinator_requests import (
    CoordinatorRequest,
    CoordinatorType,
    EndTxn,
    FindCoordinator,
    TxnOffsetCommit,
    coordinator_of,
    key_of,
    priority_of,
    request_of,
)
from reference.client.transaction_errors import ErrorHandling, meaning
from spec.vocabulary import ErrorCode

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
    """What a call of the application comes to; `error` is None while it is open, NONE after success."""

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
        """The call has done what it says."""
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
        """Partitions whose offsets were taken need not be taken again, though the whole request is sent again."""
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
        """Send a request, or first the question who coordinates."""
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
        """Forget who coordinates, ask, and send the request again then."""
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
