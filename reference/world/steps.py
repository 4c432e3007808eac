"""The steps of nodes as rows: Produce, markers, coordinator requests, and what coordinators do by themselves."""

from collections.abc import Sequence
from typing import Final

from reference.broker.produce import PartitionAnswer
from reference.broker.transaction_api import IdentityAnswer
from reference.broker.transaction_coordinator import TransactionCoordinator
from reference.broker.transaction_metadata import TopicPartition
from reference.client.coordinator_channel import AddPartitions, CoordinatorAnswer, InitProducerId
from reference.clock import Clock
from reference.log.partition import FetchResult, Partition
from reference.recording.recorder import (
    NOWHERE,
    Fate,
    ObservedState,
    Recorder,
    Row,
    batch_columns,
    observe,
    reply_columns,
    verification_columns,
)
from reference.recording.trace import ADMIN
from reference.world.coordinator_rows import (
    VERIFY_PARTITIONS,
    CoordinatorState,
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
from reference.world.history import INSTANCE, PRODUCER
from reference.world.messages import (
    Administrator,
    Body,
    BrokerSender,
    ClientSender,
    CoordinatorCall,
    Plain,
    Produce,
    Request,
    Sender,
    Verify,
    WriteMarker,
)
from reference.world.node import TransactionRequest
from reference.world.partition_readers import record_fetch
from reference.world.replica_rows import node_name
from spec.vocabulary import Api, ErrorCode, Origin

TIMEOUT: Final = "TransactionTimeout"
"""The step of a coordinator that looks for transactions past their timeout."""


class TraceSteps:
    """The rows of one trace.

    Attributes:
        recorder: the steps so far.
    """

    __slots__ = ("_clocks", "_offsets_partitions", "recorder")

    def __init__(self, recorder: Recorder, clocks: Sequence[Clock], offsets_partitions: int) -> None:
        """Steps at the time of the nodes' clocks, in a world with so many partitions of `__consumer_offsets`."""
        self.recorder = recorder
        self._clocks = clocks
        self._offsets_partitions = offsets_partitions

    def _record(
        self, api: str, node: int, columns: Row, before: ObservedState = NOWHERE, after: ObservedState = NOWHERE
    ) -> None:
        self.recorder.add(api, self._clocks[node].now, {"node": node_name(node), **columns}, before, after)

    # --- partitions -------------------------------------------------------------------------------------------

    def produced(
        self,
        request: Request,
        requested: Produce,
        guard: int,
        replica: Partition,
        before: ObservedState,
        answer: PartitionAnswer,
        refused: bool,
    ) -> None:
        """A batch of a client was answered: with a guard, or `refused` by its transaction's coordinator.

        Args:
            request: with its sender and node.
            requested: its Produce.
            guard: that the append carried.
            replica: that answered, as it is now.
            before: as it was observed.
            answer: to the request.
            refused: whether the transaction's coordinator said no.
        """
        batch = requested.attempt.records
        columns: Row = {
            "topic": requested.partition.topic,
            "partition": requested.partition.partition,
            "transactional_id": requested.transactional_id,
            "batch": requested.attempt.batch.ordinal,
            "origin": int(Origin.CLIENT),
            "api_version": requested.version,
            "acks": requested.acks,
            "batch_count": 1,
            **batch_columns(batch),
            **verification_columns(before.verification, guard),
            "verification_refused": refused,
            **reply_columns(answer.error, answer.base_offset, answer.last_offset, answer.duplicate),
            **requested.made_by._asdict(),
        }
        self._record(Api.PRODUCE, request.node, who(request) | columns, before, observe(replica, batch.producer_id))

    def marked(
        self,
        request: Request,
        requested: WriteMarker,
        replica: Partition,
        before: ObservedState,
        error: ErrorCode,
        last: int,
    ) -> None:
        """A marker was answered by a replica.

        Args:
            request: with its sender and node.
            requested: its marker.
            replica: that answered, as it is now.
            before: as it was observed.
            error: the answer.
            last: offset of the marker, -1 if it is not in the log.
        """
        columns: Row = {
            "topic": requested.partition.topic,
            "partition": requested.partition.partition,
            "origin": int(Origin.COORDINATOR),
            "api_version": requested.version,
            "batch_count": 1,
            "marker_version": requested.marker_version,
            **batch_columns(requested.marker.batch(self._clocks[request.node].now)),
            **reply_columns(error, last, last),
        }
        self._record(
            Api.WRITE_TXN_MARKERS,
            request.node,
            who(request) | columns,
            before,
            observe(replica, requested.marker.producer_id),
        )

    def fetched(self, node: int, leader: Partition, request: Row, error: ErrorCode, result: FetchResult | None) -> None:
        """A reader's fetch was answered by a leader.

        Args:
            node: of the leader.
            leader: as it is now.
            request: columns of the request.
            error: the answer.
            result: what was given, None with an error.
        """
        record_fetch(self.recorder, self._clocks[node].now, node, request, observe(leader), error, result)

    def described(self, node: int, partition: TopicPartition, leader: Partition) -> None:
        """An administrator was shown the producers of a partition: one row for each."""
        for active in leader.describe_producers():
            columns: Row = {
                "client": ADMIN,
                "topic": partition.topic,
                "partition": partition.partition,
                "producer_id": active.producer_id,
                "producer_epoch": active.epoch,
                "base_sequence": active.last_sequence,
                "coordinator_epoch": active.coordinator_epoch,
                "first_offset": active.txn_first_offset,
                "timestamp_ms": active.last_timestamp,
                "error": 0,
            }
            seen = observe(leader, active.producer_id)
            self._record(Api.DESCRIBE_PRODUCERS, node, columns, seen, seen)

    # --- groups -----------------------------------------------------------------------------------------------

    def of_group(self, api: str, node: int, client: str, columns: Row) -> None:
        """A group's coordinator has answered about one offset.

        Args:
            api: the step's name.
            node: of the group's coordinator.
            client: who asked.
            columns: of request and answer.
        """
        self._record(api, node, columns | {"client": client})

    # --- coordinators -----------------------------------------------------------------------------------------

    def listed(self, node: int, coordinator: TransactionCoordinator) -> None:
        """An administrator was shown the ids of a coordinator: one row for each."""
        for key, known in sorted(memory_of(coordinator).items()):
            columns: Row = {"client": ADMIN, "transactional_id": key, "error": 0}
            columns |= known_columns("before_", known) | known_columns("after_", known)
            self._record(Api.LIST_TRANSACTIONS, node, columns)

    def identified(self, node: int, client: str, answer: IdentityAnswer) -> None:
        """A producer without transactional id was answered: a producer id, or why it gets none."""
        given: Row = {"reply_producer_id": answer.identity.producer_id, "reply_epoch": answer.identity.epoch}
        columns: Row = {"node": node_name(node), "client": client, "error": int(answer.error), **given}
        self._record(Api.INIT_PRODUCER_ID, node, columns)
        self.recorder.annotate(Fate.ANSWERED, Api.INIT_PRODUCER_ID, columns)

    def answered_by_coordinator(
        self,
        request: Request,
        requested: TransactionRequest,
        before: CoordinatorState | None,
        coordinator: TransactionCoordinator,
        answer: CoordinatorAnswer,
    ) -> None:
        """A client's request was answered by a coordinator.

        Args:
            request: with its sender and node.
            requested: what the client wants.
            before: the id, as the coordinator knew it, None if it did not.
            coordinator: as it is now.
            answer: to the request.
        """
        key, touched = requested.transactional_id, touched_by(requested, self._offsets_partitions)
        columns = request_columns(requested, touched) | answer_columns(answer) | transaction_of(request.body)
        columns |= known_columns("before_", before, touched)
        columns |= known_columns("after_", known_of(coordinator, key), touched)
        verifies = isinstance(requested, AddPartitions) and requested.verify_only
        self._record(VERIFY_PARTITIONS if verifies else requested.API, request.node, who(request) | columns)

    def verified(
        self,
        request: Request,
        requested: Verify,
        before: CoordinatorState | None,
        coordinator: TransactionCoordinator,
        error: ErrorCode,
    ) -> None:
        """A broker's question was answered by a coordinator.

        Args:
            request: with its sender and node.
            requested: of which transaction and partitions.
            before: the id, as the coordinator knew it, None if it did not.
            coordinator: as it is now.
            error: the answer.
        """
        key = requested.transactional_id
        columns = verify_columns(requested) | {"error": int(error), "transaction": requested.transaction}
        columns |= known_columns("before_", before, (requested.partition,))
        columns |= known_columns("after_", known_of(coordinator, key), (requested.partition,))
        api = Api.ADD_PARTITIONS_TO_TXN if requested.adds else VERIFY_PARTITIONS
        self._record(api, request.node, who(request) | columns)

    def answered(
        self, node: int, before: Memory, coordinator: TransactionCoordinator, marker: WriteMarker, error: ErrorCode
    ) -> None:
        """A coordinator has an answer about a marker: one row for each id that is not what it was.

        Args:
            node: of the coordinator.
            before: all ids, as it knew them.
            coordinator: as it is now.
            marker: as it was sent; the row of its own id has the answer.
            error: the answer.
        """
        producer, touched = marker.marker.producer_id, (marker.partition,)
        after = memory_of(coordinator)
        for key in changed(before, after):
            columns: Row = {"client": node_name(node), "transactional_id": key, "error": 0}
            known = before.get(key)
            if known is not None and known.metadata.producer_id == producer:
                columns |= {"topic": marker.partition.topic, "partition": marker.partition.partition}
                columns["marker_error"] = int(error)
            columns |= known_columns("before_", known, touched) | known_columns("after_", after.get(key), touched)
            self._record("MarkerAnswered", node, columns)

    def changed(self, api: str, node: int, before: Memory, coordinator: TransactionCoordinator) -> None:
        """A coordinator did something by itself: one row for each id that is not what it was.

        Args:
            api: the step's name.
            node: of the coordinator.
            before: all ids, as it knew them.
            coordinator: as it is now.
        """
        after = memory_of(coordinator)
        self._by_itself(api, node, before, after, changed(before, after))

    def looked_for_timeouts(self, node: int, before: Memory, coordinator: TransactionCoordinator) -> None:
        """A coordinator looked for transactions past their timeout: also a row for each that is still open.

        Args:
            node: of the coordinator.
            before: all ids, as it knew them.
            coordinator: as it is now.
        """
        after = memory_of(coordinator)
        self._by_itself(TIMEOUT, node, before, after, looked_at(before, after))

    def _by_itself(self, api: str, node: int, before: Memory, after: Memory, about: Sequence[str]) -> None:
        for key in about:
            columns: Row = {"client": node_name(node), "transactional_id": key, "error": 0}
            columns |= known_columns("before_", before.get(key)) | known_columns("after_", after.get(key))
            self._record(api, node, columns)


def who(request: Request) -> Row:
    """Who sent a request, and which sending it is."""
    return {"client": sender_name(request.sender), "message": request.number}


def sender_name(sender: Sender) -> str:
    """Name of a sender in rows."""
    match sender:
        case BrokerSender(node):
            return node_name(node)
        case ClientSender(instance):
            return f"{INSTANCE}{instance}"
        case Plain(producer):
            return f"{PRODUCER}{producer}"
        case Administrator():
            return ADMIN


def transaction_of(body: Body) -> Row:
    """Which of its client's transactions a request belongs to: InitProducerId to none."""
    if isinstance(body, CoordinatorCall) and not isinstance(body.request, InitProducerId):
        return {"transaction": body.transaction}
    return {}
