"""The controller that holds a node in ZooKeeper (KafkaController, PartitionStateMachine, ReplicaStateMachine)."""

from dataclasses import replace

from reference.replication.controller import Controller
from reference.replication.elections import Elected, ElectionCandidate, ElectionReason, first_in_sync, next_leader
from reference.replication.messages import NO_LEADER, AlterPartition, InvalidUpdateVersion, PartitionState
from spec.vocabulary import ABSENT, Timestamp


class ZooKeeperController(Controller):
    """The broker that made the node /controller; ZooKeeper's sessions report which brokers come and go.

    What it knows of brokers it reads from ZooKeeper: a session that has expired is one whose node is gone.
    """

    __slots__ = ()

    def begin(self, now: Timestamp) -> None:
        """Look after the brokers that went while there was no controller."""
        for broker in sorted(self.metadata.brokers):
            if self.metadata.brokers[broker].fenced:
                self.broker_has_gone(broker)
        self.elect_for_leaderless_partitions()

    # --- brokers ----------------------------------------------------------------------------------------------

    def register(self, broker: int, clean: bool, now: Timestamp) -> int:
        """A broker makes its node; that of its last session, if it is still there, goes first."""
        known = self.metadata.brokers.get(broker)
        if known is not None and not known.fenced:
            self.broker_has_gone(broker)
        registered = self.metadata.register(broker, fenced=False, now=now)
        self.report_broker("BrokerRegistration", broker, clean_shutdown=clean)
        self.elect_for_leaderless_partitions()
        return registered.epoch

    def heartbeat(self, broker: int, epoch: int, shuts_down: bool, now: Timestamp) -> None:
        """A broker keeps its session, or asks to be relieved of what it leads (ControlledShutdown).

        Args:
            broker: its id.
            epoch: of its session.
            shuts_down: whether it asks to be relieved of what it leads.
            now: milliseconds, by the controller's clock.

        Raises:
            StaleBrokerEpoch: its session has expired, and it must register again.
        """
        self.check_session_of(broker, epoch)
        known = self.metadata.brokers[broker]
        self.touch(broker, now, shutting_down=known.shutting_down or shuts_down)
        if not shuts_down:
            return
        if not known.shutting_down:
            self.metadata.version += 1
            self.report_broker("ControlledShutdown", broker)
            for partition in self.with_insync(broker):
                self.relieve(partition, broker)
            return
        for partition in self.with_insync(broker):  # it asks again: perhaps another replica can take over by now
            if self.metadata.partitions[partition].leader == broker:
                self.relieve(partition, broker)

    def check_session_of(self, broker: int, epoch: int) -> None:
        """As everywhere; a session that has expired is none."""
        super().check_session_of(broker, ABSENT if self.is_gone(broker) else epoch)

    def is_gone(self, broker: int) -> bool:
        """Whether a broker has no session."""
        known = self.metadata.brokers.get(broker)
        return known is None or known.fenced

    def check_sessions(self, now: Timestamp) -> None:
        """ZooKeeper drops the nodes of silent brokers, and notifies the controller."""
        for broker in self.silent(now):
            self.metadata.brokers[broker] = replace(self.metadata.brokers[broker], fenced=True)
            self.metadata.version += 1
            self.report_broker("BrokerFenced", broker)
            self.broker_has_gone(broker)

    def broker_has_gone(self, broker: int) -> None:
        """Elect leaders for what it led, then take it out of in-sync sets, unless it is the last."""
        known = self.metadata.brokers[broker]
        self.metadata.brokers[broker] = replace(known, fenced=True)
        for partition, state in tuple(self.metadata.partitions.items()):
            if state.leader == broker:
                self.elect(partition)
        for partition in self.with_insync(broker):
            self.take_out(partition, broker)

    # --- partitions -------------------------------------------------------------------------------------------

    def elect_for_leaderless_partitions(self) -> None:
        """Try again to find a leader where there is none."""
        for partition, state in tuple(self.metadata.partitions.items()):
            if self.is_gone(state.leader):
                self.elect(partition)

    def elect(self, partition: int) -> None:
        """Another leader where the present one is gone: the first of the assignment that is in sync and there."""
        former = self.metadata.partitions[partition]
        candidates, unclean = self.candidates(former, former.insync), self.config.unclean_allowed
        elected = first_in_sync(candidates, unclean)
        if elected.broker != NO_LEADER:
            alive = frozenset(each.broker for each in candidates if each.alive)
            insync = frozenset({elected.broker}) if elected.uncleanly else former.insync & alive
            self.keep(partition, next_leader(replace(former, insync=insync), elected.broker))
        shown = ElectionReason.UNCLEAN if elected.uncleanly else ElectionReason.ONLINE
        self.report_election(partition, shown, candidates, elected, former, unclean)

    def take_out(self, partition: int, broker: int) -> None:
        """A broker that is gone is no longer in sync; the last one stays, so that it is known whom to wait for."""
        state = self.metadata.partitions[partition]
        insync = state.insync - {broker} if len(state.insync) > 1 else state.insync
        leader = NO_LEADER if state.leader == broker else state.leader
        if (insync, leader) != (state.insync, state.leader):
            self.keep(partition, next_leader(replace(state, insync=insync), leader))

    def relieve(self, partition: int, broker: int) -> None:
        """A broker shuts down: another leads what it leads, and it leaves the in-sync set."""
        former = self.metadata.partitions[partition]
        if former.leader != broker:
            self.take_out(partition, broker)
            return
        candidates = self.candidates(former, former.insync)
        elected = first_in_sync(candidates, unclean_allowed=False)
        if elected.broker != NO_LEADER:
            insync = former.insync - {broker}
            self.keep(partition, next_leader(replace(former, insync=insync), elected.broker))
        self.report_election(partition, ElectionReason.CONTROLLED_SHUTDOWN, candidates, elected, former, False)

    def elect_preferred(self, partition: int) -> None:
        """Give a partition back to the first of its assignment.

        Raises:
            ElectionNotNeeded: it leads.
            PreferredLeaderNotAvailable: it is not in sync, or not there.
        """
        former = self.metadata.partitions[partition]
        candidates: list[ElectionCandidate] = self.candidates(former, former.insync)
        self.check_preferred(former, candidates)
        elected = Elected(candidates[0].broker)
        self.keep(partition, next_leader(former, elected.broker))
        self.report_election(partition, ElectionReason.PREFERRED, candidates, elected, former, False)

    # --- proposals of leaders ---------------------------------------------------------------------------------

    def check_proposal(self, state: PartitionState, request: AlterPartition) -> None:
        """The sender knows the newest state; who it is, and whom it proposes, is not looked at.

        Before 2.7 the leader writes its set itself, and ZooKeeper compares versions alone.

        Raises:
            Refusal: in Kafka's order.
        """
        is_there = False
        if self.profile.insync_set_is_asked_for:
            self.check_epochs(state, request)
            is_there = proposed(state, request) == state
        if request.partition_epoch != state.partition_epoch and not is_there:
            raise InvalidUpdateVersion(current=state.partition_epoch, got=request.partition_epoch)

    def altered(self, partition: int, state: PartitionState, request: AlterPartition) -> PartitionState:
        """Write what was proposed; what is there already is not written again."""
        wanted = proposed(state, request)
        return state if wanted == state else self.metadata.put(partition, wanted)


def proposed(state: PartitionState, request: AlterPartition) -> PartitionState:
    """The state of a partition with the in-sync set of a proposal, under the leader and the epoch that it is of."""
    return replace(state, leader=request.broker, leader_epoch=request.leader_epoch, insync=frozenset(request.insync))
