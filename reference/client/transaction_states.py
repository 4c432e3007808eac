"""The states of a transactional producer, and the transitions between them (TransactionManager.State)."""

from collections.abc import Mapping
from enum import IntEnum, auto, unique
from types import MappingProxyType
from typing import Final

from spec.vocabulary import ErrorCode


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
    """The application called what the producer's state does not admit."""


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
        error: what took it into an error state, NONE if it is in none.
    """

    __slots__ = ("error", "state")

    def __init__(self) -> None:
        """A producer that has not been initialized."""
        self.state = ClientState.UNINITIALIZED
        self.error = ErrorCode.NONE

    def go(self, target: ClientState) -> None:
        """The application moves the producer on.

        Raises:
            IllegalState: the table does not have it; nothing has changed.
        """
        if self.state not in LEGAL_BEFORE[target]:
            raise IllegalState(f"from {self.state.name} to {target.name}")
        self.state = target
        if target not in FAILED:
            self.error = ErrorCode.NONE

    def go_by_itself(self, target: ClientState) -> None:
        """The producer moves on by itself; what it may not do is fatal (KAFKA-14831)."""
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
        """The producer is of no use any more; the first fatal error counts."""
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
