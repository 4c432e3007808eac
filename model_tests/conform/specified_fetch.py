"""A fetch on the specification: the data up to its bound, its aborted transactions, and what a client delivers."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from model_tests.conform.answers import RecordedFetchAnswer, SeenBatch
from model_tests.conform.requests import RecordedFetch
from model_tests.conform.specified_log import Aborted, SizedBatch, SpecifiedSegment
from model_tests.conform.specified_partition import LOG_START, SpecifiedPartition
from spec.protocol import lso
from spec.protocol.lso import FetchAnswer
from spec.vocabulary import ErrorCode


def fetched(partition: SpecifiedPartition, request: RecordedFetch) -> tuple[FetchAnswer, RecordedFetchAnswer]:
    """Answer a fetch; a single segment is read, that which holds the offset."""
    offsets = partition.offsets
    decided = lso.fetch(offsets, request.offset, request.committed_only)
    if decided.error != ErrorCode.NONE:
        return decided, RecordedFetchAnswer(ErrorCode(decided.error))
    batches: tuple[SeenBatch, ...] = ()
    aborted: tuple[Aborted, ...] = ()
    if request.offset < decided.bound:
        segments = partition.log.since(request.offset)
        batches = tuple(_within(segments[0].batches, request, decided.bound))
        aborted = tuple(_aborted(segments, request.offset, offsets.log_end))
    listed = tuple((each.producer_id, each.entry.first_offset) for each in aborted)
    return decided, RecordedFetchAnswer(
        ErrorCode.NONE,
        offsets.high_watermark,
        lso.last_stable(offsets),
        LOG_START,
        listed if request.committed_only else None,
        batches,
        tuple(_delivered(batches, listed, request)),
    )


def _within(batches: Sequence[SizedBatch], request: RecordedFetch, bound: int) -> Iterator[SeenBatch]:
    """The batches from the fetch offset to the bound, as many as fit, but at least one."""
    readable = [b for b in batches if b.seen.last_offset >= request.offset and b.seen.base_offset < bound]
    for number, size in enumerate(accumulate(batch.size for batch in readable)):
        if number == 0 or size <= request.max_bytes:
            yield readable[number].seen


def _aborted(segments: Sequence[SpecifiedSegment], offset: int, log_end: int) -> Iterator[Aborted]:
    """What the aborted index lists up to the end of the segment that is read; the index itself may continue."""
    upper = segments[1].base_offset if len(segments) > 1 else log_end
    for each in (each for segment in segments for each in segment.aborted):
        if lso.is_listed(each.entry, offset, upper):
            yield each
        if lso.ends_the_list(each.entry, upper):
            return


def _delivered(
    batches: Sequence[SeenBatch], aborted: Sequence[tuple[int, int]], request: RecordedFetch
) -> Iterator[tuple[int, str]]:
    """The client's filter: a producer's batches are hidden from the start of an aborted transaction to its marker."""
    waiting = sorted(aborted, key=lambda listed: listed[1])
    hidden: set[int] = set()
    for batch in batches:
        while waiting and waiting[0][1] <= batch.last_offset:
            hidden.add(waiting.pop(0)[0])
        if batch.marker == "ABORT":
            hidden.discard(batch.producer_id)
        if lso.is_delivered(
            control=batch.control,
            transactional=batch.transactional,
            aborted=batch.producer_id in hidden,
            read_committed=request.committed_only,
        ):
            records = ((batch.base_offset + delta, value) for delta, value in enumerate(batch.values))
            yield from (record for record in records if record[0] >= request.offset)
