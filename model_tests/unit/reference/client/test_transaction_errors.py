"""What each error means in answer to each request, stated a second time: as sets, the way the handlers list them."""

from collections.abc import Mapping
from typing import Final

import pytest

from reference.client.transaction_states import MEANINGS, ErrorHandling, ProducerRequest, meaning
from spec.vocabulary import ErrorCode

E = ErrorCode
FENCED: Final = {E.INVALID_PRODUCER_EPOCH, E.PRODUCER_FENCED}
RETRIABLE: Final = {
    E.CORRUPT_MESSAGE,
    E.UNKNOWN_TOPIC_OR_PARTITION,
    E.LEADER_NOT_AVAILABLE,
    E.NOT_LEADER_OR_FOLLOWER,
    E.REQUEST_TIMED_OUT,
    E.NETWORK_EXCEPTION,
    E.COORDINATOR_LOAD_IN_PROGRESS,
    E.COORDINATOR_NOT_AVAILABLE,
    E.NOT_COORDINATOR,
    E.NOT_ENOUGH_REPLICAS,
    E.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    E.KAFKA_STORAGE_ERROR,
    E.CONCURRENT_TRANSACTIONS,
    E.UNSTABLE_OFFSET_COMMIT,
    E.FENCED_LEADER_EPOCH,
    E.UNKNOWN_LEADER_EPOCH,
    E.NOT_CONTROLLER,
    E.PREFERRED_LEADER_NOT_AVAILABLE,
    E.ELIGIBLE_LEADERS_NOT_AVAILABLE,
    E.ELECTION_NOT_NEEDED,
}
MOVED: Final = {E.COORDINATOR_NOT_AVAILABLE, E.NOT_COORDINATOR}
OF_GROUP: Final = {
    E.FENCED_INSTANCE_ID,
    E.UNKNOWN_MEMBER_ID,
    E.ILLEGAL_GENERATION,
    E.GROUP_ID_NOT_FOUND,
    E.STALE_MEMBER_EPOCH,
}
ENDED: Final = {E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, E.INVALID_TXN_STATE, E.INVALID_PRODUCER_ID_MAPPING}

Expected = Mapping[ErrorHandling, set[ErrorCode]]
NAMED: Final[Mapping[ProducerRequest, tuple[Expected, ErrorHandling]]] = {
    ProducerRequest.PRODUCE: (
        {
            ErrorHandling.DONE: {E.DUPLICATE_SEQUENCE_NUMBER},
            ErrorHandling.RETRY: RETRIABLE,
            ErrorHandling.BY_SEQUENCE: {E.OUT_OF_ORDER_SEQUENCE_NUMBER, E.UNKNOWN_PRODUCER_ID},
            ErrorHandling.FATAL: {
                E.PRODUCER_FENCED,
                E.CLUSTER_AUTHORIZATION_FAILED,
                E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                E.UNSUPPORTED_VERSION,
                E.INVALID_PRODUCER_ID_MAPPING,
            },
        },
        ErrorHandling.BUMP,
    ),
    ProducerRequest.FIND_COORDINATOR: (
        {
            ErrorHandling.RETRY: RETRIABLE,
            ErrorHandling.ABORTABLE: {E.GROUP_AUTHORIZATION_FAILED, E.TRANSACTION_ABORTABLE},
        },
        ErrorHandling.FATAL,
    ),
    ProducerRequest.INIT_PRODUCER_ID: (
        {
            ErrorHandling.REFIND: MOVED,
            ErrorHandling.RETRY: RETRIABLE - MOVED,
            ErrorHandling.ABORTABLE: {E.TRANSACTION_ABORTABLE},
            ErrorHandling.UNINITIALIZED: {E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, E.CLUSTER_AUTHORIZATION_FAILED},
        },
        ErrorHandling.FATAL,
    ),
    ProducerRequest.ADD_PARTITIONS: (
        {
            ErrorHandling.REFIND: MOVED,
            ErrorHandling.RETRY: RETRIABLE - MOVED,
            ErrorHandling.BUMP_OR_FATAL: {E.UNKNOWN_PRODUCER_ID},
            ErrorHandling.FATAL: FENCED | ENDED,
        },
        ErrorHandling.ABORTABLE,
    ),
    ProducerRequest.ADD_OFFSETS: (
        {
            ErrorHandling.REFIND: MOVED,
            ErrorHandling.RETRY: RETRIABLE - MOVED,
            ErrorHandling.BUMP_OR_FATAL: {E.UNKNOWN_PRODUCER_ID},
            ErrorHandling.ABORTABLE: {E.GROUP_AUTHORIZATION_FAILED, E.TRANSACTION_ABORTABLE},
        },
        ErrorHandling.FATAL,
    ),
    ProducerRequest.TXN_OFFSET_COMMIT: (
        {
            ErrorHandling.REFIND: MOVED | {E.REQUEST_TIMED_OUT},
            ErrorHandling.RETRY: RETRIABLE - MOVED - {E.REQUEST_TIMED_OUT},
            ErrorHandling.ABORTABLE: {E.GROUP_AUTHORIZATION_FAILED, E.TRANSACTION_ABORTABLE} | OF_GROUP,
        },
        ErrorHandling.FATAL,
    ),
    ProducerRequest.END_TXN_COMMIT: (
        {
            ErrorHandling.REFIND: MOVED,
            ErrorHandling.RETRY: RETRIABLE - MOVED,
            ErrorHandling.BUMP_OR_FATAL: {E.UNKNOWN_PRODUCER_ID},
            ErrorHandling.ABORTABLE: {E.TRANSACTION_ABORTABLE},
        },
        ErrorHandling.FATAL,
    ),
    ProducerRequest.END_TXN_ABORT: (
        {
            ErrorHandling.REFIND: MOVED,
            ErrorHandling.RETRY: RETRIABLE - MOVED,
            ErrorHandling.BUMP_OR_FATAL: {E.UNKNOWN_PRODUCER_ID},
        },
        ErrorHandling.FATAL,
    ),
}
"""By request: the errors that are named, and what all others mean."""


def expected(request: ProducerRequest, error: ErrorCode) -> ErrorHandling:
    """What the sets say."""
    if error is ErrorCode.NONE:
        return ErrorHandling.DONE
    named, otherwise = NAMED[request]
    return next((outcome for outcome, errors in named.items() if error in errors), otherwise)


@pytest.mark.parametrize("request_", ProducerRequest, ids=lambda request: request.name)
@pytest.mark.parametrize("error", ErrorCode, ids=lambda error: error.name)
def test_every_cell(request_: ProducerRequest, error: ErrorCode) -> None:
    """Each error in answer to each request is retried, ends the transaction or ends the producer."""
    assert expected(request_, error) == meaning(request_, error)


def test_every_error_has_a_row() -> None:
    """No error is left to chance."""
    assert set(ErrorCode) == set(MEANINGS)
    assert {len(ProducerRequest)} == {len(row) for row in MEANINGS.values()}
