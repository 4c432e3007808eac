"""A cluster for tests: `with Cluster("4.3") as cluster: ... cluster.bootstrap_servers`."""

import asyncio
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from model_tests.serve.command import chosen_profile, faults_called, report_of, wall, with_defect
from model_tests.serve.data import create_topics, opened
from model_tests.serve.judging import Judge
from model_tests.serve.report import ServeReport
from reference.server.listener import Server
from reference.server.service import Service, Settings
from spec.versions import NEWEST

PATIENCE_S: Final = 60.0
"""How long start and stop may take before something is wrong with the cluster itself, in seconds."""


class SpecificationViolated(AssertionError):
    """A step of the cluster broke a rule."""


class Cluster:
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
    ) -> None:
        """A cluster that has not started.

        Args:
            profile: the release that its nodes are, as 4.3 or 2.7.
            nodes: how many.
            transaction_version: the feature; that of the release if not given.
            topics: that are there, with the number of their partitions; others are made when a client asks for them.
            defect: name of a defect that the nodes have, none if empty; other clusters of the process have it too.
            faults: name of what goes wrong on the wire, nothing if empty.
            seed: of these faults.
            dir: for the nodes' data, new or left behind by a cluster of the same release; in memory if not given.

        Raises:
            BadInput: there is no such release, and no such defect or faults.
        """
        self.bootstrap_servers = ""
        self.report: ServeReport | None = None
        self.notices: list[str] = []
        self._settings = Settings(chosen_profile(profile, transaction_version), nodes)
        self._topics = dict(topics or {})
        self._directory = None if dir is None else Path(dir)
        self._defect = with_defect(defect)
        self._faults = faults_called(faults, seed)
        self._thread = threading.Thread(target=self._run, name="kafka-cluster", daemon=True)
        self._started = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: Server | None = None
        self._failure: Exception | None = None

    def __enter__(self) -> Self:
        """Start; the cluster takes connections from then on.

        Raises:
            BadInput: the cluster cannot start on its directory.
            WireLibraryMissing: the extra `wire` is not installed.
            OSError: there is no free port.
        """
        self._thread.start()
        self._started.wait(PATIENCE_S)
        if self._failure is not None:
            raise self._failure
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
        if self._loop is not None and self._server is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._server.stop)
        self._thread.join(PATIENCE_S)

    def check(self) -> None:
        """Fail if the cluster, which has stopped, has failed itself or broken a rule.

        Raises:
            SpecificationViolated: a step has broken a rule.
        """
        if self._failure is not None:
            raise self._failure
        if self.report is not None and self.report.violated:
            raise SpecificationViolated("\n".join(str(violation) for violation in self.report.violations))

    # --- in the thread ----------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            with self._defect, opened(self._settings, wall, self._directory) as service:
                asyncio.run(self._serve(service))
        except Exception as failure:  # noqa: BLE001  # raised again in the thread that asks
            self._failure = failure
        finally:
            self._started.set()

    async def _serve(self, service: Service) -> None:
        judge = Judge(self.notices.append)
        service.world.observe(judge)
        create_topics(service, self._topics)
        server = self._server = Server(
            service, faults=self._faults, on_settled=judge.pause, on_closed=self.notices.append
        )
        self._loop = asyncio.get_running_loop()
        began = self._loop.time()
        try:
            await server.start("127.0.0.1", 0)
            self.bootstrap_servers = server.bootstrap_servers
            self._started.set()
            await server.wait()
        finally:
            await server.close()
        judge.finish()
        self.report = report_of(service, server.requests, judge, self._loop.time() - began, server.closed)
        if server.failure is not None:
            raise server.failure
