"""Faults that a test injects into a running cluster."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from model_tests.common.threads import LoopThread
from reference.broker.transaction_metadata import TopicPartition
from reference.client.coordinator_requests import CoordinatorType
from reference.server.listener import Server
from reference.server.nodes import FaultKind, ImpossibleFault, NodeFault

Result = TypeVar("Result")

PATIENCE_S: Final = 60.0
"""How long start, stop and faults may take before something is wrong with the cluster itself, in seconds."""

SHORT_S: Final = 0.5
"""How long a node is away if nothing else is said, in seconds."""


class ClusterFaults:
    """What goes wrong with a cluster in a thread of its own; any other thread may ask for it.

    Each method returns when the fault has happened, and raises `ImpossibleFault` (a ValueError) where it cannot: there
    is no such node or partition, the node is away already, or it is no in-sync follower.
    """

    _thread: LoopThread
    _server: Server | None

    def restart(self, node: int, seconds: float = SHORT_S) -> None:
        """Shut a node down in an orderly way: others lead at once; it is back after so many seconds."""
        self._suffer(NodeFault(FaultKind.RESTART, node, away_ms=_milliseconds(seconds)))

    def crash(self, node: int, seconds: float = SHORT_S) -> None:
        """Kill a node; it is back after so many seconds with what it had on disk.

        Others lead once it is back, or once its session has expired: 9 s, 18 s with ZooKeeper, 6 s before 2.5.
        """
        self._suffer(NodeFault(FaultKind.CRASH, node, away_ms=_milliseconds(seconds)))

    def pause(self, node: int, seconds: float = SHORT_S) -> None:
        """Have a node stand still for so many seconds: its connections stay, and nothing is answered.

        Others lead once its session has expired, as after `crash`; then it was a zombie when it goes on.
        """
        self._suffer(NodeFault(FaultKind.PAUSE, node, away_ms=_milliseconds(seconds)))

    def move_leader(self, topic: str, partition: int = 0, to: int | None = None) -> int:
        """Have an in-sync follower lead a partition, the next one if none is named; the node."""

        def chosen(server: Server) -> NodeFault:
            name = TopicPartition(topic, partition)
            replicated = server.service.world.brokers.partitions.get(name)
            if replicated is None:
                raise ImpossibleFault(f"there is no partition {topic}-{partition}")
            others = [each for each in replicated.candidates() if server.service.nodes.runs(each)]
            return NodeFault(FaultKind.LEADER, _next(others, replicated.leader_node, to), topic, partition)

        return self._choose(chosen)

    def move_coordinator(self, transactional_id: str, to: int | None = None, loading_seconds: float = 0.0) -> int:
        """Have another node coordinate a transactional id, the next one if none is named; the node.

        Args:
            transactional_id: of the producer.
            to: the node.
            loading_seconds: how long it answers COORDINATOR_LOAD_IN_PROGRESS.
        """
        number = CoordinatorType.TRANSACTION
        return self._move(FaultKind.TRANSACTIONS, number, transactional_id, to, loading_seconds)

    def move_group_coordinator(self, group: str, to: int | None = None, loading_seconds: float = 0.0) -> int:
        """Have another node coordinate a group; likewise."""
        return self._move(FaultKind.GROUPS, CoordinatorType.GROUP, group, to, loading_seconds)

    def close_connections(self, node: int | None = None) -> int:
        """Break the connections of all clients to a node, or to all nodes; how many there were."""

        async def close(server: Server) -> int:
            return server.close_connections(node)

        return self._in_loop(close)

    # --- inside -----------------------------------------------------------------------------------------------

    def _move(self, kind: FaultKind, of: CoordinatorType, key: str, to: int | None, loading_seconds: float) -> int:
        def chosen(server: Server) -> NodeFault:
            brokers = server.service.world.brokers
            log = brokers.log.partition_of if of is CoordinatorType.TRANSACTION else brokers.offsets.number_of
            present = brokers.coordinator_of(of, key)
            node = _next([each for each in server.service.nodes.running if each != present], present, to)
            return NodeFault(kind, node, partition=log(key), loading_ms=_milliseconds(loading_seconds))

        return self._choose(chosen)

    def _suffer(self, fault: NodeFault) -> None:
        self._choose(lambda _: fault)

    def _choose(self, chosen: Callable[[Server], NodeFault]) -> int:
        async def suffer(server: Server) -> int:
            fault = chosen(server)
            await server.suffer(fault)
            return fault.node

        return self._in_loop(suffer)

    def _in_loop(self, work: Callable[[Server], Coroutine[Any, Any, Result]]) -> Result:
        loop = self._thread.loop
        if loop is None or self._server is None:
            raise ImpossibleFault("the cluster has not started")
        return asyncio.run_coroutine_threadsafe(work(self._server), loop).result(PATIENCE_S)


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1_000)


def _next(others: list[int], present: int | None, to: int | None) -> int:
    """The node that is named, or the first of the others after the present one.

    Raises:
        ImpossibleFault: there is no other.
    """
    if to is not None:
        return to
    if not others:
        raise ImpossibleFault("there is no other node that runs and is in sync")
    after = [node for node in others if present is None or node > present]
    return min(after or others)
