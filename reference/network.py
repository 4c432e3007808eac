"""The network between clients and nodes: what is sent is delivered, lost or copied as the tape says.

A channel is one connection. In order, a channel delivers as TCP does: nothing overtakes, and a loss is the break
of the connection, which takes the tail of what was sent. Out of order, every message goes its own way.
"""

from collections.abc import Hashable
from typing import Generic, NamedTuple, TypeVar

from reference.errors import Impossible

Payload = TypeVar("Payload")


class NetworkMessage(NamedTuple, Generic[Payload]):
    """One sending; a copy made by the network keeps the number."""

    number: int
    channel: Hashable
    payload: Payload
    copy: bool = False


class Network(Generic[Payload]):
    """Messages in transit, oldest first.

    Attributes:
        ordered: whether a channel delivers in the order of sending; copies are delivered at any time.
    """

    __slots__ = ("_sent", "in_transit", "ordered")

    def __init__(self, ordered: bool = True) -> None:
        """An empty network."""
        self.ordered = ordered
        self.in_transit: list[NetworkMessage[Payload]] = []
        self._sent = 0

    def send(self, channel: Hashable, payload: Payload) -> NetworkMessage[Payload]:
        """Put a message on its way."""
        message = NetworkMessage(self._sent, channel, payload)
        self._sent += 1
        self.in_transit.append(message)
        return message

    def deliverable(self) -> list[NetworkMessage[Payload]]:
        """The messages of which any may be delivered next, oldest first."""
        if not self.ordered:
            return list(self.in_transit)
        busy: set[Hashable] = set()
        heads = []
        for message in self.in_transit:
            if message.copy or message.channel not in busy:
                heads.append(message)
            if not message.copy:
                busy.add(message.channel)
        return heads

    def deliver(self, message: NetworkMessage[Payload], leave_copy: bool = False) -> Payload:
        """Take a message out of the network; a copy of it may stay behind and come later.

        Raises:
            Impossible: the message is not in transit.
        """
        for place, waiting in enumerate(self.in_transit):
            if waiting is message:
                del self.in_transit[place]
                break
        else:
            raise Impossible(f"message {message.number} is not under way")
        if leave_copy:
            self.in_transit.append(NetworkMessage(message.number, message.channel, message.payload, copy=True))
        return message.payload

    def lose(self, message: NetworkMessage[Payload]) -> None:
        """Drop one message."""
        self.deliver(message)

    def of_channel(self, channel: Hashable) -> list[NetworkMessage[Payload]]:
        """What the channel still carries, copies aside."""
        return [message for message in self.in_transit if message.channel == channel and not message.copy]

    def cut(self, channel: Hashable, arriving: int) -> None:
        """Break a connection: its first `arriving` messages still arrive, the rest is lost."""
        for message in self.of_channel(channel)[arriving:]:
            self.lose(message)
