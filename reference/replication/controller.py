"""The controller: registered brokers, leaders, in-sync sets; the common part of KRaft and ZooKeeper."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

from reference.errors import Refusal
from reference.recording.recorder import Row, Value
from reference.recording.trace import REPLICAS_SHOWN
from reference.replication.elections import (
    Elected,
    ElectionCandidate,
    ElectionReason,
    Metadata,
    candidate_columns,
    valid_leaders,
)
from reference.replication.messages import (
    Altered,
    AlterPartition,
    ElectionNotNeeded,
    FencedLeaderEpoch,
    IneligibleReplica,
    InvalidProposal,
    LeaderAndIsr,
    NotController,
    PartitionState,
    PreferredLeaderNotAvailable,
    StaleBrokerEpoch,
)
from spec.versions import Profile
from spec.vocabulary import ABSENT, ErrorCode, Timestamp

ReportOfPartition = Callable[[str, int, Row], None]
"""Takes a decision by name, the partition (-1 none), and the columns that say what was known and decided."""


@dataclass(frozen=True, slots=True)
class ControllerConfig:
    """How controllers are configured.

    Attributes:
        session_timeout_ms: broker.session.timeout.ms, zookeeper.session.timeout.ms.
        unclean_allowed: unclean.leader.election.enable.
        min_insync: min.insync.replicas.
    """

    session_timeout_ms: int = 9_000
    unclean_allowed: bool = False
    min_insync: int = 1


def unreported(_api: str, _partition: int, _columns: Row) -> None:
    """Report nothing."""


class Controller(ABC):
    """A controller, present or replaced.

    Attributes:
        node: that it runs on.
        epoch: under which it was elected.
        changed: partitions whose newest state was not sent to the brokers yet.
    """

    __slots__ = ("_report", "changed", "config", "epoch", "metadata", "node", "profile")

    def __init__(
        self,
        profile: Profile,
        node: int,
        metadata: Metadata,
        config: ControllerConfig,
        report: ReportOfPartition = unreported,
    ) -> None:
        """A controller that has not been elected."""
        self.profile = profile
        self.node = node
        self.metadata = metadata
        self.config = config
        self.epoch = ABSENT
        self.changed: list[int] = []
        self._report = report

    # --- being the controller ---------------------------------------------------------------------------------

    def take_office(self, now: Timestamp) -> None:
        """Be elected: under the next epoch, with the whole store; then every broker gets the state."""
        before = self.metadata.controller_epoch
        self.metadata.controller_epoch = self.epoch = before + 1
        self.report("ControllerElection", controller_epoch=before, controller_epoch_after=self.epoch)
        self.begin(now)
        self.changed = list(self.metadata.partitions)

    @abstractmethod
    def begin(self, now: Timestamp) -> None:
        """Look after what happened while there was no controller."""

    def report(self, api: str, partition: int = ABSENT, /, **columns: Value) -> None:
        """Report a decision."""
        row: Row = {"error": int(ErrorCode.NONE), "controller_epoch": self.epoch}
        self._report(api, partition, row | columns)

    def word_of(self, partition: int) -> LeaderAndIsr:
        """The message to brokers about a partition."""
        metadata = self.metadata
        return LeaderAndIsr(self.epoch, metadata.version, metadata.partitions[partition], metadata.active())

    # --- brokers ----------------------------------------------------------------------------------------------

    @abstractmethod
    def register(self, broker: int, clean: bool, now: Timestamp) -> int:
        """A broker starts; the epoch of its registration. `clean`: it had shut down in order."""

    @abstractmethod
    def heartbeat(self, broker: int, epoch: int, shuts_down: bool, now: Timestamp) -> None:
        """A broker says that it is there, or that it wants to shut down.

        Args:
            broker: its id.
            epoch: broker epoch that it was given when it registered.
            shuts_down: it wants to be relieved of what it leads.
            now: the controller's clock, in milliseconds.
        """

    @abstractmethod
    def check_sessions(self, now: Timestamp) -> None:
        """Fence the brokers whose last contact is longer ago than the session timeout."""

    def check_session_of(self, broker: int, epoch: int) -> None:
        """A broker acts under its present registration.

        Raises:
            StaleBrokerEpoch: it was registered again since, or not at all.
        """
        registered = self.metadata.brokers.get(broker)
        if registered is None or registered.epoch != epoch:
            raise StaleBrokerEpoch(broker=broker, got=epoch)

    def silent(self, now: Timestamp) -> list[int]:
        """The brokers whose last contact is too long ago."""
        limit = self.config.session_timeout_ms
        return [
            number
            for number, broker in sorted(self.metadata.brokers.items())
            if not broker.fenced and now - broker.last_contact > limit
        ]

    def touch(self, broker: int, now: Timestamp, **changes: bool) -> None:
        """Note a contact with a broker."""
        known = self.metadata.brokers[broker]
        self.metadata.brokers[broker] = replace(known, last_contact=now, **changes)

    def report_broker(self, api: str, broker: int, **columns: Value) -> None:
        """Report a change of a broker's state."""
        known, limit = self.metadata.brokers[broker], self.config.session_timeout_ms
        columns |= {"broker": broker, "broker_epoch": known.epoch, "session_timeout_ms": limit}
        self.report(api, last_contact_ms=known.last_contact, **columns)

    # --- partitions -------------------------------------------------------------------------------------------

    def create(self, partition: int, assignment: tuple[int, ...]) -> None:
        """Create a partition and announce it to the brokers."""
        self.metadata.check_controller(self.epoch)
        self.metadata.create(partition, assignment)
        self.changed.append(partition)

    def with_insync(self, broker: int) -> list[int]:
        """The partitions of which a broker is in sync."""
        return [number for number, state in self.metadata.partitions.items() if broker in state.insync]

    def is_active(self, broker: int) -> bool:
        """Whether a broker may lead."""
        known = self.metadata.brokers.get(broker)
        return known is not None and known.is_active

    def candidates(self, state: PartitionState, insync: frozenset[int]) -> list[ElectionCandidate]:
        """The replicas of a partition, were an election to start from that in-sync set."""
        return [ElectionCandidate(each, self.is_active(each), each in insync) for each in state.assignment]

    def keep(self, partition: int, state: PartitionState) -> PartitionState:
        """Write a changed state and announce it to the brokers.

        Raises:
            NotController: another controller has been elected.
        """
        self.metadata.check_controller(self.epoch)
        self.changed.append(partition)
        return self.metadata.put(partition, state)

    def report_election(
        self,
        partition: int,
        election: ElectionReason,
        candidates: list[ElectionCandidate],
        elected: Elected,
        former: PartitionState,
        unclean_allowed: bool,
    ) -> None:
        """Report an election whose outcome is written.

        Args:
            partition: its number.
            election: what kind it was.
            candidates: as they stood before it.
            elected: the leader now, or none.
            former: the partition's state before the election.
            unclean_allowed: whether anyone alive might have led.
        """
        now = self.metadata.partitions[partition]
        self.report(
            "LeaderElection",
            partition,
            **candidate_columns(candidates),
            election=election.value,
            unclean_allowed=unclean_allowed,
            leader=former.leader,
            elected=elected.broker,
            elected_uncleanly=elected.uncleanly,
            leader_epoch=former.leader_epoch,
            leader_epoch_after=now.leader_epoch,
            partition_epoch=former.partition_epoch,
            partition_epoch_after=now.partition_epoch,
            insync_size=len(former.insync),
            min_insync=self.config.min_insync,
        )

    @abstractmethod
    def elect_preferred(self, partition: int) -> None:
        """The first replica of the assignment is to lead again, if it is in sync.

        Raises:
            ElectionNotNeeded: it leads.
            PreferredLeaderNotAvailable: it is not in sync, or not there.
        """

    def check_preferred(self, state: PartitionState, candidates: list[ElectionCandidate]) -> None:
        """Whether the first replica of the assignment can be given back what it led.

        Raises:
            ElectionNotNeeded: it leads.
            PreferredLeaderNotAvailable: it is not alive, or may lack what is committed.
        """
        if state.leader == state.assignment[0]:
            raise ElectionNotNeeded(leader=state.leader)
        if state.assignment[0] not in valid_leaders(candidates):
            raise PreferredLeaderNotAvailable(broker=state.assignment[0])

    # --- proposals of leaders ---------------------------------------------------------------------------------

    def alter_partition(self, partition: int, request: AlterPartition) -> Altered:
        """A leader proposes another in-sync set: the state as it is then, or the reason why not."""
        state = self.metadata.partitions[partition]
        try:
            self.check_proposal(state, request)
            answer = Altered(ErrorCode.NONE, self.altered(partition, state, request))
        except Refusal as refusal:
            answer = Altered(refusal.code)
        now, registered = self.metadata.partitions[partition], self.metadata.brokers.get(request.broker)
        self.report(
            "AlterPartition",
            partition,
            error=int(answer.error),
            client=f"broker-{request.broker}",
            broker=request.broker,
            broker_epoch=ABSENT if registered is None else registered.epoch,
            sender_leads=state.leader == request.broker,
            asked_broker_epoch=request.broker_epoch,
            asked_leader_epoch=request.leader_epoch,
            asked_partition_epoch=request.partition_epoch,
            leader_epoch=state.leader_epoch,
            partition_epoch=state.partition_epoch,
            leader_epoch_after=now.leader_epoch,
            partition_epoch_after=now.partition_epoch,
            leader=state.leader,
            ill_formed=is_ill_formed(state, request),
            ineligible=bool(self.ineligible(request)),
            **self.member_columns(state, request),
            insync_size=len(state.insync),
            proposed_size=len(request.insync),
            min_insync=self.config.min_insync,
        )
        return answer

    def member_columns(self, state: PartitionState, request: AlterPartition) -> Row:
        """The replicas of a partition in the columns of the trace: who they are, and which of them are proposed."""
        columns: Row = {}
        for place, broker in enumerate(state.assignment[:REPLICAS_SHOWN]):
            shown, known = f"replica_{place}_", self.metadata.brokers.get(broker)
            columns[f"{shown}broker"] = broker
            columns[f"{shown}alive"] = self.is_active(broker)
            columns[f"{shown}proposed"] = broker in request.insync
            columns[f"{shown}counted_epoch"] = request.insync.get(broker, ABSENT)
            columns[f"{shown}registered_epoch"] = ABSENT if known is None else known.epoch
        return columns

    @abstractmethod
    def check_proposal(self, state: PartitionState, request: AlterPartition) -> None:
        """Whether the proposal is of the present leader, of the present state, and can be.

        Raises:
            Refusal: it is not.
        """

    @abstractmethod
    def altered(self, partition: int, state: PartitionState, request: AlterPartition) -> PartitionState:
        """Write another in-sync set."""

    def check_epochs(self, state: PartitionState, request: AlterPartition) -> None:
        """The proposal is made to the present controller, in the sender's present session, under the present epoch.

        Raises:
            Refusal: in Kafka's order.
        """
        self.metadata.check_controller(self.epoch)
        self.check_session_of(request.broker, request.broker_epoch)
        newer = request.leader_epoch > state.leader_epoch or request.partition_epoch > state.partition_epoch
        if newer and self.profile.proposal_checked:
            raise NotController(leader_epoch=request.leader_epoch, partition_epoch=request.partition_epoch)
        # [repl.committed_survives]
        if request.leader_epoch < state.leader_epoch:
            raise FencedLeaderEpoch(current=state.leader_epoch, got=request.leader_epoch)

    def check_members(self, state: PartitionState, request: AlterPartition) -> None:
        """The proposed set has its leader, only replicas, and only brokers that are there.

        Raises:
            InvalidProposal: the leader is missing, or a broker is no replica.
            IneligibleReplica: a member is not there, is shutting down, or has been registered again since.
        """
        if is_ill_formed(state, request):
            raise InvalidProposal(insync=sorted(request.insync))
        ineligible = self.ineligible(request)
        if ineligible:
            raise IneligibleReplica(brokers=ineligible)

    def ineligible(self, request: AlterPartition) -> list[int]:
        """The proposed members that are not there, or in another incarnation than the one that was counted."""
        return [broker for broker, counted in sorted(request.insync.items()) if not self.may_join(broker, counted)]

    def may_join(self, broker: int, counted: int) -> bool:
        """Whether a broker may be in an in-sync set; -1: its leader has counted no fetch of it yet."""
        if not self.is_active(broker):
            return False
        return not self.profile.incarnations_compared or counted in (ABSENT, self.metadata.brokers[broker].epoch)


def is_ill_formed(state: PartitionState, request: AlterPartition) -> bool:
    """Whether a proposed set lacks its leader, or has a broker without replica."""
    return state.leader not in request.insync or not set(request.insync) <= set(state.assignment)
