"""A session on the specification: a broker whose every answer and change is one of the protocol's decisions."""

from collections.abc import Sequence

from model_tests.conform.answers import (
    Added,
    Answer,
    EndTxnAnswer,
    Initialized,
    MarkersWritten,
    MarkerWritten,
    ObservableState,
    RecordedFetchAnswer,
    Silence,
    TransactionsListed,
)
from model_tests.conform.decision_log import Decision, Ruled, marker_ruled
from model_tests.conform.requests import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    AwaitProducerExpiry,
    AwaitState,
    BumpEpochs,
    InjectTransactionState,
    JoinSync,
    KnownProducer,
    ListTransactions,
    RecordedEndTxn,
    RecordedFetch,
    RecordedInitProducerId,
    RecordedMarker,
    RecordedOffsetCommit,
    RecordedOffsetFetch,
    RecordedProduce,
    RecordedTxnOffsetCommit,
    Request,
    Restart,
    Settle,
    WriteTxnMarkers,
)
from model_tests.conform.sessions import DEFAULT_SEGMENT_BYTES
from model_tests.conform.specified_coordinator import STATES, Coordinator
from model_tests.conform.specified_offsets import TOPIC, SpecifiedGroups
from model_tests.conform.specified_partition import SpecifiedPartition, fetched, marker_request
from model_tests.conform.specified_produce import SpecifiedProduce
from spec import rules
from spec.protocol import coordinator, ending, ids, registering
from spec.protocol.append import NONE_DROPPED
from spec.protocol.completing import MarkerRequest
from spec.versions import Profile
from spec.vocabulary import ErrorCode

FORGOTTEN = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND.name
"""What a session waits for when a transactional id is to expire."""


