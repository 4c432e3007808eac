"""The controller that leads a Raft quorum (ReplicationControlManager, ClusterControlManager).

Arguments:
    insync: the in-sync set.
    eligible: replicas that may lead where the in-sync set is empty (KIP-966).
    last_known: who led last, -1 unknown.
"""

from dataclasses import replace

from reference.replication.controller import Controller
from reference.replication.elections import (
    Elected,
    ElectionCandidate,
    ElectionReason,
    next_leader,
    preferred,
    present_or_first,
)
from reference.replication.messages import (
    NO_LEADER,
    AlterPartition,
    InvalidProposal,
    InvalidUpdateVersion,
    PartitionState,
)
from spec.vocabulary import ABSENT, Timestamp

NONE_OF_THEM: frozenset[int] = frozenset()


class KRaftController(Controller):
    """The leader of the quorum; brokers send it heartbeats."""

    __slots__ = ()

    def begin(self, now: Timestamp) -> None:
        """Give every broker the full session timeout: how long it was silent, only the last controller knew."""
        for broker in self.metadata.brokers:
            self.touch(broker, now)

    # --- brokers ----------------------------------------------------------------------------------------------

    def register(self, broker: int, clean: bool, now: Timestamp) -> int:
        """A broker starts, fenced; who was killed has left its in-sync sets, and may have lost the tail of its logs.

        Before 4.0 a broker waits with this until its former session has expired, which comes to the same.
        """
        self.metadata.check_controller(self.epoch)
        known = broker in self.metadata.brokers
        self.metadata.register(broker, fenced=True, now=now)
        self.report_broker("BrokerRegistration", broker, clean_shutdown=clean)
        if known and not clean and self.profile.eligible_leader_replicas:
            self.change_all(ElectionReason.ONLINE, gone=frozenset({broker}), damaged=frozenset({broker}))
        elif known:
            self.change_all(ElectionReason.ONLINE, gone=frozenset({broker}))
        return self.metadata.brokers[broker].epoch

    def heartbeat(self, broker: int, epoch: int, shuts_down: bool, now: Timestamp) -> None:
        """A broker is there: it is unfenced, or gives up what it leads before it shuts down.

        Args:
            broker: its id.
            epoch: of its registration.
            shuts_down: whether it asks to be relieved of what it leads.
            now: milliseconds, by the controller's clock.

        Raises:
            StaleBrokerEpoch: it was registered again since.
        """
        self.metadata.check_controller(self.epoch)
        self.check_session_of(broker, epoch)
        known = self.metadata.brokers[broker]
        if shuts_down:
            self.touch(broker, now, shutting_down=True)
            if not known.shutting_down:
                self.metadata.version += 1
                self.report_broker("ControlledShutdown", broker)
                self.change_all(ElectionReason.CONTROLLED_SHUTDOWN, gone=frozenset({broker}))
        elif known.fenced:
            self.touch(broker, now, fenced=False)
            self.metadata.version += 1
            self.report_broker("BrokerUnfenced", broker)
            self.elect_for_leaderless_partitions()
        else:
            self.touch(broker, now)

    def check_sessions(self, now: Timestamp) -> None:
        """Fence the silent: they lead nothing and are in sync nowhere, unless they are the last."""
        self.metadata.check_controller(self.epoch)
        for broker in self.silent(now):
            self.metadata.brokers[broker] = replace(self.metadata.brokers[broker], fenced=True)
            self.metadata.version += 1
            self.report_broker("BrokerFenced", broker)
            self.change_all(ElectionReason.ONLINE, gone=frozenset({broker}))

    # --- partitions -------------------------------------------------------------------------------------------

    def change_all(
        self, election: ElectionReason, gone: frozenset[int], damaged: frozenset[int] = NONE_OF_THEM
    ) -> None:
        """Take brokers out of every in-sync set, and elect leaders where one of them led."""
        for number, state in tuple(self.metadata.partitions.items()):
            if gone & (state.insync | {state.leader}) or damaged & state.eligible:
                self.change(number, state.insync - gone, election, damaged)

    def elect_for_leaderless_partitions(self) -> None:
        """A broker has come: perhaps it can lead a partition without a leader."""
        for number, state in tuple(self.metadata.partitions.items()):
            if state.leader == NO_LEADER:
                self.change(number, state.insync, ElectionReason.ONLINE)

    def elect_preferred(self, partition: int) -> None:
        """Give a partition back to the first of its assignment.

        Raises:
            ElectionNotNeeded: it leads.
            PreferredLeaderNotAvailable: it is not in sync, or not there.
        """
        state = self.metadata.partitions[partition]
        self.check_preferred(state, self.candidates_among(state, state.insync, state.eligible))
        self.change(partition, state.insync, ElectionReason.PREFERRED)

    def change(
        self,
        partition: int,
        insync: frozenset[int],
        election: ElectionReason,
        damaged: frozenset[int] = NONE_OF_THEM,
    ) -> PartitionState:
        """Give a partition another in-sync set, and a leader if it lacks one; the state as it is then.

        Args:
            partition: its number.
            insync: the set as it is to be.
            election: why there is one; PREFERRED prefers the first replica.
            damaged: brokers that came back from an unclean shutdown, and may have lost what they had.
        """
        former = self.metadata.partitions[partition]
        eligible, last_known = self.eligible_beside(former, insync, damaged)
        candidates = self.candidates_among(former, insync, eligible, last_known)
        unclean = self.config.unclean_allowed and election is not ElectionReason.PREFERRED
        if election is ElectionReason.PREFERRED:
            elected = preferred(candidates, former.leader)
        else:
            elected = present_or_first(candidates, former.leader, unclean)
        state = self.outcome(former, insync, eligible, last_known, elected)
        if state != former:
            state = self.keep(partition, state)
        if elected.broker != former.leader or election is ElectionReason.PREFERRED:
            shown = ElectionReason.UNCLEAN if elected.uncleanly else election
            self.report_election(partition, shown, candidates, elected, former, unclean)
        return state

    def outcome(
        self,
        former: PartitionState,
        insync: frozenset[int],
        eligible: frozenset[int],
        last_known: int,
        elected: Elected,
    ) -> PartitionState:
        """The state after an election: an in-sync set is never empty, except where eligible leaders are kept.

        After an unclean election no replica is eligible: records that others had may be overwritten.
        """
        if elected.uncleanly:
            insync, eligible = frozenset({elected.broker}), NONE_OF_THEM
        elif elected.broker in eligible:
            insync, eligible = frozenset({elected.broker}), eligible - {elected.broker}
        kept = insync if insync or self.profile.eligible_leader_replicas else former.insync
        if not kept and former.insync:
            last_known = former.leader
        state = replace(former, insync=kept, eligible=eligible, last_known=last_known)
        shrinks = not former.insync <= kept and self.profile.shrink_raises_leader_epoch
        return next_leader(state, elected.broker) if shrinks or elected.broker != former.leader else state

    def eligible_beside(
        self, former: PartitionState, insync: frozenset[int], damaged: frozenset[int]
    ) -> tuple[frozenset[int], int]:
        """Who may lead beside an in-sync set that is too small: all that were in it, unless they lost their tail."""
        least = min(self.config.min_insync, len(former.assignment))
        if not self.profile.eligible_leader_replicas or len(insync) >= least:
            return frozenset(), ABSENT
        return (former.eligible | former.insync) - insync - damaged, former.last_known

    def candidates_among(
        self, state: PartitionState, insync: frozenset[int], eligible: frozenset[int], last_known: int = ABSENT
    ) -> list[ElectionCandidate]:
        """The replicas of an election; the last leader counts where no replica is in sync or eligible.

        Args:
            state: of the partition.
            insync: the in-sync set.
            eligible: replicas that may lead where the in-sync set is empty (KIP-966).
            last_known: who led last, -1 unknown.
        """
        lost = not insync and not eligible
        return [
            candidate._replace(
                eligible=candidate.broker in eligible, last_known=lost and candidate.broker == last_known
            )
            for candidate in self.candidates(state, insync)
        ]

    # --- proposals of leaders ---------------------------------------------------------------------------------

    def check_proposal(self, state: PartitionState, request: AlterPartition) -> None:
        """The sender leads under this epoch, and knows the newest state.

        Raises:
            Refusal: in Kafka's order.
        """
        self.check_epochs(state, request)
        if request.broker != state.leader:
            raise InvalidProposal(leader=state.leader, sender=request.broker)
        if request.partition_epoch < state.partition_epoch:
            raise InvalidUpdateVersion(current=state.partition_epoch, got=request.partition_epoch)
        self.check_members(state, request)

    def altered(self, partition: int, state: PartitionState, request: AlterPartition) -> PartitionState:
        """Write another in-sync set; the leader stays."""
        return self.change(partition, frozenset(request.insync), ElectionReason.ONLINE)
