"""Partitioners choose a record's partition: by its key, in turn, at random, or the one of the last records.

A partitioner chooses for each record, and is notified of full batches: the sticky ones stay with a partition so that
batches fill up. Keys are placed by hash, so that records of a key keep their order as long as the number of partitions
stays as it is.

Sources: Partitioner, DefaultPartitioner, StickyPartitionCache, BuiltInPartitioner, RoundRobinPartitioner.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from reference.tape import Tape

SEED: Final = 0x9747B28C
MULTIPLIER: Final = 0x5BD1E995
SHIFT: Final = 24
"""Seed, multiplier and shift of MurmurHash2 as Kafka's clients apply it to keys (`Utils.murmur2`)."""

_MASK: Final = 2**32 - 1  # the hash is of 32 bits


def murmur2(data: bytes) -> int:
    """The hash, as the signed 32-bit number that Java makes of it."""
    mixed = SEED ^ len(data)
    whole = len(data) - len(data) % 4
    for at in range(0, whole, 4):
        mixed = _times(mixed) ^ _times(_shifted(_times(int.from_bytes(data[at : at + 4], "little")), SHIFT))
    if whole < len(data):
        mixed = _times(mixed ^ int.from_bytes(data[whole:], "little"))
    mixed = _shifted(_times(_shifted(mixed, 13)), 15)
    return mixed - 2**32 if mixed >= 2**31 else mixed


def to_positive(number: int) -> int:
    """The number without its sign bit: not its absolute value, which the least of all has none of."""
    return number & 0x7FFFFFFF


def _times(number: int) -> int:
    return number * MULTIPLIER & _MASK


def _shifted(number: int, bits: int) -> int:
    return number ^ (number >> bits)


class UnknownPartition(ValueError):
    """A record names a partition that its topic does not have."""


class TopicLayout(NamedTuple):
    """A topic as a producer knows it.

    Attributes:
        partitions: how many there are.
        available: those with a leader, in order.
        queued: batches that wait for each partition, by number; empty where they are not counted.
    """

    partitions: int
    available: tuple[int, ...]
    queued: Sequence[int] = ()

    @property
    def choices(self) -> tuple[int, ...]:
        """Where a record without key may go: where there is a leader, or anywhere if there is none at all."""
        return self.available or tuple(range(self.partitions))


class Partitioner(Protocol):
    """Chooses the partitions of one topic."""

    def choose(self, key: bytes | None, layout: TopicLayout) -> int:
        """The partition of a record."""
        ...

    def batch_begins(self, key: bytes | None, layout: TopicLayout) -> bool:
        """At the chosen partition the record begins a batch; whether to choose again (Partitioner.onNewBatch)."""
        ...

    def appended(self, size: int, layout: TopicLayout, *, batch_ends: bool) -> None:
        """So many bytes went to the chosen partition; `batch_ends` where its batch will take no more."""


def checked(partition: int, layout: TopicLayout) -> int:
    """The partition that a record names itself.

    Raises:
        UnknownPartition: the topic does not have it.
    """
    if not 0 <= partition < layout.partitions:
        raise UnknownPartition(f"partition {partition} of {layout.partitions}")
    return partition


def place_of_key(key: bytes, partitions: int) -> int:
    """The partition that a key's records go to, whether it has a leader or not."""
    return to_positive(murmur2(key)) % partitions


@dataclass(slots=True)
class RoundRobin:
    """Each record goes to the next partition, whatever its key (RoundRobinPartitioner).

    Attributes:
        counter: turns so far.
        skips: a record that begins a batch takes two turns, so that partitions are passed over (since 2.4, until the
            fix of KAFKA-9965).
    """

    counter: int = 0
    skips: bool = False

    def choose(self, key: bytes | None, layout: TopicLayout) -> int:
        """The next one in turn."""
        choice = layout.choices[to_positive(self.counter) % len(layout.choices)]
        self.counter += 1
        return choice

    def batch_begins(self, key: bytes | None, layout: TopicLayout) -> bool:
        """The turn is by records."""
        return self.skips

    def appended(self, size: int, layout: TopicLayout, *, batch_ends: bool) -> None:
        """Nothing."""


