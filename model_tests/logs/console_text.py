"""Records of internal topics as consumers print them: without their batch, offset and time; `kcl` prints offsets.

Source: TransactionLog.TransactionLogMessageFormatter and GroupMetadataManager.OffsetsMessageFormatter (0.11.0 to 3.7),
org.apache.kafka.tools.consumer.ApiMessageFormatter (3.8, 3.9) and CoordinatorRecordMessageFormatter (since 4.0), which
ends no line; of `kcl`, commands/consume/transaction_state.go and consumer_offsets.go.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from model_tests.logs.dump_grammar import DumpEntry, DumpLine
from model_tests.logs.dump_text import DumpedBatch, DumpedRecord, unknown_header
from model_tests.logs.dump_values import Decoded, read_value
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
_KCL_KEY: Final = ("Group", "Topic", "Partition")
_KCL_FIELD: Final = re.compile(r"^\s+(\w+)[ \t]+(.*?)\s*$", re.MULTILINE)


def partition_of(value: Decoded | None, partitions: int = PARTITIONS) -> str:
    """The partition in which a state or offset is kept; empty where that is not known."""
    match value:
        case Decoded(key=str() as name):
            return f"{STATES_TOPIC}-{partition_for(name, partitions)}"
        case Decoded(key=OffsetKey() as key):
            return f"{OFFSETS_TOPIC}-{partition_for(key.group, partitions)}"
    return ""


class ConsumedRecords:
    """Each record as a batch, by its partition; its offset is its place there, from 1, unless it is printed."""

    def __init__(self) -> None:
        self.batches: dict[str, list[DumpedBatch]] = {}
        self._seen: dict[str, dict[int, None]] = {}  # hashes of records, that of the newest last

    def take(self, entry: DumpEntry) -> bool:
        """Read a line, if it is one of a consumer."""
        place = _KCL_PLACE.match(entry.text) if entry.kind is DumpLine.KCL else None
        records = (DumpedRecord(ABSENT, *each) for each in _printed(entry))
        for record in [_of_kcl(entry.text, int(place[3]))] if place else records:
            read = read_value(record)
            named = read or read_value(replace(record, payload=""))  # whose it is, where no more can be read
            if partition := "-".join(place.group(1, 2)) if place else partition_of(named):
                self._add(partition, entry.line, record, read)
        return entry.kind in CONSOLE

    def _add(self, partition: str, line: int, record: DumpedRecord, read: Decoded | None) -> None:
        seen, written = self._seen.setdefault(partition, {}), hash(read or record)
        newest = next(reversed(seen), None)
        if written == newest or (written in seen and read is not None and read.value is not None):
            return  # the line is there twice: none but a deletion is written twice
        own = self.batches.setdefault(partition, [])
        seen[written] = seen.pop(written, None)
        offset = record.offset if record.offset >= 0 else len(own) + 1
        found = _TIME.search(record.payload)
        header = unknown_header(offset, offset, 1, int(found[1]) if found else ABSENT)
        own.append(DumpedBatch(line, header, records=[replace(record, offset=offset)]))


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
    """The record in a paragraph of `kcl`, in the words of Kafka's own decoder."""
    named, fields = _KCL_STATE.search(text), _KCL_FIELD.findall(text)
    payload = ",".join(f"{name}={value}" for name, value in fields if name not in _KCL_KEY)
    group = ",".join(dict(reversed(fields)).get(name, "") for name in _KCL_KEY)
    return DumpedRecord(offset, f"transactionalId={named[1]}" if named else f"[{group}]", payload)
