"""`__transaction_state` as each node sees it: all read the same partitions, and only the leader of one writes to it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from reference.broker.transaction_log import TransactionLog
from reference.errors import NotLeaderOrFollower
from spec.versions import Profile
from spec.vocabulary import LeaderEpoch, Timestamp

NO_EPOCHS: Final[Mapping[int, int]] = MappingProxyType({})
"""No coordinator has been elected."""


class NodeTransactionLog(TransactionLog):
    """One node's view of the shared log; what a coordinator appends after it was replaced is refused.

    Attributes:
        node: whose view it is.
        leaders: leader by partition, as the controller has it.
        epochs: leader epoch by partition, likewise.
    """

    __slots__ = ("epochs", "leaders", "node")

    def __init__(
        self,
        profile: Profile,
        shared: TransactionLog,
        node: int,
        leaders: Mapping[int, int],
        epochs: Mapping[int, int] = NO_EPOCHS,
    ) -> None:
        """A view of `shared`; leaders and epochs are looked at with each append."""
        super().__init__(profile, opened=shared.partitions)
        self.node = node
        self.leaders = leaders
        self.epochs = epochs

    def leader_epoch_of(self, partition: int) -> LeaderEpoch:
        """The epoch that is stamped on what is appended to a partition: the coordinator epoch."""
        return LeaderEpoch(self.epochs.get(partition, 0))

    def append(self, transactional_id: str, value: bytes | None, now: Timestamp) -> None:
        """Append one record as the leader of its partition.

        Raises:
            NotLeaderOrFollower: another node leads it.
            Refusal: the append failed.
        """
        partition = self.partition_of(transactional_id)
        if self.leaders.get(partition) != self.node:
            raise NotLeaderOrFollower(partition=partition, node=self.node)
        super().append(transactional_id, value, now)
