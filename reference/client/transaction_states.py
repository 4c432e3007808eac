"""The states of a transactional producer, their transitions, and what each error means for them (TransactionManager).

Sources: Sender and the response handlers of TransactionManager.
"""

from collections.abc import Mapping
from enum import Enum, IntEnum, auto, unique
from types import MappingProxyType
from typing import Final

from spec.vocabulary import ErrorCode

# --- states and transitions -------------------------------------------------------------------------------------------


@unique
class ClientState(IntEnum):
    """State of a transactional producer."""

    UNINITIALIZED = auto()
    INITIALIZING = auto()
    READY = auto()
    IN_TRANSACTION = auto()
    COMMITTING_TRANSACTION = auto()
    ABORTING_TRANSACTION = auto()
    ABORTABLE_ERROR = auto()
    FATAL_ERROR = auto()


_UNINITIALIZED, _INITIALIZING, _READY = ClientState.UNINITIALIZED, ClientState.INITIALIZING, ClientState.READY
_OPEN, _ABORTABLE = ClientState.IN_TRANSACTION, ClientState.ABORTABLE_ERROR
_COMMITTING, _ABORTING = ClientState.COMMITTING_TRANSACTION, ClientState.ABORTING_TRANSACTION

LEGAL_BEFORE: Final[Mapping[ClientState, frozenset[ClientState]]] = MappingProxyType(
    {
        _UNINITIALIZED: frozenset({_READY, _ABORTABLE}),
        _INITIALIZING: frozenset({_UNINITIALIZED, _COMMITTING, _ABORTING}),
        _READY: frozenset({_INITIALIZING, _COMMITTING, _ABORTING}),
        _OPEN: frozenset({_READY}),
        _COMMITTING: frozenset({_OPEN}),
        _ABORTING: frozenset({_OPEN, _ABORTABLE}),
        _ABORTABLE: frozenset({_OPEN, _COMMITTING, _ABORTABLE, _INITIALIZING}),
        ClientState.FATAL_ERROR: frozenset(ClientState),
    }
)
"""The states from which each state may be reached."""

COMPLETING: Final = frozenset({_COMMITTING, _ABORTING})
FAILED: Final = frozenset({_ABORTABLE, ClientState.FATAL_ERROR})


class IllegalState(Exception):
    """The application made a call that the producer's state does not admit."""


class ProducerFailed(Exception):
    """The producer is in an error state; `error` is the one that took it there."""

    def __init__(self, error: ErrorCode) -> None:
        """Failed for `error`."""
        super().__init__(error.name)
        self.error = error


class ClientStateMachine:
    """The state of one producer, and the error that it is in.

    Attributes:
        state: where the producer stands.
        error: the error that took it into an error state, NONE if it is in none.
    """

    __slots__ = ("error", "state")

    def __init__(self) -> None:
        """A producer that has not been initialized."""
        self.state = ClientState.UNINITIALIZED
        self.error = ErrorCode.NONE

    def go(self, target: ClientState) -> None:
        """A call of the application changes the producer's state.

        Raises:
            IllegalState: the table does not have it; nothing has changed.
        """
        if self.state not in LEGAL_BEFORE[target]:
            raise IllegalState(f"from {self.state.name} to {target.name}")
        self.state = target
        if target not in FAILED:
            self.error = ErrorCode.NONE

    def go_by_itself(self, target: ClientState) -> None:
        """The producer changes its state by itself; a transition that is not legal is fatal (KAFKA-14831)."""
        try:
            self.go(target)
        except IllegalState:
            self.fail_fatally(ErrorCode.INVALID_TXN_STATE)

    def fail_abortably(self, error: ErrorCode) -> None:
        """Only an abort can follow; one that is under way continues, and a fatal error stays."""
        if self.state not in (ClientState.ABORTING_TRANSACTION, ClientState.FATAL_ERROR):
            self.go_by_itself(ClientState.ABORTABLE_ERROR)
            self.error = error

    def fail_fatally(self, error: ErrorCode) -> None:
        """The producer cannot be used any more; the first fatal error counts."""
        if self.state is not ClientState.FATAL_ERROR:
            self.state = ClientState.FATAL_ERROR
            self.error = error

    def check_not_failed(self) -> None:
        """The producer is in no error state.

        Raises:
            ProducerFailed: it is.
        """
        if self.state in FAILED:
            raise ProducerFailed(self.error)


