"""Produce verifies its partition at the coordinator (ReplicaManager, AddPartitionsToTxnManager).

Without verification (KIP-890) a late batch opens a transaction on the partition that is never ended.

A node sends one verification request at a time to each coordinator's node; new questions wait for the next one. For one
transactional id at most one question waits, and a later question replaces it: epochs decide which of the two is sent,
even if they are epochs of different producer ids.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto, unique
from types import MappingProxyType
from typing import ClassVar, Final, Generic, NamedTuple, TypeVar

from reference.broker.coordinator_errors import TransactionAbortable
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_coordinator import TransactionCoordinator
from reference.broker.transaction_metadata import BUMPS_EPOCH, TopicPartition
from reference.errors import InvalidProducerEpoch, InvalidTxnState, NotEnoughReplicas, Refusal
from reference.log.batch import RecordBatch
from reference.log.partition import Partition
from reference.log.producer_entry import NO_GUARD
from spec import rules
from spec.versions import Profile
from spec.vocabulary import ErrorCode, Sequence, Timestamp

# --- a node's questions to coordinators (AddPartitionsToTxnManager) ---------------------------------------------------


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
        supported: what the client of the first waiting request supports; all answers are encoded for it.
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
        """Queue a question for the next request to the coordinator's node.

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
        """A node has answered its request; the answers are encoded for the first client that waits.

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


# --- Produce ----------------------------------------------------------------------------------------------------------


ABORTABLE_SINCE: Final = 11
"""First version of Produce whose clients know TRANSACTION_ABORTABLE."""

ADDS_SINCE: Final = 12
"""First version of Produce whose partitions the broker itself adds to the transaction (KIP-890, part 2)."""

REPORTED: Final[Mapping[ErrorCode, type[Refusal]]] = MappingProxyType(
    {
        ErrorCode.NETWORK_EXCEPTION: NotEnoughReplicas,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: NotEnoughReplicas,
        ErrorCode.COORDINATOR_NOT_AVAILABLE: NotEnoughReplicas,
        ErrorCode.NOT_COORDINATOR: NotEnoughReplicas,
    }
)
"""A producer's error for each error of the coordinator: one that it knows, or one that it retries."""


@dataclass(frozen=True, slots=True)
class ProduceVerification:
    """The verification of one Produce request.

    Attributes:
        version: of Produce; the error codes that its client knows depend on it.
        names: topic and number of the request's partitions.
    """

    abortable_since: ClassVar[int] = ABORTABLE_SINCE
    adds_since: ClassVar[int] = ADDS_SINCE

    profile: Profile
    coordinator: TransactionCoordinator
    partitions: Mapping[int, Partition]
    names: Mapping[int, TopicPartition]
    version: int
    now: Timestamp

    def __call__(self, transactional_id: str, number: int, batch: RecordBatch) -> int:
        """The guard that the append of a transactional batch must carry.

        Raises:
            Refusal: the coordinator refuses, in the error codes of the version of Produce.
        """
        producer = ProducerIdentity(batch.producer_id, batch.producer_epoch)
        return self.guard_for(transactional_id, number, producer, batch.base_sequence)

    def guard_for(self, transactional_id: str, number: int, producer: ProducerIdentity, base_sequence: Sequence) -> int:
        """As for a batch of the producer with this base sequence.

        Args:
            transactional_id: as the request names it.
            number: of the partition.
            producer: the identity in the batch.
            base_sequence: of the batch.
        """
        guard = self.start(number, producer, base_sequence)
        if guard != NO_GUARD:
            self._send_question(transactional_id, number, producer)
        return guard

    def start(self, number: int, producer: ProducerIdentity, base_sequence: Sequence) -> int:
        """The guard that the append must carry once the coordinator has confirmed; 0 if no coordinator has to confirm.

        Raises:
            Refusal: the partition is led elsewhere, or knows a newer epoch.
        """
        if self.is_skipped:
            return NO_GUARD
        partition = self.partitions[number]
        partition.check_leads()
        self._check_epoch(partition, producer)
        return partition.state.start_verification(
            producer.producer_id, base_sequence, producer.epoch, self.adds, self.now
        )

    @property
    def adds(self) -> bool:
        """Whether the broker adds the partition to the transaction."""
        return self.version >= self.adds_since

    @property
    def supported(self) -> Supported:
        """The error codes that the client of the request knows, and whether its partitions are added for it."""
        if self.adds:
            return Supported.ADD_PARTITION
        return Supported.GENERIC_ERROR if self.version >= self.abortable_since else Supported.DEFAULT_ERROR

    @property
    def verifies(self) -> bool:
        """Whether the broker verifies partitions that the client adds itself."""
        return self.profile.partition_verification

    @property
    def is_skipped(self) -> bool:
        """Whether the coordinator is not asked: the broker does not verify, and the client adds partitions itself."""
        return not self.adds and not self.verifies

    def _check_epoch(self, partition: Partition, producer: ProducerIdentity) -> None:
        # [fence.stale_epoch]
        current = partition.state.entry(producer.producer_id).epoch
        if self.profile.stale_epoch_before_coordinator and producer.epoch < current:
            raise InvalidProducerEpoch(current=current, got=producer.epoch)

    def _send_question(self, transactional_id: str, number: int, producer: ProducerIdentity) -> None:
        try:
            self._ask_coordinator(transactional_id, self.names[number], producer)
        except Refusal as refusal:
            raise self.reported(as_reported(refusal, self.supported)) from refusal

    def _ask_coordinator(self, transactional_id: str, partition: TopicPartition, producer: ProducerIdentity) -> None:
        if self.adds:
            self.coordinator.add_partitions(transactional_id, producer, (partition,), BUMPS_EPOCH)
            return
        check_registered(self.coordinator, transactional_id, producer, partition)

    def reported(self, refusal: Refusal) -> Refusal:
        """The coordinator's refusal as the waiting requests got it, in the error codes of Produce."""
        if refusal.code is ErrorCode.CONCURRENT_TRANSACTIONS and not self.adds:
            return NotEnoughReplicas(rules.TXN_REGISTERED_BEFORE_DATA, **refusal.values)
        if refusal.code is ErrorCode.NETWORK_EXCEPTION and not self.profile.network_exception_converted:
            return refusal
        named = REPORTED.get(refusal.code)
        return refusal if named is None else named(refusal.rule, **refusal.values) if refusal.rule else named()


def check_registered(
    coordinator: TransactionCoordinator, transactional_id: str, producer: ProducerIdentity, partition: TopicPartition
) -> None:
    """Verify a partition of the producer's transaction at its coordinator.

    Args:
        coordinator: of the transactional id.
        transactional_id: whose transaction it is.
        producer: id and epoch in the request.
        partition: to verify.

    Raises:
        TransactionAbortable: it is not.
        InvalidTxnState: the same, in releases without a code of its own for it.
        Refusal: the coordinator knows no such transaction, or cannot answer now.
    """
    answered = coordinator.verify_partitions(transactional_id, producer, (partition,))[partition]
    if answered is ErrorCode.INVALID_TXN_STATE:
        raise InvalidTxnState(partition=partition)
    if answered is not ErrorCode.NONE:
        raise TransactionAbortable(partition=partition)
