"""What administrators do with Kafka's tools: look, fence, delete records, and abort transactions that hang."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from reference.broker.marker_channel import VERSION_WITH_TRANSACTION_VERSION, TxnMarker
from reference.broker.transaction_metadata import TopicPartition
from reference.client.coordinator_channel import CoordinatorType, InitProducerId
from reference.client.producer_settings import request_versions
from reference.recording.trace import ADMIN
from reference.world.brokers import Brokers
from reference.world.messages import Administrator, Body, CoordinatorCall, Request, Sender, WriteMarker
from reference.world.replica_rows import delete_records
from reference.world.steps import TraceSteps
from spec.vocabulary import CoordinatorEpoch, Epoch, ErrorCode, Offset, ProducerId

Send = Callable[[Sender, int, Body], Request]

FENCING_TIMEOUT_MS: Final = 5_000
"""Transaction timeout in the request of a fence; it is not used."""


class Hanging(NamedTuple):
    """A transaction that is open on a partition, and that no coordinator will end there."""

    partition: TopicPartition
    producer_id: ProducerId
    epoch: Epoch
    coordinator_epoch: CoordinatorEpoch


class Administrators:
    """Administrators with Kafka's tools; a leader answers their requests at once."""

    __slots__ = ("_brokers", "_send", "_steps")

    def __init__(self, brokers: Brokers, steps: TraceSteps, send: Send) -> None:
        """No requests yet."""
        self._brokers = brokers
        self._steps = steps
        self._send = send

    def describe_producers(self, partition: TopicPartition) -> None:
        """DescribeProducers at the leader of a partition."""
        self._steps.described(self._brokers.leader_of(partition), partition, self._brokers.partitions[partition].leader)

    def list_transactions(self, node: int) -> None:
        """ListTransactions at one node."""
        self._steps.listed(node, self._brokers.nodes[node].transactions)

    def fence(self, transactional_id: str) -> Request | None:
        """Admin.fenceProducers: an InitProducerId like that of a new instance, whose answer is not used."""
        node = self._brokers.coordinator_of(CoordinatorType.TRANSACTION, transactional_id)
        if node is None:
            return None
        version = request_versions(self._brokers.profile).init_producer_id
        return self._send(
            Administrator(), node, CoordinatorCall(0, InitProducerId(version, transactional_id, FENCING_TIMEOUT_MS))
        )

    def hanging(self) -> Iterator[Hanging]:
        """What `kafka-transactions.sh find-hanging` finds: open for too long, and in no coordinator's transaction.

        An administrator that aborts what is found has waited for every coordinator: ListTransactions is refused while
        one loads, and leaves out the transactions of partitions without a coordinator.
        """
        if self._brokers.has_leaderless or any(node.transactions.states.is_loading for node in self._brokers.nodes):
            return
        open_since = self._brokers.clock.now - self._brokers.shape.max_timeout_ms
        for name, replicated in self._brokers.partitions.items():
            for producer_id, entry in sorted(replicated.leader.state.producers.items()):
                is_old = entry.in_transaction and entry.last_timestamp < open_since
                if is_old and not self._is_coordinated(name, producer_id):
                    yield Hanging(name, producer_id, entry.epoch, entry.coordinator_epoch)

    def abort(self, hanging: Hanging) -> Request:
        """`kafka-transactions.sh abort`: an ABORT marker under the producer's own epoch, straight to the leader."""
        epoch = CoordinatorEpoch(max(hanging.coordinator_epoch, 0))
        marker = TxnMarker(hanging.producer_id, hanging.epoch, False, epoch)
        version = VERSION_WITH_TRANSACTION_VERSION if self._brokers.profile.marker_epoch_strict else 1
        leader = self._brokers.leader_of(hanging.partition)
        return self._send(Administrator(), leader, WriteMarker(version, hanging.partition, marker))

    def deletable(self, partition: TopicPartition) -> Offset:
        """The offset up to which every replica of a partition can delete."""
        return min(replica.high_watermark for replica in self._brokers.partitions[partition].replicas)

    def delete_records(self, partition: TopicPartition, offset: int) -> ErrorCode:
        """DeleteRecords: the log begins at the offset from now on, on every replica; the answer."""
        replicated, number, topic = self._brokers.partitions[partition], partition.partition, partition.topic
        now = self._brokers.now_at(replicated.leader_node)
        return delete_records(self._steps.recorder, now, replicated, number, offset, topic, ADMIN)

    def _is_coordinated(self, partition: TopicPartition, producer_id: ProducerId) -> bool:
        return any(
            producer_id == entry.metadata.producer_id and partition in entry.metadata.partitions
            for node in self._brokers.nodes
            for entry in node.transactions.states.entries()
        )
