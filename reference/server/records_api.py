"""DeleteRecords, OffsetForLeaderEpoch, WriteTxnMarkers: what leaders of partitions are asked beside records."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from reference.broker.marker_channel import TxnMarker
from reference.broker.transaction_api import OFFSETS_TOPIC
from reference.broker.transaction_metadata import TopicPartition
from reference.log.producer_append import UNKNOWN_VERSION
from reference.replication.messages import UNDEFINED
from reference.server.errors import ServerError
from reference.server.service import ClientRequest, Parked, Service, by_topic
from reference.server.world import TakeAnswer
from reference.world.messages import Answer, MarkerAnswer, WriteMarker
from spec.vocabulary import (
    NO_EPOCH,
    NO_OFFSET,
    NO_PRODUCER_ID,
    CoordinatorEpoch,
    Epoch,
    ErrorCode,
    LeaderEpoch,
    Offset,
    ProducerId,
)

INTERNAL: Final = (OFFSETS_TOPIC, "__transaction_state")
"""The topics that brokers keep for themselves."""


# --- DeleteRecords --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Deletion:
    """One partition's part of a DeleteRecords.

    Attributes:
        topic: as the request names it.
        number: of the partition.
        partition: None if there is none, or nothing is deleted there.
        wanted: where every replica's log is to begin at least.
        error: 0 if there is none.
    """

    topic: Any
    number: int
    partition: TopicPartition | None
    wanted: Offset = NO_OFFSET
    error: int = ErrorCode.NONE


@dataclass(slots=True)
class _WaitingDeletion:
    """A DeleteRecords that is answered when every replica has deleted (`DelayedDeleteRecords`)."""

    service: Service
    call: ClientRequest
    parts: list[_Deletion] = field(default_factory=list)

    def go_on(self, due: bool) -> bool:
        """Answer if all is deleted, or if it is due; whether it was answered."""
        listed, is_whole = [], True
        for part in self.parts:
            error, low = part.error, self._low_watermark(part)
            if not error and low == NO_OFFSET:
                error = self.service.leader_error(self.call.node, part.partition)
            elif not error and low < part.wanted:
                is_whole, error = False, ErrorCode.REQUEST_TIMED_OUT
            answer = {"partition_index": part.number, "low_watermark": low, "error_code": int(error)}
            listed.append((part.topic, answer))
        if is_whole or due:
            self.call.reply({"topics": by_topic(listed, "partitions", name="name")})
        return is_whole or due

    def _low_watermark(self, part: _Deletion) -> Offset:
        """Where the log begins on the replica that has deleted least; -1 where this node does not lead."""
        if part.error or part.partition is None or not self.service.leads(self.call.node, part.partition):
            return NO_OFFSET
        replicas = self.service.world.brokers.partitions[part.partition].replicas
        return min(replica.log_start for replica in replicas)


def delete_records(service: Service, call: ClientRequest) -> None:
    """Let logs begin later, up to their high watermarks; the answer waits for the other replicas."""
    waiting = _WaitingDeletion(service, call)
    for topic in call.message.topics:
        for request in topic.partitions:
            waiting.parts.append(_deleted(service, call, topic, request))
    if not waiting.go_on(due=False):
        deadline_ms = service.now + call.message.timeout_ms
        service.parked.append(Parked(call.node, deadline_ms, waiting.go_on, call.connection))


def _deleted(service: Service, call: ClientRequest, topic: Any, request: Any) -> _Deletion:
    """Delete what is asked of one partition at its leader."""
    partition = service.partition_named(topic, request.partition_index)
    part = _Deletion(topic, request.partition_index, partition)
    if topic.name in INTERNAL:
        part.error = ServerError.INVALID_TOPIC_EXCEPTION
    else:
        part.error = service.leader_error(call.node, partition)
    if not part.error and partition is not None:
        high_watermark = service.world.brokers.partitions[partition].leader.high_watermark
        part.wanted = high_watermark if request.offset == NO_OFFSET else Offset(request.offset)
        part.error = service.world.administrators.delete_records(partition, request.offset)
    return part


# --- OffsetForLeaderEpoch -------------------------------------------------------------------------------------


def offset_for_leader_epoch(service: Service, call: ClientRequest) -> None:
    """Where leader epochs end, by which consumers find out that a log was truncated (KIP-320)."""
    listed = []
    for topic in call.message.topics:
        for request in topic.partitions:
            partition = service.partition_named(topic, request.partition)
            error = service.leader_error(call.node, partition, request.current_leader_epoch)
            end = UNDEFINED
            if not error and partition is not None:
                end = service.world.brokers.partitions[partition].epoch_end(LeaderEpoch(request.leader_epoch))
            found = {"leader_epoch": end.epoch, "end_offset": end.end}
            listed.append((topic, {"partition": request.partition, "error_code": int(error)} | found))
    call.reply({"topics": by_topic(listed, "partitions", topic="topic")})


# --- WriteTxnMarkers ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Marked:
    """A WriteTxnMarkers of which some partitions are answered.

    Attributes:
        errors: by producer and partition, in the order of the request.
        waiting: markers without an answer.
    """

    call: ClientRequest
    errors: dict[int, dict[TopicPartition, int]] = field(default_factory=dict)
    waiting: int = 0

    def note(self, producer_id: int, partition: TopicPartition, error: int) -> None:
        """One marker has its outcome."""
        self.errors.setdefault(producer_id, {})[partition] = int(error)

    def answer_if_whole(self) -> None:
        """Answer once every marker is written or refused."""
        if self.waiting:
            return
        markers = [
            {"producer_id": producer_id, "topics": _topics(errors)} for producer_id, errors in self.errors.items()
        ]
        self.call.reply({"markers": markers})


def _topics(errors: dict[TopicPartition, int]) -> list[dict[str, Any]]:
    topics: dict[str, list[dict[str, int]]] = {}
    for partition, error in errors.items():
        topics.setdefault(partition.topic, []).append({"partition_index": partition.partition, "error_code": error})
    return [{"name": name, "partitions": partitions} for name, partitions in topics.items()]


def write_txn_markers(service: Service, call: ClientRequest) -> None:
    """Write markers as an administrator's tool asks, who aborts a transaction that hangs.

    A marker that names no producer fails the request, in which those before it were written all the same
    (`MemoryRecordsBuilder.validateProducerState`).
    """
    marked, markers = _Marked(call), call.message.markers
    nameless = next((place for place, marker in enumerate(markers) if _names_nobody(marker)), None)
    written = marked if nameless is None else _Marked(replace(call, reply=lambda _: None))
    for marker in markers[:nameless]:
        _write(service, written, marker)
    for marker in markers if nameless is not None else ():
        for partition in _partitions_of(marker):
            marked.note(marker.producer_id, partition, ErrorCode.UNKNOWN_SERVER_ERROR)
    marked.answer_if_whole()


def _names_nobody(marker: Any) -> bool:
    return bool(marker.producer_id <= NO_PRODUCER_ID or marker.producer_epoch <= NO_EPOCH)


def _partitions_of(marker: Any) -> Iterator[TopicPartition]:
    """The partitions that one marker is for, each once."""
    named = (TopicPartition(topic.name, number) for topic in marker.topics for number in topic.partition_indexes)
    return iter(dict.fromkeys(named))


def _write(service: Service, marked: _Marked, marker: Any) -> None:
    """Have one marker written to each of its partitions that is on this node."""
    call = marked.call
    written = TxnMarker(
        ProducerId(marker.producer_id),
        Epoch(marker.producer_epoch),
        marker.transaction_result,
        CoordinatorEpoch(marker.coordinator_epoch),
        marker.transaction_version,
    )
    unsaid = service.settings.profile.marker_epoch_strict and marker.transaction_version == UNKNOWN_VERSION
    for partition in _partitions_of(marker):
        if not _is_here(service, call.node, partition):
            marked.note(marker.producer_id, partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            continue
        if unsaid:  # the log does not take it (`ProducerAppendInfo.appendEndTxnMarker`)
            marked.note(marker.producer_id, partition, ErrorCode.UNKNOWN_SERVER_ERROR)
            continue
        marked.waiting += 1
        body = WriteMarker(call.version, partition, written)
        service.world.administer(call.node, body, _taker(marked, marker.producer_id, partition))


def _is_here(service: Service, node: int, partition: TopicPartition) -> bool:
    """Whether a node has a replica of a partition; offsets are on all nodes."""
    if partition.topic == OFFSETS_TOPIC:
        return service.world.brokers.exists(partition)
    return partition in service.world.brokers.partitions and node < service.world.shape.replicas


def _taker(marked: _Marked, producer_id: int, partition: TopicPartition) -> TakeAnswer:
    def take(answer: Answer) -> None:
        if isinstance(answer, MarkerAnswer):
            marked.note(producer_id, partition, answer.error)
            marked.waiting -= 1
            marked.answer_if_whole()

    return take