# --- what each error means --------------------------------------------------------------------------------------------


@unique
class ProducerRequest(IntEnum):
    """A request of a transactional producer, by its column in the table."""

    PRODUCE = 0
    FIND_COORDINATOR = 1
    INIT_PRODUCER_ID = 2
    ADD_PARTITIONS = 3
    ADD_OFFSETS = 4
    TXN_OFFSET_COMMIT = 5
    END_TXN_COMMIT = 6
    END_TXN_ABORT = 7


@unique
class ErrorHandling(Enum):
    """What the producer does about an answer."""

    DONE = auto()
    RETRY = auto()  # send the same request again
    REFIND = auto()  # ask who coordinates, then send the same request again
    ABORTABLE = auto()  # the transaction can only be aborted
    BUMP = auto()  # the same, and the producer continues under a new epoch where it can get one
    BUMP_OR_FATAL = auto()  # the same; where no new epoch can be had, FATAL
    UNINITIALIZED = auto()  # the call has failed and may be made again
    FATAL = auto()  # the producer cannot be used any more
    BY_SEQUENCE = auto()  # it depends on the batch: a retry, or BUMP


_OK, _RE, _FI, _AB, _BU = (
    ErrorHandling.DONE,
    ErrorHandling.RETRY,
    ErrorHandling.REFIND,
    ErrorHandling.ABORTABLE,
    ErrorHandling.BUMP,
)
_BF, _UN, _FA, _SQ = (
    ErrorHandling.BUMP_OR_FATAL,
    ErrorHandling.UNINITIALIZED,
    ErrorHandling.FATAL,
    ErrorHandling.BY_SEQUENCE,
)

_RETRIABLE: Final = (_RE, _RE, _RE, _RE, _RE, _RE, _RE, _RE)
_ELSEWHERE: Final = (_RE, _RE, _FI, _FI, _FI, _FI, _FI, _FI)
_FENCED: Final = (_FA, _FA, _FA, _FA, _FA, _FA, _FA, _FA)
_UNKNOWN: Final = (_BU, _FA, _FA, _AB, _FA, _FA, _FA, _FA)
_OF_GROUP: Final = (_BU, _FA, _FA, _AB, _FA, _AB, _FA, _FA)
_UNAUTHORIZED: Final = (_FA, _FA, _UN, _FA, _FA, _FA, _FA, _FA)

