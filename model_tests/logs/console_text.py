"""Records of internal topics as consumers print them: without their batch, offset and time; `kcl` prints offsets.

Source: TransactionLog.TransactionLogMessageFormatter and GroupMetadataManager.OffsetsMessageFormatter (0.11.0 to 3.7),
org.apache.kafka.tools.consumer.ApiMessageFormatter (3.8, 3.9) and CoordinatorRecordMessageFormatter (since 4.0), which
ends no line; of `kcl`, commands/consume/transaction_state.go and consumer_offsets.go.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from model_tests.logs.dump_grammar import DumpEntry, DumpLine
from model_tests.logs.dump_text import DumpedRecord
from model_tests.logs.dump_values import Decoded, DumpedOffset, DumpedState, read_value
from reference.broker.group_record import OffsetKey
from reference.broker.transaction_log import PARTITIONS, partition_for

STATES_TOPIC: Final = "__transaction_state"
OFFSETS_TOPIC: Final = "__consumer_offsets"
CONSOLE: Final = (DumpLine.STATE, DumpLine.OFFSET, DumpLine.JSON, DumpLine.KCL)

_NAMED: Final = re.compile(r"TransactionMetadata\(transactionalId=([^,()]*),")
"""The id is in the value, too; before the key may be anything."""

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


def console_records(lines: Iterable[DumpEntry]) -> Iterator[tuple[str, int, DumpedRecord]]:
    """Each record with its partition and the line that it is from; its offset is its place there, from 1."""
    found: dict[str, int] = {}
    for entry in lines:
        if entry.kind is DumpLine.KCL:
            yield from _of_kcl(entry)
        for key, payload in _printed(entry):
            record = DumpedRecord(0, key, payload)
            partition = partition_of(read_value(record))
            if partition:
                offset = found[partition] = found.get(partition, 0) + 1
                yield partition, entry.line, DumpedRecord(offset, key, payload)


def _printed(entry: DumpEntry) -> Iterator[tuple[str, str]]:
    """Key and value of each record of a line."""
    if entry.kind is DumpLine.JSON:
        yield from _objects(entry.text)
    elif entry.kind in (DumpLine.STATE, DumpLine.OFFSET):
        key, _, value = " ".join(entry.text.split()).partition("::")
        named = _NAMED.match(value)
        yield f"transactionalId={named[1] if named else key}" if entry.kind is DumpLine.STATE else key, value


def _objects(text: str) -> Iterator[tuple[str, str]]:
    decoder, at = json.JSONDecoder(), 0
    while (at := text.find('{"key":', at)) >= 0:
        try:
            record, at = decoder.raw_decode(text, at)
            yield json.dumps(record["key"]), json.dumps(record["value"])
        except (ValueError, KeyError, TypeError, RecursionError):
            at += 1


def _of_kcl(entry: DumpEntry) -> Iterator[tuple[str, int, DumpedRecord]]:
    """The record in a paragraph of `kcl`, with its own place; none where it is of another kind."""
    place, named = _KCL_PLACE.match(entry.text), _KCL_STATE.search(entry.text)
    fields: dict[str, str] = dict(reversed(_KCL_FIELD.findall(entry.text)))
    if named is not None:
        key, payload = f"transactionalId={named[1]}", _kcl_state(fields) if "State" in fields else ""
    else:
        key = f"[{fields.get('Group')},{fields.get('Topic')},{fields.get('Partition')}]"
        payload = (
            f"offset={fields['Offset']},commitTimestamp={fields.get('CommitTimestamp')}" if "Offset" in fields else ""
        )
    if place is not None:
        partition = f"{place['topic']}-{place['partition']}"
        yield partition, entry.line, DumpedRecord(int(place["offset"]), key, payload)


def _kcl_state(fields: Mapping[str, str]) -> str:
    """A state in the words of Kafka's own decoder."""
    listed = _KCL_TOPIC.findall(fields.get("Topics", ""))
    partitions = ",".join(f"{topic}-{number}" for topic, numbers in listed for number in numbers.split())
    return (
        f"producerId:{fields.get('ProducerID')},producerEpoch:{fields.get('ProducerEpoch')},state={fields['State']},"
        f"partitions=[{partitions}],txnStartTimestamp={fields.get('StartTimestamp')},"
        f"txnLastUpdateTimestamp={fields.get('LastUpdateTimestamp')},txnTimeoutMs={fields.get('TimeoutMillis')}"
    )
