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
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from model_tests.logs.coordinator_log_values import UNPRINTED
from model_tests.logs.dump_text import DumpedRecord
from reference.broker import group_record, transaction_record
from reference.broker.transaction_metadata import TopicPartition
from reference.broker.transaction_record import PartitionsOfTopic, TransactionValue
from reference.log.record import Record
from spec.vocabulary import ABSENT, Offset, TransactionState

UNDECODED: Final = struct.pack(">hh", UNPRINTED, 0)
"""Key of a record that no decoder printed."""

_NAMES: Final = (
    re.compile(r"(?:transaction_metadata::)?transactionalId=(?P<transactionalId>.*)", re.DOTALL),
    re.compile(r"offset_commit::group=(?P<group>.*),partition=(?P<topic>.*)-(?P<partition>\d+)", re.DOTALL),
    re.compile(r"offset::(?P<group>.*):(?P<topic>[^:]*):(?P<partition>\d+)", re.DOTALL),
    re.compile(r"\[(?P<group>.*),(?P<topic>[^,]*),(?P<partition>\d+)\]", re.DOTALL),
)
_GROUP: Final = re.compile(r"group_metadata::group=|metadata::|\{\"metadata\":")
_FIELDS: Final = re.compile(
    r"\b(\w{1,30})[:=]((?:[^\s,=]+=>\[[\d ]*\]\s*)+|\w{0,30}\([^()]*\)|\[[^\[\]]*\]|[^,()\[\]\s'\"<]*)"
)
_OFFSET: Final = re.compile(r"(?:OffsetAndMetadata\(|\[OffsetMetadata\[)?(?:[oO]ffset=)?(-?\d+)")
_QUOTED: Final = re.compile(r'\{("{2,}|\\+")')
_DELETED: Final = ("<DELETE>", "NULL", "null", "")

_STATE: Final[Mapping[str, tuple[str, ...]]] = {
    "version": ("version",),
    "status": ("state", "transactionStatus", "State"),
    "partitions": ("partitions", "topicPartitions", "transactionPartitions", "Topics"),
    "producer_id": ("producerId", "ProducerID"),
    "epoch": ("producerEpoch", "ProducerEpoch"),
    "timeout_ms": ("txnTimeoutMs", "transactionTimeoutMs", "TimeoutMillis"),
    "updated_ms": ("txnLastUpdateTimestamp", "transactionLastUpdateTimestampMs", "LastUpdateTimestamp"),
    "started_ms": ("txnStartTimestamp", "transactionStartTimestampMs", "StartTimestamp"),
    "previous_producer_id": ("previousProducerId",),
    "next_producer_id": ("nextProducerId",),
    "client_version": ("clientTransactionVersion",),
    "next_epoch": ("nextProducerEpoch",),
}
"""What decoders and formatters, JSON, and `kcl` call the fields of a state."""

_IN_TOPICS: Final = re.compile(r"([^\s,()\[\]=]+)(?:-(\d+)|=>\[([\d ]*)\])")
_STATES: Final = {state.name.replace("_", ""): state for state in TransactionState}
_COMPLETE: Final = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
_CONTINUES: Final[Mapping[int, Collection[int]]] = {
    TransactionState.ONGOING: tuple(TransactionState),
    TransactionState.PREPARE_COMMIT: (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT),
    TransactionState.PREPARE_ABORT: (TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT),
    TransactionState.COMPLETE_COMMIT: (TransactionState.COMPLETE_COMMIT,),
    TransactionState.COMPLETE_ABORT: (TransactionState.COMPLETE_ABORT,),
}
"""The states that the same transaction may have in a later record."""

_LONGEST: Final = 1 << 15
"""Characters of a key; a string of Kafka has no more bytes."""

_BUMPING: Final = 2
"""Clients of this transaction version bump the epoch when they end a transaction."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A record of an internal topic.

    Attributes:
        key: a transactional id, whose offset it is, or the version of the key of another record of groups.
        value: a state, or an offset; None deletes it.
        whole: what was printed leaves nothing out.
    """

    key: str | group_record.OffsetKey | int
    value: TransactionValue | group_record.OffsetValue | None
    whole: bool = True

    def encoded(self, delta: int) -> Record:
        """The record in bytes."""
        match self.key:
            case str() as name:
                key = transaction_record.encode_key(name)
            case int() as version:
                key = struct.pack(">h", version)
            case group:
                key = group_record.encode_key(group)
        return Record(delta, 0, key, None if self.value is None else self.value.encode())


def decoded(dumped: Iterable[DumpedRecord]) -> dict[int, Decoded]:
    """The records of one partition by their offset, in order, as far as something printed them."""
    found: dict[int, Decoded] = {}
    begun: dict[object, list[int]] = {}  # offsets of the records of an id's transaction, the newest last
    for record in dumped:
        if (read := read_value(record)) is not None:
            found[record.offset] = read
            if isinstance(read.value, TransactionValue) and not read.whole:
                _infer(found, begun.setdefault(read.key, []), record.offset, read.value)
    return found


