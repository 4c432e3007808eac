"""Produce: a client's batches are appended one by one, and answered together."""

from dataclasses import dataclass, field
from typing import Any, Final

from reference.broker.produce import ProduceRequest, check_one_producer, check_transactional_id
from reference.broker.transaction_metadata import TopicPartition
from reference.client.partition_queue import ProducerBatch
from reference.client.producer import Attempt
from reference.client.producer import AttemptReply as ProduceReply
from reference.errors import Refusal, UnsupportedCodec
from reference.log.batch import RecordBatch
from reference.log.codecs import TooLarge
from reference.log.reader import BatchDamage, DamageKind, read_batches
from reference.log.record import MalformedRecords
from reference.log.validation import ill_formed
from reference.server.configs import max_message_bytes
from reference.server.errors import ServerError
from reference.server.service import ClientRequest, Service, by_topic
from reference.wire.codec import MalformedRequest
from reference.world.history import NO_ACKS
from reference.world.messages import Answer, Produce
from spec.versions import Profile
from spec.vocabulary import ABSENT, NO_OFFSET, NO_TIMESTAMP, ErrorCode, Timestamp

ZSTD: Final = "zstd"
ZSTD_SINCE: Final = 7
"""First version of Produce that may carry batches that Zstandard has compressed (KIP-110)."""

MOST_PLAIN_BYTES: Final = 64 << 20
"""Of a batch without its compression: 64 times the largest batch by default. Kafka has no such bound: it reads the
records of a batch one after the other; here they are all in memory."""

IDS_SINCE: Final = 13
"""First version of Produce that names topics by id."""

_DAMAGES: Final = {DamageKind.CHECKSUM: ErrorCode.CORRUPT_MESSAGE}
"""The error for bytes that are no batch; for all others that of what is ill formed."""


@dataclass(slots=True)
class _Part:
    """One partition's part of a Produce, and its answer once there is one."""

    topic: Any
    number: int
    partition: TopicPartition | None
    batches: tuple[RecordBatch, ...] = ()
    error: int = ErrorCode.NONE
    answer: ProduceReply | None = None

    @property
    def outcome(self) -> int:
        """Its error, 0 if there is none."""
        return self.error or (self.answer.error if self.answer else ErrorCode.NONE)

    def fields(self) -> dict[str, Any]:
        """The part as the answer has it."""
        reply = self.answer or ProduceReply(ErrorCode.NONE)
        return {
            "index": self.number,
            "error_code": int(self.outcome),
            "base_offset": reply.offset if not self.error else NO_OFFSET,
            "log_append_time_ms": reply.log_append_time if not self.error else NO_TIMESTAMP,
            "log_start_offset": reply.log_start if not self.error else NO_OFFSET,
            "record_errors": [],
            "error_message": None,
        }


@dataclass(slots=True)
class _Produced:
    """A Produce of which some partitions are answered."""

    call: ClientRequest
    parts: list[_Part] = field(default_factory=list)
    waiting: int = 0

    def answer_if_whole(self) -> None:
        """Answer the client once every partition has its answer."""
        if self.waiting:
            return
        if self.call.message.acks == NO_ACKS:
            self._end_without_answer()
            return
        listed = [(part.topic, part.fields()) for part in self.parts]
        names = {"name": "name", "topic_id": "topic_id"}
        self.call.reply({"responses": by_topic(listed, "partition_responses", **names)})

    def _end_without_answer(self) -> None:
        """A client that waits for no answer learns of a refusal by the end of its connection (`KafkaApis`)."""
        refused = next((part for part in self.parts if part.outcome), None)
        if refused is None:
            self.call.reply(None)
        else:
            where = f"{refused.topic.name or refused.topic.topic_id}-{refused.number}"
            self.call.close(f"a batch with acks=0 for {where} is refused with error {int(refused.outcome)}")


def check_readable(profile: Profile, message: Any) -> None:
    """A Produce has one batch for each partition: before 2.4 that is found out while the request is read.

    Raises:
        MalformedRequest: a partition has several batches, or none.
    """
    if profile.invalid_record_has_code:
        return
    for topic in message.topic_data:
        for each in topic.partition_data:
            count = sum(1 for _ in read_batches(bytes(each.records or b"")))
            if count != 1:
                raise MalformedRequest(f"Produce has {count} batches for {topic.name}-{each.index}, and must have one")


def produce(service: Service, call: ClientRequest) -> None:
    """Append a client's batches; with acks=all the answer waits until all are replicated."""
    message = call.message
    produced = _Produced(call)
    for topic in message.topic_data:
        for each in topic.partition_data:
            part = _Part(topic, each.index, service.partition_named(topic, each.index))
            part.error = _missing(service, call, part) or _read(service.settings.profile, part, each, call.version)
            produced.parts.append(part)
    refusal = _refusal(service.settings.profile, message, produced.parts)
    for part in produced.parts:
        if refusal is not None:
            part.error = refusal.code
    _append(service, produced)
    produced.answer_if_whole()


def _missing(service: Service, call: ClientRequest, part: _Part) -> int:
    """Why there is no partition to append to here."""
    if part.partition is None:
        return ServerError.UNKNOWN_TOPIC_ID if call.version >= IDS_SINCE else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    hosts = call.node < service.world.shape.replicas
    return ErrorCode.NONE if hosts else ErrorCode.NOT_LEADER_OR_FOLLOWER


def _read(profile: Profile, part: _Part, sent: Any, version: int) -> int:
    """Read the batches that a client sends for a partition; why they cannot be, 0 if they can."""
    found: list[RecordBatch] = []
    refused = ill_formed(profile).code
    for each in read_batches(bytes(sent.records or b"")):
        if isinstance(each, BatchDamage):
            return _DAMAGES.get(each.kind, refused)
        found.append(each.batch)
    if len(found) != 1:
        return refused
    batch = found[0]
    if batch.codec == ZSTD and version < ZSTD_SINCE:
        return ServerError.UNSUPPORTED_COMPRESSION_TYPE
    if batch.size > max_message_bytes(profile):
        return ErrorCode.MESSAGE_TOO_LARGE
    try:
        batch.records(MOST_PLAIN_BYTES)
    except TooLarge:
        return ErrorCode.MESSAGE_TOO_LARGE
    except UnsupportedCodec:
        return ServerError.UNSUPPORTED_COMPRESSION_TYPE
    except MalformedRecords:
        return refused
    part.batches = (batch,)
    return ErrorCode.NONE


def _refusal(profile: Profile, message: Any, parts: list[_Part]) -> Refusal | None:
    """Why the whole request is refused."""
    batches = {place: part.batches for place, part in enumerate(parts) if part.batches}
    request = ProduceRequest(batches, message.transactional_id, message.acks)
    try:
        check_transactional_id(request)
        check_one_producer(profile, request)
    except Refusal as refusal:
        return refusal
    return None


def _append(service: Service, produced: _Produced) -> None:
    call, message = produced.call, produced.call.message
    for part in produced.parts:
        if part.error or part.partition is None:
            continue
        batch = part.batches[0]
        stub = ProducerBatch(ABSENT, batch.record_count, Timestamp(service.now))
        attempt = Attempt(part.partition.partition, 0, stub, batch)
        body = Produce(call.version, message.transactional_id or "", part.partition, attempt, message.acks)
        produced.waiting += 1
        service.world.submit(call.connection, call.node, body, _taker(produced, part), message.timeout_ms)


def _taker(produced: _Produced, part: _Part) -> Any:
    def take(answer: Answer) -> None:
        if isinstance(answer, ProduceReply):
            part.answer = answer
            produced.waiting -= 1
            produced.answer_if_whole()

    return take
