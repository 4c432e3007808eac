"""The controller's log for tests: changes as records, in the bytes of KRaft's schemas."""

from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import Final
from uuid import UUID

from model_tests.logs.controller_log_values import (
    FRAME,
    KINDS,
    NO_LEADER_CHANGE,
    Bracket,
    BrokerChange,
    Change,
    ClearedEligible,
    NewTopic,
    PartitionChange,
    RemovedTopic,
)
from reference.broker.transaction_bytes import BytesOut
from reference.log.batch import RecordBatch, data_batch
from reference.log.record import Record

NUMBERS: Final = MappingProxyType({name: number for number, name in KINDS.items()})
BRACKETS: Final = MappingProxyType({"begin": "BeginTransaction", "end": "EndTransaction", "abort": "AbortTransaction"})
Tags = Iterable[tuple[int, bytes]]


def controller_batch(*changes: Change | bytes) -> RecordBatch:
    """Changes that take effect together; bytes are the value of a record that is not read."""
    values = (change if isinstance(change, bytes) else encoded(change) for change in changes)
    return data_batch([Record(number, 0, None, value) for number, value in enumerate(values)])


def encoded(change: Change) -> bytes:
    """The value of a change's record."""
    kind, version, fields, tags = _written(change)
    out = BytesOut(flexible=True)
    out.raw(bytes((FRAME, NUMBERS[kind], version)) + fields)
    out.tagged(tags)
    return out.taken()


def _written(change: Change) -> tuple[str, int, bytes, Tags]:
    """The kind and version of a change's record, its fields, and those that are tagged."""
    match change:
        case BrokerChange(broker, registered=False):
            return "UnregisterBroker", 0, _of_broker(broker), ()
        case BrokerChange(broker, fenced=bool(fenced), shutting_down=bool(leaving)):
            incarnation, nowhere = UUID(int=broker).bytes, b"\1\1\0"  # no endpoints, features and rack
            fields = _int32(broker) + incarnation + bytes(8) + nowhere + bytes((fenced, leaving))
            return "RegisterBroker", 1, fields, ()
        case BrokerChange(broker, fenced=fenced, shutting_down=leaving):
            facts = enumerate((fenced, leaving))
            tags = [(tag, b"\1" if fact else b"\xff") for tag, fact in facts if fact is not None]
            return "BrokerRegistrationChange", 1, _of_broker(broker), tags
        case NewTopic(topic_id, name):
            return "Topic", 0, _text(name) + topic_id.bytes, ()
        case RemovedTopic(topic_id):
            return "RemoveTopic", 0, topic_id.bytes, ()
        case ClearedEligible(name):
            return "ClearElr", 0, _text(name), ()
        case Bracket(kind):
            return BRACKETS[kind], 0, b"", ()
        case PartitionChange(topic_id, number) if change.creates:
            sets = b"".join(map(_ints, (change.replicas or (), change.in_sync or (), (), ())))
            leader = _int32(change.leader) + _int32(change.leader_epoch) + _int32(0)
            return "Partition", 0, _int32(number) + topic_id.bytes + sets + leader, _tags(change, (0, 1, 2))
        case PartitionChange(topic_id, number):
            tags = [(tag, _ints(own)) for tag, own in ((0, change.in_sync), (2, change.replicas)) if own is not None]
            tags += [(1, _int32(change.leader))] if change.leader != NO_LEADER_CHANGE else []
            return "PartitionChange", 0, _int32(number) + topic_id.bytes, (*tags, *_tags(change, (5, 6, 7)))


def _tags(change: PartitionChange, numbers: tuple[int, int, int]) -> Iterator[tuple[int, bytes]]:
    """What a partition's record has of elections, under the tags of its kind."""
    recovering, eligible, last_known = numbers
    if change.recovering is not None:
        yield recovering, bytes((change.recovering,))
    for tag, own in ((eligible, change.eligible), (last_known, change.last_known)):
        if own is not None:
            yield tag, _ints(own)


def _of_broker(broker: int) -> bytes:
    """Its id and its epoch."""
    return _int32(broker) + bytes(8)


def _int32(number: int) -> bytes:
    return number.to_bytes(4, "big", signed=True)


def _ints(numbers: tuple[int, ...]) -> bytes:
    out = BytesOut(flexible=True)
    out.array(numbers, lambda inner, number: inner.pack(">i", number))
    return out.taken()


def _text(text: str) -> bytes:
    out = BytesOut(flexible=True)
    out.string(text)
    return out.taken()
