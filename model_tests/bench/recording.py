"""What `eos record` costs: the same load with it between client and nodes, and without it."""

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import NamedTuple

from model_tests.bench import serving
from model_tests.record.recording import Recording


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
    """So many messages by each way in turn, the median of some rounds; nodes and recording are other processes."""
    with serving.served(1, judged=False) as nodes, recorded(nodes.servers, scratch) as servers:
        ways = nodes, nodes.by_way_of(servers)
        rates = [[serving.messages(way, count).per_second for way in ways] for _ in range(rounds)]
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
        process.join(serving.PATIENCE_S)


def _record(link: Connection, upstream: str, directory: Path) -> None:
    with Recording(upstream, directory) as recording:
        link.send(recording.bootstrap_servers)
        link.recv()
