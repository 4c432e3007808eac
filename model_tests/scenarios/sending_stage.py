"""One producer that takes records: to which partitions they go, and in which requests."""

from dataclasses import dataclass, field
from typing import Final

from model_tests.monitor.story import Story
from reference.broker.ids import ProducerIdentity
from reference.client.partitioners import ByKey, Partitioner, RoundRobin
from reference.client.producer import AttemptReply, IdempotentProducer
from reference.client.producer_settings import ProducerSettings
from reference.client.record_producer import RecordProducer
from reference.client.sender import ProduceCall
from reference.client.sent_record import SentRecord
from reference.clock import Clock
from reference.log.record import Record
from reference.recording.recorder import Recorder
from spec.versions import NEWEST
from spec.vocabulary import Epoch, ErrorCode, Offset, ProducerId

PRODUCER: Final = "producer"
BROKER: Final = "broker"


@dataclass(frozen=True, slots=True)
class OfSending:
    """A setting of one producer.

    Attributes:
        description: releases and settings, for a person to read.
        partitions: of the topic; one broker leads them all.
        settings: of the producer.
        most_bytes: a batch that is larger is refused (max.message.bytes).
    """

    description: str
    partitions: int = 2
    settings: ProducerSettings = field(default=ProducerSettings())
    most_bytes: int = 1_048_588

    @property
    def words(self) -> str:
        """Releases and settings."""
        return self.description

    def stage(self) -> "SendingStage":
        """A producer that has sent nothing."""
        return SendingStage(self)


class SendingStage:
    """A producer, a broker that takes everything that is not too large, and what passes between them.

    Attributes:
        producer: of records.
        sent: records that were handed over.
        requests: for each request that was sent, the records of each partition.
    """

    def __init__(self, setting: OfSending) -> None:
        """The producer has its producer id, and goes by keys."""
        self.story = Story(Recorder(0, NEWEST))
        self.clock = Clock()
        self.sent: list[SentRecord] = []
        self.requests: list[str] = []
        self._setting = setting
        self._ends = [0] * setting.partitions
        self.has(setting.partitions)

    @property
    def cast(self) -> tuple[str, ...]:
        """The producer and the broker."""
        return (PRODUCER, BROKER)

    def has(self, partitions: int, partitioner: Partitioner | None = None) -> None:
        """The producer starts, and finds so many partitions."""
        batches = IdempotentProducer(partitions)
        batches.identified(ProducerIdentity(ProducerId(7), Epoch(0)))
        chosen = partitioner or ByKey(RoundRobin())
        self.producer = RecordProducer(batches, chosen, [0] * partitions, self._setting.settings)
        self._ends += [0] * (partitions - len(self._ends))

    # --- what a scenario does -----------------------------------------------------------------------------------

    def send(self, *records: str) -> list[SentRecord]:
        """Records are handed over: `k=v` has the key k, `v` has none."""
        handed = []
        for record in records:
            key, _, value = record.rpartition("=")
            handed.append(self.producer.send(key.encode() or None, value.encode(), self.clock.now))
        self.sent += handed
        return handed

    def goes_on(self, milliseconds: int = 0) -> list[ProduceCall]:
        """Time passes, and the producer sends what it may; what is under way."""
        self.clock.advance(milliseconds)
        calls = self.producer.sender.run(self.clock.now)
        for call in calls:
            self.requests.append("; ".join(f"t-{a.partition}: {names_of(a.records.records())}" for a in call.attempts))
            self.story.say(PRODUCER, BROKER, f"Produce {self.requests[-1]}")
        return calls

    def answer(self, call: ProduceCall) -> None:
        """The broker answers for each partition."""
        replies = {attempt.partition: self._reply(attempt.partition, attempt.records.size) for attempt in call.attempts}
        for attempt in call.attempts:
            reply = replies[attempt.partition]
            if reply.error is ErrorCode.NONE:
                self._ends[attempt.partition] += attempt.records.record_count
            reported = f"offset {reply.offset}" if reply.error is ErrorCode.NONE else reply.error.name
            self.story.say(
                BROKER, PRODUCER, f"t-{attempt.partition}: {reported}", refuses=reply.error is not ErrorCode.NONE
            )
        self.producer.sender.receive(call, replies, self.clock.now)

    def _reply(self, partition: int, size: int) -> AttemptReply:
        if size > self._setting.most_bytes:
            return AttemptReply(ErrorCode.MESSAGE_TOO_LARGE)
        return AttemptReply(ErrorCode.NONE, Offset(self._ends[partition]))

    def settle(self, rounds: int = 20) -> None:
        """Everything is sent and answered."""
        for _ in range(rounds):
            for call in self.goes_on(self._setting.settings.linger_ms):
                self.answer(call)

    # --- what a scenario sees -----------------------------------------------------------------------------------

    def partitions_of(self, *records: SentRecord) -> list[int]:
        """Where records went."""
        return [record.partition for record in records]


def names_of(records: tuple[Record, ...]) -> str:
    """The values of a batch."""
    return " ".join((record.value or b"").decode() for record in records)
