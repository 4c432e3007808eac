"""Requests that no well-behaved client makes, at one transaction coordinator: every branch of its decisions.

Any identity near the one that a transactional id has, timeouts that are not allowed, ends and additions at any time;
appends that fail, markers that are answered one by one or not at all; and coordinators that begin with whatever a log
may say of an id, the last epochs and decided transactions included.
"""

from collections.abc import Callable
from typing import Final

from reference.broker.coordinator_errors import CoordinatorNotAvailable, NotCoordinator
from reference.broker.ids import BlockAllocator, ProducerIdentity, ProducerIdManager
from reference.broker.marker_channel import TxnMarker
from reference.broker.transaction_coordinator import CoordinatorConfig, TransactionCoordinator
from reference.broker.transaction_log import AppendFault, TransactionLog
from reference.broker.transaction_metadata import BUMPS_EPOCH, TopicPartition, TransactionMetadata
from reference.broker.transaction_timeouts import abort_timed_out, expire_ids
from reference.client.coordinator_channel import AddOffsets, AddPartitions, EndTxn, InitProducerId
from reference.clock import Clock
from reference.errors import Refusal
from reference.event import Event
from reference.recording.recorder import Recorder, Row
from reference.tape import Tape, Weighted
from reference.world.coordinator_rows import (
    VERIFY_PARTITIONS,
    Memory,
    answer_columns,
    changed,
    known_columns,
    known_of,
    looked_at,
    memory_of,
    request_columns,
    touched_by,
    verify_columns,
)
from reference.world.messages import Verify
from reference.world.node import TransactionRequest, agree, ask_transactions
from reference.world.replica_rows import node_name
from reference.world.steps import TIMEOUT
from spec.versions import Profile
from spec.vocabulary import (
    MAX_EPOCH,
    NO_EPOCH,
    NO_PRODUCER_ID,
    Api,
    CoordinatorEpoch,
    Epoch,
    ErrorCode,
    ProducerId,
    Timestamp,
    TransactionState,
)

NODE: Final = node_name(0)  # of the only coordinator
IDS: Final = ("raw-0", "raw-1", "raw-2")
PARTITIONS: Final = (TopicPartition("t", 0), TopicPartition("t", 1))
GROUP: Final = "raw"
OFFSETS_PARTITIONS: Final = 1  # one group needs no more
CONFIG: Final = CoordinatorConfig(expiration_ms=600_000)

