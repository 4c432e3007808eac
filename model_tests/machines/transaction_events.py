"""The events of brokers and consumers."""

from typing import Final

from model_tests.machines.rule_counts import Ledger
from model_tests.machines.transaction_applications import GROUP
from model_tests.machines.transaction_logs import LoggedPartition
from model_tests.machines.transaction_network import NetworkEvents
from model_tests.machines.transaction_setting import EXPIRATION_MS, TIMEOUT_MS, TransactionSetting
from model_tests.machines.transaction_watch import TransactionWatch
from reference.broker.coordinator_errors import CoordinatorLoadInProgress
from reference.broker.group_requests import OffsetAndMetadata
from reference.broker.transaction_metadata import TopicPartition
from reference.client.consumer import Consumer
from reference.errors import NotEnoughReplicas, NotLeaderOrFollower, Refusal
from reference.log.partition import Partition
from reference.tape import Tape
from spec import rules
from spec.evidence import Layer, evidences
from spec.vocabulary import Offset


def stable_below(history: LoggedPartition, high_watermark: int) -> int:
    """The last stable offset, by the log alone: up to the first batch whose end is not replicated."""
    undecided = [
        written.batch.base_offset
        for written in history.written
        if written.ended_by is None or written.ended_by.batch.base_offset >= high_watermark
    ]
    return min([high_watermark, *undecided])


def committed_below(history: LoggedPartition, end: int) -> list[bytes]:
    """The values of committed batches below an offset, in log order."""
    return [
        record.value or b""
        for written in history.written
        if written.is_committed and written.batch.base_offset < end
        for record in written.batch.records()
    ]


@evidences(rules.LSO_READ_COMMITTED, Layer.STATEFUL)
def reads_what_is_committed(
    consumer: Consumer, name: TopicPartition, leader: Partition, history: LoggedPartition, watch: TransactionWatch
) -> None:
    """After a fetch without limits the consumer has exactly what is committed below the last stable offset.

    Args:
        consumer: that fetches.
        name: of the partition.
        leader: of the partition.
        history: what was done to the partition.
        watch: where rules at stake are counted.
    """
    end = stable_below(history, leader.high_watermark)
    wanted = committed_below(history, end)
    received = [each.record.value for each in consumer.received if each.partition == name]
    said = f"a consumer of {name} has {received} instead of {wanted}; its last stable offset should be {end}"
    watch.expect(rules.LSO_READ_COMMITTED, received == wanted, said)


APPEND_ERRORS: Final[tuple[Refusal, ...]] = (NotEnoughReplicas(), NotLeaderOrFollower())


