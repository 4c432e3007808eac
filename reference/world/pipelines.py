"""A world of pipelines: workers of one group read words, and write one record for each word, so that they are counted.

Each method is one event. Who calls the methods chooses what happens next; what a worker does is its program.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from reference.broker.group_requests import Offsets
from reference.broker.transaction_metadata import TopicPartition
from reference.client.consumer import Delivered
from reference.client.coordinator_channel import PendingResult
from reference.client.group_consumer import ConsumerSettings, GroupConsumer
from reference.client.group_exchange import GroupAnswer, GroupOutgoing
from reference.client.group_member import MemberSettings
from reference.client.partitioners import ByKey, RoundRobin
from reference.client.record_producer import RecordProducer
from reference.client.transaction_states import ClientState
from reference.network import NetworkMessage
from reference.recording.recorder import Fate
from reference.world.group_requests import FromMember, GroupRequests, ToMember
from reference.world.instances import ApplicationRun
from reference.world.node import Storage
from reference.world.transaction_shape import TransactionShape
from reference.world.transaction_world import TransactionWorld
from reference.world.worker import Order, SourceRun, WorkerPhase, WorkerRun
from spec.versions import NEWEST, Profile
from spec.vocabulary import ErrorCode

GROUP: Final = "counters"
WORDS: Final = "words"
COUNTS: Final = "counts"
SOURCE: Final = "source"

AUTO_COMMIT_MS: Final = 1_500
"""auto.commit.interval.ms of workers whose consumers commit by themselves."""

MOST_RECORDS: Final = 4
"""Words that a worker reads at a time (max.poll.records)."""


class PipelineWorld(TransactionWorld):
    """The world: the topics `words` and `counts`, each with as many partitions as the shape says, and workers.

    Attributes:
        group_requests: what consumers ask.
        workers: by number.
        made_of: the word that each record of the output was made of, by the record's value.
    """

    def __init__(
        self,
        profile: Profile = NEWEST,
        shape: TransactionShape | None = None,
        trace: int = 0,
        *,
        storage: Storage | None = None,
    ) -> None:
        """A world without workers; the rest as of every world of transactions."""
        super().__init__(profile, replace(shape or TransactionShape(), topics=(WORDS, COUNTS)), trace, storage=storage)
        self.inputs = tuple(TopicPartition(WORDS, number) for number in range(self.shape.partitions))
        self.outputs = tuple(TopicPartition(COUNTS, number) for number in range(self.shape.partitions))
        self.group_requests = GroupRequests(self.brokers, self.shape.ordered)
        self.workers: list[WorkerRun] = []
        self.made_of: dict[bytes, Delivered] = {}

    # --- the source of words ----------------------------------------------------------------------------------

    def source_starts(self, transactional_id: str = SOURCE) -> SourceRun:
        """A source starts, and asks for its producer id."""
        instance = self.application_starts(transactional_id)
        self.application_initializes(instance)
        return SourceRun(instance, self.records_of(instance, WORDS))

    def source_writes(self, source: SourceRun, words: Iterable[str]) -> None:
        """A source hands over words in a new transaction, which it has not ended."""
        self.application_begins(source.instance)
        for word in words:
            (value,) = source.instance.next_values(1)
            source.instance.records += 1
            source.output.send(word.encode(), value, self.clock.now)

    # --- workers come and go ----------------------------------------------------------------------------------

    def worker_starts(self, transactional_id: str, order: Order, settings: MemberSettings) -> WorkerRun:
        """A worker starts; others with the same transactional id may still run."""
        instance = self.application_starts(transactional_id)
        self.application_initializes(instance)
        chosen = ConsumerSettings(settings, auto_commit_ms=AUTO_COMMIT_MS if order.is_automatic else None)
        consumer = GroupConsumer(chosen, {WORDS: len(self.inputs)}, WORDS)
        worker = WorkerRun(len(self.workers), instance, consumer, self.records_of(instance, COUNTS), order)
        self.workers.append(worker)
        return worker

    def records_of(self, instance: ApplicationRun, topic: str) -> RecordProducer:
        """A producer of records for one of the topics, on top of an application's own."""
        queues = [number for number, name in enumerate(self.partitions) if name.topic == topic]
        leaders = list(instance.known_leaders.values())
        return RecordProducer(instance.producer, ByKey(RoundRobin()), leaders, queues=queues)

    def worker_crashes(self, worker: WorkerRun) -> None:
        """A worker is gone without notice; its session expires some time."""
        self.application_crashes(worker.instance)
        for request in self.group_requests.waiting(worker.number):
            self.group_requests.give_up(request)

    def worker_leaves(self, worker: WorkerRun) -> None:
        """A worker stops between two transactions, and says so to its group."""
        self.recorder.annotate(Fate.REMARK, "stops", {"client": worker.instance.client})
        goodbye = worker.consumer.close()
        self.worker_crashes(worker)
        self._send_to_group(worker, goodbye, 0)

    def worker_is_suspended(self, worker: WorkerRun) -> None:
        """A worker stands still, as for a long collection of garbage: what is sent to it waits."""
        self.recorder.annotate(Fate.REMARK, "stands still, and does not know it", {"client": worker.instance.client})
        worker.paused = True

    def worker_resumes(self, worker: WorkerRun) -> None:
        """It continues as if nothing had happened."""
        self.recorder.annotate(Fate.REMARK, "continues as if nothing had been", {"client": worker.instance.client})
        worker.paused = False

    def worker_will_fail(self, worker: WorkerRun) -> None:
        """A worker's own program fails in the middle of its next transaction, which it aborts; the worker continues."""
        worker.will_fail = True

    # --- the program of a worker ------------------------------------------------------------------------------

    def worker_continues(self, worker: WorkerRun, node: int = 0) -> None:
        """The application's thread: whatever can be done next; it may be nothing but waiting.

        Args:
            worker: that works.
            node: to ask what any node can answer.
        """
        worker.output.accumulator.settle(self.clock.now)
        state = worker.instance.producer.state
        if state is ClientState.FATAL_ERROR or worker.consumer.member.failed:
            self.worker_crashes(worker)
        elif worker.is_blocked:
            return
        elif state is ClientState.ABORTABLE_ERROR:
            self._aborts(worker)
        else:
            self._does_next(worker, node)

    def _does_next(self, worker: WorkerRun, node: int) -> None:
        if worker.order is Order.AUTOMATIC_AHEAD and worker.phase in (WorkerPhase.PROCESSING, WorkerPhase.ENDING):
            self._polls(worker, node)
        match worker.phase:
            case WorkerPhase.INITIALIZING if worker.instance.producer.state is ClientState.READY:
                worker.phase = WorkerPhase.READING
            case WorkerPhase.READING:
                self._reads(worker, node)
            case WorkerPhase.PROCESSING:
                self._writes(worker)
            case WorkerPhase.COMMITTING_FIRST:
                self._commits_first(worker, node)
            case WorkerPhase.SENDING_OFFSETS:
                self.application_commits(worker.instance)
                worker.phase = WorkerPhase.ENDING
            case WorkerPhase.ENDING:
                self._ends(worker)
            case WorkerPhase.COMMITTING_LAST:
                self._polls(worker, node)
                if worker.commit is None or worker.commit.error is not None:
                    worker.phase = WorkerPhase.READING

    def _polls(self, worker: WorkerRun, node: int) -> None:
        self._send_to_group(worker, worker.consumer.poll(self.clock.now), node)

    def _reads(self, worker: WorkerRun, node: int) -> None:
        """Read on what the group has assigned, and begin with what was read."""
        self._polls(worker, node)
        records: list[Delivered] = []
        for partition in worker.consumer.fetchable:
            records += self._delivered(worker, partition, MOST_RECORDS - len(records))
        if not records:
            return
        worker.records, worker.offsets = tuple(records), worker.consumer.positions()
        if worker.order is Order.OFFSETS_FIRST:
            worker.commit = worker.consumer.commit(worker.offsets)
            worker.phase = WorkerPhase.COMMITTING_FIRST
        else:
            worker.phase = WorkerPhase.PROCESSING

    def _delivered(self, worker: WorkerRun, partition: TopicPartition, most: int) -> tuple[Delivered, ...]:
        """The next records of a partition; the position stands behind the last of those that are taken."""
        if most <= 0:
            return ()
        found = self.readers.consumer_fetches(worker.consumer.consumer, partition)
        if len(found) > most:
            worker.consumer.seek(partition, found[most].offset)
        return found[:most]

    def _writes(self, worker: WorkerRun) -> None:
        """Write one record for each word, in a transaction."""
        self.application_begins(worker.instance)
        for record in worker.records:
            self._writes_record(worker, record)
        if worker.will_fail:
            worker.will_fail = False
            self._aborts(worker)
        elif worker.order is Order.IN_TRANSACTION:
            worker.sent = self._sends_offsets(worker, worker.offsets)
            worker.phase = WorkerPhase.SENDING_OFFSETS
        else:
            self.application_commits(worker.instance)
            worker.phase = WorkerPhase.ENDING

    def _aborts(self, worker: WorkerRun) -> None:
        self.application_aborts(worker.instance)
        worker.phase = WorkerPhase.ENDING

    def _writes_record(self, worker: WorkerRun, read: Delivered) -> None:
        (value,) = worker.instance.next_values(1)
        worker.instance.records += 1
        self.made_of[value] = read
        worker.output.send(read.record.key, value, self.clock.now)

    def _sends_offsets(self, worker: WorkerRun, offsets: Offsets) -> PendingResult:
        return self.application_sends_offsets(worker.instance, GROUP, offsets, worker.consumer.metadata)

    def _commits_first(self, worker: WorkerRun, node: int) -> None:
        """Write once the offsets are committed; else the partitions' present owner reads them again."""
        self._polls(worker, node)
        if worker.commit is None or worker.commit.error is None:
            return
        worker.phase = WorkerPhase.PROCESSING if worker.commit.error is ErrorCode.NONE else WorkerPhase.READING

    def _ends(self, worker: WorkerRun) -> None:
        """The transaction is over: continue behind it, or, where it was not committed, before it."""
        if not worker.has_committed and worker.order is not Order.OFFSETS_FIRST:
            worker.consumer.rewind()
        elif worker.order is Order.OUTPUT_FIRST:
            worker.commit = worker.consumer.commit(worker.offsets)
            worker.phase = WorkerPhase.COMMITTING_LAST
            return
        worker.phase = WorkerPhase.READING

    # --- the rest of a worker ---------------------------------------------------------------------------------

    def worker_beats(self, worker: WorkerRun) -> None:
        """The heartbeat thread's turn."""
        self._send_to_group(worker, worker.consumer.beat(self.clock.now), 0)

    def _send_to_group(self, worker: WorkerRun, outgoing: list[GroupOutgoing], node: int) -> None:
        for each in outgoing:
            self.group_requests.send(worker.number, each, node)

    # --- the network and the nodes of groups ------------------------------------------------------------------

    def group_receives(self, message: NetworkMessage[FromMember], leave_copy: bool = False) -> None:
        """A consumer's request reaches its node."""
        self._annotate_member(Fate.ARRIVED, message.payload)
        self.group_requests.receive(message, leave_copy)

    def member_receives(self, message: NetworkMessage[ToMember]) -> None:
        """An answer reaches its consumer; one that is no longer awaited is dropped."""
        answered = self.group_requests.take(message)
        if answered is not None:
            self._annotate_member(Fate.ANSWERED, *answered)
            worker = self.workers[answered.request.member]
            worker.consumer.answer(answered.request.number, answered.answer, self.clock.now)

    def member_stops_waiting(self, request: FromMember) -> None:
        """A request of a consumer times out; it may still arrive."""
        if self.group_requests.give_up(request):
            self._annotate_member(Fate.GIVEN_UP, request)
            self.workers[request.member].consumer.lose(request.number, self.clock.now)

    def _annotate_member(self, fate: Fate, sent: FromMember, answer: GroupAnswer | None = None) -> None:
        consumer = self.workers[sent.member].consumer.consumer
        self.readers.annotate(fate, consumer, sent.node, sent.request, answer, sent.number)

    def groups_notice_time(self) -> None:
        """Do what is due by now: sessions of silent members expire, rebalances continue without late members."""
        for node in self.brokers.nodes:
            node.groups.pass_time()

    def broker_restarts(self, node: int) -> None:
        """As ever; what consumers have asked of it is not answered."""
        super().broker_restarts(node)
        for request in self.group_requests.waiting(node=node):
            self.member_stops_waiting(request)
