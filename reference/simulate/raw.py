"""Appends that no well-behaved client makes: every branch of the append path, on one partition.

Random epochs, sequences around the last ones and around 2^31-1, duplicates, gaps, batches of a wrong form,
transactions with and without verification, markers of old and new epochs, and a replica that is fed anything.
"""

from typing import Final

from reference.broker.marker_channel import VERSION_WITH_TRANSACTION_VERSION, TxnMarker, reported_transaction_version
from reference.broker.produce import PartitionAnswer, ProduceRequest, handle_produce
from reference.clock import Clock
from reference.errors import Refusal
from reference.event import Event
from reference.log import sequence
from reference.log.batch import CONTROL, RecordBatch, blank_batch, marker_batch
from reference.log.partition import AppendResult, Partition
from reference.log.producer_append import UNKNOWN_VERSION
from reference.log.producer_entry import NO_GUARD, ProducerEntry
from reference.recording.recorder import (
    ObservedState,
    Recorder,
    Value,
    batch_columns,
    observe,
    reply_columns,
    verification_columns,
)
from reference.replication.replicated import ReplicatedPartition
from reference.tape import Tape, Weighted
from reference.world.history import HistoryRows
from reference.world.partition_readers import PartitionReaders
from reference.world.replica_rows import TOPIC, ReplicasBefore, copied_columns, follow, node_name, record_fault
from spec.versions import Profile
from spec.vocabulary import (
    ABSENT,
    MAX_EPOCH,
    MAX_SEQUENCE,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    Api,
    ControlType,
    CoordinatorEpoch,
    Epoch,
    ErrorCode,
    Origin,
    ProducerId,
    Sequence,
)

FIRST_PRODUCER_ID: Final = 1000
PRODUCERS: Final = 3
EXPIRATION_MS: Final = 60_000
"""Few producers, so that batches meet earlier ones; a minute instead of Kafka's day, so that state expires within a
run."""

TRANSACTIONAL_ID: Final = "raw"

ONE_OF_SEVERAL: Final = Weighted((("next", 63), ("zero", 15), ("gap", 8), ("overlap", 8), ("wrap", 6)))
FIRST_OF_ALL: Final = Weighted((("next", 40), ("zero", 10), ("gap", 6), ("wrap", 44)))
"""Where a batch's sequences begin, by weight; a producer that is not known may begin where they end."""


STEPS_OF_EPOCHS: Final = Weighted(((0, 70), (1, 15), (-1, 10), (2, 3), (MAX_EPOCH, 2)))
"""How far a batch's epoch is from its producer's."""

DEFORMITIES: Final = ("sequence", "count", "empty", "offset", "control", "marker")
"""What a broken client does to a batch. Before 2.0 a wrong count is taken, and no follower can copy the batch."""

GUARDS: Final = Weighted((("verified", 75), ("none", 15), ("wrong", 10)))
"""With which guard a transactional batch comes."""


