"""The nodes of a server: which of them run, who is elected for what, and the faults that change it.

A fault is one event (`node_events`). What follows from it later (a node is back, a log is loaded, a session expires)
follows from time, in `Nodes.pass_time`.
"""

from collections.abc import Iterator
from enum import StrEnum, unique
from typing import Final, NamedTuple

from reference.broker.transaction_metadata import TopicPartition
from reference.server.world import ServedWorld
from spec.versions import Profile
from spec.vocabulary import ABSENT

QUORUM_SESSION_MS: Final = 9_000
"""Default of broker.session.timeout.ms."""

ZOOKEEPER_SESSION_MS: Final = 18_000
"""Default of zookeeper.session.timeout.ms since 2.5 (KIP-537)."""

SHORT_ZOOKEEPER_SESSION_MS: Final = 6_000
"""The same before 2.5."""

SHORT_LAG_MS: Final = 10_000
"""Default of replica.lag.time.max.ms before 2.5, which the same KIP changed."""


def session_ms(profile: Profile) -> int:
    """How long the controller takes a silent node for alive, milliseconds."""
    if profile.quorum_controller:
        return QUORUM_SESSION_MS
    return SHORT_ZOOKEEPER_SESSION_MS if profile.replica_lag_time_max_ms == SHORT_LAG_MS else ZOOKEEPER_SESSION_MS


@unique
class FaultKind(StrEnum):
    """What can be done to nodes."""

    RESTART = "restart"  # an orderly shutdown: others lead at once; it is down, and comes back
    CRASH = "crash"  # it is down at once; others lead when its session has expired, or when it is back
    PAUSE = "pause"  # it stands still; likewise
    LEADER = "move leader"
    TRANSACTIONS = "move transaction coordinator"
    GROUPS = "move group coordinator"


class NodeFault(NamedTuple):
    """One fault.

    Attributes:
        kind: what happens.
        node: that it happens to, or that leads from now on.
        topic: of the partition that gets another leader.
        partition: its number, or that of the partition of the coordinators' log.
        away_ms: how long the node is down or stands still.
        loading_ms: how long an elected coordinator loads its log.
        zombie_ms: how long a replaced transaction coordinator takes itself for it, once it runs.
    """

    kind: FaultKind
    node: int
    topic: str = ""
    partition: int = ABSENT
    away_ms: int = 0
    loading_ms: int = 0
    zombie_ms: int = 0


class ImpossibleFault(ValueError):
    """What a fault is to happen to is not there, or not in a state for it."""


class Absence(NamedTuple):
    """Why and until when a node does nothing.

    Attributes:
        fault: that took it away.
        back_ms: when it is back.
        expires_ms: when the controller notices.
        noticed: whether it has.
    """

    fault: NodeFault
    back_ms: int
    expires_ms: int
    noticed: bool = False


