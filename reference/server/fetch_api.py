"""Fetch and ListOffsets: what readers are given, and where they may begin."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from reference.broker.transaction_metadata import TopicPartition
from reference.errors import OffsetOutOfRange
from reference.log.partition import READ_COMMITTED, FetchResult, Partition
from reference.recording.recorder import Row
from reference.server.errors import ServerError
from reference.server.service import ClientRequest, Fields, Parked, Service, by_topic
from reference.wire.versions import is_since
from reference.world.partition_readers import consumer_fetch_columns, readable_end
from spec.vocabulary import ABSENT, NO_OFFSET, NO_TIMESTAMP, ErrorCode, Offset

NO_SESSION: Final = 0
"""Every Fetch is a full one: sessions (KIP-227) are refused, and clients go on without."""

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
"""What ListOffsets may ask for instead of a time; nothing here is in tiered storage."""

SINCE: Final = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
"""First version of ListOffsets that may ask for it."""

CHECKED_SINCE: Final = "3.9"
"""First release of those that are served that refuses what the version of a ListOffsets does not have."""

IDS_SINCE: Final = 13
"""First version of Fetch that names topics by id."""


class _PartitionFetch(NamedTuple):
    """One partition of a Fetch."""

    topic: Any
    request: Any
    partition: TopicPartition | None


class _FetchedRecords(NamedTuple):
    """What a partition has for it."""

    error: int
    result: FetchResult | None = None

    @property
    def size(self) -> int:
        """Bytes of its batches."""
        return sum(batch.size for batch in self.result.batches) if self.result else 0


def fetch(service: Service, call: ClientRequest) -> None:
    """Give a reader what it may see; without enough of it the answer waits as long as the reader says."""
    message = call.message
    if message.session_id != NO_SESSION:
        call.reply(
            {"error_code": int(ServerError.FETCH_SESSION_ID_NOT_FOUND), "session_id": NO_SESSION, "responses": []}
        )
        return
    requested = [
        _PartitionFetch(topic, each, service.partition_named(topic, each.partition))
        for topic in message.topics
        for each in topic.partitions
    ]
    waiting = _WaitingFetch(service, call, requested)
    if not waiting.go_on(message.max_wait_ms <= 0 or not requested):
        service.parked.append(Parked(call.node, service.now + message.max_wait_ms, waiting.go_on, call.connection))


@dataclass(slots=True)
class _WaitingFetch:
    """A Fetch that is not answered yet, and how far its partitions could be read when it was last looked at."""

    service: Service
    call: ClientRequest
    fetches: list[_PartitionFetch]
    seen: tuple[int, ...] | None = None

    def go_on(self, due: bool) -> bool:
        """Answer if there is enough, or if it is due; whether it was answered."""
        ends = tuple(self._ends())
        if ends == self.seen and not due:
            return False
        self.seen = ends
        found = list(self._found())
        refused = any(each.error for each in found)
        if not (due or refused or sum(each.size for each in found) >= self.call.message.min_bytes):
            return False
        listed = [
            (request.topic, self._answered(request, each)) for request, each in zip(self.fetches, found, strict=True)
        ]
        responses = by_topic(listed, "partitions", topic="topic", topic_id="topic_id")
        self.call.reply({"error_code": 0, "session_id": NO_SESSION, "responses": responses})
        return True

    def _ends(self) -> Iterator[int]:
        brokers, isolation = self.service.world.brokers, self.call.message.isolation_level
        for each in self.fetches:
            if each.partition is None or not self.service.leads(self.call.node, each.partition):
                yield ABSENT
            else:
                yield readable_end(brokers.partitions[each.partition].leader, isolation)

    def _found(self) -> Iterator[_FetchedRecords]:
        left = self.call.message.max_bytes
        for each in self.fetches:
            found = self._read(each, left)
            left -= found.size
            yield found

    def _read(self, each: _PartitionFetch, left: int) -> _FetchedRecords:
        """What one partition has, of which no more than `left` bytes are wanted; the first batch always is."""
        error = self.service.leader_error(self.call.node, each.partition, each.request.current_leader_epoch)
        if error or each.partition is None:
            by_id = each.partition is None and self.call.version >= IDS_SINCE
            return _FetchedRecords(ServerError.UNKNOWN_TOPIC_ID if by_id else error)
        leader = self.service.world.brokers.partitions[each.partition].leader
        size = min(left, each.request.partition_max_bytes)
        try:
            result = leader.fetch(each.request.fetch_offset, self.call.message.isolation_level, size)
        except OffsetOutOfRange as refusal:
            return _FetchedRecords(refusal.code)
        return _FetchedRecords(
            ErrorCode.NONE, result if left > 0 else result._replace(batches=(), aborted=_none(result))
        )

    def _answered(self, each: _PartitionFetch, found: _FetchedRecords) -> Fields:
        self._record(each, found)
        result = found.result
        fields: dict[str, Any] = {"partition_index": each.request.partition, "error_code": int(found.error)}
        if result is None:
            nothing = {"high_watermark": NO_OFFSET, "last_stable_offset": NO_OFFSET, "log_start_offset": NO_OFFSET}
            return fields | nothing | {"aborted_transactions": None, "records": b""}
        aborted = result.aborted
        listed = (
            None
            if aborted is None
            else [{"producer_id": txn.producer_id, "first_offset": txn.first_offset} for txn in aborted]
        )
        return fields | {
            "high_watermark": result.high_watermark,
            "last_stable_offset": result.last_stable,
            "log_start_offset": result.log_start,
            "aborted_transactions": listed,
            "preferred_read_replica": ABSENT,
            "records": b"".join(batch.encode() for batch in result.batches),
        }

    def _record(self, each: _PartitionFetch, found: _FetchedRecords) -> None:
        """The row of a fetch at a leader; what was refused before the leader was asked is none."""
        if each.partition is None or not self.service.leads(self.call.node, each.partition):
            return
        isolation = self.call.message.isolation_level
        request = consumer_fetch_columns(each.partition, Offset(each.request.fetch_offset), isolation)
        leader = self.service.world.brokers.partitions[each.partition].leader
        reader: Row = {"client": self.service.new_reader()}
        self.service.world.steps.fetched(self.call.node, leader, reader | request, ErrorCode(found.error), found.result)


def _none(result: FetchResult) -> tuple[()] | None:
    """No aborted transactions, where the isolation level has a list of them."""
    return None if result.aborted is None else ()


# --- ListOffsets ----------------------------------------------------------------------------------------------


class _Place(NamedTuple):
    """An offset, the time of its record, and the leader epoch under which it was written."""

    offset: int = NO_OFFSET
    timestamp: int = NO_TIMESTAMP
    leader_epoch: int = ABSENT


def list_offsets(service: Service, call: ClientRequest) -> None:
    """Where partitions begin and end, and where they are at a time."""
    listed = []
    for topic in call.message.topics:
        for request in topic.partitions:
            partition = service.partition_named(topic, request.partition_index)
            error, place = service.leader_error(call.node, partition, request.current_leader_epoch), _Place()
            if request.timestamp < 0 and _is_unknown(service, call, request.timestamp):
                error = ErrorCode.UNSUPPORTED_VERSION
            if not error and partition is not None:
                replicated = service.world.brokers.partitions[partition]
                place = _place(
                    replicated.leader, replicated.leader_epoch, request.timestamp, call.message.isolation_level
                )
            answer = {
                "partition_index": request.partition_index,
                "error_code": int(error),
                "timestamp": place.timestamp,
                "offset": place.offset,
                "leader_epoch": place.leader_epoch,
            }
            listed.append((topic, answer))
    call.reply({"topics": by_topic(listed, "partitions", name="name")})


def _is_unknown(service: Service, call: ClientRequest, timestamp: int) -> bool:
    """Whether the version does not have what is asked for instead of a time, and the release says so."""
    checked = is_since(service.settings.profile, CHECKED_SINCE)
    return checked and (timestamp not in SINCE or call.version < SINCE[timestamp])


def _place(leader: Partition, leader_epoch: int, timestamp: int, isolation: int) -> _Place:
    """What a leader answers to one question.

    Args:
        leader: of the partition.
        leader_epoch: its own.
        timestamp: milliseconds, or what is asked for instead.
        isolation: of the reader: it learns of no offset that it may not read.
    """
    end = leader.last_stable if isolation == READ_COMMITTED else leader.high_watermark
    if timestamp == LATEST:
        return _Place(end, leader_epoch=leader_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        first = next(leader.log.walk(leader.log_start, leader.log_end), None)
        return _Place(leader.log_start, leader_epoch=leader_epoch if first is None else first.leader_epoch)
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return _Place()
    if timestamp == MAX_TIMESTAMP:
        times = [batch.max_timestamp for batch in leader.log.walk(leader.log_start, end)]
        timestamp = max(times, default=-1)
        if timestamp < 0:
            return _Place()
    return _at_time(leader, timestamp, end)


def _at_time(leader: Partition, timestamp: int, end: int) -> _Place:
    """The first record below `end` that is not older."""
    first = leader.log.offset_for_time(timestamp)
    for batch in () if first is None else leader.log.walk(first, end):
        if batch.max_timestamp < timestamp:
            continue
        for record in batch.records():
            offset, at = batch.base_offset + record.offset_delta, batch.base_timestamp + record.timestamp_delta
            if at >= timestamp and leader.log_start <= offset < end:
                return _Place(offset, at, batch.leader_epoch)
    return _Place()
