"""What coordinators make of every error of their logs, compared with the tables of Kafka's source."""

from dataclasses import replace

import pytest

from model_tests.unit.support.coordinator_judging import ADDED, EMPTY, broken, step
from spec.protocol import committing
from spec.protocol.coordinator_steps import not_logged
from spec.versions import KAFKA_3_9, NEWEST
from spec.vocabulary import ErrorCode

OF_TRANSACTIONS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}
"""TransactionStateManager.appendTransactionToLog of 1.0 to 4.4."""

PASSED_ON = (
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.INVALID_RECORD,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    ErrorCode.INVALID_REQUIRED_ACKS,
)
"""Errors of a log for which the same method has no word of its own."""

OF_GROUPS_BEFORE_4_0 = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
}
"""GroupMetadataManager.maybeConvertOffsetCommitError of 3.9."""


@pytest.mark.parametrize("met", OF_TRANSACTIONS)
def test_an_error_of_the_transaction_log_as_the_client_reads_it(met: ErrorCode) -> None:
    """Each error by itself."""
    assert OF_TRANSACTIONS[met] == not_logged(met.value)


@pytest.mark.parametrize("met", [*PASSED_ON, *dict.fromkeys(OF_TRANSACTIONS.values())])
def test_a_record_that_the_log_refused_leaves_the_id_as_it_was(met: ErrorCode) -> None:
    """A step that would write may be answered with any error of the log, and then nothing has changed."""
    refused = step(EMPTY, replace(ADDED, version=3), error=met.value, partitions=1, partitions_after=1)

    assert not broken("AddPartitionsToTxn", refused)


@pytest.mark.parametrize("met", OF_GROUPS_BEFORE_4_0)
def test_an_error_of_the_offsets_log_as_the_client_reads_it(met: ErrorCode) -> None:
    """Each error by itself, in the words of the group coordinator before 4.0."""
    assert OF_GROUPS_BEFORE_4_0[met] == committing.reported(met.value, 3, KAFKA_3_9)


def test_a_commit_that_timed_out_is_retried_at_the_coordinator_since_4_0() -> None:
    """CoordinatorOperationExceptionHelper has a word for it, and none for replicas that are lost after the append."""
    assert ErrorCode.REQUEST_TIMED_OUT == committing.reported(ErrorCode.REQUEST_TIMED_OUT.value, 3, KAFKA_3_9)
    assert ErrorCode.COORDINATOR_NOT_AVAILABLE == committing.reported(ErrorCode.REQUEST_TIMED_OUT.value, 5, NEWEST)
    after = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert after == committing.reported(after.value, 5, NEWEST)