TIMEOUTS: Final = Weighted(((10_000, 60), (60_000, 20), (0, 3), (-1, 3), (CONFIG.max_timeout_ms + 1, 4)))
STEPS_OF_EPOCHS: Final = Weighted(((0, 66), (-1, 16), (1, 10), (-2, 6), (7, 2)))
EPOCHS: Final = Weighted(((0, 15), (5, 15), (MAX_EPOCH - 2, 20), (MAX_EPOCH - 1, 30), (MAX_EPOCH, 20)))
FOUND: Final = (
    TransactionState.EMPTY,
    TransactionState.ONGOING,
    TransactionState.PREPARE_COMMIT,
    TransactionState.PREPARE_ABORT,
    TransactionState.COMPLETE_COMMIT,
    TransactionState.COMPLETE_ABORT,
)
OPEN: Final = (TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
REFUSALS: Final = (CoordinatorNotAvailable, NotCoordinator)


class RawCoordinator:
    """One coordinator of a few transactional ids, asked anything.

    Attributes:
        coordinator: as it is now; another takes its place.
        log: what outlives it.
    """

    def __init__(self, profile: Profile, clock: Clock, recorder: Recorder) -> None:
        """A coordinator that knows no id."""
        self.profile = profile
        self.clock = clock
        self.recorder = recorder
        self.log = TransactionLog(profile, partitions=1)
        self._allocator = BlockAllocator()
        self._producer_ids = ProducerIdManager(self._allocator, profile)
        self._epoch = 0
        self._answers = 0
        self.coordinator = self._next_coordinator()
        self.coordinator.elect(0, CoordinatorEpoch(0))

    def _next_coordinator(self) -> TransactionCoordinator:
        return TransactionCoordinator(
            self.profile, self._producer_ids, self.log, self._write_marker, self.clock, CONFIG
        )

    # --- what is asked ----------------------------------------------------------------------------------------

    def client_initializes(self, tape: Tape) -> None:
        """InitProducerId, with the identity that the client has, another, half of one, or none."""
        transactional_id = tape.pick(IDS)
        expected = None
        if tape.happens(500):
            expected = self._identity(tape, transactional_id)
            if tape.happens(80):
                expected = expected._replace(epoch=NO_EPOCH)
        self._request(InitProducerId(tape.pick((1, 4)), transactional_id, TIMEOUTS.pick(tape), expected))

    def client_adds_partitions(self, tape: Tape) -> None:
        """AddPartitionsToTxn of some partitions, or AddOffsetsToTxn."""
        transactional_id = tape.pick(IDS)
        producer, version = self._identity(tape, transactional_id), tape.pick((0, 3))
        if tape.happens(300):
            self._request(AddOffsets(version, transactional_id, producer, GROUP, {}))
        else:
            partitions = tape.pick((PARTITIONS, PARTITIONS[:1], PARTITIONS[1:]))
            self._request(AddPartitions(version, transactional_id, producer, partitions))

    def client_ends(self, tape: Tape) -> None:
        """EndTxn, with either outcome."""
        transactional_id = tape.pick(IDS)
        version = tape.pick((1, 3, 5) if self.profile.transaction_version >= BUMPS_EPOCH else (1, 3))
        self._request(EndTxn(version, transactional_id, self._identity(tape, transactional_id), tape.happens(500)))

    def broker_asks(self, tape: Tape) -> bool:
        """A broker asks whether a partition is in a transaction; with version 2 it may be there from now on."""
        if not self.profile.partition_verification:
            return False
        transactional_id = tape.pick(IDS)
        adds = self.profile.transaction_version >= BUMPS_EPOCH and tape.happens(300)
        request = Verify(transactional_id, self._identity(tape, transactional_id), tape.pick(PARTITIONS), adds)
        before, error = known_of(self.coordinator, transactional_id), ErrorCode.NONE
        try:
            agree(self.coordinator, request)
        except Refusal as refusal:
            error = refusal.code
        columns = (
            verify_columns(request) | {"error": int(error)} | known_columns("before_", before, (request.partition,))
        )
        columns |= known_columns("after_", known_of(self.coordinator, transactional_id), (request.partition,))
        self._record(Api.ADD_PARTITIONS_TO_TXN if adds else VERIFY_PARTITIONS, columns)
        return True

    def _request(self, request: TransactionRequest) -> None:
        key, touched = request.transactional_id, touched_by(request, OFFSETS_PARTITIONS)
        before = known_of(self.coordinator, key)
        answer = ask_transactions(self.coordinator, request, PARTITIONS, OFFSETS_PARTITIONS)
        columns = request_columns(request, touched) | answer_columns(answer)
        columns |= known_columns("before_", before, touched)
        columns |= known_columns("after_", known_of(self.coordinator, key), touched)
        self._record(request.API, columns)

    def _identity(self, tape: Tape, transactional_id: str) -> ProducerIdentity:
        """The identity of an id, or one near it: another epoch, the producer id before or the next, or a stranger's."""
        entry = self.coordinator.states.remembered(transactional_id)
        if entry is None:
            return ProducerIdentity(ProducerId(0), Epoch(0))
        known = entry.metadata
        producer_id, epoch = known.producer_id, max(0, known.epoch)
        if tape.happens(150):
            others = (known.previous_producer_id, known.next_producer_id, ProducerId(known.producer_id + 1))
            producer_id = tape.pick(others)
            if producer_id == NO_PRODUCER_ID:
                producer_id = ProducerId(known.producer_id + 1)
            epoch = tape.pick((epoch, 0, MAX_EPOCH - 1))
        elif tape.happens(150) and known.last_epoch != NO_EPOCH:
            return ProducerIdentity(producer_id, known.last_epoch)
        return ProducerIdentity(producer_id, Epoch(min(MAX_EPOCH, max(0, epoch + STEPS_OF_EPOCHS.pick(tape)))))

    # --- what happens -----------------------------------------------------------------------------------------

    def markers_are_answered(self, tape: Tape) -> None:
        """One marker that is owed is written, or none is."""
        self._answers = 0 if tape.happens(300) else 1
        self._by_itself("MarkersSent", self.coordinator.send_markers)

    def _write_marker(self, _: TopicPartition, __: TxnMarker) -> ErrorCode | None:
        if not self._answers:
            return ErrorCode.NETWORK_EXCEPTION
        self._answers -= 1
        return ErrorCode.NONE

    def transactions_time_out(self, tape: Tape) -> None:
        """Time passes, and transactions that are open for too long are aborted."""
        self.clock.advance(tape.pick((2_000, 61_000)))
        self._by_itself(TIMEOUT, lambda: abort_timed_out(self.coordinator), looked_at)

    def ids_expire(self, _: Tape) -> None:
        """Much time passes, and ids at rest are forgotten."""
        self.clock.advance(CONFIG.expiration_ms)
        self._by_itself("TransactionalIdExpiry", lambda: expire_ids(self.coordinator))

    def log_fails(self, tape: Tape) -> None:
        """The next append fails; its record may be in the log all the same."""
        if not self.log.faults:
            self.log.faults.append(AppendFault(tape.pick(REFUSALS)(), written=tape.happens(300)))

    def coordinator_fails_over(self, tape: Tape) -> None:
        """Another coordinator reads the log, or begins to; of some ids there is now something else in it."""
        self._by_itself("CoordinatorResignation", lambda: self.coordinator.resign(0))
        self.log.faults.clear()
        for transactional_id in IDS:
            if tape.happens(500):
                self.log.write(transactional_id, self._found(tape), self.clock.now)
        self._epoch += 1
        self.coordinator = self._next_coordinator()
        if tape.happens(150):
            return
        self.coordinator.states.begin_loading(0, CoordinatorEpoch(self._epoch))
        if not tape.happens(150):
            self._by_itself("CoordinatorLoad", lambda: self.coordinator.load(0))

    def _found(self, tape: Tape) -> TransactionMetadata:
        state, epoch = tape.pick(FOUND), EPOCHS.pick(tape)
        bumps = self.profile.transaction_version >= BUMPS_EPOCH and tape.happens(700)
        began = Timestamp(max(0, self.clock.now - tape.pick((0, 30_000))))
        return TransactionMetadata(
            self._producer_ids.generate(),
            Epoch(max(epoch, 1) if bumps else epoch),  # the end of a transaction has raised it
            10_000,
            state,
            frozenset(PARTITIONS[: tape.between(1, 2)]) if state in OPEN else frozenset(),
            began,
            Timestamp(-1) if state == TransactionState.EMPTY else began,
            client_version=BUMPS_EPOCH if bumps else 0,
        )

    def _by_itself(
        self, api: str, happens: Callable[[], object], about: Callable[[Memory, Memory], list[str]] = changed
    ) -> None:
        before = memory_of(self.coordinator)
        happens()
        after = memory_of(self.coordinator)
        for key in about(before, after):
            columns: Row = {"transactional_id": key, "error": 0}
            columns |= known_columns("before_", before.get(key)) | known_columns("after_", after.get(key))
            self._record(api, columns, client=NODE)

    def _record(self, api: str, columns: Row, client: str = "client") -> None:
        self.recorder.record(api, self.clock.now, node=NODE, client=client, **columns)


RAW_COORDINATOR: Final = (
    Event(RawCoordinator.client_initializes, 30),
    Event(RawCoordinator.client_adds_partitions, 30),
    Event(RawCoordinator.client_ends, 30),
    Event(RawCoordinator.broker_asks, 14),
    Event(RawCoordinator.markers_are_answered, 24),
    Event(RawCoordinator.transactions_time_out, 3),
    Event(RawCoordinator.ids_expire, 1),
    Event(RawCoordinator.log_fails, 3),
    Event(RawCoordinator.coordinator_fails_over, 7),
)
"""What happens at a coordinator that is asked anything."""
