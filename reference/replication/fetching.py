"""A leader's read for a follower: the next records, or where their logs diverge (Partition.readRecords)."""

from itertools import islice
from typing import Final

from reference.errors import OffsetOutOfRange
from reference.log.partition import Partition
from reference.replication.messages import NO_EPOCH, UNDEFINED, EpochEnd, FetchRequest, FollowerFetchResult
from spec.vocabulary import ErrorCode, Offset

WITHOUT_LIMIT: Final = 2**31 - 1  # the largest int, as a follower's max_bytes that limits nothing


def bounds(log: Partition) -> tuple[Offset, Offset, Offset]:
    """High watermark, log start and log end."""
    return log.high_watermark, log.log_start, log.log_end


def read_for(log: Partition, request: FetchRequest, known: EpochEnd, max_batches: int) -> FollowerFetchResult:
    """Answer a follower from the leader's log.

    Args:
        log: the leader's.
        request: the fetch.
        known: where the epoch that the fetch names ends in that log.
        max_batches: how many batches an answer has at most.

    Raises:
        OffsetOutOfRange: nothing can be said of the offset, or of the epoch that it was written under.
    """
    # [repl.prefix_agreement]
    if request.last_epoch != NO_EPOCH:
        if UNDEFINED.epoch in known or request.offset < log.log_start:
            raise OffsetOutOfRange(offset=request.offset, epoch=request.last_epoch)
        if known.epoch < request.last_epoch or known.end < request.offset:
            return FollowerFetchResult(ErrorCode.NONE, (), *bounds(log), diverging=known)

    if not log.log_start <= request.offset <= log.log_end:
        raise OffsetOutOfRange(offset=request.offset, log_start=log.log_start, log_end=log.log_end)
    if request.offset == log.log_end:
        return FollowerFetchResult(ErrorCode.NONE, (), *bounds(log))
    batches = islice(log.log.walk(request.offset, log.log_end), max_batches)
    return FollowerFetchResult(ErrorCode.NONE, tuple(batches), *bounds(log))
