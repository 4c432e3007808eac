"""`eos serve`: the reference answers Kafka's clients over TCP, and the specification judges every step."""

import asyncio
import errno
import ipaddress
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TextIO, cast

import typer

from model_tests.common.addresses import LAST_PORT, Address, address_of
from model_tests.common.reports import BadInput, writing
from model_tests.judging.branch_coverage import coverage
from model_tests.serve.data import create_topics, opened, recovery, temporary_unless
from model_tests.serve.judging import TRACE_FILE, LiveJudge
from model_tests.serve.options import DEFAULTS, ServeOptions
from model_tests.serve.report import Requests, ServeReport
from model_tests.serve.wire_log import WIRE_LOG, WireLog, WireSettings, logged
from reference.server.faults import PROFILES as FAULTS
from reference.server.faults import Faults
from reference.server.listener import Server
from reference.server.service import ServerSettings, Service
from reference.server.topics import is_legal
from reference.wire.codec import WireLibraryMissing
from reference.wire.versions import profile_called
from spec.versions import PROFILES, Profile

LOCALHOST: Final = "localhost"
FULL: Final = (errno.ENOSPC, errno.EDQUOT)
NO_FAULTS: Final[Mapping[str, int]] = MappingProxyType({})


def wall() -> int:
    """The time, milliseconds."""
    return time.time_ns() // 1_000_000


def run(options: ServeOptions = DEFAULTS, **given: Any) -> ServeReport:
    """Serve until interrupted, and say what came of it.

    Args:
        options: what is served, and how.
        given: single options in place of those.

    Raises:
        BadInput: an option says nothing that can be served, or a port or file cannot be had.
    """
    options = replace(options, **given)
    profile = chosen_profile(options.profile, options.transaction_version)
    settings = ServerSettings(profile, options.nodes, min_insync=options.min_insync_replicas)
    place, wanted = listen_address(options.listen, options.nodes), [topic_of(topic) for topic in options.topics]
    record, feed = options.record, options.feed
    with ExitStack() as stack:
        trace, wire = (None, None) if record is None else stack.enter_context(recording(record))
        judge = LiveJudge(_say, trace, f"eos replay {record}/{TRACE_FILE}")
        drawn = faults_called(options.faults, options.seed)
        data = stack.enter_context(temporary_unless(None if feed is not None else options.directory))
        try:
            if feed is not None:
                return _fed(feed, data, judge, options.defect)
            stack.enter_context(with_defect(options.defect))
            service = stack.enter_context(opened(settings, wall, data, lasts=options.directory is not None))
            log = None
            if wire is not None:
                recovered = bool(recovery(service))
                reported = WireSettings(options.defect, options.faults, options.seed, recovered=recovered)
                log = WireLog(wire, settings, service.now, dict(wanted), reported)
            return asyncio.run(_served(service, place, wanted, judge, log, options.seconds, drawn))
        except WireLibraryMissing as missing:
            raise BadInput(str(missing)) from missing


def _say(line: str) -> None:
    typer.echo(line, err=True)


# --- options --------------------------------------------------------------------------------------------------


def chosen_profile(name: str, transaction_version: int | None) -> Profile:
    """The profile of a name, under a transaction version if one is given.

    Raises:
        BadInput: there is none of that name.
    """
    profile = profile_called(name)
    if profile is None:
        raise BadInput(f"no Kafka version {name!r}; known are {', '.join(PROFILES)}")
    return profile if transaction_version is None else profile.under(transaction_version)


def listen_address(listen: str, nodes: int) -> Address:
    """Where node 0 listens, from HOST:PORT; port 0 takes any that is free, for each node.

    Raises:
        BadInput: it is no host and port, or there are not as many ports from there on.
    """
    with suppress(ValueError):
        found = address_of(listen, least_port=0)
        if not found.port or found.port + nodes - 1 <= LAST_PORT:
            return found
    raise BadInput(f"--listen is HOST:PORT with a port for each of {nodes} nodes, as 127.0.0.1:9092; not {listen!r}")


def topic_of(text: str) -> tuple[str, int]:
    """A topic and its partitions, from NAME or NAME:PARTITIONS.

    Raises:
        BadInput: it is neither.
    """
    name, _, partitions = text.partition(":")
    number = partitions or "1"
    if not is_legal(name) or not number.isdecimal() or not 0 < int(number) <= 10_000:
        raise BadInput(f"--topic is NAME or NAME:PARTITIONS, as orders:6; not {text!r}")
    return name, int(number)


