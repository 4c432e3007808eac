"""The lines of a wire log in words: each request with its node, decoded."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from model_tests.serve.wire_log import Line, call_in, fault_in
from reference.log.batch import RecordBatch
from reference.log.reader import read_batches
from reference.server.nodes import NodeFault
from reference.wire.codec import fields_of
from spec.vocabulary import ABSENT

LONGEST: Final = 40
"""The longest text of a field that is shown, in characters."""

UNSAID: Final[tuple[object, ...]] = (None, "", b"", [], ABSENT)
"""Values of fields that say nothing."""


def reported(lines: Sequence[Line]) -> Iterator[str]:
    """A line of text for each, with the seconds since the first."""
    for line in lines:
        yield f"{(line['time'] - lines[0]['time']) / 1_000:8.3f} s  {described(line)}"


def described(line: Line) -> str:
    """What a line of the log says, without its time."""
    if "bytes" in line:
        call = call_in(line)
        fields = _words(fields_of(call.message))
        return f"connection {call.connection} to node {call.node}: {call.header.api} v{call.version} {fields}"
    if "fault" in line:
        return _fault(fault_in(line))
    if "wire" in line:
        happened = ", ".join(name for name, value in line["wire"].items() if value)
        return f"connection {line['connection']}: {happened.replace('_', ' ')}"
    return "time passes"


def _fault(fault: NodeFault) -> str:
    where = f" {fault.topic}-{fault.partition}" if fault.topic else ""
    times = (
        ("is away for", fault.away_ms),
        ("loads for", fault.loading_ms),
        ("leaves a zombie for", fault.zombie_ms),
    )
    return f"{fault.kind}{where}, node {fault.node}" + "".join(f", {does} {ms} ms" for does, ms in times if ms)


def _words(fields: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={_value(value)}" for name, value in fields.items() if value not in UNSAID)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"({_words(value)})"
    if isinstance(value, list):
        return "[" + ", ".join(_value(each) for each in value) + "]"
    if isinstance(value, bytes | bytearray | memoryview):
        return _bytes(bytes(value))
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _bytes(value: bytes) -> str:
    """Batches by what makes them exactly once, any other bytes by their number."""
    batches = [found.batch for found in read_batches(value) if not hasattr(found, "kind")]
    return "+".join(map(_batch, batches)) if batches else f"<{len(value)} bytes>"


def _batch(batch: RecordBatch) -> str:
    kind = "transactional " if batch.is_transactional else ""
    identity = f"producer {batch.producer_id}/{batch.producer_epoch} seq {batch.base_sequence}"
    return f"<{kind}{identity}, {batch.record_count} records>"
