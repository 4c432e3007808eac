"""A producer's records before they are sent: their partitions, their batches, and their memory."""

from dataclasses import dataclass, field
from typing import Final

from model_tests.monitor.story import Story
from model_tests.scenarios.scenario import Facts, scenario
from reference.broker.ids import ProducerIdentity
from reference.client.accumulator import SentRecord
from reference.client.partitioners import AtRandom, ByKey, Partitioner, RoundRobin, StickyByBatch
from reference.client.producer import AttemptReply, IdempotentProducer
from reference.client.producer_settings import ProducerSettings
from reference.client.record_producer import RecordProducer
from reference.client.sender import ProduceCall
from reference.clock import Clock
from reference.log.record import Record
from reference.recording.recorder import Recorder
from reference.tape import Tape
from spec.versions import NEWEST
from spec.vocabulary import Epoch, ErrorCode, Offset, ProducerId

# --- the stage: one producer that takes records, and a broker ---------------------------------------------------------


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


# --- the scenarios ----------------------------------------------------------------------------------------------------


AT_ONCE: Final = ProducerSettings(linger_ms=0)
KEYS: Final = ("to=1", "be=2", "or=3", "not=4", "to=5", "be=6")


@scenario(
    "keys",
    "Records of a key go to one partition, as long as the number of partitions stays",
    items=(20,),
    story="""A key's partition is its murmur2 hash modulo the number of partitions. Records of a key keep their order
    for ever, until a partition is added: then a key moves, and a consumer may read its new records before the old
    ones.""",
    setting=OfSending("keys by murmur2"),
    expected={
        "to, be, or, not, to, be with 2 partitions": [0, 0, 1, 1, 0, 0],
        "with 3 partitions": [0, 2, 1, 2, 0, 2],
    },
)
def keys(stage: SendingStage) -> Facts:
    """The same keys, before and after a partition is added."""
    before = stage.send(*KEYS)
    stage.settle()
    stage.story.remark(PRODUCER, "finds a third partition")
    stage.has(3)
    after = stage.send(*KEYS)
    stage.settle()
    return {
        "to, be, or, not, to, be with 2 partitions": stage.partitions_of(*before),
        "with 3 partitions": stage.partitions_of(*after),
    }


@scenario(
    "round-robin",
    "Records without key, each to the next partition",
    items=(20,),
    story="""Before 2.4, records without key went to all partitions in turn. Each partition has its share, and each
    batch few records: three requests with a batch for each of two partitions.""",
    setting=OfSending("RoundRobinPartitioner, linger.ms=0", settings=AT_ONCE),
    expected={"partitions": [0, 1, 0, 1, 0, 1], "requests": ["t-0: 1; t-1: 2", "t-0: 3; t-1: 4", "t-0: 5; t-1: 6"]},
)
def round_robin(stage: SendingStage) -> Facts:
    """Six records in three pairs."""
    stage.has(2, RoundRobin())
    return in_pairs(stage)


@scenario(
    "round-robin-passes-over",
    "Since 2.4: taking turns can pass a partition over for ever",
    items=(20, 25),
    story="""Since 2.4 a partitioner is asked a second time where a record begins a batch. The round robin counts that
    as a turn (KAFKA-9965). Where every record begins a batch, it takes every second partition only.""",
    setting=OfSending("RoundRobinPartitioner of 2.4", settings=AT_ONCE),
    expected={"partitions": [1, 1, 1, 1, 1, 1]},
)
def round_robin_passes_over(stage: SendingStage) -> Facts:
    """Each record is sent before the next is handed over."""
    stage.has(2, RoundRobin(skips=True))
    for number in range(1, 7):
        stage.send(str(number))
        for call in stage.goes_on():
            stage.answer(call)
    return {"partitions": stage.partitions_of(*stage.sent)}


@scenario(
    "sticky-partition",
    "Since 2.4: records without key fill one partition's batch before they go to the next",
    items=(20, 25),
    story="""A sticky producer stays with a partition until it begins a new batch (KIP-480). Two records at a time make
    one batch instead of two: half as many batches for the broker, and over time every partition has its share.""",
    setting=OfSending("sticky partitioner, linger.ms=0", settings=AT_ONCE),
    expected={"partitions": [1, 1, 0, 0, 1, 1], "requests": ["t-1: 1 2", "t-0: 3 4", "t-1: 5 6"]},
)
def sticky_partition(stage: SendingStage) -> Facts:
    """Six records in three pairs."""
    stage.has(2, ByKey(StickyByBatch(Tape.recorded([0]))))
    return in_pairs(stage)


