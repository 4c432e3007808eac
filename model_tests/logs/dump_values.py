"""Records of `__transaction_state` and `__consumer_offsets`, made again from what a decoder or a formatter printed.

| of | up to 2.3 | since 2.4 | since 3.8 and 3.9, and the formatters |
| --- | --- | --- | --- |
| a state | `transactionalId=a`, `producerId:7,...` | `transaction_metadata::transactionalId=a`, likewise | JSON |
| an offset | `offset::g:t:0`, `5:metadata` | `offset_commit::group=g,partition=t-0`, `offset=5` | JSON |

The formatters of the console consumer before that print `a::TransactionMetadata(...)` and
`[g,t,0]::OffsetAndMetadata(...)`. What is no JSON leaves out under which version a client spoke, which shows where its
end bumps the epoch; that of `kafka-dump-log` also when a transaction began, which is when the record that opens it was
written.

Source: kafka.coordinator.transaction.TransactionLog, kafka.coordinator.group.GroupMetadataManager,
kafka.tools.DumpLogSegments, org.apache.kafka.tools.consumer.ApiMessageFormatter and CoordinatorRecordMessageFormatter.
"""

import json
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from model_tests.logs.coordinator_log_values import UNPRINTED
from model_tests.logs.dump_text import DumpedRecord
from reference.broker import group_record, transaction_record
from reference.broker.transaction_metadata import TopicPartition
from reference.broker.transaction_record import PartitionsOfTopic, TransactionValue
from reference.log.record import Record
from spec.vocabulary import ABSENT, Epoch, Offset, ProducerId, Timestamp, TransactionState

UNDECODED: Final = struct.pack(">hh", UNPRINTED, 0)
"""Key of a record that no decoder printed."""

_NAMES: Final = (
    re.compile(r"(?:transaction_metadata::)?transactionalId=(?P<id>.*)", re.DOTALL),
    re.compile(r"offset_commit::group=(?P<group>.*),partition=(?P<topic>.*)-(?P<partition>\d+)", re.DOTALL),
    re.compile(r"offset::(?P<group>.*):(?P<topic>[^:]*):(?P<partition>\d+)", re.DOTALL),
    re.compile(r"\[(?P<group>.*),(?P<topic>[^,]*),(?P<partition>\d+)\]", re.DOTALL),
)
_GROUP: Final = re.compile(r"group_metadata::group=|metadata::|\{\"metadata\":")
_FIELDS: Final = re.compile(r"\b(\w{1,30})[:=](\w{0,30}\([^()]*\)|\[[^\[\]]*\]|[^,()\[\]\s'\"<]*)")
_OFFSET: Final = re.compile(r"(?:offset=|\[OffsetMetadata\[)?(-?\d+)")
_QUOTED: Final = re.compile(r'\{("{2,}|\\+")')
_DELETED: Final = ("<DELETE>", "NULL", "null", "")

_LONGEST: Final = 1 << 15
"""Characters of a key; a string of Kafka has no more bytes."""

_BUMPING: Final = 2
"""Clients of this transaction version bump the epoch when they end a transaction."""

_COMPLETE: Final = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
_STATES: Final = {state.name.replace("_", ""): state for state in TransactionState}


@dataclass(frozen=True, slots=True)
class DumpedState:
    """A transactional id, and its state in one record; None deletes it. `whole` is what leaves nothing out."""

    name: str
    value: TransactionValue | None
    whole: bool = True

    def encoded(self, delta: int) -> Record:
        """The record in bytes."""
        value = None if self.value is None else self.value.encode()
        return Record(delta, 0, transaction_record.encode_key(self.name), value)


@dataclass(frozen=True, slots=True)
class DumpedOffset:
    """A group's offset in one record; None deletes it. Other records of groups have the version of their key alone."""

    key: group_record.OffsetKey | int
    value: group_record.OffsetValue | None

    def encoded(self, delta: int) -> Record:
        """The record in bytes."""
        value = None if self.value is None else self.value.encode()
        key = struct.pack(">h", self.key) if isinstance(self.key, int) else group_record.encode_key(self.key)
        return Record(delta, 0, key, value)


Decoded = DumpedState | DumpedOffset


def decoded(dumped: Iterable[DumpedRecord]) -> dict[int, Decoded]:
    """The records of one partition by their offset, in order, as far as something printed them."""
    found: dict[int, Decoded] = {}
    begun: dict[str, list[int]] = {}  # offsets of the records of an id's transaction, the newest last
    for record in dumped:
        read = read_value(record)
        if read is None:
            continue
        found[record.offset] = read
        if isinstance(read, DumpedState) and read.value is not None and not read.whole:
            offsets = begun.setdefault(read.name, [])
            found[record.offset] = replace(read, value=_follows(offsets, found, read.value))
            offsets.append(record.offset)
            _bumped_by_client(offsets, found)
    return found


def read_value(record: DumpedRecord) -> Decoded | None:
    """The state or offset that was printed; None where there is none, or it cannot be read."""
    if len(record.key) > _LONGEST:
        return None
    try:
        value = _from_json(record) if record.key.startswith("{") else _from_text(record)
        if value is not None:
            value.encoded(0)
        return value
    except (KeyError, ValueError, TypeError, AttributeError, struct.error, RecursionError):
        return None


def _from_json(record: DumpedRecord) -> Decoded | None:
    if _GROUP.match(record.key):
        return DumpedOffset(group_record.GROUP_KEY, None)
    key, value = _object(record.key), _object(record.payload) if record.payload.strip() not in _DELETED else None
    data, version = key["data"], int(key.get("type", key.get("version")))
    if "transactionalId" in data:
        state = None if value is None else _state(int(value["version"]), value["data"])
        return DumpedState(str(data["transactionalId"]), state)
    if version not in group_record.OFFSET_KEYS:
        return DumpedOffset(version, None)
    place = TopicPartition(str(data["topic"]), int(data["partition"]))
    return DumpedOffset(
        group_record.OffsetKey(str(data["group"]), place),
        None if value is None else _offset(value["data"]["offset"], str(value["data"].get("metadata") or "")),
    )


