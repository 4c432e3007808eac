"""A served reference in a process of its own, so that its defects are not those of the judge beside it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Final

from model_tests.probe.options import ProbeOptions
from model_tests.probe.report import ProbeReport
from model_tests.probe.run import run
from model_tests.serve.cluster import Cluster

PATIENCE_S: Final = 120
LEAN: Final = ProbeOptions(families=("A", "B", "C", "D", "R"), sessions=10, rate=0, patience_s=20)


@dataclass(slots=True)
class ServedCluster:
    """A cluster in another process.

    Attributes:
        violated: what its own judge says, once it has stopped, a line each.
    """

    bootstrap: str
    violated: list[str] = field(default_factory=list)


@contextmanager
def served(profile: str, defect: str = "") -> Iterator[ServedCluster]:
    """A cluster of a profile, with a defect or sound."""
    spawning = get_context("spawn")
    here, there = spawning.Pipe()
    process = spawning.Process(target=_serve, args=(there, profile, defect), daemon=True)
    process.start()
    cluster = ServedCluster(here.recv())
    try:
        yield cluster
    finally:
        here.send("stop")
        if here.poll(PATIENCE_S):
            cluster.violated += here.recv()
        process.join(PATIENCE_S)


def _serve(link: Connection, profile: str, defect: str) -> None:
    cluster = Cluster(profile, defect=defect)
    try:
        with cluster:
            link.send(cluster.bootstrap_servers)
            link.recv()
    except AssertionError:
        pass  # its report says so
    finally:
        report = cluster.report
        link.send([] if report is None else [str(each) for each in report.violations])


def probed(bootstrap: str, profile: str, options: ProbeOptions = LEAN) -> ProbeReport:
    """Probe a cluster whose topics are nobody's."""
    return run(bootstrap, profile, options, lambda _: None, lambda _: False)
