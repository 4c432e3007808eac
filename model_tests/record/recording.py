"""A recording for tests: `with Recording(servers, directory) as recording: ... recording.bootstrap_servers`."""

import asyncio
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from model_tests.record.addresses import Address
from model_tests.record.command import address_of, begun, recorded, reported
from model_tests.record.proxy import Proxy
from model_tests.record.report import RecordReport
from model_tests.serve.cluster_faults import PATIENCE_S


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
            upstream: addresses of brokers, as clients take them; the first one is asked.
            out: directory for the wire log and the journal.
            faults: name of what goes wrong on the way, nothing if empty.
            seed: of these faults.
        """
        self.bootstrap_servers = ""
        self.report: RecordReport | None = None
        self.notices: list[str] = []
        self._upstream = address_of("upstream", upstream.partition(",")[0], least_port=1)
        self._out, self._faults, self._seed = out, faults, seed
        self._thread = threading.Thread(target=self._run, name="kafka-recording", daemon=True)
        self._started = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._proxy: Proxy | None = None
        self._failure: Exception | None = None

    def __enter__(self) -> Self:
        """Start; the proxy takes connections from then on.

        Raises:
            BadInput: no broker listens at the address, or a file cannot be written.
            TimeoutError: it has not started in a minute.
        """
        self._thread.start()
        if not self._started.wait(PATIENCE_S):
            raise TimeoutError(f"the recording has not started in {PATIENCE_S:.0f} s")
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop, and fail if the recording has failed and the block itself has not."""
        if self._loop is not None and self._proxy is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._proxy.stop)
        self._thread.join(PATIENCE_S)
        if kind is None and self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            asyncio.run(self._record())
        except Exception as failure:  # noqa: BLE001  # raised again in the thread that asks
            self._failure = failure
        finally:
            self._started.set()

    async def _record(self) -> None:
        self._loop = asyncio.get_running_loop()
        with begun(Address("127.0.0.1", 0), self._upstream, self._out, self._faults, self._seed, self._say) as proxy:
            self._proxy = proxy
            async with recorded(proxy, self._upstream):
                self.bootstrap_servers = f"127.0.0.1:{proxy.ports[self._upstream]}"
                self._started.set()
                await proxy.wait()
            self.report = reported(proxy, self._upstream, self._out)

    def _say(self, line: str) -> None:
        self.notices.append(line)
