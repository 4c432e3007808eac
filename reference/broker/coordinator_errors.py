"""The errors with which coordinators of transactions and of groups refuse a request, by Kafka's error code."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from reference.errors import Refusal
from spec import rules
from spec.versions import Profile
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


# --- groups -----------------------------------------------------------------------------------------------------------


class IllegalGeneration(Refusal):
    """The request is from another generation of the group."""

    code = ErrorCode.ILLEGAL_GENERATION
    rule = rules.OFFSETS_GENERATION_FENCE


class UnknownMemberId(Refusal):
    """The group has no such member."""

    code = ErrorCode.UNKNOWN_MEMBER_ID
    rule = rules.OFFSETS_GENERATION_FENCE


class FencedInstanceId(Refusal):
    """A newer member has taken over the static instance."""

    code = ErrorCode.FENCED_INSTANCE_ID
    rule = rules.OFFSETS_GENERATION_FENCE


class RebalanceInProgress(Refusal):
    """The members of the group are about to change; the member joins again."""

    code = ErrorCode.REBALANCE_IN_PROGRESS


class InconsistentGroupProtocol(Refusal):
    """The member and the group have no protocol in common."""

    code = ErrorCode.INCONSISTENT_GROUP_PROTOCOL


class InvalidGroupId(Refusal):
    """The name of the group is empty."""

    code = ErrorCode.INVALID_GROUP_ID


class InvalidSessionTimeout(Refusal):
    """The session timeout is outside of what the broker allows."""

    code = ErrorCode.INVALID_SESSION_TIMEOUT


class MemberIdRequired(Refusal):
    """The member is to join again with the id that it is given here."""

    code = ErrorCode.MEMBER_ID_REQUIRED


class GroupIdNotFound(Refusal):
    """There is no such group."""

    code = ErrorCode.GROUP_ID_NOT_FOUND


class UnstableOffsetCommit(Refusal):
    """An open transaction may still change the offset."""

    code = ErrorCode.UNSTABLE_OFFSET_COMMIT
    rule = rules.OFFSETS_STABLE_FETCH


class InvalidCommitOffsetSize(Refusal):
    """The record of the offsets is larger than the log takes."""

    code = ErrorCode.INVALID_COMMIT_OFFSET_SIZE


BY_RECORDS: Final[Mapping[ErrorCode, type[Refusal]]] = MappingProxyType(
    {
        ErrorCode.NETWORK_EXCEPTION: CoordinatorLoadInProgress,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: CoordinatorNotAvailable,
        ErrorCode.NOT_ENOUGH_REPLICAS: CoordinatorNotAvailable,
        ErrorCode.REQUEST_TIMED_OUT: CoordinatorNotAvailable,
        ErrorCode.NOT_LEADER_OR_FOLLOWER: NotCoordinator,
        ErrorCode.KAFKA_STORAGE_ERROR: NotCoordinator,
        ErrorCode.MESSAGE_TOO_LARGE: UnknownServerError,
        ErrorCode.RECORD_LIST_TOO_LARGE: UnknownServerError,
        ErrorCode.INVALID_FETCH_SIZE: UnknownServerError,
    }
)
"""A member's error when the offsets partition refuses (CoordinatorOperationExceptionHelper, since 4.0)."""

BY_SCALA: Final[Mapping[ErrorCode, type[Refusal]]] = MappingProxyType(
    {
        ErrorCode.NETWORK_EXCEPTION: CoordinatorLoadInProgress,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: CoordinatorNotAvailable,
        ErrorCode.NOT_ENOUGH_REPLICAS: CoordinatorNotAvailable,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: CoordinatorNotAvailable,
        ErrorCode.NOT_LEADER_OR_FOLLOWER: NotCoordinator,
        ErrorCode.KAFKA_STORAGE_ERROR: NotCoordinator,
        ErrorCode.MESSAGE_TOO_LARGE: InvalidCommitOffsetSize,
        ErrorCode.RECORD_LIST_TOO_LARGE: InvalidCommitOffsetSize,
        ErrorCode.INVALID_FETCH_SIZE: InvalidCommitOffsetSize,
    }
)
"""The same of GroupMetadataManager (before 4.0); in both, any other error is passed on unchanged."""


def reported(refusal: Refusal, profile: Profile) -> Refusal:
    """A refusal of the offsets partition, in the error codes that a member of a group knows."""
    named = (BY_SCALA if profile.scala_group_errors else BY_RECORDS).get(refusal.code)
    return refusal if named is None else named(log=refusal.code.name)
