"""How fast `eos serve` is, and what `eos record` costs.

The client is confluent-kafka; the nodes are in a process of their own, with the judge and without it. For `eos record`
the same load runs directly, and by way of a recording between client and nodes.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from model_tests.record.recording import Recording
from model_tests.serve.command import wall
from model_tests.serve.judging import LiveJudge
from reference.server.listener import Server
from reference.server.service import ServerSettings, Service
from spec.versions import NEWEST

TOPIC: Final = "load"

PARTITIONS: Final = 4
MESSAGE: Final = bytes(100)
PATIENCE_S: Final = 60
"""The load: small messages, spread over a few partitions; a round that takes longer than so many seconds has failed."""

STATUS: Final = Path("/proc/self/status")

WARM: Final = 200
"""Transactions before anything is measured."""

FILLED: Final = 500
"""Transactions after which the judge's window has been full, and its memory no longer grows."""

AT_ONCE: Final = 500
"""Messages that the producer sends between two polls for answers."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a server has used.

    Attributes:
        computed: seconds of CPU time.
        resident: memory that it has now, in MiB.
    """

    computed: float
    resident: float


@dataclass(frozen=True, slots=True)
class Load:
    """Some load, and what it took.

    Attributes:
        count: messages or transactions.
        passed: seconds.
        computed: seconds of the server's CPU time.
        grown: of the server's memory, in MiB.
    """

    count: int
    passed: float
    computed: float
    grown: float

    @property
    def per_second(self) -> float:
        """Messages or transactions a second."""
        return self.count / self.passed

    @property
    def microseconds(self) -> float:
        """Of the server's CPU time for one."""
        return self.computed / self.count * 1e6


class ServerProcess:
    """Nodes in another process."""

    def __init__(self, link: Connection, servers: str) -> None:
        """Nodes that listen, and answer over a pipe what they have used."""
        self.servers = servers
        self._link = link

    def by_way_of(self, servers: str) -> "ServerProcess":
        """The same nodes for clients that connect at another address."""
        return ServerProcess(self._link, servers)

    def usage(self) -> Usage:
        """What they have used so far."""
        self._link.send("usage")
        used: Usage = self._link.recv()
        return used


@contextmanager
def served(nodes: int, *, judged: bool) -> Iterator[ServerProcess]:
    """Nodes of the newest release in another process, each step judged or none."""
    spawning = get_context("spawn")
    here, there = spawning.Pipe()
    process = spawning.Process(target=_serve, args=(there, nodes, judged), daemon=True)
    process.start()
    try:
        yield ServerProcess(here, here.recv())
    finally:
        here.send("stop")
        process.join(PATIENCE_S)


def messages(nodes: ServerProcess, count: int) -> Load:
    """Idempotent messages of 100 bytes, all acknowledged."""
    producer = _producer(nodes, {})
    with _measured(nodes) as measured:
        for number in range(count):
            producer.produce(TOPIC, MESSAGE, partition=number % PARTITIONS)
            if number % AT_ONCE == 0:
                producer.poll(0)
        if producer.flush(PATIENCE_S):
            raise TimeoutError(f"of {count} messages some were not acknowledged in time")
    return measured.load(count)


def transactions(nodes: ServerProcess, count: int) -> Load:
    """Transactions of one record, one after the other, a fourth of them aborted."""
    with _transactions(nodes) as transact:
        for number in range(min(WARM, count)):
            transact(number)
        with _measured(nodes) as measured:
            for number in range(count):
                transact(number)
    return measured.load(count)


def endless(nodes: ServerProcess, seconds: float) -> Load:
    """Such transactions for some time."""
    with _transactions(nodes) as transact:
        for number in range(FILLED):
            transact(number)
        with _measured(nodes) as measured:
            number, end = 0, time.monotonic() + seconds
            while time.monotonic() < end:
                transact(number)
                number += 1
    return measured.load(number)