def faults_called(name: str, seed: int) -> Faults | None:
    """What goes wrong, by name; nothing if it is empty.

    Raises:
        BadInput: there is nothing of that name.
    """
    if name and name not in FAULTS:
        raise BadInput(f"no faults {name!r}; there are {', '.join(FAULTS)}")
    return Faults(FAULTS[name], seed) if name else None


def with_defect(name: str) -> AbstractContextManager[None]:
    """The nodes have the defect of a name, if it is not empty; what plants it is loaded only then.

    Raises:
        BadInput: there is no such defect.
    """
    if not name:
        return nullcontext()
    defects = import_module("model_tests.serve.defects")
    defects.defect_called(name)
    return cast(AbstractContextManager[None], defects.broken(name))


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect."""
    if host == LOCALHOST:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


# --- the run --------------------------------------------------------------------------------------------------


@contextmanager
def recording(directory: Path) -> Iterator[tuple[TextIO, TextIO]]:
    """The files of a recorded run.

    Raises:
        BadInput: they cannot be made, or the disk is full; other errors of the run stay what they are.
    """
    with ExitStack() as files:
        with writing(directory):
            directory.mkdir(parents=True, exist_ok=True)
            trace, wire = (files.enter_context((directory / name).open("w")) for name in (TRACE_FILE, WIRE_LOG))
        try:
            yield trace, wire
        except OSError as error:
            if error.errno not in FULL:
                raise
            raise BadInput(f"{directory} cannot be written: {error.strerror}") from error


async def _served(
    service: Service,
    place: Address,
    topics: Sequence[tuple[str, int]],
    judge: LiveJudge,
    log: WireLog | None,
    seconds: float | None,
    faults: Faults | None,
) -> ServeReport:
    started, settings = time.monotonic(), service.settings
    service.world.observe(judge)
    create_topics(service, dict(topics))
    server = Server(service, faults=faults, on_settled=judge.pause, on_closed=_say)
    if log is not None:
        log.follow(server)
    stop_on_signals(server.stop)
    try:
        await server.start(place.host, place.port)
    except OSError as error:
        await server.close()
        raise BadInput(f"cannot listen at {place.host}:{place.port}: {error.strerror}") from error
    _say(f"{settings.profile.name} at {server.bootstrap_servers}")
    for line in recovery(service):
        _say(line)
    if not is_loopback(place.host):
        _say(f"warning: other machines can reach {place.host}, and without authentication anyone can read and write")
    try:
        with suppress(TimeoutError):
            await asyncio.wait_for(server.wait(), seconds)
    finally:
        await server.close()
    judge.finish()
    if server.failure is not None:
        raise server.failure
    seconds = time.monotonic() - started
    return report_of(service, server.requests, judge, seconds, server.closed, server.suffered)


def _fed(path: Path, data: Path, judge: LiveJudge, defect: str) -> ServeReport:
    """Make a recorded run again in a new directory, with another defect if one is given, and judge it."""
    started, (run, lines) = time.monotonic(), logged(path)
    with with_defect(defect or run.wire.defect):
        again = run.begin(data)
        again.service.world.observe(judge)
        again.play(lines)
        judge.finish()
        again.service.crash()
    return report_of(again.service, again.requests, judge, time.monotonic() - started, suffered=again.suffered)


def stop_on_signals(stop: Callable[[], None]) -> None:
    """Have SIGINT and SIGTERM stop what runs in this loop."""
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop)


def report_of(
    service: Service,
    requests: Counter[tuple[str, str]],
    judge: LiveJudge,
    seconds: float,
    closed: int = 0,
    suffered: Mapping[str, int] = NO_FAULTS,
) -> ServeReport:
    """What a server says in the end.

    Args:
        service: the nodes.
        requests: how many came, by api and the client's software.
        judge: that looked on.
        seconds: how long it ran.
        closed: connections that were closed because of what came over them.
        suffered: how many faults there were, by name.
    """
    profile = service.settings.profile
    counted = sorted(requests.items(), key=lambda each: (each[0][1], -each[1]))
    return ServeReport(
        profile.name,
        profile.transaction_version,
        service.settings.nodes,
        seconds,
        judge.steps,
        tuple(Requests(api, software, count) for (api, software), count in counted),
        dict(judge.outcomes),
        judge.rules(),
        coverage(judge.met()),
        judge.violated,
        tuple(judge.violations),
        closed,
        dict(sorted(suffered.items())),
    )
