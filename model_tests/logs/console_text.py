"""Records of internal topics as the console consumer's formatters print them: without their batch, offset and time.

Source: TransactionLog.TransactionLogMessageFormatter and GroupMetadataManager.OffsetsMessageFormatter (0.11.0 to 3.7),
org.apache.kafka.tools.consumer.ApiMessageFormatter (3.8, 3.9) and CoordinatorRecordMessageFormatter (since 4.0), which
ends no line.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Final

from model_tests.logs.dump_grammar import Entry, Line
from model_tests.logs.dump_text import DumpedRecord
from model_tests.logs.dump_values import Decoded, DumpedOffset, DumpedState, read_value
from reference.broker.group_record import OffsetKey
from reference.broker.transaction_log import PARTITIONS, partition_for

STATES_TOPIC: Final = "__transaction_state"
OFFSETS_TOPIC: Final = "__consumer_offsets"
CONSOLE: Final = (Line.STATE, Line.OFFSET, Line.JSON)


def partition_of(value: Decoded | None, partitions: int = PARTITIONS) -> str:
    """The partition in which a state or offset is kept; empty where that is not known."""
    if isinstance(value, DumpedState):
        return f"{STATES_TOPIC}-{partition_for(value.name, partitions)}"
    if isinstance(value, DumpedOffset) and isinstance(value.key, OffsetKey):
        return f"{OFFSETS_TOPIC}-{partition_for(value.key.group, partitions)}"
    return ""


def console_records(lines: Iterable[Entry]) -> Iterator[tuple[str, int, DumpedRecord]]:
    """Each record with its partition and the line that it is from; its offset is its place there, from 1."""
    found: dict[str, int] = {}
    for entry in lines:
        for key, payload in _printed(entry):
            record = DumpedRecord(0, key, payload)
            partition = partition_of(read_value(record))
            if partition:
                offset = found[partition] = found.get(partition, 0) + 1
                yield partition, entry.line, DumpedRecord(offset, key, payload)


def _printed(entry: Entry) -> Iterator[tuple[str, str]]:
    """Key and value of each record of a line."""
    if entry.kind is Line.JSON:
        yield from _objects(entry.text)
    elif entry.kind in CONSOLE:
        key, _, value = entry.text.partition("\n")[0].partition("::")
        yield f"transactionalId={key}" if entry.kind is Line.STATE else key, value


def _objects(text: str) -> Iterator[tuple[str, str]]:
    decoder, at = json.JSONDecoder(), 0
    while (at := text.find('{"key":', at)) >= 0:
        try:
            record, at = decoder.raw_decode(text, at)
            yield json.dumps(record["key"]), json.dumps(record["value"])
        except (ValueError, KeyError, TypeError, RecursionError):
            at += 1