@contextmanager
def _transactions(nodes: ServerProcess) -> Iterator[Any]:
    producer = _producer(nodes, {"transactional.id": "load", "linger.ms": 0})
    producer.init_transactions(PATIENCE_S)

    def transact(number: int) -> None:
        producer.begin_transaction()
        producer.produce(TOPIC, MESSAGE, partition=number % PARTITIONS)
        if number % 4 == 3:
            producer.flush(PATIENCE_S)
            producer.abort_transaction(PATIENCE_S)
        else:
            producer.commit_transaction(PATIENCE_S)

    yield transact


def _producer(nodes: ServerProcess, settings: dict[str, Any]) -> Any:
    most = {"queue.buffering.max.messages": 10_000_000}
    common = {"bootstrap.servers": nodes.servers, "enable.idempotence": True, "log_level": 0}
    return import_module("confluent_kafka").Producer(common | most | settings)


class _Measuring:
    """The time, and what the server has used, before and after something."""

    def __init__(self, nodes: ServerProcess) -> None:
        self._nodes = nodes
        self._before, self._began = nodes.usage(), time.monotonic()
        self._after, self._ended = self._before, self._began

    def end(self) -> None:
        self._ended, self._after = time.monotonic(), self._nodes.usage()

    def load(self, count: int) -> Load:
        before, after = self._before, self._after
        computed, grown = after.computed - before.computed, after.resident - before.resident
        return Load(count, self._ended - self._began, computed, grown)


@contextmanager
def _measured(nodes: ServerProcess) -> Iterator[_Measuring]:
    measuring = _Measuring(nodes)
    yield measuring
    measuring.end()


# --- in the process of the nodes ------------------------------------------------------------------------------


def _serve(link: Connection, nodes: int, judged: bool) -> None:
    asyncio.run(_served(link, nodes, judged))


async def _served(link: Connection, nodes: int, judged: bool) -> None:
    service = Service(ServerSettings(NEWEST, nodes), wall)
    server = Server(service)
    if judged:
        judge = LiveJudge(lambda _: None)
        service.world.recorder.observer = judge
        server.on_settled = judge.pause
    service.create_topic(TOPIC, PARTITIONS)
    await server.start("127.0.0.1", 0)

    def on_request() -> None:
        if link.recv() == "usage":
            link.send(Usage(time.process_time(), _resident()))
        else:
            server.stop()

    asyncio.get_running_loop().add_reader(link.fileno(), on_request)
    link.send(server.bootstrap_servers)
    await server.wait()
    await server.close()
    if server.failure is not None:
        raise server.failure


def _resident() -> float:
    """Memory of this process in MiB; 0 without /proc."""
    if not STATUS.is_file():
        return 0.0
    lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
    return int(lines["VmRSS"].split()[0]) / 1024


# --- the same load by way of a recording ------------------------------------------------------------------------------


class RecordedLoad(NamedTuple):
    """Messages a second.

    Attributes:
        direct: without a recording.
        recorded: by way of one.
    """

    direct: float
    recorded: float

    @property
    def ratio(self) -> float:
        """What is left of the rate."""
        return self.recorded / self.direct


def timed(count: int, rounds: int, scratch: Path) -> RecordedLoad:
    """Send so many messages each way in turn; the median of some rounds. Nodes and recording are other processes."""
    with served(1, judged=False) as nodes, recorded(nodes.servers, scratch) as servers:
        ways = nodes, nodes.by_way_of(servers)
        rates = [[messages(way, count).per_second for way in ways] for _ in range(rounds)]
    return RecordedLoad(*(median(each) for each in zip(*rates, strict=True)))


@contextmanager
def recorded(upstream: str, directory: Path) -> Iterator[str]:
    """A recording in another process; its address."""
    spawning = get_context("spawn")
    here, there = spawning.Pipe()
    process = spawning.Process(target=_record, args=(there, upstream, directory), daemon=True)
    process.start()
    try:
        yield here.recv()
    finally:
        here.send("stop")
        process.join(PATIENCE_S)


def _record(link: Connection, upstream: str, directory: Path) -> None:
    with Recording(upstream, directory) as recording:
        link.send(recording.bootstrap_servers)
        link.recv()
