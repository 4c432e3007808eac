"""What reaches the logs of data partitions: batches and markers, and answers that wait until these are replicated."""

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from reference.broker.marker_channel import write_marker
from reference.broker.produce import PartitionAnswer, ProduceRequest, handle_produce, refused
from reference.broker.transaction_metadata import TopicPartition
from reference.client.producer import AttemptReply
from reference.errors import NotEnoughReplicas, NotLeaderOrFollower, Refusal, UnknownTopicOrPartition
from reference.log.partition import Partition
from reference.recording.recorder import observe
from reference.world.brokers import Brokers
from reference.world.history import ALL, NO_ACKS
from reference.world.messages import Answer, MarkerAnswer, Produce, Request, WriteMarker
from reference.world.steps import TraceSteps
from spec.vocabulary import NO_OFFSET, ErrorCode, Offset

SendAnswer = Callable[[Request, Answer], None]


class DelayedAppend(NamedTuple):
    """An answer that waits until the high watermark has passed its batch (the purgatory)."""

    offset: Offset
    request: Request
    answer: Answer


class Appends:
    """The data partitions' part of all requests.

    Attributes:
        waiting: answers that wait for replication, by partition.
        unanswered: takes the outcome of a batch that its client wants no answer to.
    """

    def __init__(self, brokers: Brokers, steps: TraceSteps, send_answer: SendAnswer) -> None:
        """Nothing waits."""
        self.brokers = brokers
        self.steps = steps
        self.waiting = defaultdict[TopicPartition, list[DelayedAppend]](list, {name: [] for name in brokers.partitions})
        self._answer = send_answer
        self.unanswered: SendAnswer = lambda *_: None

    def replica(self, node: int, partition: TopicPartition) -> Partition:
        """The replica of an available partition on a node.

        Raises:
            UnknownTopicOrPartition: the topic has been deleted since the request was sent.
            NotLeaderOrFollower: the node has none, or the partition cannot be written to.
        """
        if partition not in self.brokers.partitions:
            raise UnknownTopicOrPartition(partition=partition)
        if partition in self.brokers.unavailable or node >= self.brokers.shape.replicas:
            raise NotLeaderOrFollower(partition=partition)
        return self.brokers.partitions[partition].replicas[node]

    def append(self, request: Request, requested: Produce, guard: int, refusal: Refusal | None) -> None:
        """Append a batch with the guard of its verification, or record its refusal.

        Args:
            request: with its sender and node.
            requested: its Produce.
            guard: what the verification handed out.
            refusal: of the transaction's coordinator, None if it agrees.
        """
        replicated = self.brokers.partitions.get(requested.partition)
        if replicated is None:
            self._answer_at_once(request, requested, AttemptReply(UnknownTopicOrPartition.code))
            return
        replica = replicated.replicas[request.node]
        before = observe(replica, requested.attempt.records.producer_id)
        answer = refused(refusal) if refusal is not None else self._produce(request, requested, guard)
        self.steps.produced(request, requested, guard, replica, before, answer, refusal is not None)
        reply = AttemptReply(answer.error, answer.base_offset, answer.log_start, answer.log_append_time)
        if requested.acks == ALL:
            self._answer_replicated(requested.partition, request, reply, answer.last_offset)
        else:
            self._answer_at_once(request, requested, reply)

    def _answer_at_once(self, request: Request, requested: Produce, reply: AttemptReply) -> None:
        send = self.unanswered if requested.acks == NO_ACKS else self._answer
        send(request, reply)

    def _produce(self, request: Request, requested: Produce, guard: int) -> PartitionAnswer:
        number = requested.partition.partition
        try:
            replica = self.replica(request.node, requested.partition)
        except Refusal as refusal:
            return refused(refusal)
        produce = ProduceRequest(
            {number: (requested.attempt.records,)},
            requested.transactional_id,
            requested.acks,
            requested.version,
            {number: guard},
        )
        insync = len(self.brokers.partitions[requested.partition].insync)
        least = self.brokers.shape.min_insync
        return handle_produce(replica.profile, {number: replica}, produce, None, least, insync)[number]

    def mark(self, request: Request, requested: WriteMarker) -> None:
        """Write a marker."""
        try:
            replica = self.replica(request.node, requested.partition)
        except Refusal as refusal:
            self._answer(request, MarkerAnswer(refusal.code))
            return
        before = observe(replica, requested.marker.producer_id)
        error, last = ErrorCode.NONE, NO_OFFSET
        try:
            self._check_insync(requested.partition)
            last = write_marker(
                replica, requested.marker, requested.version, self.brokers.now_at(request.node)
            ).last_offset
        except Refusal as refusal:
            error = refusal.code
        self.steps.marked(request, requested, replica, before, error, last)
        self._answer_replicated(requested.partition, request, MarkerAnswer(error), last)

    # --- replication ------------------------------------------------------------------------------------------

    def _check_insync(self, partition: TopicPartition) -> None:
        """Markers are appended with acks=all.

        Raises:
            NotEnoughReplicas: fewer replicas are in sync than min.insync.replicas.
        """
        insync, least = len(self.brokers.partitions[partition].insync), self.brokers.shape.min_insync
        if insync < least:
            raise NotEnoughReplicas(insync=insync, least=least)

    def _answer_replicated(self, partition: TopicPartition, request: Request, answer: Answer, last: int) -> None:
        """Answer once every replica in sync has the batch."""
        leader = self.brokers.partitions[partition].leader
        if last != NO_OFFSET and leader.high_watermark <= last:
            self.waiting[partition].append(DelayedAppend(Offset(last), request, answer))
        else:
            self._answer(request, answer)

    def release(self, partition: TopicPartition) -> None:
        """Answer whatever is replicated by now."""
        replicated = self.brokers.partitions[partition]
        high_watermark, enough = (
            replicated.leader.high_watermark,
            len(replicated.insync) >= self.brokers.shape.min_insync,
        )
        waiting = self.waiting[partition]
        self.waiting[partition] = [each for each in waiting if each.offset >= high_watermark]
        for each in waiting:
            if each.offset < high_watermark:
                late = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
                self._answer(each.request, each.answer if enough else refused_answer(each.answer, late))

    def forget(self, partition: TopicPartition, error: ErrorCode) -> None:
        """The partition is gone: what waited there is answered with an error."""
        for each in self.waiting.pop(partition, ()):
            self._answer(each.request, refused_answer(each.answer, error))

    def turn_away(self, partition: TopicPartition) -> None:
        """The leader is another: what waited at the old one is answered NOT_LEADER_OR_FOLLOWER."""
        turned_away, self.waiting[partition] = self.waiting[partition], []
        for each in turned_away:
            self._answer(each.request, refused_answer(each.answer, NotLeaderOrFollower.code))

    def expire(self, is_due: Callable[[Request], bool]) -> None:
        """Answer REQUEST_TIMED_OUT to the requests that have waited for as long as they say; the batches stay."""
        for partition, waiting in self.waiting.items():
            due = [each for each in waiting if is_due(each.request)]
            if due:
                self.waiting[partition] = [each for each in waiting if each not in due]
            for each in due:
                self._answer(each.request, refused_answer(each.answer, ErrorCode.REQUEST_TIMED_OUT))


def refused_answer(answer: Answer, error: ErrorCode) -> Answer:
    """An error instead of the answer to a batch or marker."""
    return MarkerAnswer(error) if isinstance(answer, MarkerAnswer) else AttemptReply(error)
