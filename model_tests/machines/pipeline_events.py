"""The events of a pipeline."""

from typing import Final

from model_tests.machines.monitored import judge_steps
from model_tests.machines.pipeline_setting import PipelineSetting
from model_tests.machines.pipeline_watch import PipelineWatch
from model_tests.machines.rule_counts import Ledger
from model_tests.machines.transaction_setting import TIMEOUT_MS
from model_tests.machines.worker_events import WorkerEvents
from reference.client.transaction_states import ClientState
from reference.network import NetworkMessage
from reference.tape import Tape
from reference.world.group_requests import FromMember
from reference.world.messages import Request
from reference.world.settling import catch_up, send_all
from reference.world.worker import SourceRun, WorkerRun

VOCABULARY: Final = ("to", "be", "or", "not")
MOST_WORKERS: Final = 4
"""Alive at a time."""

ROUNDS: Final = 60
"""In which workers must catch up, once nothing goes wrong any more."""


class PipelineRun(WorkerEvents):
    """A pipeline under watch, and what may happen in it next.

    Attributes:
        setting: of the pipeline.
        ledger: the account of its rules.
        seen: the onlooker.
        source: what writes the words.
    """

    def __init__(self, setting: PipelineSetting, ledger: Ledger) -> None:
        """Workers and a source have started."""
        super().__init__(setting.profile, setting.shape)
        judge_steps(self.recorder, ledger)
        self.setting = setting
        self.ledger = ledger
        self.seen = PipelineWatch(setting, ledger, self)
        self.source: SourceRun = self.source_starts()
        for number in range(setting.workers_at_first):
            self._starts(f"worker-{number}")
        self._rounds(12)
        self._hands_over(("to", "be", "or", "not", "to", "be"))
        ledger.runs += 1

    def happens(self, event: str) -> None:
        """An event begins; a little time passes."""
        self.clock.advance(1)
        self.seen.watch.happens(event)

    def after_event(self) -> None:
        """Nothing more: the onlooker looks whenever something is written."""

    # --- the onlooker looks -----------------------------------------------------------------------------------

    def broker_receives(self, message: NetworkMessage[Request], leave_copy: bool = False) -> None:
        """As ever; what arrives may be late."""
        self.seen.watch.delayed |= message.payload.number not in self.wires.open
        super().broker_receives(message, leave_copy)
        self.seen.looks()

    def group_receives(self, message: NetworkMessage[FromMember], leave_copy: bool = False) -> None:
        """As ever."""
        super().group_receives(message, leave_copy)
        self.seen.looks()

    def groups_notice_time(self) -> None:
        """As ever."""
        super().groups_notice_time()
        self.seen.looks()

    def group_coordinator_fails_over(self, partition: int, node: int) -> None:
        """As ever; what was not written down is forgotten."""
        super().group_coordinator_fails_over(partition, node)
        self.seen.elected()

    # --- the source -------------------------------------------------------------------------------------------

    def source_continues(self, choose: Tape) -> None:
        """The source writes words, or ends what it has written: in most runs it commits."""
        match self.source.instance.producer.state:
            case _ if self.source.is_blocked:
                self.happens("the source waits")
            case ClientState.READY:
                self._hands_over(tuple(choose.pick(VOCABULARY) for _ in range(1 + choose.below(6))))
            case ClientState.IN_TRANSACTION if choose.below(4):
                self.happens("the source commits")
                self.application_commits(self.source.instance)
            case ClientState.IN_TRANSACTION | ClientState.ABORTABLE_ERROR:
                self.happens("the source aborts")
                self.application_aborts(self.source.instance)
            case ClientState.FATAL_ERROR:
                self.happens("the source starts again")
                self.application_crashes(self.source.instance)
                self.source = self.source_starts()

    def _hands_over(self, words: tuple[str, ...]) -> None:
        if self.source.instance.producer.state is ClientState.READY:
            self.happens(f"the source writes {' '.join(words)}")
            self.source_writes(self.source, words)
            send_all(self, self.source.instance, 0)

    # --- workers ----------------------------------------------------------------------------------------------

    def deliver_most_messages(self, choose: Tape) -> None:
        """For some rounds all workers work and all answers arrive; crashed ones may be started again first."""
        self.happens("everything arrives")
        rounds = 1 + choose.below(6)
        if choose.below(4) == 0:
            self._start_missing()
        self._rounds(rounds)

    def worker_takes_a_step(self, choose: Tape) -> None:
        """One worker does what comes next, and its producer sends what it may; nothing arrives."""
        working = [worker for worker in self.workers if worker.works]
        if working:
            worker = choose.pick(working)
            self.happens(f"worker {worker.number} continues from {worker.phase.name}")
            self.worker_continues(worker, choose.below(self.shape.nodes))
            if worker.works:
                send_all(self, worker.instance, 0)

    def worker_joins(self, choose: Tape) -> None:
        """One more worker."""
        names = [f"worker-{each}" for each in range(MOST_WORKERS)]
        missing = [name for name in names if name not in {worker.instance.transactional_id for worker in self._alive()}]
        if missing:
            self.happens(f"{missing[0]} starts")
            self._starts(missing[0])

    def worker_starts_twice(self, choose: Tape) -> None:
        """A worker is started under a name under which one runs already; its transactional id may be its own."""
        alive = self._alive()
        if alive and len(alive) < 2 * MOST_WORKERS:
            name = choose.pick(alive).consumer.settings.member.client_id
            transactional_id = name if choose.below(2) else f"{name}-{len(self.workers)}"
            self.happens(f"{name} is started again as {transactional_id}")
            self.worker_starts(transactional_id, self.setting.order, self.setting.member(name))

    def _starts(self, name: str) -> WorkerRun:
        return self.worker_starts(name, self.setting.order, self.setting.member(name))

    def _start_missing(self) -> None:
        """A supervisor restarts one of the first workers, unless one runs under that name."""
        running = {worker.instance.transactional_id for worker in self._alive()}
        for number in range(self.setting.workers_at_first):
            if f"worker-{number}" not in running:
                self._starts(f"worker-{number}")

    # --- the network ------------------------------------------------------------------------------------------

    def request_arrives(self, choose: Tape) -> None:
        """One request reaches its node, of a producer or of a consumer; a copy may come later."""
        copied = choose.below(6) == 1
        producers, members = self.wires.requests.in_transit, self.group_requests.requests.in_transit
        self.happens("a request arrives")
        if producers and (choose.below(2) or not members):
            self.broker_receives(choose.pick(producers), leave_copy=copied)
        elif members:
            self.group_receives(choose.pick(members), leave_copy=copied)

    def network_loses(self, choose: Tape) -> None:
        """A message is lost, and who waits for it gives up; or it only seems so, and the request is still under way."""
        self.happens("a client gives a request up")
        request, waiting = list(self.group_requests.open.values()), list(self.wires.open.values())
        if request and choose.below(2):
            self.member_stops_waiting(choose.pick(request))
        elif waiting and choose.below(2):
            self.sender_stops_waiting(choose.pick(waiting))
        elif self.wires.requests.in_transit:
            self.request_is_lost(choose.pick(self.wires.requests.in_transit))

    # --- coordinators, time -----------------------------------------------------------------------------------

    def transactions_move(self, choose: Tape) -> None:
        """Another node coordinates transactions; the one before continues, or learns of it."""
        node = choose.below(self.shape.nodes)
        former = self.brokers.log_leaders[0]
        self.happens(f"node {node} coordinates transactions")
        self.coordinator_fails_over(0, node)
        if choose.below(2):
            self.coordinator_resigns(0, former)

    def group_moves(self, choose: Tape) -> None:
        """Another node coordinates the group, often while a worker has written and not committed."""
        self._wait_for_work(choose.below(6))
        node = choose.below(self.shape.nodes)
        self.happens(f"node {node} coordinates the group")
        self.group_coordinator_fails_over(0, node)

    def node_restarts(self, choose: Tape) -> None:
        """A node loses its memory; what it coordinated has another coordinator at once."""
        node = choose.below(self.shape.nodes)
        self.happens(f"node {node} restarts")
        self.broker_restarts(node)
        if 0 not in self.brokers.log_leaders:
            self.coordinator_fails_over(0, choose.below(self.shape.nodes))
        if 0 not in self.brokers.group_leaders:
            self.group_coordinator_fails_over(0, choose.below(self.shape.nodes))

    def partition_changes_leader(self, choose: Tape) -> None:
        """A follower in sync becomes leader of a data partition."""
        name = choose.pick(self.partitions)
        candidates = self.brokers.partitions[name].candidates()
        if candidates:
            self.happens(f"{name.topic}-{name.partition} has another leader")
            self.leader_fails_over(name, choose.pick(candidates))

    def transactions_time_out(self, choose: Tape) -> None:
        """Coordinators look for transactions that are open for too long; in half of the runs time has passed."""
        self.happens("coordinators look at timeouts")
        self.clock.advance((TIMEOUT_MS + 1) * choose.below(2))
        for node in range(self.shape.nodes):
            self.coordinator_aborts_timed_out(node)
        self.groups_notice_time()

    def reader_reads(self, choose: Tape) -> None:
        """The output is read."""
        self.happens("the output is read")
        self.seen.looks()
        self.seen.reads_committed_records()

    # --- the end ----------------------------------------------------------------------------------------------

    def run_until_idle(self) -> bool:
        """Nothing goes wrong any more, and all words are counted in the end; whether they are."""
        self.happens("faults stop")
        for worker in self._alive():
            self.worker_resumes(worker)
        for node in range(self.shape.nodes):
            self.coordinator_resigns(0, node)
        for _ in range(6):
            self._start_missing()
            self._rounds(6)
            if self.source.instance.producer.state is not ClientState.READY:
                self.source_continues(Tape.of_number(1))
            if catch_up(self, ROUNDS) and not self.seen.undecided():
                return True
            self.transactions_time_out(Tape.of_number(1))
        return False

    def ends(self) -> None:
        """The pipeline comes to rest, and the totals are right."""
        caught_up = self.run_until_idle()
        self.seen.reads_committed_records()
        self.seen.totals_are_right(caught_up)
        self.seen.is_decided()
