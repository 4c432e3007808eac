"""What travels between clients and nodes, and between nodes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from reference.broker.ids import ProducerIdentity
from reference.broker.marker_channel import TxnMarker, reported_transaction_version
from reference.broker.transaction_metadata import TopicPartition
from reference.client.coordinator_channel import CoordinatorAnswer
from reference.client.coordinator_requests import CoordinatorRequest
from reference.client.producer import Attempt, AttemptReply
from reference.errors import Refusal
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
    """One batch of a client for one partition; who made its records, only the simulation knows."""

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
        """The transaction version, as far as the request can say it."""
        return reported_transaction_version(self.marker, self.version)


class Verify(NamedTuple):
    """AddPartitionsToTxn of a broker for a request that waits there; `adds` is to add, else it only asks.

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
    """One sending; a copy made by the network keeps the number, another try of the sender gets a new one."""

    number: int
    sender: Sender
    node: int
    body: Body


class Response(NamedTuple):
    """The answer to one sending."""

    request: Request
    answer: Answer
