"""Records of internal topics as consumers print them: without their batch, offset and time; `kcl` prints offsets.

Source: TransactionLog.TransactionLogMessageFormatter and GroupMetadataManager.OffsetsMessageFormatter (0.11.0 to 3.7),
org.apache.kafka.tools.consumer.ApiMessageFormatter (3.8, 3.9) and CoordinatorRecordMessageFormatter (since 4.0), which
ends no line; of `kcl`, commands/consume/transaction_state.go and consumer_offsets.go.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from model_tests.logs.dump_grammar import DumpEntry, DumpLine
from model_tests.logs.dump_text import DumpedBatch, DumpedRecord
from model_tests.logs.dump_values import Decoded, DumpedOffset, DumpedState, read_value
from reference.broker.group_record import OffsetKey
from reference.broker.transaction_log import PARTITIONS, partition_for
from spec.vocabulary import ABSENT

STATES_TOPIC: Final = "__transaction_state"
OFFSETS_TOPIC: Final = "__consumer_offsets"
CONSOLE: Final = (DumpLine.STATE, DumpLine.OFFSET, DumpLine.JSON, DumpLine.KCL)

_NAMED: Final = re.compile(r"TransactionMetadata\(transactionalId=([^,()]*),")
"""The id is in the value, too; before the key may be anything."""

_TIME: Final = re.compile(r"(?:LastUpdateTimestamp(?:Ms)?|commitTimestamp|CommitTime)\W+(\d{1,18})")
"""When a state or an offset was written, which is its batch's time."""

_OBJECT: Final = re.compile(r'\{\s*"key":')
_KCL_PLACE: Final = re.compile(r"(?P<topic>__\w+) partition (?P<partition>\d+) offset (?P<offset>\d{1,18}) at ")
_KCL_STATE: Final = re.compile(r"^TxnMetadataKey\(\d+\) (.*)$", re.MULTILINE)
_KCL_FIELD: Final = re.compile(r"^\s+(\w+)[ \t]+(.*?)\s*$", re.MULTILINE)
_KCL_TOPIC: Final = re.compile(r"([^\s=]+)=>\[([\d ]*)\]")


def partition_of(value: Decoded | None, partitions: int = PARTITIONS) -> str:
    """The partition in which a state or offset is kept; empty where that is not known."""
    if isinstance(value, DumpedState):
        return f"{STATES_TOPIC}-{partition_for(value.name, partitions)}"
    if isinstance(value, DumpedOffset) and isinstance(value.key, OffsetKey):
        return f"{OFFSETS_TOPIC}-{partition_for(value.key.group, partitions)}"
    return ""


class ConsumedRecords:
    """Each record as a batch, by its partition; its offset is its place there, from 1, unless it is printed."""

    def __init__(self) -> None:
        self.batches: dict[str, list[DumpedBatch]] = {}

    def take(self, entry: DumpEntry) -> bool:
        """Read a line, if it is one of a consumer."""
        place = _KCL_PLACE.match(entry.text) if entry.kind is DumpLine.KCL else None
        if place is not None:
            self._add("-".join(place.group(1, 2)), entry.line, _of_kcl(entry.text, int(place[3])))
        for key, payload in _printed(entry):
            record = DumpedRecord(ABSENT, key, payload)
            self._add(partition_of(read_value(record)), entry.line, record)
        return entry.kind in CONSOLE

    def _add(self, partition: str, line: int, record: DumpedRecord) -> None:
        if partition:
            own = self.batches.setdefault(partition, [])
            if own and own[-1].records == [replace(record, offset=own[-1].base_offset)]:
                return  # the line is there twice
            offset = record.offset if record.offset >= 0 else len(own) + 1
            found = _TIME.search(record.payload)
            time = int(found[1]) if found else ABSENT
            own.append(DumpedBatch(line, offset, offset, timestamp=time, records=[replace(record, offset=offset)]))


def _printed(entry: DumpEntry) -> Iterator[tuple[str, str]]:
    """Key and value of each record of a line."""
    if entry.kind is DumpLine.JSON:
        yield from _objects(entry.text)
    elif entry.kind in (DumpLine.STATE, DumpLine.OFFSET):
        key, _, value = " ".join(entry.text.split()).partition("::")
        named = _NAMED.match(value)
        yield f"transactionalId={named[1] if named else key}" if entry.kind is DumpLine.STATE else key, value


def _objects(text: str) -> Iterator[tuple[str, str]]:
    text = text if text.startswith("{") else f"{{{text}"  # the brace is in the line before
    decoder, at = json.JSONDecoder(), 0
    while (found := _OBJECT.search(text, at)) is not None:
        at = found.end()
        try:
            record, at = decoder.raw_decode(text, found.start())
            yield json.dumps(record["key"]), json.dumps(record["value"])
        except (ValueError, KeyError, TypeError, RecursionError):
            continue


def _of_kcl(text: str, offset: int) -> DumpedRecord:
    """The record in a paragraph of `kcl`."""
    named = _KCL_STATE.search(text)
    fields: dict[str, str] = dict(reversed(_KCL_FIELD.findall(text)))
    if named is not None:
        return DumpedRecord(offset, f"transactionalId={named[1]}", _kcl_state(fields) if "State" in fields else "")
    payload = f"offset={fields['Offset']},commitTimestamp={fields.get('CommitTimestamp')}" if "Offset" in fields else ""
    return DumpedRecord(offset, f"[{fields.get('Group')},{fields.get('Topic')},{fields.get('Partition')}]", payload)


def _kcl_state(fields: Mapping[str, str]) -> str:
    """A state in the words of Kafka's own decoder."""
    listed = _KCL_TOPIC.findall(fields.get("Topics", ""))
    partitions = ",".join(f"{topic}-{number}" for topic, numbers in listed for number in numbers.split())
    return (
        f"producerId:{fields.get('ProducerID')},producerEpoch:{fields.get('ProducerEpoch')},state={fields['State']},"
        f"partitions=[{partitions}],txnStartTimestamp={fields.get('StartTimestamp')},"
        f"txnLastUpdateTimestamp={fields.get('LastUpdateTimestamp')},txnTimeoutMs={fields.get('TimeoutMillis')}"
    )
