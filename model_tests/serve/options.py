"""The options of `eos serve`, from the command line to the server."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from model_tests.common.command_options import offered
from spec.versions import NEWEST


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What is served, for how long, and what is kept of it.

    Attributes:
        listen: address of node 0; the others listen on the ports after it.
        nodes: how many nodes.
        profile: the release of the nodes, as 4.3 or 2.7.
        transaction_version: the feature transaction.version; by default that of the release.
        topics: a topic that exists from the start; may be repeated.
        record: write the steps (for eos check) and the requests there.
        seconds: stop after so many seconds; by default at Ctrl-C.
        defect: plant this known defect, as any-epoch-ends-a-transaction.
        faults: faults of connections, leaders, coordinators and nodes: gentle or harsh.
        seed: seed of --faults.
        directory: keep the nodes' log directories there, and continue with existing ones.
        min_insync_replicas: min.insync.replicas of every topic.
        feed: instead: repeat the run of a recorded wire.ndjson.
    """

    listen: str = field(default="127.0.0.1:9092", metadata=offered(metavar="HOST:PORT"))
    nodes: int = field(default=1, metadata=offered(least=1, most=100))
    profile: str = field(default=NEWEST.name, metadata=offered())
    transaction_version: int | None = field(default=None, metadata=offered(least=0, most=2))
    topics: tuple[str, ...] = field(default=(), metadata=offered("--topic", "NAME[:PARTITIONS]", repeated=True))
    record: Path | None = field(default=None, metadata=offered(metavar="DIR"))
    seconds: float | None = field(default=None, metadata=offered(least=0))
    defect: str = field(default="", metadata=offered(metavar="NAME"))
    faults: str = field(default="", metadata=offered(metavar="NAME"))
    seed: int = field(default=0, metadata=offered())
    directory: Path | None = field(default=None, metadata=offered("--dir", "DIR"))
    min_insync_replicas: int = field(default=1, metadata=offered(least=1))
    feed: Path | None = field(default=None, metadata=offered(metavar="FILE"))


DEFAULTS: Final = ServeOptions()
