"""A producer's records before they are sent: their partitions, their batches, and their memory."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from model_tests.monitor.story import Story
from model_tests.scenarios.scenario import Facts, scenario
from model_tests.traces.schema import Row
from reference.client.accumulator import SentRecord
from reference.client.partitioners import AtRandom, ByKey, Partitioner, RoundRobin, StickyByBatch
from reference.client.producer import IdempotentProducer
from reference.client.producer_settings import ProducerSettings
from reference.client.sender import ProduceCall
from reference.recording.recorder import Recorder
from reference.tape import Tape
from reference.world.replica_rows import node_name
from reference.world.sending import PRODUCER, SendingShape, SendingWorld
from spec.versions import NEWEST

# --- the stage: one producer that takes records, and a broker ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OfSending:
    """A setting of one producer.

    Attributes:
        words: releases and settings, for a person to read.
        shape: sizes and settings; one broker leads all partitions.
        partitioner: of the producer; by keys, and in turn, where nothing else is said.
    """

    words: str
    shape: SendingShape
    partitioner: Callable[[], Partitioner] = lambda: ByKey(RoundRobin())

    def stage(self) -> "SendingStage":
        """A producer that has sent nothing."""
        return SendingStage(self.shape, self.partitioner())


class SendingStory(Story):
    """A run whose records are called by their values."""

    def __init__(self, recorder: Recorder, producer: IdempotentProducer) -> None:
        """The producer has sent nothing."""
        super().__init__(recorder, {PRODUCER: "producer", node_name(0): "broker"})
        self._producer = producer

    def records_of(self, row: Row) -> str:
        """Those that have the sequences of a step on its partition."""
        batches = [batch for partition, batch in self._producer.history if partition == row["partition"]]
        numbered = {batch.base_sequence + delta: each for batch in batches for delta, each in enumerate(batch.values)}
        first = row["base_sequence"]
        return b", ".join(numbered[each] for each in range(first, first + row["record_count"])).decode()


class SendingStage(SendingWorld):
    """A producer, and a broker that takes everything that is not too large.

    Attributes:
        handed: records that were handed over.
        produced: for each request that was sent, the records of each partition.
    """

    def __init__(self, shape: SendingShape, partitioner: Partitioner) -> None:
        """Nothing has happened."""
        super().__init__(NEWEST, shape, partitioner)
        self.story = SendingStory(self.recorder, self.producer.batches)
        self.handed: list[SentRecord] = []
        self.produced: list[str] = []

    @property
    def cast(self) -> tuple[str, ...]:
        """The producer and the broker."""
        return tuple(self.story.participants.values())

    # --- what a scenario does -----------------------------------------------------------------------------------

    def send(self, *records: str) -> list[SentRecord]:
        """Records are handed over: `k=v` has the key k, `v` has none."""
        handed = []
        for record in records:
            key, _, value = record.rpartition("=")
            handed.append(self.application_sends(key.encode() or None, value.encode()))
        self.handed += handed
        return handed

    def producer_runs(self) -> list[ProduceCall]:
        """One round of the sender; what it sends is noted."""
        calls = super().producer_runs()
        for call in calls:
            parts = (f"t-{each.partition}: {b' '.join(each.batch.values).decode()}" for each in call.attempts)
            self.produced.append("; ".join(parts))
        return calls

    def let_pass(self, milliseconds: int = 0) -> None:
        """Time passes, and the producer sends what it may; it reaches the broker."""
        self.clock.advance(milliseconds)
        self.producer_runs()
        for message in tuple(self.requests.in_transit):
            self.broker_receives(message)

    def answer_all(self) -> None:
        """Every answer that is under way arrives."""
        for message in tuple(self.replies.in_transit):
            self.producer_receives(message)

    def settle(self, rounds: int = 20) -> None:
        """Everything is sent and answered."""
        for _ in range(rounds):
            self.let_pass(self.shape.settings.linger_ms)
            self.answer_all()

    # --- what a scenario sees -----------------------------------------------------------------------------------

    @property
    def chosen(self) -> list[int]:
        """The partition of each record that was handed over."""
        return [record.partition for record in self.handed]


# --- the scenarios ----------------------------------------------------------------------------------------------------


ONE_BROKER: Final = SendingShape(nodes=1)
AT_ONCE: Final = SendingShape(nodes=1, settings=ProducerSettings(linger_ms=0))
KEYS: Final = ("to=1", "be=2", "or=3", "not=4", "to=5", "be=6")


@scenario(
    "keys",
    "Records of a key go to one partition, as long as the number of partitions stays",
    items=(20,),
    story="""A key's partition is its murmur2 hash modulo the number of partitions. Records of a key keep their order
    for ever, until a partition is added: then a key moves, and a consumer may read its new records before the old
    ones.""",
    setting=OfSending("keys by murmur2", ONE_BROKER),
    expected={
        "to, be, or, not, to, be with 2 partitions": [0, 0, 1, 1, 0, 0],
        "with 3 partitions": [0, 2, 1, 2, 0, 2],
    },
)
def keys(stage: SendingStage) -> Facts:
    """The same keys, before and after a partition is added."""
    stage.send(*KEYS)
    stage.settle()
    stage.topic_gets_partition()
    stage.producer_learns_leaders()
    stage.send(*KEYS)
    stage.settle()
    return {
        "to, be, or, not, to, be with 2 partitions": stage.chosen[: len(KEYS)],
        "with 3 partitions": stage.chosen[len(KEYS) :],
    }


@scenario(
    "round-robin",
    "Records without key, each to the next partition",
    items=(20,),
    story="""Before 2.4, records without key went to all partitions in turn. Each partition has its share, and each
    batch few records: three requests with a batch for each of two partitions.""",
    setting=OfSending("RoundRobinPartitioner, linger.ms=0", AT_ONCE, RoundRobin),
    expected={"partitions": [0, 1, 0, 1, 0, 1], "requests": ["t-0: 1; t-1: 2", "t-0: 3; t-1: 4", "t-0: 5; t-1: 6"]},
)
def round_robin(stage: SendingStage) -> Facts:
    """Six records in three pairs."""
    return in_pairs(stage)


@scenario(
    "round-robin-passes-over",
    "Since 2.4: taking turns can pass a partition over for ever",
    items=(20, 25),
    story="""Since 2.4 a partitioner is asked a second time where a record begins a batch. The round robin counts that
    as a turn (KAFKA-9965). Where every record begins a batch, it takes every second partition only.""",
    setting=OfSending("RoundRobinPartitioner of 2.4", AT_ONCE, lambda: RoundRobin(skips=True)),
    expected={"partitions": [1, 1, 1, 1, 1, 1]},
)
def round_robin_passes_over(stage: SendingStage) -> Facts:
    """Each record is sent before the next is handed over."""
    for number in range(1, 7):
        stage.send(str(number))
        stage.let_pass()
        stage.answer_all()
    return {"partitions": stage.chosen}


@scenario(
    "sticky-partition",
    "Since 2.4: records without key fill one partition's batch before they go to the next",
    items=(20, 25),
    story="""A sticky producer stays with a partition until it begins a new batch (KIP-480). Two records at a time make
    one batch instead of two: half as many batches for the broker, and over time every partition has its share.""",
    setting=OfSending("sticky partitioner, linger.ms=0", AT_ONCE, lambda: ByKey(StickyByBatch(Tape.recorded([0])))),
    expected={"partitions": [1, 1, 0, 0, 1, 1], "requests": ["t-1: 1 2", "t-0: 3 4", "t-1: 5 6"]},
)
def sticky_partition(stage: SendingStage) -> Facts:
    """Six records in three pairs."""
    return in_pairs(stage)


@scenario(
    "random-partition",
    "Records to partitions at random",
    items=(20,),
    story="""A partitioner of one's own can do as it likes. At random, neither keys nor turns count, and records of a
    key have no order.""",
    setting=OfSending("a random partitioner", AT_ONCE, lambda: AtRandom(Tape.recorded([1, 0, 0, 1, 1, 1]))),
    expected={"partitions": [1, 0, 0, 1, 1, 1]},
)
def random_partition(stage: SendingStage) -> Facts:
    """The same key six times; the choices are on a tape."""
    stage.send(*[f"key={number}" for number in range(1, 7)])
    stage.settle()
    return {"partitions": stage.chosen}


@scenario(
    "lingering",
    "A batch waits for more records, and takes them along",
    items=(5,),
    story="""A producer with linger.ms=5 keeps a batch that is not full for so long. Records that come meanwhile go with
    it, in one request; those that come later make the next one. A flush ends the waiting.""",
    setting=OfSending("linger.ms=5", replace(ONE_BROKER, partitions=1)),
    expected={"after 4 ms": [], "after 5 ms": ["t-0: 1 2"], "flushed": ["t-0: 3"]},
)
def lingering(stage: SendingStage) -> Facts:
    """One record, another one 4 ms later, a third one that is flushed."""
    stage.send("1")
    stage.let_pass(4)
    early = list(stage.produced)
    stage.send("2")
    stage.let_pass(1)
    stage.answer_all()
    lingered = list(stage.produced)
    stage.send("3")
    stage.producer.flush()
    stage.let_pass()
    stage.answer_all()
    return {"after 4 ms": early, "after 5 ms": lingered, "flushed": stage.produced[1:]}


@scenario(
    "buffer-memory",
    "The application waits for memory, and not for ever",
    items=(5, 15),
    story="""buffer.memory holds one batch, and it is not acknowledged. The next call of send waits for memory, up to
    max.block.ms. The first waiting record is sent when the batch is acknowledged; another one waits for too long, and
    fails without ever having been sent.""",
    setting=OfSending(
        "batch.size=100, buffer.memory=100, max.block.ms=50",
        SendingShape(1, 1, settings=ProducerSettings(batch_bytes=100, linger_ms=0, buffer_bytes=100, max_block_ms=50)),
    ),
    expected={"waits": True, "is sent": True, "the last one": "BUFFER_EXHAUSTED", "requests": ["t-0: 1", "t-0: 2"]},
)
def buffer_memory(stage: SendingStage) -> Facts:
    """Three records, memory for one, one answer."""
    stage.send("1")
    stage.let_pass()
    (second,) = stage.send("2")
    waits = not second.accepted
    stage.story.remark(PRODUCER, "has no memory for 2: the application waits")
    stage.answer_all()
    stage.let_pass()
    (third,) = stage.send("3")
    stage.let_pass(50)
    stage.story.remark(PRODUCER, f"reports the failure of 3: {third.failure}")
    return {
        "waits": waits,
        "is sent": second.accepted,
        "the last one": third.failure,
        "requests": stage.produced,
    }


@scenario(
    "batch-too-large",
    "A batch that is too large is sent in parts",
    items=(5, 4),
    story="""The topic's max.message.bytes is smaller than the producer's batch.size. The broker refuses the batch, and
    the producer sends it in parts: first of batch.size, which is no help here, then of half of that, or of single
    records (KAFKA-8350). The parts have the sequences of the whole, so that nothing is lost or doubled, and the order
    stays.""",
    setting=OfSending(
        "batch.size=200, max.message.bytes=90",
        SendingShape(1, 1, settings=ProducerSettings(batch_bytes=200, linger_ms=0), most_bytes=90),
    ),
    expected={"requests": 6, "acknowledged": ["1", "2", "3", "4"], "offsets": [0, 1, 2, 3]},
)
def batch_too_large(stage: SendingStage) -> Facts:
    """Four records in one batch."""
    stage.send("1", "2", "3", "4")
    stage.settle()
    return {
        "requests": len(stage.produced),
        "acknowledged": [record.value.decode() for record in stage.handed if record.outcome],
        "offsets": [int(record.offset) for record in stage.handed],
    }


def in_pairs(stage: SendingStage) -> Facts:
    """Six records, two at a time."""
    for number in (1, 3, 5):
        stage.send(str(number), str(number + 1))
        stage.let_pass()
        stage.answer_all()
    return {"partitions": stage.chosen, "requests": stage.produced}
