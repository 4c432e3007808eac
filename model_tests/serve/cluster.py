"""A cluster for tests: `with Cluster("4.3") as cluster: ... cluster.bootstrap_servers`.

A test can inject faults into the running cluster.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TextIO, TypeVar

from model_tests.common.threads import LoopThread
from model_tests.serve.command import chosen_profile, faults_called, recording, report_of, wall, with_defect
from model_tests.serve.data import create_topics, opened, recovery
from model_tests.serve.judging import TRACE_FILE, LiveJudge
from model_tests.serve.report import ServeReport
from model_tests.serve.wire_log import WireLog, WireSettings
from reference.broker.transaction_metadata import TopicPartition
from reference.client.coordinator_channel import CoordinatorType
from reference.server.listener import Server
from reference.server.nodes import FaultKind, ImpossibleFault, NodeFault
from reference.server.service import ServerSettings, Service
from spec.versions import NEWEST

Result = TypeVar("Result")


# --- faults -----------------------------------------------------------------------------------------------------------


PATIENCE_S: Final = 60.0
"""How long start, stop and faults may take before something is wrong with the cluster itself, in seconds."""

SHORT_S: Final = 0.5
"""How long a node is away if nothing else is said, in seconds."""


class ClusterFaults:
    """Faults of a cluster in a thread of its own; any other thread may inject them.

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


# --- the cluster ------------------------------------------------------------------------------------------------------


class SpecificationViolated(AssertionError):
    """A step of the cluster broke a rule."""


class Cluster(ClusterFaults):
    """Nodes on free ports of this machine, in a thread of their own; every step is judged.

    Attributes:
        bootstrap_servers: where clients connect, once it has started.
        report: the report on its steps, once it has stopped.
        notices: violations, and connections that were closed because of what came over them, a line each.
    """

    def __init__(
        self,
        profile: str = NEWEST.name,
        nodes: int = 1,
        *,
        transaction_version: int | None = None,
        topics: Mapping[str, int] | None = None,
        defect: str = "",
        faults: str = "",
        seed: int = 0,
        dir: str | Path | None = None,
        min_insync_replicas: int = 1,
        session_seconds: float | None = None,
        record: Path | None = None,
    ) -> None:
        """A cluster that has not started.

        Args:
            profile: the release that its nodes are, as 4.3 or 2.7.
            nodes: how many.
            transaction_version: the feature; that of the release if not given.
            topics: that are there, with the number of their partitions; others are created when a client names them.
            defect: name of a defect that the nodes have, none if empty; other clusters of the process have it too.
            faults: name of what goes wrong, nothing if empty.
            seed: of these faults.
            dir: for the nodes' data, new or left behind by a cluster of the same release; in memory if not given.
            min_insync_replicas: of every topic.
            session_seconds: after which the controller takes a silent node for gone; the release's default if None.
            record: directory that the steps and all that arrives are written to, for `eos replay`; none if None.

        Raises:
            BadInput: there is no such release, and no such defect or faults.
        """
        self.bootstrap_servers = ""
        self.report: ServeReport | None = None
        self.notices: list[str] = []
        self._settings = ServerSettings(
            chosen_profile(profile, transaction_version),
            nodes,
            min_insync=min_insync_replicas,
            session_timeout_ms=None if session_seconds is None else round(session_seconds * 1_000),
        )
        self._topics = dict(topics or {})
        self._directory = None if dir is None else Path(dir)
        self._defect = with_defect(defect)
        self._faults = faults_called(faults, seed)
        self._wire = WireSettings(defect, faults, seed)
        self._record = record
        self._thread = LoopThread("the cluster", self._run, PATIENCE_S)
        self._server: Server | None = None

    def __enter__(self) -> Self:
        """Start; the cluster takes connections from then on.

        Raises:
            BadInput: the cluster cannot start on its directory.
            WireLibraryMissing: kafka-python is not installed.
            OSError: there is no free port.
            TimeoutError: it has not started in a minute.
        """
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop.

        Raises:
            SpecificationViolated: a step has broken a rule, and the block itself has not failed.
        """
        self.stop()
        if kind is None:
            self.check()

    def stop(self) -> None:
        """Close every connection, and judge what is left to judge; errors are kept for `check`."""
        self._thread.end(None if self._server is None else self._server.stop)

    def check(self) -> None:
        """Fail if the cluster, which has stopped, has failed itself or broken a rule.

        Raises:
            SpecificationViolated: a step has broken a rule.
        """
        if self._thread.failure is not None:
            raise self._thread.failure
        if self.report is not None and self.report.violated:
            raise SpecificationViolated("\n".join(str(violation) for violation in self.report.violations))

    # --- in the thread ----------------------------------------------------------------------------------------

    def _run(self) -> None:
        with ExitStack() as stack:
            stack.enter_context(self._defect)
            files = (None, None) if self._record is None else stack.enter_context(recording(self._record))
            service = stack.enter_context(opened(self._settings, wall, self._directory))
            asyncio.run(self._serve(service, *files))

    async def _serve(self, service: Service, trace: TextIO | None, wire: TextIO | None) -> None:
        judge = LiveJudge(self.notices.append, trace, f"eos replay {self._record}/{TRACE_FILE}")
        service.world.observe(judge)
        create_topics(service, self._topics)
        server = self._server = Server(
            service, faults=self._faults, on_settled=judge.pause, on_closed=self.notices.append
        )
        if wire is not None:
            reported = self._wire._replace(recovered=bool(recovery(service)), in_memory=self._directory is None)
            WireLog(wire, self._settings, service.now, self._topics, reported).follow(server)
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            await server.start("127.0.0.1", 0)
            self.bootstrap_servers = server.bootstrap_servers
            self._thread.ready()
            await server.wait()
        finally:
            await server.close()
        judge.finish()
        seconds = loop.time() - began
        self.report = report_of(service, server.requests, judge, seconds, server.closed, server.suffered)
        if server.failure is not None:
            raise server.failure