class Nodes:
    """Who runs and who is elected.

    Attributes:
        world: of the nodes.
        away: nodes that do nothing for now.
    """

    def __init__(self, world: ServedWorld, session_timeout_ms: int) -> None:
        """All nodes run; the controller notices the absence of one after so many milliseconds."""
        self.world = world
        self.away: dict[int, Absence] = {}
        self._session_timeout_ms = session_timeout_ms
        self._loading: dict[int, int] = {}
        self._loading_groups: dict[int, int] = {}
        self._zombies: dict[tuple[int, int], int] = {}

    def runs(self, node: int) -> bool:
        """Whether a node does anything."""
        return node not in self.away

    def is_down(self, node: int) -> bool:
        """Whether a node accepts no connections."""
        return node in self.world.down

    def is_registered(self, node: int) -> bool:
        """Whether the controller takes a node for alive."""
        return node not in self.away or not self.away[node].noticed

    def leads(self, partition: TopicPartition) -> bool:
        """Whether a partition has a leader, as far as the controller knows."""
        return self.is_registered(self.world.brokers.leader_of(partition))

    @property
    def registered(self) -> list[int]:
        """The nodes that the controller takes for alive."""
        return [node for node in range(self.world.shape.nodes) if self.is_registered(node)]

    @property
    def running(self) -> list[int]:
        """The nodes that do anything."""
        return [node for node in range(self.world.shape.nodes) if self.runs(node)]

    # --- faults -----------------------------------------------------------------------------------------------

    def check(self, fault: NodeFault) -> None:
        """Refuse what cannot happen.

        Raises:
            ImpossibleFault: there is no such node or partition, or it is in no state for the fault.
        """
        brokers = self.world.brokers
        if not 0 <= fault.node < self.world.shape.nodes:
            raise ImpossibleFault(f"there is no node {fault.node}: they are 0 to {self.world.shape.nodes - 1}")
        if not self.runs(fault.node):
            raise ImpossibleFault(f"node {fault.node} is away: {self.away[fault.node].fault.kind}")
        logs = {
            FaultKind.TRANSACTIONS: self.world.shape.log_partitions,
            FaultKind.GROUPS: self.world.shape.offsets_partitions,
        }
        if fault.kind in logs and not 0 <= fault.partition < logs[fault.kind]:
            raise ImpossibleFault(f"there is no partition {fault.partition} of the coordinators' log")
        if fault.kind is FaultKind.LEADER:
            name = TopicPartition(fault.topic, fault.partition)
            if name not in brokers.partitions:
                raise ImpossibleFault(f"there is no partition {fault.topic}-{fault.partition}")
            if fault.node not in brokers.partitions[name].candidates():
                raise ImpossibleFault(f"node {fault.node} is no in-sync follower of {fault.topic}-{fault.partition}")

    def apply(self, fault: NodeFault) -> None:
        """Have a fault happen, which `check` does not refuse."""
        match fault.kind:
            case FaultKind.RESTART:
                self._leave(fault)
                self._notice(fault.node)
            case FaultKind.CRASH | FaultKind.PAUSE:
                self._leave(fault)
            case FaultKind.LEADER:
                self.world.leader_fails_over(TopicPartition(fault.topic, fault.partition), fault.node)
            case FaultKind.TRANSACTIONS:
                self._elect(fault.partition, fault.node, fault)
            case FaultKind.GROUPS:
                self._elect_for_groups(fault.partition, fault.node, fault)

    def _leave(self, fault: NodeFault) -> None:
        now = self.world.clock.now
        self.away[fault.node] = Absence(fault, now + fault.away_ms, now + self._session_timeout_ms)
        (self.world.paused if fault.kind is FaultKind.PAUSE else self.world.down).add(fault.node)

    # --- others take over -------------------------------------------------------------------------------------

    def _move_leaders(self, node: int) -> None:
        """Others lead what a node leads, where one is in sync; it leaves the in-sync sets of all that others lead."""
        for name, replicated in self.world.brokers.partitions.items():
            candidates = replicated.candidates()
            if replicated.leader_node == node and candidates:
                self.world.leader_fails_over(name, candidates[0])
            if replicated.leader_node != node:
                self.world.follower_leaves_insync(name, node)

    def _move_coordinators(self, fault: NodeFault, others: list[int]) -> None:
        brokers = self.world.brokers
        for partition in [number for number, node in brokers.log_leaders.items() if node == fault.node]:
            self._elect(partition, others[partition % len(others)], fault)
        for partition in [number for number, node in brokers.group_leaders.items() if node == fault.node]:
            self._elect_for_groups(partition, others[partition % len(others)], fault)

    def _elect(self, partition: int, node: int, fault: NodeFault) -> None:
        former = self.world.brokers.log_leaders.get(partition)
        self._zombies.pop((partition, node), None)
        self.world.coordinator_fails_over(partition, node, loads=not fault.loading_ms)
        self._loading.pop(partition, None)
        if fault.loading_ms:
            self._loading[partition] = self.world.clock.now + fault.loading_ms
        if former is None or former == node:
            return
        if fault.zombie_ms:
            self._zombies[partition, former] = max(self.world.clock.now, self._back_ms(former)) + fault.zombie_ms
        else:
            self.world.coordinator_resigns(partition, former)

    def _back_ms(self, node: int) -> int:
        return self.away[node].back_ms if node in self.away else self.world.clock.now

    def _elect_for_groups(self, partition: int, node: int, fault: NodeFault) -> None:
        self.world.brokers.elect_groups(partition, node, loads=not fault.loading_ms)
        self._loading_groups.pop(partition, None)
        if fault.loading_ms:
            self._loading_groups[partition] = self.world.clock.now + fault.loading_ms

    def _notice(self, node: int) -> None:
        """The controller learns that a node is away: others lead; of a node that is down the memory is gone."""
        absence = self.away[node]
        self.away[node] = absence._replace(noticed=True)
        if absence.fault.kind is FaultKind.PAUSE:
            self._move_leaders(node)
            others = [each for each in self.running if each != node]
            if others:
                self._move_coordinators(absence.fault, others)
            return
        self.world.broker_restarts(node)
        self._elect_missing(absence.fault)

    def _elect_missing(self, fault: NodeFault) -> None:
        """What has no coordinator gets one, if a node runs."""
        running, brokers, shape = self.running, self.world.brokers, self.world.shape
        if not running:
            return
        for partition in range(shape.log_partitions):
            if partition not in brokers.log_leaders:
                self._elect(partition, running[partition % len(running)], fault)
        for partition in range(shape.offsets_partitions):
            if partition not in brokers.group_leaders:
                self._elect_for_groups(partition, running[partition % len(running)], fault)

    # --- time -------------------------------------------------------------------------------------------------

    def pass_time(self) -> None:
        """Whatever is due by now: sessions expire, nodes are back, logs are loaded, zombies learn of it."""
        now, brokers = self.world.clock.now, self.world.brokers
        for node, absence in tuple(self.away.items()):
            if not absence.noticed and (absence.expires_ms <= now < absence.back_ms):
                self._notice(node)
            if absence.back_ms <= now:
                self._come_back(node)
        for partition in self._due(self._loading, brokers.log_leaders):
            del self._loading[partition]
            self.world.coordinator_loads(partition)
        for partition in self._due(self._loading_groups, brokers.group_leaders):
            del self._loading_groups[partition]
            brokers.nodes[brokers.group_leaders[partition]].groups.shards.load(partition)
        for (partition, node), due in tuple(self._zombies.items()):
            if due <= now and self.runs(node):
                del self._zombies[partition, node]
                self.world.coordinator_resigns(partition, node)

    def _due(self, loading: dict[int, int], leaders: dict[int, int]) -> Iterator[int]:
        """The partitions that are read by now; whoever leads them may be away."""
        now = self.world.clock.now
        for partition, due in tuple(loading.items()):
            if due <= now and partition in leaders and self.runs(leaders[partition]):
                yield partition

    def _come_back(self, node: int) -> None:
        """A node runs again; one that was down starts from its disk."""
        absence = self.away[node]
        if absence.fault.kind is not FaultKind.PAUSE and not absence.noticed:
            self._notice(node)
        del self.away[node]
        self.world.down.discard(node)
        self.world.paused.discard(node)
        self.world.touch_all()
        self._elect_missing(absence.fault)
