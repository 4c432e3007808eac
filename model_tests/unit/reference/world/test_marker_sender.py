"""One marker request in flight for each partition, and each answered once."""

import pytest

from model_tests.unit.reference.world.scenes import T0, T1
from reference.broker.marker_channel import TxnMarker
from reference.broker.transaction_metadata import TopicPartition
from reference.world.node import MarkerSender
from spec.vocabulary import CoordinatorEpoch, Epoch, ErrorCode, ProducerId

MARKER = TxnMarker(ProducerId(7), Epoch(0), True, CoordinatorEpoch(3))
NOT_YET = ErrorCode.NETWORK_EXCEPTION


@pytest.fixture
def sent() -> list[TopicPartition]:
    return []


@pytest.fixture
def sender(sent: list[TopicPartition]) -> MarkerSender:
    def send(partition: TopicPartition, marker: TxnMarker) -> int:
        sent.append(partition)
        return len(sent)

    sender = MarkerSender(send, lambda _: True)
    sender.is_sending = True
    return sender


def test_a_marker_is_sent_once(sender: MarkerSender, sent: list[TopicPartition]) -> None:
    """Asking again while it is in flight sends nothing; another partition has its own."""
    answers = [sender.write(T0, MARKER), sender.write(T0, MARKER), sender.write(T1, MARKER)]

    assert ([NOT_YET] * 3, [T0, T1]) == (answers, sent)


def test_an_answer_is_taken_once(sender: MarkerSender, sent: list[TopicPartition]) -> None:
    """The first to ask has it; the next one sends again."""
    sender.write(T0, MARKER)
    sender.take(T0, MARKER, 1, ErrorCode.NONE)

    assert (ErrorCode.NONE, NOT_YET, [T0, T0]) == (sender.write(T0, MARKER), sender.write(T0, MARKER), sent)


def test_an_answer_to_a_request_that_was_given_up(sender: MarkerSender) -> None:
    """Only the request in flight is answered: a late answer to an earlier one does not count for it."""
    sender.write(T0, MARKER)
    sender.take(T0, MARKER, 1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    sender.write(T0, MARKER)
    sender.write(T0, MARKER)

    sender.take(T0, MARKER, 1, ErrorCode.NONE)

    assert NOT_YET == sender.write(T0, MARKER)


def test_nothing_is_sent_while_answers_are_taken(sender: MarkerSender, sent: list[TopicPartition]) -> None:
    """A coordinator that only looks at what has come sends nothing."""
    sender.is_sending = False

    assert (NOT_YET, []) == (sender.write(T0, MARKER), sent)