class TransactionEvents(NetworkEvents):
    """Everything that may happen."""

    def __init__(self, setting: TransactionSetting, ledger: Ledger) -> None:
        """A world, and a consumer that reads it."""
        super().__init__(setting, ledger)
        self.consumer = Consumer(self.partitions)

    # --- transaction coordinators -----------------------------------------------------------------------------

    def coordinator_goes_on(self, choose: Tape) -> None:
        """A coordinator sends the markers that it owes; a zombie, too."""
        node = choose.below(self.shape.nodes)
        self.happens(f"coordinator {node} sends markers")
        self.coordinator_sends_markers(node)

    def coordinator_is_replaced(self, choose: Tape) -> None:
        """A node is elected, and reads its log now or later; the one before it continues."""
        partition, node = choose.below(self.shape.log_partitions), choose.below(self.shape.nodes)
        loads = choose.below(4) != 1
        self.happens(f"node {node} is elected for the ids of partition {partition}{'' if loads else ', and reads'}")
        self.coordinator_fails_over(partition, node, loads=loads)

    def coordinators_load(self, choose: Tape) -> None:
        """Every node that was reading has read."""
        self.happens("coordinators have read their logs")
        for partition, node in self.brokers.log_leaders.items():
            if self._is_loading(partition, node):
                self.coordinator_loads(partition)

    def _is_loading(self, partition: int, node: int) -> bool:
        coordinator = self.brokers.nodes[node].transactions
        name = next((n for n in self.setting.names if self.brokers.log.partition_of(n) == partition), None)
        try:
            if name is not None:
                coordinator.states.find(name)
        except CoordinatorLoadInProgress:
            return True
        return False

    def zombie_resigns(self, choose: Tape) -> None:
        """A coordinator that was replaced learns of it."""
        partition, node = choose.below(self.shape.log_partitions), choose.below(self.shape.nodes)
        self.happens(f"node {node} resigns from partition {partition} unless it leads it")
        self.coordinator_resigns(partition, node)

    def coordinator_log_refuses(self, choose: Tape) -> None:
        """The next append of a coordinator fails, or succeeds and seems to have failed."""
        node, written = choose.below(self.shape.nodes), choose.below(2) == 1
        if not self.brokers.nodes[node].log.faults:
            self.happens(f"the log will fail coordinator {node}{', and take it' if written else ''}")
            self.coordinator_log_fails(node, choose.pick(APPEND_ERRORS), written=written)

    def transactions_time_out(self, choose: Tape) -> None:
        """Coordinators look for transactions that are open for too long; in most runs time has passed."""
        self.clock.advance((TIMEOUT_MS + 1, TIMEOUT_MS // 2, 0)[choose.below(3)])
        self.happens("coordinators look at timeouts")
        for node in range(self.shape.nodes):
            self.coordinator_aborts_timed_out(node)

    def transactional_ids_expire(self, choose: Tape) -> None:
        """Coordinators forget what was at rest for long; in most runs time has passed."""
        self.clock.advance((self.shape.id_expiration_ms, self.shape.id_expiration_ms // 2, 0)[choose.below(3)])
        self.happens("coordinators look for ids at rest")
        for node in range(self.shape.nodes):
            self.coordinator_expires_ids(node)

    def producer_starts_without_id(self, choose: Tape) -> None:
        """An idempotent producer asks any node for a producer id."""
        node = choose.below(self.shape.nodes)
        self.happens(f"an idempotent producer asks node {node}")
        identity = self.brokers.nodes[node].transactions.init_producer_id(None, 0)
        self.coordinators.given(identity.producer_id, f"the producer of step {self.watch.step}")

    # --- partitions and nodes ---------------------------------------------------------------------------------

    def followers_catch_up(self, choose: Tape) -> None:
        """Followers copy everything, or one batch."""
        self.happens("followers fetch")
        batches = 1 if choose.below(2) else 20
        for name, replicated in self.brokers.partitions.items():
            for _ in range(batches):
                for node in replicated.behind():
                    self.follower_fetches(name, node)

    def partition_changes_leader(self, choose: Tape) -> None:
        """A follower in sync becomes leader."""
        name = choose.pick(self.partitions)
        candidates = self.brokers.partitions[name].candidates()
        if candidates:
            self.happens(f"partition {name.partition} has another leader")
            self.leader_fails_over(name, choose.pick(candidates))
            self.looks()

    def partition_is_unavailable(self, choose: Tape) -> None:
        """A partition goes away, or comes back."""
        name = choose.pick(self.partitions)
        away = name in self.brokers.unavailable
        self.happens(f"partition {name.partition} {'comes back' if away else 'goes away'}")
        (self.partition_comes_back if away else self.partition_goes_away)(name)

    def node_restarts(self, choose: Tape) -> None:
        """A node loses its memory; all that it coordinated is elected anew at once."""
        node = choose.below(self.shape.nodes)
        self.happens(f"node {node} restarts")
        self.broker_restarts(node)
        self.elect(choose)

    def elect(self, choose: Tape) -> None:
        """Everything has a coordinator."""
        for partition in range(self.shape.log_partitions):
            if partition not in self.brokers.log_leaders:
                self.coordinator_fails_over(partition, choose.below(self.shape.nodes))
        for partition in range(self.shape.offsets_partitions):
            if partition not in self.brokers.group_leaders:
                self.group_coordinator_fails_over(partition, choose.below(self.shape.nodes))

    def group_coordinator_is_replaced(self, choose: Tape) -> None:
        """Another node reads the offsets of groups."""
        node = choose.below(self.shape.nodes)
        self.happens(f"node {node} coordinates the groups")
        self.group_coordinator_fails_over(0, node)

    def silent_producers_are_forgotten(self, choose: Tape) -> None:
        """A day passes, and a node forgets the producers that were silent."""
        node = choose.below(self.shape.nodes)
        self.happens(f"node {node} forgets silent producers")
        self.clock.advance(EXPIRATION_MS)
        self.watch.forgotten = True
        if node < self.shape.replicas:
            self.producer_state_expires(node)

    # --- consumers --------------------------------------------------------------------------------------------

    def consumer_reads(self, choose: Tape) -> None:
        """The consumer reads one partition on, or all."""
        self.happens("the consumer reads")
        for name in self.partitions if choose.below(2) else (choose.pick(self.partitions),):
            leader = self.brokers.partitions[name].leader
            self.readers.consumer_fetches(self.consumer, name)
            reads_what_is_committed(self.consumer, name, leader, self.histories[name], self.watch)

    def group_looks_up_offsets(self, choose: Tape) -> None:
        """A consumer asks where its group is, and waits for open transactions or does not."""
        stable = choose.below(2) == 0
        self.happens("a consumer asks for offsets")
        answer = self.readers.consumer_starts(Consumer(self.partitions), GROUP, require_stable=stable)
        self.groups.reported(GROUP, answer, stable)

    def consumer_commits(self, choose: Tape) -> None:
        """A consumer commits offsets outside of any transaction."""
        self.happens("a consumer commits offsets")
        offsets = {choose.pick(self.partitions): OffsetAndMetadata(Offset(choose.below(100)))}
        self.readers.consumer_commits(GROUP, offsets)
        self.looks()
