"""A session on the reference implementation: one broker with its coordinator, real batches and records, in memory."""

from collections.abc import Iterable, Sequence
from typing import Final

from model_tests.conform.answers import (
    Added,
    Answer,
    EndTxnAnswer,
    Initialized,
    MarkersWritten,
    MarkerWritten,
    ObservableState,
    ProduceAnswer,
    RecordedFetchAnswer,
    Silence,
    TransactionsListed,
)
from model_tests.conform.on_reference_broker import ReferenceBroker
from model_tests.conform.on_reference_groups import ReferenceGroups
from model_tests.conform.on_reference_views import (
    appended,
    fetched,
    listed,
    named,
    names_of,
    partition_view,
    sent,
    transaction_view,
)
from model_tests.conform.requests import (
    AddPartitionsToTxn,
    AwaitProducerExpiry,
    AwaitState,
    BumpEpochs,
    InjectTransactionState,
    KnownProducer,
    ListTransactions,
    RecordedEndTxn,
    RecordedFetch,
    RecordedInitProducerId,
    RecordedMarker,
    RecordedProduce,
    Request,
    Restart,
    Settle,
    WriteTxnMarkers,
)
from reference.broker import transaction_api
from reference.broker.ids import ProducerIdentity
from reference.broker.marker_channel import TxnMarker
from reference.broker.produce import ProduceRequest
from reference.errors import OffsetOutOfRange, UnknownTopicOrPartition
from reference.log.partition import READ_COMMITTED, READ_UNCOMMITTED
from reference.log.reading import DEFAULT_SEGMENT_BYTES
from spec.versions import Profile
from spec.vocabulary import CoordinatorEpoch, Epoch, ErrorCode, ProducerId, Timestamp

NOWHERE: Final = -1
"""Number of a partition that the broker does not have."""


