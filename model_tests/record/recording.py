"""A recording for tests: `with Recording(servers, directory) as recording: ... recording.bootstrap_servers`."""

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Self

from model_tests.common.addresses import Address
from model_tests.common.threads import LoopThread
from model_tests.record.command import begun, option_address, recorded, reported
from model_tests.record.proxy import Proxy
from model_tests.record.report import RecordReport
from model_tests.serve.cluster import PATIENCE_S


class Recording:
    """A proxy on a free port of this machine, in a thread of its own.

    Attributes:
        bootstrap_servers: where clients connect, once it has started.
        report: what passed, once it has stopped.
        notices: connections that were closed because of what came over them, a line each.
    """

    def __init__(self, upstream: str, out: Path, *, faults: str = "", seed: int = 0) -> None:
        """A recording that has not started.

        Args:
            upstream: addresses of brokers, as clients take them; the first one is used.
            out: directory for the wire log and the journal.
            faults: name of what goes wrong on the way, nothing if empty.
            seed: of these faults.
        """
        self.bootstrap_servers = ""
        self.report: RecordReport | None = None
        self.notices: list[str] = []
        self._upstream = option_address("upstream", upstream.partition(",")[0])
        self._out, self._faults, self._seed = out, faults, seed
        self._thread = LoopThread("the recording", lambda: asyncio.run(self._record()), PATIENCE_S)
        self._proxy: Proxy | None = None

    def __enter__(self) -> Self:
        """Start; the proxy takes connections from then on.

        Raises:
            BadInput: no broker listens at the address, or a file cannot be written.
            TimeoutError: it has not started in a minute.
        """
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop, and fail if the recording has failed and the block itself has not."""
        self._thread.end(None if self._proxy is None else self._proxy.stop)
        if kind is None and self._thread.failure is not None:
            raise self._thread.failure

    async def _record(self) -> None:
        with begun(Address("127.0.0.1", 0), self._upstream, self._out, self._faults, self._seed, self._say) as proxy:
            self._proxy = proxy
            async with recorded(proxy, self._upstream):
                self.bootstrap_servers = f"127.0.0.1:{proxy.ports[self._upstream]}"
                self._thread.ready()
                await proxy.wait()
            self.report = reported(proxy, self._upstream, self._out)

    def _say(self, line: str) -> None:
        self.notices.append(line)
