"""Keys and values of `__transaction_state`, in Kafka's own bytes (TransactionLogKey, TransactionLogValue).

Value version 0 is fixed; version 1 (since `transaction.version` 1) has compact lengths and tagged fields.
"""

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from reference.broker.transaction_bytes import BytesOut, MalformedState, Reader, Tagged
from reference.broker.transaction_metadata import TopicPartition, TransactionMetadata
from spec.vocabulary import NO_EPOCH, NO_PRODUCER_ID, Epoch, ProducerId, Timestamp, TransactionState

KEY_VERSION: Final = 0  # the only version of TransactionLogKey

FIXED: Final = 0
FLEXIBLE: Final = 1
"""Versions of TransactionLogValue: 1 has compact lengths and tagged fields (KIP-890)."""

BODY: Final = struct.Struct(">qhib")  # producer id, epoch, timeout, status
TIMES: Final = struct.Struct(">qq")  # last update, start

TAGS: Final[Mapping[int, tuple[str, struct.Struct]]] = MappingProxyType(
    {
        0: ("previous_producer_id", struct.Struct(">q")),
        1: ("next_producer_id", struct.Struct(">q")),
        2: ("client_version", struct.Struct(">h")),
        3: ("next_epoch", struct.Struct(">h")),
    }
)
"""Tagged fields of the value; one that has its default is not written."""

STATES: Final = {int(state): state for state in TransactionState}


class PartitionsOfTopic(NamedTuple):
    """The partitions of one topic in a transaction, in the order in which they were written."""

    topic: str
    partitions: tuple[int, ...]
    tagged: Tagged = ()


@dataclass(frozen=True, slots=True)
class TransactionValue:
    """The value of one record, field by field; `partitions` is None where nothing was written (state Empty)."""

    version: int
    producer_id: ProducerId
    epoch: Epoch
    timeout_ms: int
    status: int
    partitions: tuple[PartitionsOfTopic, ...] | None
    updated_ms: Timestamp
    started_ms: Timestamp
    previous_producer_id: ProducerId = NO_PRODUCER_ID
    next_producer_id: ProducerId = NO_PRODUCER_ID
    client_version: int = 0
    next_epoch: Epoch = NO_EPOCH
    unknown: Tagged = ()

    def encode(self) -> bytes:
        """The value in bytes."""
        out = BytesOut(flexible=self.version >= FLEXIBLE)
        out.pack(">h", self.version)
        out.raw(BODY.pack(self.producer_id, self.epoch, self.timeout_ms, self.status))
        out.raw(_encode_topics(self.partitions, self.version >= FLEXIBLE))
        out.raw(TIMES.pack(self.updated_ms, self.started_ms))
        out.tagged((*self._known_tags(), *self.unknown))
        return out.taken()

    def _known_tags(self) -> Tagged:
        return tuple(
            (tag, form.pack(getattr(self, name)))
            for tag, (name, form) in TAGS.items()
            if getattr(self, name) != getattr(_DEFAULTS, name)
        )

    def metadata(self) -> TransactionMetadata:
        """The metadata in the record; the last epoch is never in the log.

        Raises:
            MalformedState: the state is none that is written.
        """
        state = STATES.get(self.status)
        if state is None or state in (TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE):
            raise MalformedState(f"state {self.status}")
        listed = self.partitions or ()
        return TransactionMetadata(
            producer_id=self.producer_id,
            epoch=self.epoch,
            timeout_ms=self.timeout_ms,
            state=state,
            partitions=frozenset(TopicPartition(each.topic, number) for each in listed for number in each.partitions),
            updated_ms=self.updated_ms,
            started_ms=self.started_ms,
            previous_producer_id=self.previous_producer_id,
            next_producer_id=self.next_producer_id,
            client_version=self.client_version,
        )


_DEFAULTS: Final = TransactionValue(0, NO_PRODUCER_ID, NO_EPOCH, 0, 0, None, Timestamp(0), Timestamp(0))