class OnSpecification:
    """A broker that does what the specification decides."""

    def __init__(
        self,
        profile: Profile,
        partitions: Sequence[str],
        segment_bytes: int = DEFAULT_SEGMENT_BYTES,
        without: frozenset[str] = NONE_DROPPED,
    ) -> None:
        """Fresh partitions under a profile; `without` names guards of groups and offsets that never apply."""
        self.overtaking = 0
        self.lagging = False
        self.leaderless = False
        self._idle: frozenset[KnownProducer] = frozenset()
        self._marked: tuple[Decision, ...] = ()
        self._profile = profile
        self._partitions = {name: SpecifiedPartition(profile, segment_bytes) for name in partitions}
        self._coordinator = Coordinator(profile, self._write_marker)
        self._producing = SpecifiedProduce(profile, self._partitions, self._coordinator, self._pause)
        self._groups = SpecifiedGroups(profile, self._partitions, self._coordinator, without)

    def answer(self, request: Request) -> Answer:
        """Answer a request, and bring to its end what it set under way."""
        answer = self.answer_at_once(request)
        self.settle()
        return answer

    def answer_at_once(self, request: Request) -> Answer:
        """Answer a request; what it sets under way is owed.

        Raises:
            NotImplementedError: there is no decision for such a request.
        """
        self._coordinator.now += 1
        self._coordinator.ruled, self._producing.decided, self._groups.ruled, self._marked = (), (), (), ()
        requested = (self._client, self._coordination, self._group, self._passing)
        answer = next((found for found in (answer_of(request) for answer_of in requested) if found is not None), None)
        if answer is None:
            raise NotImplementedError(f"{type(request).__name__} is not answered yet")
        return answer

    @property
    def decided(self) -> tuple[Decision, ...]:
        """The decisions on the last request, and on what it set under way as far as it has come."""
        return (*self._marked, *self._producing.decided, *self._groups.ruled, *self._coordinator.ruled)

    def owed(self) -> int:
        """How many markers, or ends of transactions without any, are still to come."""
        return self._coordinator.owed()

    def settle(self, most: int | None = None) -> None:
        """The markers that are owed are written, or the first so many; groups come to theirs, or lag."""
        if not self.lagging:
            self._groups.catch_up()
        self._coordinator.settle(most)

    def _pause(self) -> None:
        self.settle(self.overtaking)

    def is_late(self) -> bool:
        """Whether some partition has not looked yet for producers that may have been idle for too long."""
        return bool(self._idle)

    def catch_up(self) -> None:
        """Such partitions look now, and forget them."""
        for name, partition in self._partitions.items():
            idle = {int(producer) for where, producer in self._idle if where == name}
            partition.forget(kept=partition.known() - idle)
        self._idle = frozenset()

    def seen(self) -> ObservableState:
        """What is observable of every partition and transactional id now."""
        partitions = {name: partition.seen() for name, partition in self._partitions.items()}
        return ObservableState(partitions, self._coordinator.seen(), self._groups.seen())

    def _client(self, request: Request) -> Answer | None:
        match request:
            case RecordedProduce():
                return self._producing.produce(request)
            case RecordedFetch():
                return self._fetch(request)
            case WriteTxnMarkers():
                return MarkersWritten(tuple(self._write(marker) for marker in request.markers))
        return None

    def _coordination(self, request: Request) -> Answer | None:
        match request:
            case RecordedInitProducerId():
                return self._initialize(request)
            case BumpEpochs():
                return self._bump(request)
            case AddPartitionsToTxn():
                return self._add(request)
            case RecordedEndTxn():
                return self._end(request)
            case ListTransactions():
                unknown = tuple(state for state in request.states if state not in STATES)
                return TransactionsListed(ErrorCode.NONE, self._coordinator.listed(request), unknown)
        return None

    def _group(self, request: Request) -> Answer | None:
        match request:
            case AddOffsetsToTxn():
                return self._groups.add(request)
            case RecordedTxnOffsetCommit():
                return self._groups.commit_in_transaction(request)
            case RecordedOffsetCommit():
                return self._groups.commit(request)
            case RecordedOffsetFetch():
                return self._groups.fetch(request)
            case JoinSync():
                return self._groups.join(request)
        return None

    def _passing(self, request: Request) -> Answer | None:
        """What the recorder did, or waited for."""
        match request:
            case Restart():
                self._restart(request)
            case AwaitState() if FORGOTTEN in request.states:
                self._coordinator.expire(request.transactional_id)
                self._forget(request.kept)
            case AwaitState():
                self._coordinator.time_out(request.transactional_id)
            case AwaitProducerExpiry():
                self._forget(request.kept)
            case InjectTransactionState():
                self._coordinator.inject(request)
            case Settle():
                pass
            case _:
                return None
        return Silence()

    def _fetch(self, request: RecordedFetch) -> RecordedFetchAnswer:
        partition = self._partitions.get(request.partition)
        if partition is None:
            return RecordedFetchAnswer(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        decided, answer = fetched(partition, request)
        guard = "readable" if decided.error == ErrorCode.NONE else "out_of_range"
        committed = (rules.LSO_READ_COMMITTED, rules.LSO_ABORTED_INDEX) if request.committed_only else ()
        on = f"offset {request.offset}, bound {decided.bound}"
        self._marked = (Ruled(request.partition, guard, (rules.LSO_BOUNDS, *committed), on),)
        return answer

    def _initialize(self, request: RecordedInitProducerId) -> Initialized:
        if request.transactional_id is None:
            return Initialized(ErrorCode.NONE, self._coordinator.fresh_producer(), 0)
        error, identity = self._coordinator.initialize(request.transactional_id, request)
        worded = coordinator.worded(error, request.version, ids.FENCED_SINCE)
        return Initialized(ErrorCode(worded), identity.producer_id, identity.producer_epoch)

    def _bump(self, request: BumpEpochs) -> Initialized:
        error, identity = self._coordinator.bump(request)
        return Initialized(ErrorCode(error), identity.producer_id, identity.producer_epoch)

    def _add(self, request: AddPartitionsToTxn) -> Added:
        exist = {partition: partition in self._partitions for partition in request.partitions}
        if all(exist.values()):
            errors = self._coordinator.register(request)
        else:
            together = ErrorCode.NONE.value
            errors = {
                name: registering.refused_together(together, known, all_exist=False) for name, known in exist.items()
            }
            about = (rules.TXN_REGISTERED_BEFORE_DATA,)
            self._marked = (Ruled(request.transactional_id, "refused_together", about, "a partition is not there"),)
        if ErrorCode.UNSUPPORTED_VERSION.value in errors.values():
            return Added({}, ErrorCode.UNSUPPORTED_VERSION)
        return Added(
            {name: _worded(error, request.version, registering.FENCED_SINCE) for name, error in errors.items()}
        )

    def _end(self, request: RecordedEndTxn) -> EndTxnAnswer:
        error, identity = self._coordinator.end(request)
        worded = _worded(error, request.version, ending.FENCED_SINCE)
        return EndTxnAnswer(worded, identity.producer_id, identity.producer_epoch)

    def _write(self, marker: RecordedMarker) -> MarkerWritten:
        request = marker_request(marker)
        errors = {name: ErrorCode(self._write_marker(name, request, marker.committed)) for name in marker.partitions}
        return MarkerWritten(request.producer_id, errors)

    def _write_marker(self, name: str, marker: MarkerRequest, commits: bool) -> int:
        partition = self._partitions.get(name)
        if name.startswith(TOPIC):
            decided = self._groups.mark(name, marker, commits=commits, caught_up=not self.lagging)
        elif partition is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.value
        else:
            decided = partition.mark(name, marker, commits=commits)
        self._marked += (marker_ruled(decided, self._profile),)
        return int(decided.reply.error)

    def _restart(self, request: Restart) -> None:
        self._marked = (Ruled("every partition", "reloaded", (rules.SEQ_STATE_RECOVERABLE,), ""),)
        for partition in self._partitions.values():
            partition.restart()
        self._groups.restart()
        dropped = self.leaderless and self._profile.leaderless_marker_dropped
        self._coordinator.restart(request.coordinator_epoch, leaderless=dropped)
        self.leaderless = False

    def _forget(self, kept: frozenset[KnownProducer]) -> None:
        self._idle = kept
        about = (rules.SEQ_FIRST, rules.LSO_DECIDED_BELOW)
        self._marked = (Ruled("every partition", "forgotten", about, "producers without an open transaction"),)
        for name, partition in self._partitions.items():
            partition.forget({int(producer) for where, producer in kept if where == name})
        self._groups.forget(kept)


def _worded(error: int, version: int, fenced_since: int) -> ErrorCode:
    return ErrorCode(coordinator.worded(error, version, fenced_since))
