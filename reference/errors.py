"""The two roots of error: a refusal is the protocol's behaviour, the impossible is our own bug."""

from typing import ClassVar

from spec import rules
from spec.rules import Rule
from spec.vocabulary import ErrorCode


class Refusal(Exception):
    """A broker's defined answer "no": Kafka's error code, the rule it serves and the values that decided.

    `rule` is None where the request is malformed before any rule of exactly-once has a say.
    """

    code: ClassVar[ErrorCode]
    rule: Rule | None = None

    def __init__(self, rule: Rule | None = None, /, **values: object) -> None:
        """Refuse for `rule` (or the rule of the class); `values` say what was found and what was asked."""
        super().__init__()
        if rule is not None:
            self.rule = rule
        self.values = values

    def __str__(self) -> str:
        """The code and rule with the values that decided."""
        values = ", ".join(f"{name}={value}" for name, value in self.values.items())
        return f"{self.code.name} [{self.rule.id if self.rule else 'request'}] {values}"


class InvalidProducerEpoch(Refusal):
    """The batch's or marker's epoch is below the producer's epoch on the partition."""

    code = ErrorCode.INVALID_PRODUCER_EPOCH
    rule = rules.FENCE_STALE_EPOCH


class ProducerFenced(Refusal):
    """Another producer has the transactional id; before 2.7 it has no code of its own on the wire."""

    code = ErrorCode.PRODUCER_FENCED
    rule = rules.FENCE_STALE_EPOCH


class OutOfOrderSequence(Refusal):
    """The base sequence is not the one that must come next."""

    code = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    rule = rules.SEQ_SUCCESSOR


class DuplicateSequence(Refusal):
    """The sequence was expected earlier; its batch is in the log (only where the two cases are distinguished)."""

    code = ErrorCode.DUPLICATE_SEQUENCE_NUMBER
    rule = rules.SEQ_SUCCESSOR


class UnknownProducerId(Refusal):
    """The broker knows no sequence of this producer, and the batch does not start at 0."""

    code = ErrorCode.UNKNOWN_PRODUCER_ID
    rule = rules.SEQ_FIRST


class InvalidTxnState(Refusal):
    """The batch is not what the producer's transaction on the partition admits."""

    code = ErrorCode.INVALID_TXN_STATE
    rule = rules.TXN_REGISTERED_BEFORE_DATA


class TransactionCoordinatorFenced(Refusal):
    """The marker is from a coordinator that a newer one has replaced."""

    code = ErrorCode.TRANSACTION_COORDINATOR_FENCED
    rule = rules.FENCE_COORDINATOR_EPOCH


class InvalidRecord(Refusal):
    """A client's batch is not of the form that a client may send."""

    code = ErrorCode.INVALID_RECORD
    rule = rules.SEQ_WELL_FORMED


class Disconnected(Refusal):
    """The broker cannot read the request and closes the connection; the code is what a client makes of that."""

    code = ErrorCode.NETWORK_EXCEPTION


class CorruptMessage(Refusal):
    """The bytes of a batch are damaged."""

    code = ErrorCode.CORRUPT_MESSAGE


class InvalidRequest(Refusal):
    """The transactional id of a transactional request is the empty string."""

    code = ErrorCode.INVALID_REQUEST


class InvalidRequiredAcks(Refusal):
    """Acks is none of 0, 1 and -1."""

    code = ErrorCode.INVALID_REQUIRED_ACKS


class TransactionalIdAuthorizationFailed(Refusal):
    """Transactional records came without a transactional id, or the broker does not take part in two-phase commits."""

    code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


class NotLeaderOrFollower(Refusal):
    """This replica does not lead the partition."""

    code = ErrorCode.NOT_LEADER_OR_FOLLOWER


class NotEnoughReplicas(Refusal):
    """Fewer replicas are in sync than acks=all needs."""

    code = ErrorCode.NOT_ENOUGH_REPLICAS


class OffsetOutOfRange(Refusal):
    """No record of the log has the offset asked for, and none will have it next."""

    code = ErrorCode.OFFSET_OUT_OF_RANGE


class UnsupportedVersion(Refusal):
    """The broker cannot do what the request asks for, at the feature levels that are in force."""

    code = ErrorCode.UNSUPPORTED_VERSION


class UnknownTopicOrPartition(Refusal):
    """The node does not host the partition."""

    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class Impossible(Exception):
    """Our own bug: a caller of the reference broke its contract."""


class UnsupportedCodec(Exception):
    """The records of a batch are compressed with a codec that is not read here; its header is."""