def value_of(metadata: TransactionMetadata, version: int, rotation_persisted: bool) -> TransactionValue:
    """The record of an id; before 4.3 previous and next producer id are left out."""
    rotates = version >= FLEXIBLE and rotation_persisted
    return TransactionValue(
        version=version,
        producer_id=metadata.producer_id,
        epoch=metadata.epoch,
        timeout_ms=metadata.timeout_ms,
        status=int(metadata.state),
        partitions=None if metadata.state == TransactionState.EMPTY else _by_topic(metadata.partitions),
        updated_ms=metadata.updated_ms,
        started_ms=metadata.started_ms,
        previous_producer_id=metadata.previous_producer_id if rotates else NO_PRODUCER_ID,
        next_producer_id=metadata.next_producer_id if rotates else NO_PRODUCER_ID,
        client_version=metadata.client_version if version >= FLEXIBLE else 0,
    )


def by_topic(partitions: Iterable[TopicPartition]) -> tuple[PartitionsOfTopic, ...]:
    """Partitions grouped by topic, in order."""
    numbers: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        numbers.setdefault(topic, []).append(number)
    return tuple(PartitionsOfTopic(topic, tuple(found)) for topic, found in numbers.items())


@lru_cache(maxsize=1024)  # a transaction is written with the same partitions at each of its changes
def _by_topic(partitions: frozenset[TopicPartition]) -> tuple[PartitionsOfTopic, ...]:
    return by_topic(partitions)


@lru_cache(maxsize=1024)
def encode_key(transactional_id: str) -> bytes:
    """The key of an id's records."""
    out = BytesOut(flexible=False)
    out.pack(">h", KEY_VERSION)
    out.string(transactional_id)
    return out.taken()


@lru_cache(maxsize=1024)
def decode_key(data: bytes) -> str:
    """The transactional id in a key.

    Raises:
        MalformedState: the key is of another version, or damaged.
    """
    reader = Reader(data, flexible=False)
    (version,) = reader.unpack(">h")
    if version != KEY_VERSION:
        raise MalformedState(f"key version {version}")
    transactional_id = reader.string()
    reader.end()
    return transactional_id


def decode_value(data: bytes) -> TransactionValue:
    """The value in bytes.

    Raises:
        MalformedState: the version is unknown, or the bytes are damaged.
    """
    version = Reader(data, flexible=False).unpack(">h")[0]
    if version not in (FIXED, FLEXIBLE):
        raise MalformedState(f"value version {version}")
    reader = Reader(data, flexible=version >= FLEXIBLE)
    reader.unpack(">h")
    producer_id, epoch, timeout_ms, status = reader.unpack(BODY.format)
    partitions = reader.array(_read_topic)
    updated_ms, started_ms = reader.unpack(TIMES.format)
    value = TransactionValue(version, producer_id, epoch, timeout_ms, status, partitions, updated_ms, started_ms)
    value = _with_tags(value, reader.tagged())
    reader.end()
    return value


def _with_tags(value: TransactionValue, tagged: Tagged) -> TransactionValue:
    known: dict[str, int] = {}
    for tag, data in tagged:
        if tag in TAGS:
            name, form = TAGS[tag]
            if len(data) != form.size:
                raise MalformedState(f"tag {tag} has {len(data)} bytes")
            (known[name],) = form.unpack(data)
    unknown = tuple((tag, data) for tag, data in tagged if tag not in TAGS)
    return replace(value, unknown=unknown, **known)  # type: ignore[arg-type]  # names and types are those of TAGS


@lru_cache(maxsize=1024)
def _encode_topics(topics: tuple[PartitionsOfTopic, ...] | None, flexible: bool) -> bytes:
    out = BytesOut(flexible)
    out.array(topics, _write_topic)
    return out.taken()


def _write_topic(out: BytesOut, topic: PartitionsOfTopic) -> None:
    out.string(topic.topic)
    out.array(topic.partitions, lambda into, number: into.pack(">i", number))
    out.tagged(topic.tagged)


def _read_topic(reader: Reader) -> PartitionsOfTopic:
    topic = reader.string()
    partitions = reader.array(lambda within: int(within.unpack(">i")[0]))
    if partitions is None:
        raise MalformedState(f"topic {topic} without a list of partitions")
    return PartitionsOfTopic(topic, partitions, reader.tagged())
