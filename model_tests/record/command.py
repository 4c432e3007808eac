"""`eos record`: a proxy between unmodified clients and brokers that records requests and answers."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import typer
from rich.console import Console
from rich.live import Live

from model_tests.common.addresses import Address, address_of
from model_tests.common.reports import BadInput
from model_tests.record.proxy import CONNECT_S, Proxy, reason_of
from model_tests.record.recorder import JOURNAL, TrafficRecorder
from model_tests.record.report import RecordReport, shown
from model_tests.record.sessions import write_sessions
from model_tests.record.wire_log import WIRE_LOG, RecordedWire, lines_file, plain
from model_tests.serve.command import chosen_profile, faults_called, is_loopback, stop_on_signals, wall
from reference.wire.codec import WireLibraryMissing, messages

SHOWN_S: Final = 0.5
"""Between two looks at the counters, and at what is written, in seconds."""


def run(
    listen: str,
    upstream: str,
    out: Path,
    faults: str = "",
    seed: int = 0,
    seconds: float | None = None,
    profile: str = "",
) -> RecordReport:
    """Record until interrupted, and say what passed.

    Args:
        listen: host and port that stand for the broker; other brokers get the ports after it.
        upstream: host and port of a broker.
        out: directory for the wire log and the journal.
        faults: name of what goes wrong on the way, nothing if empty.
        seed: of these faults.
        seconds: after which to stop; never if not given.
        profile: the release that the brokers are, for sessions that `eos conform` judges; none are written if empty.

    Raises:
        BadInput: an option says nothing that can be recorded, nothing listens at the broker's address, or a port or
            file cannot be had.
    """
    place, broker = option_address("--listen", listen, least_port=0), option_address("--upstream", upstream)
    release = chosen_profile(profile, None) if profile else None
    with begun(place, broker, out, faults, seed, _say) as proxy:
        asyncio.run(_watched(proxy, broker, seconds))
        report = reported(proxy, broker, out)
    if release is None:
        return report
    sessions = write_sessions(out, release)
    return replace(report, sessions=len(sessions.found), passed_over=sessions.passed_over)


def _say(line: str) -> None:
    typer.echo(line, err=True)


def option_address(option: str, text: str, least_port: int = 1) -> Address:
    """The address that an option gives.

    Raises:
        BadInput: it is none.
    """
    try:
        return address_of(text, least_port)
    except ValueError as wrong:
        raise BadInput(f"{option} is HOST:PORT, as 127.0.0.1:9092; not {str(wrong)!r}") from wrong


@contextmanager
def begun(
    place: Address, broker: Address, out: Path, faults: str, seed: int, say: Callable[[str], None]
) -> Iterator[Proxy]:
    """A proxy that has not started, with the files that it writes.

    Args:
        place: where it is to listen.
        broker: for which.
        out: directory for the wire log and the journal.
        faults: name of what goes wrong on the way, nothing if empty.
        seed: of these faults.
        say: takes lines for a person.

    Raises:
        BadInput: there are no such faults, a file cannot be written, or a library is missing.
    """
    drawn = faults_called(faults, seed)
    try:
        messages("request"), messages("response")
    except WireLibraryMissing as missing:
        raise BadInput(str(missing)) from missing
    with ExitStack() as stack:
        wire, journal = (
            stack.enter_context(lines_file(out / name, default))
            for name, default in ((WIRE_LOG, plain), (JOURNAL, None))
        )
        recorder = TrafficRecorder(RecordedWire(wire, wall, broker, faults, seed), journal, say)
        yield Proxy(place, recorder, drawn, on_port=lambda broker, port: say(f"{broker} at {place.host}:{port}"))


@asynccontextmanager
async def recorded(proxy: Proxy, broker: Address) -> AsyncIterator[None]:
    """The proxy takes connections inside of this context.

    Raises:
        BadInput: nothing listens at the broker's address, the port cannot be had, or a file cannot be written.
    """
    await require_broker(broker)
    try:
        await proxy.start(broker)
    except OSError as error:
        raise BadInput(f"cannot listen at {proxy.listen}: {error.strerror}") from error
    try:
        yield
    finally:
        await proxy.close()
    proxy.recorder.finish()
    if proxy.failure is not None:
        raise proxy.failure


def reported(proxy: Proxy, broker: Address, out: Path) -> RecordReport:
    """What a proxy says in the end."""
    ports = {str(address): port for address, port in proxy.ports.items()}
    return RecordReport(str(broker), str(out), time.monotonic() - proxy.began, ports, proxy.recorder.counts)


async def require_broker(broker: Address) -> None:
    """Something listens there.

    Raises:
        BadInput: nothing does.
    """
    try:
        async with asyncio.timeout(CONNECT_S):
            _, writer = await asyncio.open_connection(*broker)
    except (OSError, TimeoutError) as error:
        raise BadInput(f"no broker at {broker}: {reason_of(error)}") from error
    writer.close()


async def _watched(proxy: Proxy, broker: Address, seconds: float | None) -> None:
    """Record until a signal comes or the time is over, with the counters on the terminal if there is one."""
    async with recorded(proxy, broker):
        if not is_loopback(proxy.listen.host):
            _say(f"warning: other machines can reach {proxy.listen.host}, and the broker behind it")
        stop_on_signals(proxy.stop)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await _until_stopped(proxy)


async def _until_stopped(proxy: Proxy) -> None:
    console, recorder = Console(stderr=True), proxy.recorder
    live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
    with live or nullcontext():
        while not proxy.stopped:
            with suppress(TimeoutError):
                async with asyncio.timeout(SHOWN_S):
                    await proxy.wait()
            recorder.flush()
            if live is not None:
                live.update(shown(recorder.counts), refresh=True)
