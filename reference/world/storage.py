"""Where the nodes of a world have their data: in memory, unless another storage says otherwise."""

from reference.broker.group_log import OffsetsTopic
from reference.broker.ids import BlockAllocator
from reference.broker.transaction_log import TransactionLog
from reference.broker.transaction_metadata import TopicPartition
from reference.replication.replicated import ReplicatedPartition
from spec.versions import Profile


class Storage:
    """Logs in memory, all empty: whoever begins with them knows of nothing before."""

    def __init__(self, profile: Profile) -> None:
        """Logs of nodes of that release."""
        self.profile = profile

    def partition(self, name: TopicPartition, replicas: int, expiration_ms: int) -> ReplicatedPartition:
        """A data partition, with as many replicas, that forgets silent producers after so many milliseconds."""
        return ReplicatedPartition(self.profile, replicas, expiration_ms)

    def transaction_log(self, partitions: int) -> TransactionLog:
        """`__transaction_state`."""
        return TransactionLog(self.profile, partitions)

    def offsets_topic(self, partitions: int) -> OffsetsTopic:
        """`__consumer_offsets`."""
        return OffsetsTopic(self.profile, partitions)

    def allocator(self) -> BlockAllocator:
        """The record of the producer ids that are handed out."""
        return BlockAllocator()

    def coordinator_epochs(self) -> dict[int, int]:
        """The latest leader epoch of each partition of `__transaction_state`; of those that have had one."""
        return {}

    def coordinator_elected(self, partition: int, epoch: int) -> None:
        """A partition of `__transaction_state` has a leader under a new epoch."""