def _object(text: str) -> Any:
    """The JSON with which a text begins, also where its quotation marks were doubled or escaped.

    Raises:
        ValueError: it begins with none.
    """
    if (quoted := _QUOTED.match(text)) is not None:
        text = text.replace(quoted[1], '"')
    value, _ = json.JSONDecoder().raw_decode(text)
    return value


def _from_text(record: DumpedRecord) -> Decoded | None:
    if _GROUP.match(record.key):
        return DumpedOffset(group_record.GROUP_KEY, None)
    named = next((found for each in _NAMES if (found := each.fullmatch(record.key))), None)
    if named is None:
        return None
    parts, deleted = named.groupdict(), record.payload.strip() in _DELETED
    if "id" in parts:
        return DumpedState(parts["id"], None if deleted else _state_in_words(record.payload), whole=deleted)
    key = group_record.OffsetKey(parts["group"], TopicPartition(parts["topic"], int(parts["partition"])))
    offset = None if deleted else _OFFSET.search(record.payload)
    if not deleted and offset is None:
        return None
    return DumpedOffset(key, None if offset is None else _offset(offset[1]))


def _offset(number: object, metadata: str = "") -> group_record.OffsetValue:
    return group_record.OffsetValue(Offset(int(str(number))), metadata)


def _state_in_words(payload: str) -> TransactionValue:
    """As it was printed; when the transaction began may not be known yet."""
    reported = dict(reversed(_FIELDS.findall(payload)))
    state = _STATES[reported["state"].upper().replace("_", "")]
    listed = reported["partitions" if "partitions" in reported else "topicPartitions"]
    return TransactionValue(
        version=0,
        producer_id=ProducerId(int(reported["producerId"])),
        epoch=Epoch(int(reported["producerEpoch"])),
        timeout_ms=int(reported["txnTimeoutMs"]),
        status=int(state),
        partitions=None
        if state is TransactionState.EMPTY
        else _partitions(listed[listed.find("(") + 1 :].strip("[])")),
        updated_ms=Timestamp(int(reported["txnLastUpdateTimestamp"])),
        started_ms=Timestamp(int(reported.get("txnStartTimestamp", ABSENT))),
    )


def _follows(begun: list[int], found: Mapping[int, Decoded], value: TransactionValue) -> TransactionValue:
    """The value with its beginning: a transaction begins with the first record of Ongoing after one that has none."""
    before = _value(found, begun[-1]) if begun else None
    if value.status == TransactionState.EMPTY:
        begun.clear()
        return value
    opens = value.status == TransactionState.ONGOING and (before is None or before.status != TransactionState.ONGOING)
    if opens:
        begun.clear()
    if value.started_ms != ABSENT:
        return value
    started = value.updated_ms if opens or before is None else before.started_ms
    return replace(value, started_ms=started)


def _bumped_by_client(begun: list[int], found: dict[int, Decoded]) -> None:
    """Where a commit bumps the epoch, or the end draws another producer id, the client was of version 2 all along.

    An abort that goes two epochs further is the coordinator's own, which then notes that version itself.
    """
    *earlier, last = (_value(found, offset) for offset in begun)
    before = earlier[-1] if earlier else None
    if last is None or before is None:
        return
    bumps = last.status == TransactionState.PREPARE_COMMIT and last.epoch == before.epoch + 1
    rotates = last.status in _COMPLETE and last.producer_id != before.producer_id
    fences = last.status == TransactionState.PREPARE_ABORT and last.epoch == before.epoch + 2
    continues = before.client_version == _BUMPING
    for offset in begun if bumps or rotates else begun[-1:] if fences or continues else ():
        state, value = found[offset], _value(found, offset)
        if isinstance(state, DumpedState) and value is not None:
            found[offset] = replace(state, value=replace(value, version=1, client_version=_BUMPING))


def _value(found: Mapping[int, Decoded], offset: int) -> TransactionValue | None:
    state = found[offset]
    return state.value if isinstance(state, DumpedState) else None


def _partitions(listed: str) -> tuple[PartitionsOfTopic, ...]:
    topics: dict[str, list[int]] = {}
    for name in filter(None, (each.strip() for each in listed.split(","))):
        topic, _, number = name.rpartition("-")
        topics.setdefault(topic, []).append(int(number))
    return tuple(PartitionsOfTopic(topic, tuple(numbers)) for topic, numbers in topics.items())


def _state(version: int, data: dict[str, Any]) -> TransactionValue:
    partitions = data["transactionPartitions"]
    return TransactionValue(
        version=version,
        producer_id=ProducerId(data["producerId"]),
        epoch=Epoch(data["producerEpoch"]),
        timeout_ms=data["transactionTimeoutMs"],
        status=data["transactionStatus"],
        partitions=None
        if partitions is None
        else tuple(PartitionsOfTopic(each["topic"], tuple(each["partitionIds"])) for each in partitions),
        updated_ms=Timestamp(data["transactionLastUpdateTimestampMs"]),
        started_ms=Timestamp(data["transactionStartTimestampMs"]),
        previous_producer_id=ProducerId(data.get("previousProducerId", ABSENT)),
        next_producer_id=ProducerId(data.get("nextProducerId", ABSENT)),
        client_version=data.get("clientTransactionVersion", 0),
        next_epoch=Epoch(data.get("nextProducerEpoch", ABSENT)),
    )