@dataclass(slots=True)
class AtRandom:
    """Each record goes anywhere; all chance comes from the tape."""

    tape: Tape

    def choose(self, key: bytes | None, layout: TopicLayout) -> int:
        """Any partition with a leader."""
        return self.tape.pick(layout.choices)

    def batch_begins(self, key: bytes | None, layout: TopicLayout) -> bool:
        """It stays where it is."""
        return False

    def appended(self, size: int, layout: TopicLayout, *, batch_ends: bool) -> None:
        """Nothing."""


@dataclass(slots=True)
class ByKey:
    """Keys by their hash; records without key as another partitioner says (DefaultPartitioner)."""

    keyless: Partitioner

    def choose(self, key: bytes | None, layout: TopicLayout) -> int:
        """The key's partition."""
        if key is None:
            return self.keyless.choose(None, layout)
        return place_of_key(key, layout.partitions)

    def batch_begins(self, key: bytes | None, layout: TopicLayout) -> bool:
        """As the other one says; a key stays where it belongs."""
        return key is None and self.keyless.batch_begins(None, layout)

    def appended(self, size: int, layout: TopicLayout, *, batch_ends: bool) -> None:
        """Likewise."""
        self.keyless.appended(size, layout, batch_ends=batch_ends)


@dataclass(slots=True)
class StickyByBatch:
    """One partition as long as its batch has room, then another one (2.4 to 3.2, KIP-480)."""

    tape: Tape
    current: int | None = None

    def choose(self, key: bytes | None, layout: TopicLayout) -> int:
        """The same as before."""
        if self.current is None:
            self.current = self.tape.pick(layout.choices)
        return self.current

    def batch_begins(self, key: bytes | None, layout: TopicLayout) -> bool:
        """Another partition, if there is another."""
        others = tuple(choice for choice in layout.choices if choice != self.current)
        self.current = self.tape.pick(others or layout.choices)
        return True

    def appended(self, size: int, layout: TopicLayout, *, batch_ends: bool) -> None:
        """Nothing."""


@dataclass(slots=True)
class StickyByBytes:
    """One partition until it has got batch.size bytes, and its batch ends or it has got twice as much (3.3, KIP-794).

    Unlike batches, bytes are the same for all partitions: a slow broker, at which small batches fill up while they
    wait, does not get more records than the others.

    Attributes:
        batch_bytes: batch.size.
        adaptive: partitions with short queues are chosen more often (partitioner.adaptive.partitioning.enable).
    """

    tape: Tape
    batch_bytes: int
    adaptive: bool = True
    current: int | None = None
    produced: int = field(default=0, init=False)

    def choose(self, key: bytes | None, layout: TopicLayout) -> int:
        """The same as before."""
        if self.current is None:
            self.current = self._next(layout)
        return self.current

    def batch_begins(self, key: bytes | None, layout: TopicLayout) -> bool:
        """Bytes count, not batches."""
        return False

    def appended(self, size: int, layout: TopicLayout, *, batch_ends: bool) -> None:
        """Bytes went there; after enough of them the next partition has its turn."""
        self.produced += size
        if self.produced >= (self.batch_bytes if batch_ends else 2 * self.batch_bytes):
            self.produced = 0
            self.current = self._next(layout)

    def _next(self, layout: TopicLayout) -> int:
        if not (self.adaptive and layout.queued and layout.available):
            return self.tape.pick(layout.choices)
        longest = max(layout.queued[choice] for choice in layout.available)
        weights = [(choice, longest + 1 - layout.queued[choice]) for choice in layout.available]
        return self.tape.weighted(weights)
