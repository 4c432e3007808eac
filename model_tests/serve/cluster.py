"""A cluster for tests: `with Cluster("4.3") as cluster: ... cluster.bootstrap_servers`."""

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from model_tests.common.threads import LoopThread
from model_tests.serve.cluster_faults import PATIENCE_S, ClusterFaults
from model_tests.serve.command import chosen_profile, faults_called, recording, report_of, wall, with_defect
from model_tests.serve.data import create_topics, opened, recovery
from model_tests.serve.judging import TRACE_FILE, LiveJudge
from model_tests.serve.report import ServeReport
from model_tests.serve.wire_log import WireLog, WireSettings
from reference.server.listener import Server
from reference.server.service import ServerSettings, Service
from spec.versions import NEWEST


class SpecificationViolated(AssertionError):
    """A step of the cluster broke a rule."""


class Cluster(ClusterFaults):
    """Nodes on free ports of this machine, in a thread of their own; every step is judged.

    Attributes:
        bootstrap_servers: where clients connect, once it has started.
        report: what came of it, once it has stopped.
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
