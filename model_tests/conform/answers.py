"""A side's answer to a request, and its state afterwards: the observable fields, and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from model_tests.conform.requests import Request
from spec.vocabulary import ErrorCode


@dataclass(frozen=True, slots=True)
class AppendAnswer:
    """The answer about one partition of a Produce request; -1 where it has no offset."""

    error: ErrorCode
    base_offset: int = -1
    append_time_reported: bool = False
    log_start_offset: int = -1


@dataclass(frozen=True, slots=True)
class ProduceAnswer:
    """The answer to Produce, by partition; `several` if it is recorded so."""

    partitions: Mapping[str, AppendAnswer]
    several: bool


@dataclass(frozen=True, slots=True)
class SeenBatch:
    """One batch as a fetch returns it.

    Attributes:
        marker: COMMIT or ABORT of a control batch, which has no values then; else empty.
        coordinator_epoch: of a control batch.
    """

    base_offset: int
    last_offset: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    transactional: bool
    control: bool
    values: tuple[str, ...] = ()
    marker: str = ""
    coordinator_epoch: int = -1


@dataclass(frozen=True, slots=True)
class RecordedFetchAnswer:
    """The answer to Fetch.

    Attributes:
        aborted: producer id and first offset of each aborted transaction; None under read_uncommitted.
        delivered: offset and value of each record that a client hands on.
    """

    error: ErrorCode
    hw: int = -1
    lso: int = -1
    log_start_offset: int = -1
    aborted: tuple[tuple[int, int], ...] | None = None
    batches: tuple[SeenBatch, ...] = ()
    delivered: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Initialized:
    """The answer to InitProducerId; -1 for both where it is refused."""

    error: ErrorCode
    producer_id: int
    producer_epoch: int


@dataclass(frozen=True, slots=True)
class Added:
    """The answer to AddPartitionsToTxn, by partition.

    Attributes:
        whole: the error of the whole request, which then says nothing of any partition.
    """

    errors: Mapping[str, ErrorCode]
    whole: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True)
class OffsetsAdded:
    """The answer to AddOffsetsToTxn."""

    error: ErrorCode


@dataclass(frozen=True, slots=True)
class OffsetsCommitted:
    """The answer to OffsetCommit and TxnOffsetCommit, by partition."""

    errors: Mapping[str, ErrorCode]


@dataclass(frozen=True, slots=True)
class FetchedOffsetAnswer:
    """The answer about one partition of OffsetFetch; -1 where it has no offset."""

    error: ErrorCode
    offset: int = -1


@dataclass(frozen=True, slots=True)
class OffsetsFetched:
    """The answer to OffsetFetch, by partition; the error is that of the group as a whole."""

    error: ErrorCode
    partitions: Mapping[str, FetchedOffsetAnswer]


@dataclass(frozen=True, slots=True)
class RecordedJoin:
    """The answer to a member that joined a group."""

    error: ErrorCode
    member: str
    generation: int


@dataclass(frozen=True, slots=True)
class EndTxnAnswer:
    """The answer to EndTxn; producer id and epoch for the next transaction are -1 where it has none."""

    error: ErrorCode
    producer_id: int = -1
    producer_epoch: int = -1


@dataclass(frozen=True, slots=True)
class MarkerWritten:
    """The answer about one marker of WriteTxnMarkers, by partition."""

    producer_id: int
    errors: Mapping[str, ErrorCode]


@dataclass(frozen=True, slots=True)
class MarkersWritten:
    """The answer to WriteTxnMarkers, in the order of the request."""

    markers: tuple[MarkerWritten, ...]


@dataclass(frozen=True, slots=True)
class ListedTransaction:
    """A transactional id as ListTransactions shows it."""

    transactional_id: str
    producer_id: int
    state: str


@dataclass(frozen=True, slots=True)
class TransactionsListed:
    """The answer to ListTransactions, in any order."""

    error: ErrorCode
    transactions: tuple[ListedTransaction, ...] = ()
    unknown_states: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Silence:
    """There is no answer, only the state after: a broker is back, or time has passed."""


Answer: TypeAlias = (
    ProduceAnswer
    | RecordedFetchAnswer
    | Initialized
    | Added
    | OffsetsAdded
    | OffsetsCommitted
    | OffsetsFetched
    | RecordedJoin
    | EndTxnAnswer
    | MarkersWritten
    | TransactionsListed
    | Silence
)


@dataclass(frozen=True, slots=True)
class SeenProducer:
    """A producer as DescribeProducers shows it; -1 for what is not there."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    coordinator_epoch: int
    current_txn_start_offset: int


@dataclass(frozen=True, slots=True)
class SeenPartition:
    """A partition as DescribeProducers and ListOffsets show it."""

    producers: tuple[SeenProducer, ...]
    hw: int
    lso: int


@dataclass(frozen=True, slots=True)
class SeenTransaction:
    """A transactional id as DescribeTransactions shows it; the state by Kafka's name, as `CompleteCommit`."""

    state: str
    producer_id: int
    producer_epoch: int
    timeout: int
    started: bool
    partitions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SeenOffset:
    """A group's offset of one partition: the committed one, and what a fetch of stable offsets answers."""

    committed: int
    stable: FetchedOffsetAnswer


@dataclass(frozen=True, slots=True)
class SeenGroup:
    """A group: its offsets by partition, and the producers on the partition where its offsets are kept."""

    offsets: Mapping[str, SeenOffset]
    producers: tuple[SeenProducer, ...]


@dataclass(frozen=True, slots=True)
class ObservableState:
    """What is observable of a side: every partition, every transactional id and every group that it knows.

    An offsets partition is `__consumer_offsets[g0]` where a transaction names it: that of group g0.
    """

    partitions: Mapping[str, SeenPartition] = field(default_factory=dict)
    transactions: Mapping[str, SeenTransaction] = field(default_factory=dict)
    groups: Mapping[str, SeenGroup] = field(default_factory=dict)


class Side(Protocol):
    """One side of the comparison, from a fresh broker on: it knows requests and numbers, but no recording.

    Attributes:
        overtaking: how many of the owed markers are written while a Produce is verified and not yet appended.
        lagging: the coordinator of groups does not come to the markers of their partitions for now, where the release
            lets it lag (KAFKA-17507).
        leaderless: the next broker that comes back continues its transactions before it knows of any leader.
    """

    overtaking: int
    lagging: bool
    leaderless: bool

    def answer(self, request: Request) -> Answer:
        """Answer a request, or do what the recorder did; then whatever was set under way comes to its end.

        Raises:
            NotImplementedError: the side does not know this request.
        """

    def answer_at_once(self, request: Request) -> Answer:
        """The same, but what is set under way is owed."""

    def owed(self) -> int:
        """How many markers, or ends of transactions without any, are still to come."""

    def settle(self, most: int | None = None) -> None:
        """Whatever is owed comes to its end, or the first so many markers do."""

    def is_late(self) -> bool:
        """Whether some partition has not looked yet for producers that have been idle for too long."""

    def catch_up(self) -> None:
        """Such partitions look now."""

    def seen(self) -> ObservableState:
        """What is observable now."""
