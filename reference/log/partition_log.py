"""The log of one partition in memory: batches in offset order, from log start to log end."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from reference.errors import Impossible
from reference.log.batch import RecordBatch
from spec.vocabulary import Offset


class PartitionLog:
    """An append-only list of batches; only truncation and the advance of log start take any away."""

    __slots__ = ("_batches", "_last_offsets", "log_end", "log_start")

    def __init__(self) -> None:
        """An empty log that starts at offset 0."""
        self._batches: list[RecordBatch] = []
        self._last_offsets: list[int] = []  # of the batches, to search in
        self.log_start = Offset(0)
        self.log_end = Offset(0)

    def __len__(self) -> int:
        """Batches in the log."""
        return len(self._batches)

    def __iter__(self) -> Iterator[RecordBatch]:
        """Every batch in offset order."""
        return iter(self._batches)

    @property
    def batches(self) -> tuple[RecordBatch, ...]:
        """Every batch in offset order."""
        return tuple(self._batches)

    def append(self, batch: RecordBatch) -> None:
        """Add a placed batch that ends at or after the log end (a gap in offsets is what cleaning leaves).

        Raises:
            Impossible: the batch is below the log end.
        """
        last_offset = batch.base_offset + batch.last_offset_delta
        if last_offset < self.log_end:
            raise Impossible(f"batch that ends at {last_offset} below the log end {self.log_end}")
        self._batches.append(batch)
        self._last_offsets.append(last_offset)
        self.log_end = Offset(last_offset + 1)

    def append_all(self, batches: Sequence[RecordBatch]) -> None:
        """Add placed batches in one append."""
        for batch in batches:
            self.append(batch)

    def read(self, offset: int, below: int) -> tuple[RecordBatch, ...]:
        """The batches that hold any offset in offset .. below-1; the first may begin earlier."""
        return tuple(self.walk(offset, below))

    def walk(self, offset: int, below: int) -> Iterator[RecordBatch]:
        """As `read`, one batch at a time."""
        for place in range(bisect_left(self._last_offsets, offset), len(self._batches)):
            batch = self._batches[place]
            if batch.base_offset >= below:
                return
            yield batch

    def offset_for_time(self, timestamp: int) -> Offset | None:
        """Base offset of the first batch with a record of that time or later, None if there is none."""
        return next((batch.base_offset for batch in self._batches if batch.max_timestamp >= timestamp), None)

    def truncate(self, offset: int) -> None:
        """Drop every batch that reaches `offset` or beyond; the log then ends at the last kept batch.

        A log that begins after `offset`, since its older records were deleted, is empty then, and begins there.
        """
        if offset < self.log_start:
            self.start_at(Offset(offset))
            return
        kept = bisect_left(self._last_offsets, offset)
        del self._batches[kept:], self._last_offsets[kept:]
        end = self._batches[-1].last_offset + 1 if self._batches else self.log_start
        self.log_end = Offset(min(self.log_end, max(end, self.log_start)))

    def advance_start(self, offset: int) -> None:
        """Move log start up to `offset` (retention or DeleteRecords) and drop the batches wholly below it.

        Raises:
            Impossible: the offset is below the log start or above the log end.
        """
        if not self.log_start <= offset <= self.log_end:
            raise Impossible(f"log start cannot go from {self.log_start} to {offset}, the log ends at {self.log_end}")
        self.log_start = Offset(offset)
        gone = bisect_left(self._last_offsets, offset)
        del self._batches[:gone], self._last_offsets[:gone]

    def start_at(self, offset: Offset) -> None:
        """Drop everything and begin anew at `offset`, as a follower whose leader has nothing older."""
        self._batches, self._last_offsets = [], []
        self.log_start = self.log_end = offset
