"""A broker with its replicas: its view of the cluster, its requests and its answers."""

from collections.abc import Mapping

from reference.replication.messages import (
    Altered,
    AlterPartition,
    BrokerEpochs,
    EpochEndRequest,
    FetchRequest,
    FollowerFetchResult,
    LeaderAndIsr,
    StaleControllerEpoch,
)
from reference.replication.replica import Replica
from spec.versions import Profile
from spec.vocabulary import ABSENT, Timestamp


class BrokerProcess:
    """One broker, as long as it runs.

    Attributes:
        number: of the broker.
        epoch: of its registration, -1 before it is registered.
        controller_epoch: the highest that it has received.
        version: of the metadata that it has received, -1 none.
        brokers: the registered brokers, as far as it knows.
        replicas: by partition.
        proposals: in-sync sets that it has asked the controller for, by partition.
    """

    __slots__ = ("brokers", "controller_epoch", "epoch", "number", "profile", "proposals", "replicas", "version")

    def __init__(self, profile: Profile, number: int, replicas: Mapping[int, Replica]) -> None:
        """A broker that has just started."""
        self.profile = profile
        self.number = number
        self.replicas = dict(replicas)
        self.forget()

    def forget(self) -> None:
        """Start again."""
        self.epoch = self.controller_epoch = self.version = ABSENT
        self.brokers: BrokerEpochs = {}
        self.proposals: dict[int, AlterPartition] = {}

    # --- the controller ---------------------------------------------------------------------------------------

    def registered(self, epoch: int) -> None:
        """The controller has registered it."""
        self.epoch = epoch

    def learn_leader(self, partition: int, word: LeaderAndIsr, now: Timestamp) -> None:
        """Receive the state of a partition from the controller.

        Word from before its registration was for the process before it, and is dropped: under ZooKeeper it names the
        broker epoch (KIP-380), under KRaft a broker begins with the metadata that it is registered in.

        Raises:
            StaleControllerEpoch: under ZooKeeper, a controller that has been replaced says so.
        """
        if word.version < self.epoch:
            return
        if word.controller_epoch < self.controller_epoch and not self.profile.quorum_controller:
            raise StaleControllerEpoch(current=self.controller_epoch, got=word.controller_epoch)
        self.controller_epoch = max(self.controller_epoch, word.controller_epoch)
        if word.version >= self.version:
            self.version, self.brokers = word.version, word.brokers
            for replica in self.replicas.values():
                replica.hear_of(word.brokers)
        replica = self.replicas[partition]
        replica.take_over(word, now)
        if replica.leadership is None or replica.leadership.proposed is None:
            self.proposals.pop(partition, None)

    def check_lags(self, now: Timestamp) -> dict[int, AlterPartition]:
        """Look for followers that lag, as every half replica.lag.time.max.ms; the new proposals, by partition."""
        made = {}
        for partition, replica in self.replicas.items():
            proposal = None if replica.leadership is None else replica.leadership.shrink(now)
            if proposal is not None:
                made[partition] = self.proposals[partition] = proposal
        return made

    def altered(self, partition: int, request: AlterPartition, answer: Altered, now: Timestamp) -> None:
        """The controller has answered a proposal; the answer to an earlier one is dropped.

        Args:
            partition: its number.
            request: the proposal that is answered.
            answer: of the controller.
            now: milliseconds, by the broker's clock.
        """
        present = self.proposals.get(partition)
        if present is None or request != present._replace(broker_epoch=request.broker_epoch):
            return
        leadership = self.replicas[partition].leadership
        if leadership is not None:
            leadership.altered(answer, now)
        if leadership is None or leadership.proposed is None:
            self.proposals.pop(partition, None)

    def ask_again(self, partition: int) -> AlterPartition:
        """Send an unanswered proposal again, under the present registration."""
        again = self.proposals[partition]._replace(broker_epoch=self.epoch)
        self.proposals[partition] = again
        return again

    # --- followers --------------------------------------------------------------------------------------------

    def answer_fetch(
        self, partition: int, request: FetchRequest, now: Timestamp
    ) -> tuple[FollowerFetchResult, AlterPartition | None]:
        """Answer a follower; perhaps with a proposal to take it into the in-sync set."""
        answer, proposal = self.replicas[partition].fetch(request, now)
        if proposal is not None:
            self.proposals[partition] = proposal
        return answer, proposal

    def next_request(self, partition: int) -> tuple[int, FetchRequest | EpochEndRequest] | None:
        """What it asks the leader of a partition, and whom; None if there is nothing to ask."""
        following = self.replicas[partition].following
        if following is None:
            return None
        request = following.next_request(self.epoch)
        return None if request is None else (following.leader, request)
