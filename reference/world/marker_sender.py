"""A coordinator's markers on the network: one request in flight for each, and each request answered or lost once."""

from collections.abc import Callable

from reference.broker.marker_channel import TxnMarker
from reference.broker.transaction_metadata import TopicPartition
from spec.vocabulary import ErrorCode

Destination = tuple[TopicPartition, TxnMarker]
SendMarker = Callable[[TopicPartition, TxnMarker], int]
"""Sends a marker; the number of the request."""

IsLed = Callable[[TopicPartition], bool]
"""Whether a partition has a leader."""


class MarkerSender:
    """A coordinator's view of the markers that it writes: the answer that has come, or that there is none yet."""

    __slots__ = ("_answers", "_in_flight", "_is_led", "_send", "is_sending")

    def __init__(self, send: SendMarker, is_led: IsLed) -> None:
        """Nothing is in flight."""
        self._send = send
        self._is_led = is_led
        self._in_flight: dict[Destination, int] = {}
        self._answers: dict[Destination, ErrorCode] = {}
        self.is_sending = False

    def write(self, partition: TopicPartition, marker: TxnMarker) -> ErrorCode | None:
        """The answer about a marker, NETWORK_EXCEPTION while there is none; it is sent if none is in flight.

        LEADER_NOT_AVAILABLE means that it cannot be sent: the partition has no leader.
        """
        destination = (partition, marker)
        if destination in self._answers:
            return self._answers.pop(destination)
        if self.is_sending and destination not in self._in_flight:
            if not self._is_led(partition):
                return ErrorCode.LEADER_NOT_AVAILABLE
            self._in_flight[destination] = self._send(partition, marker)
        return ErrorCode.NETWORK_EXCEPTION

    def take(self, partition: TopicPartition, marker: TxnMarker, number: int, error: ErrorCode) -> None:
        """An answer has come, or its request was lost; the coordinator asks for it next.

        Args:
            partition: that the marker was for.
            marker: as it was sent.
            number: of the attempt.
            error: the answer, or what stands for a lost one.
        """
        destination = (partition, marker)
        if self._in_flight.get(destination) == number:
            del self._in_flight[destination]
            self._answers[destination] = error

    def forget_answers(self) -> None:
        """No request asks for what is left: the transaction is another coordinator's now."""
        self._answers.clear()
