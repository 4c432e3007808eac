"""A node's verification requests to transaction coordinators, for requests that wait there (AddPartitionsToTxnManager).

One request at a time goes to each coordinator's node; new questions wait for the next one. Of one
transactional id at most one question waits, and a later one replaces it: epochs decide which of the two is sent,
though they may be epochs of different producer ids.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto, unique
from typing import Generic, NamedTuple, TypeVar

from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_metadata import TopicPartition
from reference.errors import InvalidProducerEpoch, InvalidTxnState, Refusal
from spec import rules
from spec.vocabulary import ErrorCode

Waits = TypeVar("Waits")
"""Who waits for an answer."""


class NetworkException(Refusal):
    """The question got no answer; the asker may repeat it."""

    code = ErrorCode.NETWORK_EXCEPTION


@unique
class Supported(Enum):
    """The error codes that the client of a waiting request knows (TransactionSupportedOperation)."""

    DEFAULT_ERROR = auto()  # it does not know TRANSACTION_ABORTABLE
    GENERIC_ERROR = auto()  # it knows it
    ADD_PARTITION = auto()  # it has its partitions added by brokers


class Question(NamedTuple):
    """The partitions of one transaction, to verify or to add."""

    transactional_id: str
    producer: ProducerIdentity
    partitions: tuple[TopicPartition, ...]
    supported: Supported

    @property
    def adds(self) -> bool:
        """Whether partitions are added to the transaction; else they are only verified."""
        return self.supported is Supported.ADD_PARTITION


class PendingQuestion(NamedTuple, Generic[Waits]):
    """A question, and the request that waits for its answer."""

    question: Question
    who: Waits


class VerificationAnswer(NamedTuple, Generic[Waits]):
    """The answer to one waiting request; None confirms it."""

    who: Waits
    refusal: Refusal | None


@dataclass(slots=True)
class VerificationRequest(Generic[Waits]):
    """One request to a node: a question for each transactional id.

    Attributes:
        supported: what the first asker of this node supports; all answers of the request are encoded for it.
        askers: by transactional id, in the order of asking.
    """

    supported: Supported
    askers: dict[str, PendingQuestion[Waits]] = field(default_factory=dict)


class AddPartitionsToTxnManager(Generic[Waits]):
    """The questions of one node.

    Attributes:
        waiting: the request that goes next to each node, by the node's number.
        in_flight: the request under way to each node.
    """

    __slots__ = ("in_flight", "waiting")

    def __init__(self) -> None:
        """No questions yet."""
        self.waiting: dict[int, VerificationRequest[Waits]] = {}
        self.in_flight: dict[int, VerificationRequest[Waits]] = {}

    def verify(self, node: int, question: Question, who: Waits) -> VerificationAnswer[Waits] | None:
        """Queue a question for the next request to a coordinator's node.

        Args:
            node: of the transaction's coordinator.
            question: replaces one that waits with the same transactional id, unless its epoch is lower.
            who: waits for the answer.

        Returns:
            the request that no longer waits, and why: a replaced question, or this one.
        """
        batch = self.waiting.setdefault(node, VerificationRequest(question.supported))
        earlier = batch.askers.get(question.transactional_id)
        if earlier is None:
            batch.askers[question.transactional_id] = PendingQuestion(question, who)
            return None

        # [fence.stale_epoch] though the two may be epochs of different producer ids
        known, request = earlier.question.producer.epoch, question.producer.epoch
        if request < known:
            return VerificationAnswer(who, InvalidProducerEpoch(current=known, got=request))

        del batch.askers[question.transactional_id]
        batch.askers[question.transactional_id] = PendingQuestion(question, who)
        return VerificationAnswer(
            earlier.who, NetworkException() if request == known else InvalidProducerEpoch(current=request, got=known)
        )

    def requests(self) -> list[tuple[int, VerificationRequest[Waits]]]:
        """The requests to send now: those for nodes without a request under way."""
        ready = [(node, batch) for node, batch in self.waiting.items() if node not in self.in_flight]
        for node, batch in ready:
            del self.waiting[node]
            self.in_flight[node] = batch
        return ready

    def answered(self, node: int, answers: Mapping[str, Refusal | None]) -> list[VerificationAnswer[Waits]]:
        """A node has answered its request; what its first asker supports decides how the answer is encoded.

        Args:
            node: the coordinator's.
            answers: by transactional id; None confirms.
        """
        batch = self.in_flight.pop(node)
        answered = ((asker.who, answers[name]) for name, asker in batch.askers.items())
        return [
            VerificationAnswer(who, None if refusal is None else as_reported(refusal, batch.supported))
            for who, refusal in answered
        ]

    def failed(self, node: int, refusal: Refusal) -> list[VerificationAnswer[Waits]]:
        """The request to a node has failed as a whole, or got no answer: all that wait get the same refusal.

        Args:
            node: the coordinator's.
            refusal: their answer.
        """
        return [VerificationAnswer(asker.who, refusal) for asker in self.in_flight.pop(node).askers.values()]


def as_reported(refusal: Refusal, supported: Supported) -> Refusal:
    """A coordinator's refusal, encoded for the requests that wait."""
    if refusal.code is ErrorCode.PRODUCER_FENCED:
        return InvalidProducerEpoch(refusal.rule or rules.FENCE_STALE_EPOCH, **refusal.values)
    if refusal.code is ErrorCode.TRANSACTION_ABORTABLE and supported is Supported.DEFAULT_ERROR:
        return InvalidTxnState(rules.TXN_REGISTERED_BEFORE_DATA, **refusal.values)
    return refusal
