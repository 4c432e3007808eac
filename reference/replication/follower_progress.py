"""A leader's view of one follower (Replica, ReplicaState), and its read for the follower (Partition.readRecords).

The read returns the next records, or the point where the two logs diverge.
"""

from itertools import islice
from typing import Final, NamedTuple

from reference.errors import OffsetOutOfRange
from reference.log.partition import Partition
from reference.replication.messages import NO_EPOCH, UNDEFINED, EpochEnd, FetchRequest, FollowerFetchResult
from spec.vocabulary import ABSENT, NO_OFFSET, ErrorCode, Offset, Timestamp

NEVER: Final = Timestamp(0)
"""The time that Kafka gives to what has not happened yet."""


class FollowerProgress(NamedTuple):
    """How far a follower has copied the log, as its fetches show.

    Attributes:
        log_end: its log end, -1 before its first fetch under this leader.
        leader_end: the leader's log end when it last fetched.
        fetched_ms: when it last fetched, by the leader's clock.
        caught_up_ms: when it last had everything that the leader had at its fetch, by the leader's clock.
        broker_epoch: of the incarnation that fetched.
    """

    log_end: Offset = NO_OFFSET
    leader_end: Offset = NO_OFFSET
    fetched_ms: Timestamp = NEVER
    caught_up_ms: Timestamp = NEVER
    broker_epoch: int = ABSENT

    def fetched(self, offset: Offset, leader_end: Offset, now: Timestamp, broker_epoch: int) -> "FollowerProgress":
        """The progress after a fetch from `offset`, its own log end.

        A follower that has the whole log has caught up now. One that has what the leader had at its last fetch had
        caught up then. A follower that is always one batch behind a busy leader is thus in sync.

        Args:
            offset: where the fetch begins.
            leader_end: the leader's log end at that time.
            now: the leader's clock, in milliseconds.
            broker_epoch: of the follower, -1 where the fetch names none (KIP-903).
        """
        caught_up = self.caught_up_ms
        if offset >= leader_end:
            caught_up = max(caught_up, now)
        elif offset >= self.leader_end:
            caught_up = max(caught_up, self.fetched_ms)
        seen = leader_end if leader_end > self.leader_end else self.leader_end
        return FollowerProgress(offset, seen, now, caught_up, broker_epoch)

    def is_caught_up(self, leader_end: Offset, now: Timestamp, lag_max_ms: int) -> bool:
        """Whether it has the whole log, or had it not long ago."""
        return self.log_end == leader_end or now - self.caught_up_ms <= lag_max_ms

    def reset(self, leader_end: Offset, now: Timestamp, insync: bool) -> "FollowerProgress":
        """The same follower under a new epoch of the same leader."""
        since = now if insync else NEVER
        return self._replace(leader_end=leader_end, fetched_ms=since, caught_up_ms=since)


# --- the read ---------------------------------------------------------------------------------------------------------


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
        OffsetOutOfRange: the log does not have the offset, or does not know the epoch that it was written under.
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
