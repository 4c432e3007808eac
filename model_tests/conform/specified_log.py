"""A partition's log, as far as readers can see it: batches, their sizes on disk, segments, the aborted index."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from model_tests.conform.answers import SeenBatch
from spec.protocol.lso import AbortedTransaction

BATCH_OVERHEAD: Final = 61  # the header of a batch
MARKER_SIZE: Final = 78  # a batch with one control record
RECORD_FIELDS: Final = 4  # attributes, time, no key, no headers: one byte each


@dataclass(frozen=True, slots=True)
class SizedBatch:
    """A batch in the log and how many bytes it takes."""

    seen: SeenBatch
    size: int


@dataclass(frozen=True, slots=True)
class Aborted:
    """An entry of the aborted index, with its producer id."""

    producer_id: int
    entry: AbortedTransaction


@dataclass(slots=True)
class SpecifiedSegment:
    """A part of the log with its own part of the aborted index."""

    base_offset: int
    batches: list[SizedBatch] = field(default_factory=list)
    aborted: list[Aborted] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Bytes of its batches."""
        return sum(batch.size for batch in self.batches)


class SpecifiedLog:
    """Segments of bounded size; a batch that does not fit begins a new one."""

    def __init__(self, segment_bytes: int) -> None:
        """An empty log."""
        self.end = 0
        self._segment_bytes = segment_bytes
        self._segments = [SpecifiedSegment(0)]

    def make_room(self, size: int) -> None:
        """Begin a new segment if so many bytes do not fit into the last one."""
        last = self._segments[-1]
        if last.batches and last.size + size > self._segment_bytes:
            self._segments.append(SpecifiedSegment(self.end))

    def add(self, batch: SizedBatch) -> None:
        """Append a batch to the last segment."""
        self._segments[-1].batches.append(batch)
        self.end = batch.seen.last_offset + 1

    def index(self, aborted: Aborted) -> None:
        """Add an aborted transaction, whose marker is in the last segment."""
        self._segments[-1].aborted.append(aborted)

    def since(self, offset: int) -> Sequence[SpecifiedSegment]:
        """The segments from the one that holds an offset."""
        first = max(n for n, segment in enumerate(self._segments) if segment.base_offset <= offset)
        return self._segments[first:]

    def batches(self) -> Iterator[SeenBatch]:
        """Every batch, in order."""
        return (batch.seen for segment in self._segments for batch in segment.batches)


def size_of(values: Sequence[str]) -> int:
    """Bytes of an uncompressed batch of records with these values, no keys and one time."""
    return BATCH_OVERHEAD + sum(_record(delta, value) for delta, value in enumerate(values))


def _record(delta: int, value: str) -> int:
    length = len(value.encode())
    body = RECORD_FIELDS + _varint(delta) + _varint(length) + length
    return _varint(body) + body


def _varint(number: int) -> int:
    """Bytes of a number that is not negative: seven bits each, one of which is the sign."""
    return max(1, -(-(number << 1).bit_length() // 7))
