"""Messages between clients and nodes, and between nodes; and the network of a world that carries them.

The network has both directions, and the senders that still wait for an answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from reference.broker.ids import ProducerIdentity
from reference.broker.marker_channel import TxnMarker, reported_transaction_version
from reference.broker.transaction_metadata import TopicPartition
from reference.client.coordinator_channel import CoordinatorAnswer, CoordinatorRequest
from reference.client.producer import Attempt, AttemptReply
from reference.errors import Refusal
from reference.network import Network, NetworkMessage
from reference.world.history import ALL, NOBODYS, RecordOrigin
from spec.vocabulary import ABSENT, ErrorCode


@dataclass(frozen=True, slots=True)
class ClientSender:
    """One instance of a transactional id, as sender of a request."""

    instance: int


@dataclass(frozen=True, slots=True)
class BrokerSender:
    """A node, as sender of a request."""

    node: int


@dataclass(frozen=True, slots=True)
class Plain:
    """An application without transactional id, as sender of a request."""

    producer: int


@dataclass(frozen=True, slots=True)
class Administrator:
    """A person with Kafka's tools, who does not wait for the answer."""


Sender = ClientSender | BrokerSender | Plain | Administrator


class CoordinatorCall(NamedTuple):
    """A client's request to a coordinator; `number` is the client's own, `transaction` the ordinal of its newest."""

    number: int
    request: CoordinatorRequest
    transaction: int = ABSENT


class Produce(NamedTuple):
    """One batch of a client for one partition; only the simulation knows who made its records."""

    version: int
    transactional_id: str
    partition: TopicPartition
    attempt: Attempt
    acks: int = ALL
    made_by: RecordOrigin = NOBODYS


class WriteMarker(NamedTuple):
    """WriteTxnMarkers of one marker for one partition."""

    version: int
    partition: TopicPartition
    marker: TxnMarker

    @property
    def marker_version(self) -> int:
        """The transaction version, as far as the request can carry it."""
        return reported_transaction_version(self.marker, self.version)


class Verify(NamedTuple):
    """AddPartitionsToTxn of a broker for a request that waits there; `adds`: it adds partitions, else it verifies.

    Attributes:
        others: of other transactional ids, in the same request.
    """

    transactional_id: str
    producer: ProducerIdentity
    partition: TopicPartition
    adds: bool
    transaction: int = ABSENT
    others: tuple["Verify", ...] = ()

    @property
    def all(self) -> tuple["Verify", ...]:
        """Every transaction of the request."""
        return (self._replace(others=()), *self.others)


class Verified(NamedTuple):
    """The coordinator's answer by transactional id, where None agrees; or what the whole request is refused with."""

    answers: Mapping[str, Refusal | None]
    refusal: Refusal | None = None


class MarkerAnswer(NamedTuple):
    """The leader's answer about a marker."""

    error: ErrorCode


Body = CoordinatorCall | Produce | WriteMarker | Verify
Answer = CoordinatorAnswer | AttemptReply | MarkerAnswer | Verified


class Request(NamedTuple):
    """A request as it is sent once; a copy by the network keeps the number, a retry of the sender gets a new one."""

    number: int
    sender: Sender
    node: int
    body: Body


class Response(NamedTuple):
    """The answer to one request."""

    request: Request
    answer: Answer


# --- the network ------------------------------------------------------------------------------------------------------


class Wires:
    """Requests and answers under way.

    Attributes:
        requests: under way to nodes.
        replies: under way back.
        open: requests whose sender still waits, by number.
    """

    __slots__ = ("_connections", "_numbers", "_opened", "open", "replies", "requests")

    def __init__(self, ordered: bool) -> None:
        """Nothing is under way."""
        self.requests: Network[Request] = Network(ordered)
        self.replies: Network[Response] = Network(ordered)
        self.open: dict[int, Request] = {}
        self._connections: dict[tuple[Sender, int], int] = {}
        self._opened = 0
        self._numbers = 0

    def send(self, sender: Sender, node: int, body: Body) -> Request:
        """Put a request on its way."""
        request = Request(self._numbers, sender, node, body)
        self._numbers += 1
        self.open[request.number] = request
        self.requests.send(self._connection(sender, node), request)
        return request

    def reply(self, request: Request, answer: Answer) -> None:
        """Put an answer on its way."""
        self.replies.send(self._connection(request.sender, request.node), Response(request, answer))

    def deliver(self, message: NetworkMessage[Request], leave_copy: bool) -> Request:
        """A request arrives; a copy of it may come again later."""
        return self.requests.deliver(message, leave_copy)

    def deliver_reply(self, message: NetworkMessage[Response], leave_copy: bool) -> Response | None:
        """An answer arrives; None if it is no longer awaited."""
        response = self.replies.deliver(message, leave_copy)
        return response if self.give_up(response.request) else None

    def give_up(self, request: Request) -> bool:
        """The sender stops waiting; returns whether it had waited. Its next request takes a new connection."""
        return self.open.pop(request.number, None) is not None

    def reconnect(self, sender: Sender, node: int) -> None:
        """Open a new connection: later requests need not wait for those that are still under way."""
        self._connections[sender, node] = self._opened
        self._opened += 1

    def cut(self, sender: Sender, node: int, arriving: int) -> list[Request]:
        """A connection breaks: its first `arriving` requests still arrive, no answer does; the requests given up."""
        connection = self._connection(sender, node)
        self.requests.cut(connection, arriving)
        self.replies.cut(connection, 0)
        self.reconnect(sender, node)
        lost = self.waiting(sender, node)
        for request in lost:
            self.give_up(request)
        return lost

    def waiting(self, sender: Sender, node: int | None = None) -> list[Request]:
        """The requests that a sender waits for, of one node or of all, oldest first."""
        return [each for each in self.open.values() if each.sender == sender and node in (None, each.node)]

    def _connection(self, sender: Sender, node: int) -> int:
        """Number of the connection that is open between the two."""
        key = (sender, node)
        if key not in self._connections:
            self.reconnect(sender, node)
        return self._connections[key]