class OnReference:
    """A broker of the reference, with producer ids from a controller of its own."""

    def __init__(self, profile: Profile, partitions: Sequence[str], segment_bytes: int = DEFAULT_SEGMENT_BYTES) -> None:
        """Fresh partitions under a profile."""
        self._numbers = {name: number for number, name in enumerate(partitions)}
        self._sent_at: dict[int, Timestamp] = {}
        self._broker = ReferenceBroker(profile, [named(name) for name in partitions], segment_bytes)
        self._groups = ReferenceGroups(self._broker)
        self.overtaking = 0
        self.leaderless = False

    def answer(self, request: Request) -> Answer:
        """Answer a request; then the markers that it set under way are written."""
        answer = self.answer_at_once(request)
        self.settle()
        return answer

    @property
    def lagging(self) -> bool:
        """Whether groups do not come to the markers of their partitions for now."""
        return self._broker.lagging

    @lagging.setter
    def lagging(self, lags: bool) -> None:
        self._broker.lagging = lags

    def owed(self) -> int:
        """How many markers, or ends of transactions without any, are still to come."""
        return self._broker.owed()

    def settle(self, most: int | None = None) -> None:
        """Write the markers that are owed, or the first so many of them."""
        self._broker.settle(most)

    def is_late(self) -> bool:
        """Whether some partition has not looked yet for producers that have been idle for too long."""
        return bool(self._broker.late)

    def catch_up(self) -> None:
        """Such partitions look now."""
        self._broker.catch_up()

    def seen(self) -> ObservableState:
        """What is observable now."""
        partitions = {name: partition_view(self._broker.partitions[n]) for name, n in self._numbers.items()}
        transactions = {
            each: transaction_view(found, self._groups.shown(found.partitions))
            for each, found in self._broker.coordinator.listed()
        }
        return ObservableState(partitions, transactions, self._groups.seen())

    def answer_at_once(self, request: Request) -> Answer:
        """Answer a request; the markers that it set under way are owed."""
        match request:
            case RecordedProduce():
                return self.produce(request)
            case RecordedFetch():
                return self.fetch(request)
            case WriteTxnMarkers():
                return MarkersWritten(tuple(self.write_marker(marker, request.version) for marker in request.markers))
            case Restart():
                self._broker.restart(CoordinatorEpoch(request.coordinator_epoch), leaderless=self.leaderless)
                self.leaderless = False
            case Settle():
                pass
            case AwaitState():
                self._broker.await_state(request.transactional_id, request.states, self._known(request.kept))
            case AwaitProducerExpiry():
                number, kept = self._number(request.partition), self._known(request.kept)
                self._broker.await_producer_expiry(number, int(request.producer_id), kept)
            case InjectTransactionState():
                self.inject(request)
            case _:
                return self._of_coordinator(request)
        return Silence()

    def _of_coordinator(self, request: Request) -> Answer:
        match request:
            case RecordedInitProducerId():
                return self.init_producer_id(request)
            case BumpEpochs():
                return self.bump_epochs(request)
            case AddPartitionsToTxn():
                return self.add_partitions(request)
            case RecordedEndTxn():
                return self.end_txn(request)
            case ListTransactions():
                return self.list_transactions(request)
        answer = self._groups.answer(request)
        if answer is None:
            raise NotImplementedError(f"{type(request).__name__} is not answered yet")
        return answer

    # --- partitions -------------------------------------------------------------------------------------------

    def produce(self, request: RecordedProduce) -> ProduceAnswer:
        """Have the broker handle the batches."""
        numbered = {self._number(batch.partition): batch for batch in request.batches}
        at = self._sent_at.setdefault(request.sent_at, self._broker.clock.now)  # a copy has the time of its original
        batches = {number: sent(batch, at) for number, batch in numbered.items()}
        requested = ProduceRequest(batches, request.transactional_id, request.acks, request.version)
        answers = self._broker.produce(requested, self.overtaking)
        parts = {numbered[number].partition: appended(answer) for number, answer in answers.items()}
        return ProduceAnswer(parts, request.several)

    def fetch(self, request: RecordedFetch) -> RecordedFetchAnswer:
        """Fetch from the partition, and decode what is delivered."""
        isolation = READ_COMMITTED if request.committed_only else READ_UNCOMMITTED
        partition = self._broker.partitions.get(self._number(request.partition))
        if partition is None:
            return RecordedFetchAnswer(UnknownTopicOrPartition.code)
        try:
            return fetched(partition.fetch(request.offset, isolation, request.max_bytes), request.offset)
        except OffsetOutOfRange as refusal:
            return RecordedFetchAnswer(refusal.code)

    def write_marker(self, marker: RecordedMarker, version: int) -> MarkerWritten:
        """Write a marker in a coordinator's place."""
        reported = TxnMarker(
            ProducerId(int(marker.producer_id)),
            Epoch(marker.producer_epoch),
            marker.committed,
            CoordinatorEpoch(marker.coordinator_epoch),
            marker.transaction_version,
        )
        partitions = {name: self._groups.partition(name) for name in marker.partitions}
        errors = {name: self._broker.write_marker(found, reported, version) for name, found in partitions.items()}
        return MarkerWritten(reported.producer_id, errors)

    def _number(self, partition: str) -> int:
        return self._numbers.get(partition, NOWHERE)

    def _known(self, kept: Iterable[KnownProducer]) -> frozenset[tuple[int, ProducerId]]:
        return frozenset((self._number(partition), ProducerId(int(producer))) for partition, producer in kept)

    # --- the coordinator --------------------------------------------------------------------------------------

    def init_producer_id(self, request: RecordedInitProducerId) -> Initialized:
        """Have a producer begin."""
        answer = transaction_api.handle_init_producer_id(
            self._broker.coordinator,
            request.version,
            request.transactional_id,
            request.timeout,
            _identity(request),
        )
        return Initialized(answer.error, *answer.identity)

    def bump_epochs(self, request: BumpEpochs) -> Initialized:
        """Have a producer begin so many times."""
        each = RecordedInitProducerId(0, request.transactional_id, request.timeout)
        *_, last = (self.init_producer_id(each) for _ in range(request.times))
        return last

    def add_partitions(self, request: AddPartitionsToTxn) -> Added:
        """Put partitions into a transaction, or ask about them."""
        requested = transaction_api.AddPartitionsRequest(
            request.version,
            request.transactional_id,
            _identity(request),
            tuple(named(name) for name in request.partitions),
            request.verify_only,
        )
        errors = transaction_api.handle_add_partitions(self._broker.coordinator, requested, self._broker.names.values())
        return Added({names_of([partition])[0]: error for partition, error in errors.items()})

    def end_txn(self, request: RecordedEndTxn) -> EndTxnAnswer:
        """Have a transaction decided."""
        answer = transaction_api.handle_end_txn(
            self._broker.coordinator, request.version, request.transactional_id, _identity(request), request.committed
        )
        return EndTxnAnswer(answer.error, *answer.identity)

    def list_transactions(self, request: ListTransactions) -> TransactionsListed:
        """The ids that pass the filters."""
        producer_ids = [int(producer_id) for producer_id in request.producer_ids]
        found, unknown = transaction_api.list_transactions(self._broker.coordinator, request.states, producer_ids)
        return TransactionsListed(ErrorCode.NONE, listed(found), unknown)

    def inject(self, request: InjectTransactionState) -> None:
        """Write a record into the coordinator's log behind its back."""
        self._broker.inject(
            request.transactional_id,
            _identity(request),
            request.timeout,
            transaction_api.STATE_NAMES[request.state],
            [named(name) for name in request.partitions],
        )


def _identity(
    request: RecordedInitProducerId | AddPartitionsToTxn | RecordedEndTxn | InjectTransactionState,
) -> ProducerIdentity:
    return ProducerIdentity(ProducerId(int(request.producer_id)), Epoch(request.producer_epoch))