def read_value(record: DumpedRecord) -> Decoded | None:
    """The state or offset that was printed; None where there is none, or it cannot be read."""
    if len(record.key) > _LONGEST:
        return None
    try:
        if _GROUP.match(record.key):
            return Decoded(group_record.GROUP_KEY, None)
        read = _read(_named(record.key), None if record.payload.strip() in _DELETED else _printed(record.payload))
        read.encoded(0)
        return read
    except (KeyError, ValueError, TypeError, AttributeError, struct.error, RecursionError):
        return None


def _read(key: Mapping[str, Any], value: Mapping[str, Any] | None) -> Decoded:
    if "transactionalId" in key:
        state = None if value is None else _state(value)
        return Decoded(str(key["transactionalId"]), state, whole=value is None or "version" in value)
    if (version := int(key.get("version", group_record.OFFSET_KEYS[0]))) not in group_record.OFFSET_KEYS:
        return Decoded(version, None)
    place = TopicPartition(str(key["topic"]), int(key["partition"]))
    offset = None
    if value is not None:
        offset = group_record.OffsetValue(Offset(int(value["offset"])), str(value.get("metadata") or ""))
    return Decoded(group_record.OffsetKey(str(key["group"]), place), offset)


def _named(text: str) -> Mapping[str, Any]:
    """Whose record it is, by the names of JSON; the version of a key is in JSON alone."""
    if text.startswith("{"):
        return _object(text)
    (named,) = (found.groupdict() for each in _NAMES if (found := each.fullmatch(text)))
    return named


def _printed(text: str) -> Mapping[str, Any]:
    """What was printed of a value; its version is in JSON alone."""
    if text.startswith("{"):
        return _object(text)
    if text.startswith("TransactionMetadata(") and text.count("(") > text.count(")"):
        raise ValueError("it is cut")
    offset = _OFFSET.match(text)
    return dict(reversed(_FIELDS.findall(text))) | ({"offset": offset[1]} if offset else {})


def _object(text: str) -> Mapping[str, Any]:
    """The fields of the JSON with which a text begins, also where its quotation marks were doubled or escaped.

    Raises:
        ValueError: it begins with none.
    """
    if (quoted := _QUOTED.match(text)) is not None:
        text = text.replace(quoted[1], '"')
    value, _ = json.JSONDecoder().raw_decode(text)
    return {**value["data"], "version": value.get("type", value.get("version"))}


def _state(printed: Mapping[str, Any]) -> TransactionValue:
    """A state of what was printed of it; when the transaction began may not be known yet."""
    known = {name: printed[each] for name, spelled in _STATE.items() for each in spelled if each in printed}
    status, listed = str(known.pop("status")), known.pop("partitions")
    state = int(_STATES.get(status.upper().replace("_", ""), status))
    partitions = None if state == TransactionState.EMPTY and isinstance(listed, str) else _partitions(listed)
    numbers: dict[str, Any] = {"version": 0, "started_ms": ABSENT} | {name: int(each) for name, each in known.items()}
    return TransactionValue(status=state, partitions=partitions, **numbers)


def _partitions(listed: Any) -> tuple[PartitionsOfTopic, ...] | None:
    """The partitions in a transaction, of JSON or in words."""
    topics: dict[str, list[int]] = {}
    if listed is None:
        return None
    if isinstance(listed, str):
        for topic, number, numbers in _IN_TOPICS.findall(listed):
            topics.setdefault(topic, []).extend(map(int, [number] if number else numbers.split()))
    else:
        topics = {each["topic"]: each["partitionIds"] for each in listed}
    return tuple(PartitionsOfTopic(topic, tuple(numbers)) for topic, numbers in topics.items())


def _infer(found: dict[int, Decoded], begun: list[int], offset: int, value: TransactionValue) -> None:
    """Note when the transaction of a state began, and of which version its client was, where that was not printed.

    It began when the record that opened it was written; where that is missing, no more is known than that it had begun.
    Where a commit bumps the epoch, or the end draws another producer id, the client was of version 2 all along. An
    abort that goes two epochs further is the coordinator's own, which then notes that version itself.
    """
    before = _value(found, begun[-1]) if begun else None
    continues = before is not None and value.status in _CONTINUES.get(before.status, ())
    if value.status == TransactionState.EMPTY or (value.status == TransactionState.ONGOING and not continues):
        begun.clear()
    if value.status != TransactionState.EMPTY and value.started_ms == ABSENT:
        value = replace(value, started_ms=before.started_ms if before is not None and continues else value.updated_ms)
    found[offset] = replace(found[offset], value=value)
    begun.append(offset)
    if before is None or len(begun) == 1:
        return
    bumps = value.status == TransactionState.PREPARE_COMMIT and value.epoch == before.epoch + 1
    rotates = value.status in _COMPLETE and value.producer_id != before.producer_id
    fences = value.status == TransactionState.PREPARE_ABORT and value.epoch == before.epoch + 2
    bumped = begun if bumps or rotates else [offset] if fences or before.client_version == _BUMPING else []
    for each in bumped:
        found[each] = replace(found[each], value=replace(_value(found, each), version=1, client_version=_BUMPING))


def _value(found: Mapping[int, Decoded], offset: int) -> TransactionValue:
    return cast("TransactionValue", found[offset].value)