@scenario(
    "random-partition",
    "Records to partitions at random",
    items=(20,),
    story="""A partitioner of one's own can do as it likes. At random, neither keys nor turns count, and records of a
    key have no order.""",
    setting=OfSending("a random partitioner", settings=AT_ONCE),
    expected={"partitions": [1, 0, 0, 1, 1, 1]},
)
def random_partition(stage: SendingStage) -> Facts:
    """The same key six times; the choices are on a tape."""
    stage.has(2, AtRandom(Tape.recorded([1, 0, 0, 1, 1, 1])))
    stage.send(*[f"key={number}" for number in range(1, 7)])
    stage.settle()
    return {"partitions": stage.partitions_of(*stage.sent)}


@scenario(
    "lingering",
    "A batch waits for more records, and takes them along",
    items=(5,),
    story="""A producer with linger.ms=5 keeps a batch that is not full for so long. Records that come meanwhile go with
    it, in one request; those that come later make the next one. A flush ends the waiting.""",
    setting=OfSending("linger.ms=5", partitions=1),
    expected={"after 4 ms": [], "after 5 ms": ["t-0: 1 2"], "flushed": ["t-0: 3"]},
)
def lingering(stage: SendingStage) -> Facts:
    """One record, another one 4 ms later, a third one that is flushed."""
    stage.send("1")
    stage.goes_on(4)
    early = list(stage.requests)
    stage.send("2")
    stage.goes_on(1)
    lingered = list(stage.requests)
    stage.send("3")
    stage.producer.flush()
    stage.goes_on()
    return {"after 4 ms": early, "after 5 ms": lingered, "flushed": stage.requests[1:]}


@scenario(
    "buffer-memory",
    "The application waits for memory, and not for ever",
    items=(5, 15),
    story="""buffer.memory holds one batch, and it is not acknowledged. The next call of send waits for memory, up to
    max.block.ms. The first waiting record is sent when the batch is acknowledged; another one waits for too long, and
    fails without ever having been sent.""",
    setting=OfSending(
        "batch.size=100, buffer.memory=100, max.block.ms=50",
        1,
        ProducerSettings(batch_bytes=100, linger_ms=0, buffer_bytes=100, max_block_ms=50),
    ),
    expected={"waits": True, "is sent": True, "the last one": "BUFFER_EXHAUSTED", "requests": ["t-0: 1", "t-0: 2"]},
)
def buffer_memory(stage: SendingStage) -> Facts:
    """Three records, memory for one, one answer."""
    stage.send("1")
    (call,) = stage.goes_on()
    (second,) = stage.send("2")
    waits = not second.accepted
    stage.story.remark(PRODUCER, "has no memory for 2: the application waits")
    stage.answer(call)
    stage.goes_on()
    (third,) = stage.send("3")
    stage.goes_on(50)
    stage.story.remark(PRODUCER, f"reports the failure of 3: {third.failure}")
    return {
        "waits": waits,
        "is sent": second.accepted,
        "the last one": third.failure,
        "requests": stage.requests,
    }


@scenario(
    "batch-too-large",
    "A batch that is too large is sent in parts",
    items=(5, 4),
    story="""The topic's max.message.bytes is smaller than the producer's batch.size. The broker refuses the batch, and
    the producer sends it in parts: first of batch.size, which is no help here, then of half of that, or of single
    records (KAFKA-8350). The parts have the sequences of the whole, so that nothing is lost or doubled, and the order
    stays.""",
    setting=OfSending("batch.size=200, max.message.bytes=90", 1, ProducerSettings(batch_bytes=200, linger_ms=0), 90),
    expected={"requests": 6, "acknowledged": ["1", "2", "3", "4"], "offsets": [0, 1, 2, 3]},
)
def batch_too_large(stage: SendingStage) -> Facts:
    """Four records in one batch."""
    stage.send("1", "2", "3", "4")
    stage.settle()
    return {
        "requests": len(stage.requests),
        "acknowledged": [record.value.decode() for record in stage.sent if record.outcome],
        "offsets": [int(record.offset) for record in stage.sent],
    }


def in_pairs(stage: SendingStage) -> Facts:
    """Six records, two at a time."""
    for number in (1, 3, 5):
        stage.send(str(number), str(number + 1))
        for call in stage.goes_on():
            stage.answer(call)
    return {"partitions": stage.partitions_of(*stage.sent), "requests": stage.requests}
