"""A consumer in a group: it reads the partitions of its member, from the group's offsets (KafkaConsumer).

Offsets are fetched after each assignment and committed by call, or every so often and before partitions are given up.
Before a rebalance all partitions are given up (the eager protocol).
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count

from reference.broker.group_api import OffsetsAnswer
from reference.broker.group_requests import OffsetAndMetadata, Offsets
from reference.broker.transaction_metadata import TopicPartition
from reference.client.assignment import Counts
from reference.client.consumer import Consumer, OffsetReset
from reference.client.group_exchange import (
    GroupAnswer,
    GroupMeaning,
    GroupOutgoing,
    MemberRequest,
    OffsetCommit,
    OffsetFetch,
    asked_of,
    error_of,
    group_meaning,
)
from reference.client.group_member import GroupMember, MemberSettings, MemberState
from reference.log.partition import READ_COMMITTED
from spec.vocabulary import ErrorCode, Timestamp


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """Settings of a consumer, by the names of ConsumerConfig.

    Attributes:
        member: of its membership.
        isolation: isolation.level.
        reset: auto.offset.reset.
        auto_commit_ms: auto.commit.interval.ms; None where enable.auto.commit is false.
        require_stable: offsets that an open transaction may change are waited for; Kafka's consumers always do.
    """

    member: MemberSettings
    isolation: int = READ_COMMITTED
    reset: OffsetReset = OffsetReset.EARLIEST
    auto_commit_ms: int | None = None
    require_stable: bool = True


class CommitCall:
    """A call to commit offsets; `error` is None while it is open, NONE after success."""

    __slots__ = ("error", "offsets")

    def __init__(self, offsets: Offsets) -> None:
        """Offsets that are not committed yet."""
        self.offsets = offsets
        self.error: ErrorCode | None = None


class GroupConsumer:
    """One consumer of a group.

    Attributes:
        settings: of the consumer.
        member: its membership.
        consumer: positions, and what was delivered.
        in_flight: its request about offsets that has no answer.
        unknown: partitions of which it does not know yet where the group is.
        metadata: who it says it is where it commits in a transaction: the member that the last assignment was made for,
            also while that generation is over and the member does not know who it will be (groupMetadata, KIP-447).
    """

    __slots__ = (
        "_auto_due_ms",
        "_commits",
        "_committing",
        "_last_auto",
        "_numbers",
        "_retry_ms",
        "_sent_as",
        "consumer",
        "in_flight",
        "member",
        "metadata",
        "settings",
        "unknown",
    )

    def __init__(self, settings: ConsumerSettings, counts: Mapping[str, int], *topics: str) -> None:
        """A consumer that subscribes to topics and has not polled.

        Args:
            settings: of the consumer.
            counts: partitions of every topic.
            topics: that it reads.
        """
        self.settings = settings
        self._numbers: Iterator[int] = count()
        known: Counts = counts
        self.member = GroupMember(settings.member, topics, lambda: known, self._numbers)
        self.consumer = Consumer((), settings.isolation, settings.reset)
        self.in_flight: GroupOutgoing | None = None
        self.unknown: set[TopicPartition] = set()
        self.metadata = self.member.claim
        self._sent_as = self.member.claim
        self._commits: deque[CommitCall] = deque()
        self._committing: CommitCall | None = None
        self._last_auto: CommitCall | None = None
        self._auto_due_ms = settings.auto_commit_ms or 0
        self._retry_ms = 0

    # --- the application --------------------------------------------------------------------------------------

    def poll(self, now: Timestamp) -> list[GroupOutgoing]:
        """The application asks for records: what must be sent before or beside; records follow from `fetchable`."""
        self._commit_automatically(now)
        waits = self._keeps_partitions()
        return self._under_way(self.member.find(now) if waits else self.member.poll(now)) + self._offsets(now)

    def beat(self, now: Timestamp) -> list[GroupOutgoing]:
        """The heartbeat thread's turn, also while the application is busy."""
        return self._under_way(self.member.beat(now))

    @property
    def fetchable(self) -> tuple[TopicPartition, ...]:
        """The partitions to read on now: those that it owns, and knows its place in."""
        return tuple(sorted(self.consumer.assigned - self.unknown))

    def commit(self, offsets: Offsets | None = None) -> CommitCall:
        """Commit offsets; without any, the positions: everything before them has been delivered."""
        call = CommitCall(self.positions() if offsets is None else offsets)
        if call.offsets:
            self._commits.append(call)
        else:
            call.error = ErrorCode.NONE
        return call

    def positions(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """The positions as offsets to commit."""
        return dict(self.consumer.consumed())

    def rewind(self) -> None:
        """Go back to where the group is: what was delivered since has come to nothing, its transaction was aborted."""
        self._disregard_fetch()
        self.consumer.positions.clear()
        self.unknown = set(self.consumer.assigned)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Continue at an offset, wherever the group is."""
        self.consumer.seek(partition, offset)
        self.unknown.discard(partition)

    def close(self) -> list[GroupOutgoing]:
        """Leave the group, without a last commit."""
        return self._under_way(self.member.leave())

    # --- partitions come and go -------------------------------------------------------------------------------

    def _keeps_partitions(self) -> bool:
        """Before it joins again it gives up what it owns, once its last automatic commit is answered.

        What it had in a generation that is over belongs to others, maybe already now: no commit can help.
        """
        if not self.member.needs_rejoin or not self.consumer.assigned:
            return False
        if self.settings.auto_commit_ms is not None and self.member.has_generation and not self._has_committed_last():
            return True
        self._give_up()
        return False

    def _has_committed_last(self) -> bool:
        if self._last_auto is None:
            self._last_auto = self.commit()
        return self._last_auto.error is not None

    def _give_up(self) -> None:
        self.consumer.assign(())
        self.unknown.clear()
        self._disregard_fetch()
        self._last_auto = None
        for call in self._commits:
            call.error = ErrorCode.ILLEGAL_GENERATION
        self._commits.clear()

    def _disregard_fetch(self) -> None:
        """An answer that is under way is out of date."""
        if self.in_flight is not None and asked_of(self.in_flight.request) is MemberRequest.OFFSET_FETCH:
            self.in_flight = None

    def _take_over(self) -> None:
        self.consumer.assign(self.member.assigned)
        self.unknown = set(self.member.assigned)
        self.metadata = self.member.claim

    # --- offsets ----------------------------------------------------------------------------------------------

    def _commit_automatically(self, now: Timestamp) -> None:
        if self.settings.auto_commit_ms is None or now < self._auto_due_ms:
            return
        self._auto_due_ms = now + self.settings.auto_commit_ms
        if not self._commits:
            self.commit()

    def _offsets(self, now: Timestamp) -> list[GroupOutgoing]:
        node = self.member.node
        if node is None or self.in_flight is not None or self.member.failed or now < self._retry_ms:
            return []
        self._sent_as = self.member.claim
        group = self.settings.member.group
        if self._commits:
            self._committing = self._commits.popleft()
            commit = OffsetCommit(group, self.member.claim, self._committing.offsets)
            self.in_flight = GroupOutgoing(next(self._numbers), node, commit)
        elif self.unknown and self.member.state is MemberState.STABLE:
            fetch = OffsetFetch(group, tuple(sorted(self.unknown)), self.settings.require_stable)
            self.in_flight = GroupOutgoing(next(self._numbers), node, fetch)
        return self._under_way(self.in_flight)

    def _under_way(self, outgoing: GroupOutgoing | None) -> list[GroupOutgoing]:
        return [] if outgoing is None else [outgoing]

    # --- answers ----------------------------------------------------------------------------------------------

    def answer(self, number: int, answer: GroupAnswer, now: Timestamp) -> None:
        """Handle an answer; one to a request that was given up is ignored."""
        if self.in_flight is not None and self.in_flight.number == number:
            request, self.in_flight = self.in_flight.request, None
            self._heard(asked_of(request), answer, now)
            return
        before = self.member.state
        if self.member.answer(number, answer, now) and self.member.state is MemberState.STABLE is not before:
            self._take_over()

    def lose(self, number: int, now: Timestamp) -> None:
        """The connection broke or the request timed out: it is sent again if it still matters."""
        self.answer(number, ErrorCode.NETWORK_EXCEPTION, now)

    def _heard(self, request: MemberRequest, answer: GroupAnswer, now: Timestamp) -> None:
        error = error_of(answer)
        outcome = group_meaning(request, error)
        again = outcome in (GroupMeaning.RETRY, GroupMeaning.REFIND)
        if isinstance(answer, OffsetsAnswer) and answer.error is ErrorCode.NONE:
            self._start_from(answer)
        if self._committing is not None:
            self._settle_commit(self._committing, error, again=again)
        if again:
            self._retry_ms = now + self.settings.member.retry_backoff_ms
        if outcome is not GroupMeaning.RETRY:
            self.member.react(outcome, error, self._sent_as, now)

    def _settle_commit(self, call: CommitCall, error: ErrorCode, *, again: bool) -> None:
        self._committing = None
        if again and self.consumer.assigned:
            self._commits.appendleft(call)
        else:
            call.error = error

    def _start_from(self, answer: OffsetsAnswer) -> None:
        """Resume from the group's offsets; those that an open transaction may still change are fetched again."""
        reported = {partition: each for partition, each in answer.partitions.items() if partition in self.unknown}
        unstable = self.consumer.start_from(OffsetsAnswer(answer.error, reported))
        failed = {partition for partition, each in reported.items() if each.error is not ErrorCode.NONE}
        self.unknown -= reported.keys() - failed - set(unstable)
