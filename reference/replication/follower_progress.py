"""A leader's view of one follower (Replica, ReplicaState)."""

from typing import Final, NamedTuple

from spec.vocabulary import ABSENT, NO_OFFSET, Offset, Timestamp

NEVER: Final = Timestamp(0)
"""Kafka's own time of what has not happened: long ago by any clock."""


class FollowerProgress(NamedTuple):
    """How far a follower is, as its fetches show.

    Attributes:
        log_end: its log end, -1 before its first fetch under this leader.
        leader_end: the leader's log end when it last fetched.
        fetched_ms: when it last fetched, by the leader's clock.
        caught_up_ms: when it last had all that the leader had when it fetched, likewise.
        broker_epoch: of the incarnation that fetched.
    """

    log_end: Offset = NO_OFFSET
    leader_end: Offset = NO_OFFSET
    fetched_ms: Timestamp = NEVER
    caught_up_ms: Timestamp = NEVER
    broker_epoch: int = ABSENT

    def fetched(self, offset: Offset, leader_end: Offset, now: Timestamp, broker_epoch: int) -> "FollowerProgress":
        """The progress after a fetch from `offset`, its own log end.

        A follower has caught up now if it has everything; if it has what there was at its last fetch, it had caught up
        then. A follower that is always one batch behind a busy leader is thus in sync.

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
        """Whether it has everything, or had not long ago."""
        return self.log_end == leader_end or now - self.caught_up_ms <= lag_max_ms

    def reset(self, leader_end: Offset, now: Timestamp, insync: bool) -> "FollowerProgress":
        """The same follower under a new epoch of the same leader."""
        since = now if insync else NEVER
        return self._replace(leader_end=leader_end, fetched_ms=since, caught_up_ms=since)
