"""What may go wrong with the nodes of a server: one list of events, each with choices from a tape."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from reference.event import Event
from reference.server.nodes import FaultKind, NodeFault, Nodes
from reference.tape import Tape

Suffer: TypeAlias = Callable[[NodeFault], None]
"""Has a fault happen, which is possible."""


class LongestTimes(NamedTuple):
    """How long what a fault begins lasts at most, in milliseconds.

    Attributes:
        away_ms: a node is down or stands still.
        loading_ms: an elected coordinator loads its log.
        zombie_ms: a replaced transaction coordinator takes itself for it, once it runs.
    """

    away_ms: int
    loading_ms: int
    zombie_ms: int


@dataclass(frozen=True, slots=True)
class NodeEvents:
    """The faults of the nodes of one server; an event is False if it cannot happen now.

    Attributes:
        nodes: that they happen to.
        longest: how long they last at most.
        suffer: has one of them happen.
    """

    nodes: Nodes
    longest: LongestTimes
    suffer: Suffer

    def leader_moves(self, tape: Tape) -> bool:
        """A replica in sync becomes leader of a partition."""
        running = self.nodes.running
        possible = [
            NodeFault(FaultKind.LEADER, node, name.topic, name.partition)
            for name, replicated in self.nodes.world.brokers.partitions.items()
            for node in replicated.candidates()
            if replicated.leader_node in running and node in running
        ]
        if possible:
            self.suffer(tape.pick(possible))
        return bool(possible)

    def transaction_coordinator_moves(self, tape: Tape) -> bool:
        """Another node coordinates transactional ids, and loads their log first; the one before may be a zombie."""
        brokers = self.nodes.world.brokers
        entries = (entry for node in brokers.nodes for entry in node.transactions.states.entries())
        partitions = {brokers.log.partition_of(entry.transactional_id) for entry in entries}
        return self._coordinator_moves(tape, FaultKind.TRANSACTIONS, partitions, brokers.log_leaders, zombie=True)

    def group_coordinator_moves(self, tape: Tape) -> bool:
        """Another node coordinates groups, and loads their log first."""
        brokers = self.nodes.world.brokers
        shards = (shard for node in brokers.nodes for shard in node.groups.shards.read())
        partitions = {brokers.offsets.number_of(group) for shard in shards for group in shard.groups}
        return self._coordinator_moves(tape, FaultKind.GROUPS, partitions, brokers.group_leaders)

    def node_restarts(self, tape: Tape) -> bool:
        """A node shuts down in an orderly way, and is back later."""
        return self._node_leaves(tape, FaultKind.RESTART)

    def node_crashes(self, tape: Tape) -> bool:
        """A node is killed, and is back later."""
        return self._node_leaves(tape, FaultKind.CRASH)

    def node_pauses(self, tape: Tape) -> bool:
        """A node stands still for a while."""
        return self._node_leaves(tape, FaultKind.PAUSE, zombie=True)

    # --- inside -----------------------------------------------------------------------------------------------

    def _coordinator_moves(
        self, tape: Tape, kind: FaultKind, partitions: set[int], leaders: dict[int, int], *, zombie: bool = False
    ) -> bool:
        running = self.nodes.running
        possible = [
            NodeFault(kind, node, partition=partition)
            for partition in sorted(partitions)
            for node in running
            if node != leaders.get(partition)
        ]
        return self._suffers_one(tape, possible, zombie=zombie)

    def _node_leaves(self, tape: Tape, kind: FaultKind, *, zombie: bool = False) -> bool:
        possible = [NodeFault(kind, node) for node in self.nodes.running]
        return self._suffers_one(tape, possible, away=True, zombie=zombie)

    def _suffers_one(
        self, tape: Tape, possible: Sequence[NodeFault], *, away: bool = False, zombie: bool = False
    ) -> bool:
        """One of the possible faults happens, and lasts for a while; not if there are none."""
        if possible:
            fault, longest = tape.pick(possible), self.longest
            away_ms = tape.between(1, longest.away_ms) if away else 0
            loading_ms = tape.below(longest.loading_ms + 1)
            zombie_ms = tape.below(longest.zombie_ms + 1) if zombie else 0
            self.suffer(fault._replace(away_ms=away_ms, loading_ms=loading_ms, zombie_ms=zombie_ms))
        return bool(possible)


def may_leave(events: NodeEvents) -> bool:
    """Less than half of the nodes are away; a single node may be away, too."""
    return len(events.nodes.away) < max(events.nodes.world.shape.nodes // 2, 1)


NODES: Final = (
    Event(NodeEvents.leader_moves, 1, fault="leaders"),
    Event(NodeEvents.transaction_coordinator_moves, 1, fault="transactions"),
    Event(NodeEvents.group_coordinator_moves, 1, fault="groups"),
    Event(NodeEvents.node_restarts, 1, may_leave, fault="restarts"),
    Event(NodeEvents.node_crashes, 1, may_leave, fault="crashes"),
    Event(NodeEvents.node_pauses, 1, may_leave, fault="pauses"),
)
"""What goes wrong with the nodes of a server."""
