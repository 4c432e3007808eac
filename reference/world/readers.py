"""What consumers ask of the nodes: records of leaders, and the offsets of their groups."""

from reference.broker.group_api import OffsetsAnswer, handle_offset_commit, handle_offset_fetch
from reference.broker.group_requests import NOBODY, Claim, Offsets
from reference.broker.partition import READ_COMMITTED
from reference.broker.reading import WITHOUT_LIMIT
from reference.broker.transaction_metadata import TopicPartition
from reference.client.consumer import Consumer, Delivered
from reference.client.coordinator_requests import CoordinatorType
from reference.errors import OffsetOutOfRange
from reference.world.brokers import Brokers
from spec.vocabulary import ErrorCode


class Readers:
    """Consumers and their brokers; a read asks once and is answered at once."""

    __slots__ = ("brokers",)

    def __init__(self, brokers: Brokers) -> None:
        """Consumers of these brokers."""
        self.brokers = brokers

    def consumer_fetches(
        self, consumer: Consumer, partition: TopicPartition, max_bytes: int = WITHOUT_LIMIT
    ) -> tuple[Delivered, ...]:
        """A consumer reads on; a position that the log does not have is reset, and nothing is delivered.

        Raises:
            NoPosition: the consumer has no position and may not choose one.
        """
        leader = self.brokers.partitions[partition].leader
        committed = consumer.isolation == READ_COMMITTED
        ends = (leader.log_start, leader.last_stable if committed else leader.high_watermark)
        offset = consumer.fetch_offset(partition, *ends)
        try:
            result = leader.fetch(offset, consumer.isolation, max_bytes)
        except OffsetOutOfRange:
            consumer.out_of_range(partition, *ends)
            return ()
        return consumer.receive(partition, result)

    def consumer_commits(self, group: str, offsets: Offsets, claim: Claim = NOBODY) -> dict[TopicPartition, ErrorCode]:
        """A consumer commits offsets of its group, outside of any transaction."""
        node = self.brokers.coordinator_of(CoordinatorType.GROUP, group)
        if node is None:
            return dict.fromkeys(offsets, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        coordinator = self.brokers.nodes[node].groups
        return handle_offset_commit(coordinator, group, offsets, claim, self.brokers.partitions)

    def consumer_starts(self, consumer: Consumer, group: str, *, require_stable: bool = True) -> OffsetsAnswer:
        """A consumer goes on where its group was; what an open transaction may still change, it must ask for again."""
        node = self.brokers.coordinator_of(CoordinatorType.GROUP, group)
        if node is None:
            return OffsetsAnswer(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        coordinator = self.brokers.nodes[node].groups
        answer = handle_offset_fetch(coordinator, group, sorted(consumer.assigned), require_stable)
        consumer.start_from(answer)
        return answer
