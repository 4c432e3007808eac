"""The events of brokers and consumers."""

from model_tests.machines.rule_counts import Ledger
from model_tests.machines.transaction_applications import GROUP
from model_tests.machines.transaction_logs import LoggedPartition
from model_tests.machines.transaction_network import NetworkEvents
from model_tests.machines.transaction_setting import TIMEOUT_MS, TransactionSetting
from model_tests.machines.transaction_watch import TransactionWatch
from reference.broker.group_requests import OffsetAndMetadata
from reference.broker.transaction_metadata import TopicPartition
from reference.client.consumer import Consumer
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
def reads_committed_records(
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
    message = f"a consumer of {name} has {received} instead of {wanted}; its last stable offset should be {end}"
    watch.expect(rules.LSO_READ_COMMITTED, received == wanted, message)


class TransactionEvents(NetworkEvents):
    """Everything that may happen."""

    def __init__(self, setting: TransactionSetting, ledger: Ledger) -> None:
        """A world, and a consumer that reads it."""
        super().__init__(setting, ledger)
        self.consumer = Consumer(self.partitions)

    # --- coordinators -------------------------------------------------------------------------------------------

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

    # --- consumers --------------------------------------------------------------------------------------------

    def consumer_reads(self, choose: Tape) -> None:
        """The consumer reads one partition on, or all."""
        self.happens("the consumer reads")
        for name in self.partitions if choose.below(2) else (choose.pick(self.partitions),):
            leader = self.brokers.partitions[name].leader
            self.readers.consumer_fetches(self.consumer, name)
            reads_committed_records(self.consumer, name, leader, self.histories[name], self.watch)

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
        self.readers.consumer_commits(self.consumer, GROUP, offsets)
        self.looks()
