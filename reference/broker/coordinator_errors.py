"""Refusals of a transaction coordinator, by Kafka's error code."""

from reference.errors import Refusal
from spec import rules
from spec.vocabulary import ErrorCode


class CoordinatorLoadInProgress(Refusal):
    """The coordinator is still reading its log, or waits for producer ids."""

    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


class CoordinatorNotAvailable(Refusal):
    """The coordinator's log did not take the record."""

    code = ErrorCode.COORDINATOR_NOT_AVAILABLE


class NotCoordinator(Refusal):
    """Another node coordinates the transactional id."""

    code = ErrorCode.NOT_COORDINATOR


class UnknownServerError(Refusal):
    """The broker found itself in a state that its own checks exclude."""

    code = ErrorCode.UNKNOWN_SERVER_ERROR
    rule = rules.FENCE_EPOCH_EXHAUSTION


class InvalidProducerIdMapping(Refusal):
    """The transactional id is unknown, or has another producer id."""

    code = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    rule = rules.FENCE_STALE_EPOCH


class InvalidTransactionTimeout(Refusal):
    """The timeout is not positive, or longer than the broker allows."""

    code = ErrorCode.INVALID_TRANSACTION_TIMEOUT


class ConcurrentTransactions(Refusal):
    """A transition of the transactional id is under way; the client tries again."""

    code = ErrorCode.CONCURRENT_TRANSACTIONS
    rule = rules.TXN_LEGAL_TRANSITION


class TransactionAbortable(Refusal):
    """The partition is not in the transaction; the client may abort and continue."""

    code = ErrorCode.TRANSACTION_ABORTABLE
    rule = rules.TXN_REGISTERED_BEFORE_DATA


class TransactionalIdNotFound(Refusal):
    """The coordinator does not know the transactional id."""

    code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