MEANINGS: Final[Mapping[ErrorCode, tuple[ErrorHandling, ...]]] = MappingProxyType(
    {  # columns:                                 Produce Find Init AddP AddO Offs Commit Abort
        ErrorCode.NONE: (_OK, _OK, _OK, _OK, _OK, _OK, _OK, _OK),
        ErrorCode.DUPLICATE_SEQUENCE_NUMBER: (_OK, _FA, _FA, _AB, _FA, _FA, _FA, _FA),
        # the coordinator is elsewhere
        ErrorCode.COORDINATOR_NOT_AVAILABLE: _ELSEWHERE,
        ErrorCode.NOT_COORDINATOR: _ELSEWHERE,
        ErrorCode.REQUEST_TIMED_OUT: (_RE, _RE, _RE, _RE, _RE, _FI, _RE, _RE),
        # a retry may help
        ErrorCode.CORRUPT_MESSAGE: _RETRIABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: _RETRIABLE,
        ErrorCode.LEADER_NOT_AVAILABLE: _RETRIABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER: _RETRIABLE,
        ErrorCode.NETWORK_EXCEPTION: _RETRIABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: _RETRIABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS: _RETRIABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: _RETRIABLE,
        ErrorCode.CONCURRENT_TRANSACTIONS: _RETRIABLE,
        ErrorCode.KAFKA_STORAGE_ERROR: _RETRIABLE,
        ErrorCode.UNSTABLE_OFFSET_COMMIT: _RETRIABLE,
        ErrorCode.FENCED_LEADER_EPOCH: _RETRIABLE,
        ErrorCode.UNKNOWN_LEADER_EPOCH: _RETRIABLE,
        # of controllers and elections: no broker answers a producer so
        ErrorCode.NOT_CONTROLLER: _RETRIABLE,
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: _RETRIABLE,
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: _RETRIABLE,
        ErrorCode.ELECTION_NOT_NEEDED: _RETRIABLE,
        # the sequence is not the one that the broker expects
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: (_SQ, _FA, _FA, _AB, _FA, _FA, _FA, _FA),
        ErrorCode.UNKNOWN_PRODUCER_ID: (_SQ, _FA, _FA, _BF, _BF, _FA, _BF, _BF),
        # a newer instance has taken over
        ErrorCode.INVALID_PRODUCER_EPOCH: (_BU, _FA, _FA, _FA, _FA, _FA, _FA, _FA),
        ErrorCode.PRODUCER_FENCED: _FENCED,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING: _FENCED,
        ErrorCode.INVALID_TXN_STATE: (_BU, _FA, _FA, _FA, _FA, _FA, _FA, _FA),
        ErrorCode.TRANSACTION_ABORTABLE: (_BU, _AB, _AB, _AB, _AB, _AB, _AB, _FA),
        # the producer is not authorized
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: _UNAUTHORIZED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED: (_FA, _FA, _UN, _AB, _FA, _FA, _FA, _FA),
        ErrorCode.TOPIC_AUTHORIZATION_FAILED: _UNKNOWN,
        ErrorCode.GROUP_AUTHORIZATION_FAILED: (_BU, _AB, _FA, _AB, _AB, _AB, _FA, _FA),
        ErrorCode.OPERATION_NOT_ATTEMPTED: _UNKNOWN,
        # the group has another member
        ErrorCode.ILLEGAL_GENERATION: _OF_GROUP,
        ErrorCode.UNKNOWN_MEMBER_ID: _OF_GROUP,
        ErrorCode.FENCED_INSTANCE_ID: _OF_GROUP,
        ErrorCode.STALE_MEMBER_EPOCH: _OF_GROUP,
        ErrorCode.GROUP_ID_NOT_FOUND: _OF_GROUP,
        # an unexpected error
        ErrorCode.UNSUPPORTED_VERSION: (_FA, _FA, _FA, _AB, _FA, _FA, _FA, _FA),
        ErrorCode.UNKNOWN_SERVER_ERROR: _UNKNOWN,
        ErrorCode.OFFSET_OUT_OF_RANGE: _UNKNOWN,
        ErrorCode.INVALID_REQUIRED_ACKS: _UNKNOWN,
        ErrorCode.INVALID_REQUEST: _UNKNOWN,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT: _UNKNOWN,
        ErrorCode.INVALID_TRANSACTION_TIMEOUT: _UNKNOWN,
        ErrorCode.TRANSACTION_COORDINATOR_FENCED: _UNKNOWN,
        ErrorCode.INVALID_RECORD: _UNKNOWN,
        ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: _UNKNOWN,
        ErrorCode.MESSAGE_TOO_LARGE: _UNKNOWN,
        ErrorCode.RECORD_LIST_TOO_LARGE: _UNKNOWN,
        ErrorCode.INVALID_FETCH_SIZE: _UNKNOWN,
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL: _UNKNOWN,
        ErrorCode.INVALID_GROUP_ID: _UNKNOWN,
        ErrorCode.INVALID_SESSION_TIMEOUT: _UNKNOWN,
        ErrorCode.REBALANCE_IN_PROGRESS: _UNKNOWN,
        ErrorCode.INVALID_COMMIT_OFFSET_SIZE: _UNKNOWN,
        ErrorCode.MEMBER_ID_REQUIRED: _UNKNOWN,
        ErrorCode.INVALID_UPDATE_VERSION: _UNKNOWN,
        ErrorCode.INELIGIBLE_REPLICA: _UNKNOWN,
        ErrorCode.STALE_CONTROLLER_EPOCH: _UNKNOWN,
        ErrorCode.STALE_BROKER_EPOCH: _UNKNOWN,
    }
)
"""Every error a producer can meet, and its meaning as the answer to each request."""


def meaning(request: ProducerRequest, error: ErrorCode) -> ErrorHandling:
    """What the producer does about an error in answer to a request."""
    return MEANINGS[error][request]