class RawWorld:
    """One partition with followers, and one more replica that copies whatever it is given.

    Attributes:
        partition: the partition and its replicas.
        lone: a follower without a leader, fed raw batches with origin REPLICATION.
        readers: of the partition, one for each isolation level.
    """

    def __init__(self, profile: Profile, trace: int = 0, nodes: int = 2) -> None:
        """An empty partition."""
        self.profile = profile
        self.clock = Clock()
        self.recorder = Recorder(trace, profile)
        self.partition = ReplicatedPartition(profile, nodes, EXPIRATION_MS)
        self.lone = Partition(profile, leads=False, alone=False, expiration_ms=EXPIRATION_MS)
        self.readers = PartitionReaders(self.recorder, HistoryRows(self.recorder, self.clock), 1)
        self._sent = 0

    # --- what is asked ----------------------------------------------------------------------------------------

    def client_produces(self, tape: Tape) -> None:
        """A client sends a batch, of a right or a wrong form, verified or not."""
        leader = self.partition.leader
        batch = self.deformed(tape, self.client_batch(tape, leader))
        guard = self.guard(tape, leader, batch)
        copies = 2 if tape.happens(20) and leader.profile.invalid_record_has_code else 1
        transactional_id = None if tape.happens(30) else TRANSACTIONAL_ID
        request = ProduceRequest({0: (batch,) * copies}, transactional_id, guards={0: guard})
        before = observe(leader, batch.producer_id)
        answer = handle_produce(leader.profile, {0: leader}, request)[0]
        self.record_produce(batch, request, guard, before, answer)

    def coordinator_writes_marker(self, tape: Tape) -> None:
        """A coordinator, current or replaced, ends a transaction that may or may not be open."""
        leader = self.partition.leader
        producer_id = self.producer_id(tape)
        entry = leader.state.entry(producer_id)
        version = tape.pick((1, VERSION_WITH_TRANSACTION_VERSION))
        marker = TxnMarker(
            producer_id,
            self.epoch(tape, entry),
            tape.pick((True, False)),
            CoordinatorEpoch(max(0, entry.coordinator_epoch + tape.pick((0, 1, -1)))),
            self.profile.transaction_version,
        )
        reported = reported_transaction_version(marker, version)
        columns: dict[str, Value] = {"api_version": version, "marker_version": reported, "committed": marker.committed}
        self.append(
            tape, Api.WRITE_TXN_MARKERS, leader, marker.batch(self.clock.now), Origin.COORDINATOR, reported, columns
        )

    def coordinator_writes_data(self, tape: Tape) -> None:
        """A coordinator appends data whose sequences are not checked, as group coordinators do with offsets.

        Kafka numbers them from 0. Only releases that work out offsets from sequences make something of that.
        """
        leader = self.partition.leader
        entry_of = self.producer_id(tape)
        entry = leader.state.entry(entry_of)
        batch = blank_batch(
            tape.between(1, 3),
            producer_id=entry_of,
            epoch=self.epoch(tape, entry),
            base_sequence=0 if self.profile.first_offset_by_sequences else NO_SEQUENCE,
            timestamp=self.clock.now,
            transactional=tape.happens(700),
        )
        self.append(tape, Api.TXN_OFFSET_COMMIT, leader, batch, Origin.COORDINATOR, UNKNOWN_VERSION, {})

    def quorum_appends(self, tape: Tape) -> None:
        """The leader of a Raft quorum appends: epochs are checked, sequences are not."""
        leader = self.partition.leader
        self.append(
            tape, "RaftAppend", leader, self.client_batch(tape, leader), Origin.RAFT_LEADER, UNKNOWN_VERSION, {}
        )

    def lone_replica_copies(self, tape: Tape) -> None:
        """A replica copies a batch or marker that its leader should not have accepted."""
        batch = self.replica_batch(tape).at(self.lone.log_end, self.lone.leader_epoch)
        before = observe(self.lone, batch.producer_id)
        error = ErrorCode.NONE
        try:
            self.lone.replicate(batch)
        except Refusal as refusal:
            error = refusal.code
        self.recorder.record(
            "ReplicaFetch",
            self.clock.now,
            before,
            observe(self.lone, batch.producer_id),
            node="replica",
            client="leader",
            topic=TOPIC,
            partition=1,
            origin=int(Origin.REPLICATION),
            batch_count=1,
            **batch_columns(batch),
            **copied_columns(batch, error),
        )

    # --- replicas and readers -----------------------------------------------------------------------------------

    def follower_fetches(self, tape: Tape) -> bool:
        """Some follower copies the next batch."""
        behind = self.partition.behind()
        if behind:
            follow(self.recorder, self.clock.now, self.partition, 0, tape.pick(behind))
        return bool(behind)

    def reader_fetches(self, tape: Tape) -> bool:
        """Some reader reads on."""
        due = self.readers.due([(0, self.partition.leader)])
        if due:
            self.readers.fetch(tape.pick(due)[0], 0, self.partition.leader_node, self.clock.now, self.partition.leader)
        return bool(due)

    # --- faults -----------------------------------------------------------------------------------------------

    def leader_fails_over(self, tape: Tape) -> bool:
        """A follower in sync takes over."""
        candidates = self.partition.candidates()
        if candidates:
            node = tape.pick(candidates)
            before = ReplicasBefore.of(self.partition.replicas)
            self.partition.fail_over(node, self.clock.now)
            record_fault(self.recorder, "LeaderFailover", self.clock.now, 0, before, node)
        return bool(candidates)

    def broker_restarts(self, tape: Tape) -> bool:
        """A node goes down and comes back."""
        node = tape.below(len(self.partition.replicas))
        before = ReplicasBefore.of(self.partition.replicas)
        self.partition.restart(node, self.clock.now)
        record_fault(self.recorder, "BrokerRestart", self.clock.now, 0, before, node)
        return True

    def producer_state_expires(self, tape: Tape) -> bool:
        """A node forgets silent producers, after a silence."""
        node = tape.below(len(self.partition.replicas))
        before = ReplicasBefore.of(self.partition.replicas)
        self.clock.advance(self.partition.leader.state.expiration_ms)
        self.partition.replicas[node].state.expire(self.clock.now)
        record_fault(self.recorder, "ProducerStateExpiry", self.clock.now, 0, before, node)
        return True

    # --- what a batch may be ----------------------------------------------------------------------------------

    def producer_id(self, tape: Tape) -> ProducerId:
        """One of a few producers."""
        return ProducerId(FIRST_PRODUCER_ID + tape.below(PRODUCERS))

    def epoch(self, tape: Tape, entry: ProducerEntry) -> Epoch:
        """The producer's epoch, or one near it, or the last one."""
        step = STEPS_OF_EPOCHS.pick(tape)
        return Epoch(min(MAX_EPOCH, max(0, max(entry.epoch, 0) + step)))

    def client_batch(self, tape: Tape, partition: Partition) -> RecordBatch:
        """A batch with any epoch and sequence; now and then an exact copy of a recent one, or without producer id."""
        producer_id = self.producer_id(tape)
        entry = partition.state.entry(producer_id)
        count = tape.between(1, 4)
        if tape.happens(30):
            return blank_batch(count, timestamp=self.clock.now, transactional=tape.happens(100))
        epoch, base = self.epoch(tape, entry), self.base_sequence(tape, entry, count)
        if entry.batches and tape.happens(200):
            cached = tape.pick(entry.batches)
            epoch, base = entry.epoch, cached.first_sequence
            count = sequence.decrement(cached.last_sequence, base) + 1
        return blank_batch(
            count,
            producer_id=producer_id,
            epoch=epoch,
            base_sequence=base,
            timestamp=self.clock.now,
            transactional=self.transactional(tape, entry),
        )

    def transactional(self, tape: Tape, entry: ProducerEntry) -> bool:
        """Mostly as the producer's open transaction asks for."""
        return tape.happens(900) if entry.in_transaction else tape.happens(250)

    def base_sequence(self, tape: Tape, entry: ProducerEntry, count: int) -> Sequence:
        """The sequence that comes next, or one near it, or one near the ends of the range."""
        kind = (ONE_OF_SEVERAL if entry.batches else FIRST_OF_ALL).pick(tape)
        if kind == "zero" or (kind == "overlap" and not entry.batches):
            return Sequence(0)
        if kind == "wrap":
            return Sequence(MAX_SEQUENCE - tape.below(count + 1))
        if kind == "overlap":
            return sequence.decrement(entry.last_sequence, tape.below(4))
        following = sequence.increment(entry.last_sequence, 1) if entry.batches else Sequence(0)
        return sequence.increment(following, 1 + tape.below(3)) if kind == "gap" else following

    def deformed(self, tape: Tape, batch: RecordBatch) -> RecordBatch:
        """The batch, or what a broken client makes of it."""
        if not tape.happens(60):
            return batch
        counted = self.lone.profile.records_compared_with_offsets
        kind = tape.pick(DEFORMITIES if counted else [each for each in DEFORMITIES if each != "count"])
        if kind == "sequence":
            return batch._replace(base_sequence=Sequence(-1))
        if kind == "count":
            return batch._replace(last_offset_delta=batch.last_offset_delta + 1)
        if kind == "empty":
            return batch._replace(record_count=0, body=b"")
        if kind == "offset":
            return batch.at(self.partition.leader.log_end, batch.leader_epoch)
        marker = marker_batch(batch.producer_id, batch.producer_epoch, ControlType.COMMIT, 0, self.clock.now)
        return marker if kind == "marker" else marker._replace(attributes=CONTROL)

    def replica_batch(self, tape: Tape) -> RecordBatch:
        """Data or a marker, with any epoch."""
        if not tape.happens(250):
            return self.client_batch(tape, self.lone)
        producer_id = self.producer_id(tape)
        entry = self.lone.state.entry(producer_id)
        outcome = tape.pick((ControlType.COMMIT, ControlType.ABORT))
        return marker_batch(producer_id, self.epoch(tape, entry), outcome, tape.below(3), self.clock.now)

    def guard(self, tape: Tape, leader: Partition, batch: RecordBatch) -> int:
        """The guard of a verification that begins now, of another one, or none."""
        if not batch.is_transactional or batch.producer_id == NO_PRODUCER_ID or not self.profile.partition_verification:
            return NO_GUARD
        kind = GUARDS.pick(tape)
        if kind == "none":
            return NO_GUARD
        lowest = batch.base_sequence
        if tape.happens(100):
            lowest = sequence.decrement(max(lowest, Sequence(0)), 1)
        bumps = self.profile.transaction_version >= 2 and tape.happens(800)
        guard = leader.state.start_verification(batch.producer_id, lowest, batch.producer_epoch, bumps, self.clock.now)
        return guard + 1000 if kind == "wrong" else guard

    # --- rows -------------------------------------------------------------------------------------------------

    def append(
        self,
        tape: Tape,
        api: str,
        leader: Partition,
        batch: RecordBatch,
        origin: Origin,
        marker_version: int,
        columns: dict[str, Value],
    ) -> None:
        """Append at the leader and record the step.

        Args:
            tape: all chance.
            api: the step's name.
            leader: that appends.
            batch: as it was sent.
            origin: who sends it.
            marker_version: transaction version of a marker.
            columns: of the step, beside those of batch and answer.
        """
        guard = self.guard(tape, leader, batch) if origin == Origin.COORDINATOR and not batch.is_control else NO_GUARD
        before = observe(leader, batch.producer_id)
        result: AppendResult | None = None
        error = ErrorCode.NONE
        try:
            result = leader.append(batch, origin, guard, marker_version)
        except Refusal as refusal:
            error = refusal.code
        offsets = (ABSENT, ABSENT) if result is None else (result.first_offset, result.last_offset)
        described = {"origin": int(origin), "client": "coordinator", **columns, **reply_columns(error, *offsets)}
        self.record(api, leader, batch, guard, before, described)

    def record_produce(
        self, batch: RecordBatch, request: ProduceRequest, guard: int, before: ObservedState, answer: PartitionAnswer
    ) -> None:
        """Record a Produce.

        Args:
            batch: the first of the request.
            request: the whole of it.
            guard: that the append carried.
            before: of the leader, as it was observed.
            answer: to the request.
        """
        columns: dict[str, Value] = {
            "origin": int(Origin.CLIENT),
            "client": "client",
            "api_version": request.version,
            "acks": request.acks,
            "batch_count": len(request.batches[0]),
            "transactional_id": request.transactional_id or "",
            **reply_columns(answer.error, answer.base_offset, answer.last_offset, answer.duplicate),
        }
        self.record(Api.PRODUCE, self.partition.leader, batch, guard, before, columns)

    def record(
        self,
        api: str,
        leader: Partition,
        batch: RecordBatch,
        guard: int,
        before: ObservedState,
        columns: dict[str, Value],
    ) -> None:
        """Record a step at the leader.

        Args:
            tape: all chance.
            api: the step's name.
            leader: as it is now.
            batch: as it was sent.
            guard: that the append carried.
            before: of the leader, as it was observed.
            columns: of the step, beside those of the batch.
        """
        described: dict[str, Value] = {"batch_count": 1, "message": self._sent, **batch_columns(batch)}
        described |= verification_columns(before.verification, guard) | columns
        self._sent += 1
        self.recorder.record(
            api,
            self.clock.now,
            before,
            observe(leader, batch.producer_id),
            node=node_name(self.partition.leader_node),
            topic=TOPIC,
            partition=0,
            **described,
        )


RAW: Final = (
    Event(RawWorld.client_produces, 60),
    Event(RawWorld.coordinator_writes_marker, 12),
    Event(RawWorld.coordinator_writes_data, 4),
    Event(RawWorld.quorum_appends, 2),
    Event(RawWorld.lone_replica_copies, 10),
    Event(RawWorld.follower_fetches, 30),
    Event(RawWorld.reader_fetches, 2),
    Event(RawWorld.leader_fails_over, 1, fault="failover"),
    Event(RawWorld.broker_restarts, 1, fault="restart"),
    Event(RawWorld.producer_state_expires, 1, fault="expiry"),
)
"""What happens to the partition and its replicas."""
