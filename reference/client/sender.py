"""The sender: one request at a time to each node, with at most one batch of each partition (Sender).

Each rule that keeps a batch back has its name (`Hold`); the first one that applies is reported.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from reference.client.accumulator import RecordAccumulator
from reference.client.partition_queue import Hold
from reference.client.producer import Attempt, AttemptReply
from spec.vocabulary import ErrorCode, Timestamp

STALE_METADATA: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NETWORK_EXCEPTION,
    }
)
"""Answers after which the producer asks who leads."""


class ProduceCall(NamedTuple):
    """One Produce on its way to a node, with a batch for each of its partitions."""

    number: int
    node: int
    attempts: tuple[Attempt, ...]
    sent_ms: Timestamp


class Sender:
    """The sender of one producer.

    Attributes:
        accumulator: where the batches wait.
        leaders: node that leads each partition as far as the producer knows, None where it has no leader.
        wants_metadata: the leaders have to be looked up.
        calls: requests without an answer, by number.
        muted: partitions of which a batch is in flight, where one at a time keeps the order.
    """

    __slots__ = ("_first", "_sent", "accumulator", "calls", "leaders", "muted", "wants_metadata")

    def __init__(self, accumulator: RecordAccumulator, leaders: Sequence[int | None]) -> None:
        """Nothing is on its way."""
        self.accumulator = accumulator
        self.leaders = list(leaders)
        self.wants_metadata = False
        self.calls: dict[int, ProduceCall] = {}
        self.muted: set[int] = set()
        self._first: dict[int, int] = {}
        self._sent = 0

    # --- what may be sent -------------------------------------------------------------------------------------

    def hold(self, partition: int, now: Timestamp) -> Hold | None:
        """The first rule that keeps the next batch of a partition from being sent now, None if none does."""
        node = self.leaders[partition]
        if node is None:
            return Hold.LEADER_UNKNOWN
        held = self._held_at_node(node) or self._held_in_queue(partition, node, now)
        return held or self.accumulator.producer.hold(partition)

    def _held_at_node(self, node: int) -> Hold | None:
        unanswered = sum(call.node == node for call in self.calls.values())
        return Hold.CONNECTION_BUSY if unanswered >= self.accumulator.settings.max_in_flight else None

    def _held_in_queue(self, partition: int, node: int, now: Timestamp) -> Hold | None:
        waiting = self.accumulator.producer.queues[partition].waiting
        if not waiting:
            return Hold.NOTHING_WAITS
        if partition in self.muted:
            return Hold.MUTED
        if self.accumulator.is_backing_off(waiting[0], node, now):
            return Hold.BACKING_OFF
        return None if self.accumulator.is_ready(partition, now) else Hold.LINGERING

    # --- sending ----------------------------------------------------------------------------------------------

    def run(self, now: Timestamp) -> list[ProduceCall]:
        """One round: what has taken too long is given up, and each node is sent what may be sent."""
        for late in [call for call in self.calls.values() if self._has_timed_out(call, now)]:
            self.lose(late, now)
        self.accumulator.producer.tick(now)
        self.accumulator.settle(now)
        nodes = sorted({node for node in self.leaders if node is not None})
        self.wants_metadata |= any(self.hold(number, now) is Hold.LEADER_UNKNOWN for number in self._waiting())
        return [call for node in nodes if (call := self._send(node, now)) is not None]

    def _has_timed_out(self, call: ProduceCall, now: Timestamp) -> bool:
        return now - call.sent_ms >= self.accumulator.settings.request_timeout_ms

    def _waiting(self) -> list[int]:
        return [number for number, queue in enumerate(self.accumulator.producer.queues) if queue.waiting]

    def _send(self, node: int, now: Timestamp) -> ProduceCall | None:
        attempts, size = list[Attempt](), 0
        for partition in self._in_turn(node):
            if self.hold(partition, now) is not None:
                continue
            size += self._size_of_next(partition)
            if attempts and size > self.accumulator.settings.max_request_bytes:
                self._first[node] = partition  # next time it comes first
                break
            attempts.append(self._drain(partition, node))
        if not attempts:
            return None
        call = ProduceCall(self._sent, node, tuple(attempts), now)
        self._sent += 1
        self.calls[call.number] = call
        return call

    def _in_turn(self, node: int) -> list[int]:
        """The node's partitions; the one that did not fit into the last request comes first."""
        led = [number for number, leader in enumerate(self.leaders) if leader == node]
        first = self._first.pop(node, 0)
        return [number for number in led if number >= first] + [number for number in led if number < first]

    def _size_of_next(self, partition: int) -> int:
        held = self.accumulator.held.get(self.accumulator.producer.queues[partition].waiting[0])
        return 0 if held is None else held.written

    def _drain(self, partition: int, node: int) -> Attempt:
        attempt = self.accumulator.producer.drain(partition)
        self.accumulator.drained(attempt.batch, node)
        if self.accumulator.settings.max_in_flight == 1:
            self.muted.add(partition)
        return attempt

    # --- answers ----------------------------------------------------------------------------------------------

    def receive(self, call: ProduceCall, replies: Mapping[int, AttemptReply], now: Timestamp) -> None:
        """A node has answered for each partition; a second answer to the same request is ignored."""
        if self.calls.pop(call.number, None) is None:
            return
        for attempt in call.attempts:
            self._take(attempt, replies[attempt.partition], now)
        self.accumulator.settle(now)

    def lose(self, call: ProduceCall, now: Timestamp) -> None:
        """The connection broke or the request timed out: the fate of its batches is not known."""
        self.receive(
            call, dict.fromkeys((a.partition for a in call.attempts), AttemptReply(ErrorCode.NETWORK_EXCEPTION)), now
        )

    def learn(self, leaders: Sequence[int | None]) -> None:
        """Take over the leader in a metadata answer."""
        self.leaders = list(leaders)
        self.wants_metadata = False

    def _take(self, attempt: Attempt, reply: AttemptReply, now: Timestamp) -> None:
        counts, batch = self.accumulator.counts, attempt.batch
        self.muted.discard(attempt.partition)
        self.wants_metadata |= reply.error in STALE_METADATA
        if reply.error is not ErrorCode.NONE:
            counts.errors[reply.error] += 1
        if reply.error is ErrorCode.MESSAGE_TOO_LARGE and batch.record_count > 1 and batch.outcome is None:
            self.accumulator.split(attempt)
            return
        self.accumulator.producer.receive(attempt, reply)
        if batch in self.accumulator.producer.queues[attempt.partition].waiting:
            batch.requeued_ms = now
            counts.retried[reply.error] += 1
