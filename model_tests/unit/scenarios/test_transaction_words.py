"""Requests and answers of transactions in words."""

import pytest

from model_tests.scenarios.transaction_words import answer_words, error_of, is_reported, partition_name, request_words
from reference.broker.coordinator_errors import NotCoordinator
from reference.broker.ids import ProducerIdentity
from reference.broker.marker_channel import TxnMarker
from reference.broker.transaction_metadata import TopicPartition
from reference.client.coordinator_channel import CoordinatorAnswer
from reference.client.coordinator_requests import AddPartitions, CoordinatorType, EndTxn, FindCoordinator
from reference.client.producer import AttemptReply
from reference.world.messages import Answer, Body, CoordinatorCall, MarkerAnswer, Verified, Verify, WriteMarker
from spec.vocabulary import CoordinatorEpoch, Epoch, ErrorCode, Offset, ProducerId

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
PRODUCER = ProducerIdentity(ProducerId(7), Epoch(3))
MARKER = TxnMarker(ProducerId(7), Epoch(4), False, CoordinatorEpoch(1))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (CoordinatorCall(0, EndTxn(5, "payments", PRODUCER, True)), "EndTxn commit: epoch 3"),
        (CoordinatorCall(0, AddPartitions(3, "payments", PRODUCER, (T0, T1))), "AddPartitionsToTxn t-0, t-1"),
        (WriteMarker(2, T0, MARKER), "ABORT marker: epoch 4"),
    ],
    ids=["end", "add", "marker"],
)
def test_a_request(body: Body, words: str) -> None:
    """By Kafka's name, with what distinguishes it from others."""
    assert words == request_words(body, {})
    assert is_reported(body)


@pytest.mark.parametrize(
    "body",
    [
        CoordinatorCall(0, FindCoordinator(CoordinatorType.GROUP, "workers")),
        Verify("payments", PRODUCER, T0, adds=True),
    ],
    ids=["find", "verify"],
)
def test_what_is_not_reported(body: Body) -> None:
    """Who coordinates, and what brokers ask one another."""
    assert not is_reported(body)


@pytest.mark.parametrize(
    ("answer", "words", "error"),
    [
        (AttemptReply(ErrorCode.NONE, Offset(3)), "offset 3", ErrorCode.NONE),
        (CoordinatorAnswer(identity=PRODUCER), "producer id 7, epoch 3", ErrorCode.NONE),
        (MarkerAnswer(ErrorCode.NONE), "done", ErrorCode.NONE),
        (
            CoordinatorAnswer(partitions={T0: ErrorCode.NONE, T1: ErrorCode.OPERATION_NOT_ATTEMPTED}),
            "OPERATION_NOT_ATTEMPTED",
            ErrorCode.OPERATION_NOT_ATTEMPTED,
        ),
        (Verified({"payments": NotCoordinator()}), "NOT_COORDINATOR", ErrorCode.NOT_COORDINATOR),
    ],
    ids=["offset", "identity", "done", "one-partition", "verification"],
)
def test_an_answer(answer: Answer, words: str, error: ErrorCode) -> None:
    """What it gives, or the first error in it."""
    assert (words, error) == (answer_words(answer), error_of(answer))


def test_the_partitions_of_offsets_are_their_coordinators() -> None:
    """No other partition is written to there."""
    assert ("t-0", "group coordinator") == (partition_name(T0), partition_name(TopicPartition("__consumer_offsets", 0)))
