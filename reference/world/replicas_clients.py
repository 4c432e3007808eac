"""The producers of a world of replicas, with what each believes about leaders."""

from collections.abc import Iterator

from reference.client.producer import Attempt, AttemptReply, IdempotentProducer
from reference.client.record_producer import PlainProducer
from reference.clock import Clock
from reference.world.replicas_messages import BatchAnswer, ReplicaProduce
from reference.world.replicas_shape import ReplicasShape
from spec.versions import Profile
from spec.vocabulary import ErrorCode, Timestamp

NO_ACKS = 0
"""The acks with which a broker answers nothing."""


class ReplicaProducers:
    """All producers.

    Attributes:
        producers: by number.
        leaders: the broker that a producer takes for the leader of a partition, by producer and partition.
        sent: broker and time of each attempt that is not answered, by producer and number of the attempt.
    """

    __slots__ = ("_clock", "_shape", "leaders", "producers", "sent")

    def __init__(self, profile: Profile, shape: ReplicasShape, clock: Clock) -> None:
        """Producers that know the first replica of each assignment."""
        self._shape = shape
        self._clock = clock
        self.producers = [
            (IdempotentProducer if writer.idempotent else PlainProducer)(
                shape.partitions,
                shape.delivery_timeout_ms,
                profile.cached_batches,
                fenced_has_code=profile.fenced_has_code,
            )
            for writer in shape.writers
        ]
        known = [shape.assignment(partition)[0] for partition in range(shape.partitions)]
        self.leaders = [list(known) for _ in shape.writers]
        self.sent: dict[tuple[int, int], tuple[int, Timestamp]] = {}

    def sendable(self) -> list[tuple[int, int]]:
        """Producers and partitions of which a batch may be sent now."""
        return [
            (number, partition)
            for number, producer in enumerate(self.producers)
            for partition in range(self._shape.partitions)
            if producer.may_drain(partition)
        ]

    def send(self, producer: int, partition: int) -> tuple[int, ReplicaProduce]:
        """A producer sends its next batch: to which broker, and what."""
        attempt = self.producers[producer].drain(partition)
        broker, acks = self.leaders[producer][partition], self._shape.writers[producer].acks
        if acks == NO_ACKS:
            self.producers[producer].receive(attempt, AttemptReply(ErrorCode.NONE))
        else:
            self.sent[producer, attempt.number] = broker, self._clock.now
        return broker, ReplicaProduce(producer, attempt, acks)

    def receive(self, answered: BatchAnswer) -> None:
        """An answer reaches its producer."""
        producer, attempt = answered.request.producer, answered.request.attempt
        self.sent.pop((producer, attempt.number), None)
        self.producers[producer].receive(attempt, answered.reply)
        self.producers[producer].tick(self._clock.now)

    def give_up(self, producer: int, attempt: Attempt) -> None:
        """A producer waits no longer for an answer."""
        self.sent.pop((producer, attempt.number), None)
        self.producers[producer].lose(attempt)

    def lose_all(self, broker: int) -> None:
        """Every connection to a broker breaks."""
        for producer, attempt in tuple(self.waiting()):
            if self.sent[producer, attempt.number][0] == broker:
                self.give_up(producer, attempt)

    def waiting(self) -> Iterator[tuple[int, Attempt]]:
        """Every attempt that waits for an answer, with its producer."""
        for producer, number in self.sent:
            attempt = self.producers[producer].on_wire.get(number)
            if attempt is not None:
                yield producer, attempt

    def overdue(self) -> list[tuple[int, Attempt]]:
        """The attempts that have waited for longer than request.timeout.ms."""
        limit = self._clock.now - self._shape.request_timeout_ms
        return [(who, attempt) for who, attempt in self.waiting() if self.sent[who, attempt.number][1] <= limit]

    def learn_leader(self, producer: int, partition: int, leader: int) -> None:
        """A producer learns a partition's leader; it turns there once nothing is under way to the one before."""
        under_way = any(each.partition == partition for each in self.producers[producer].on_wire.values())
        if not under_way and leader >= 0:
            self.leaders[producer][partition] = leader
