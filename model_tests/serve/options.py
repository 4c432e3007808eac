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
        listen: of node 0; the others listen on the ports after it.
        nodes: how many nodes.
        profile: the release that they are, as 4.3 or 2.7.
        transaction_version: the feature transaction.version; that of the release if not given.
        topics: a topic that is there; may be repeated.
        record: write the steps (for eos check) and what arrives there.
        seconds: stop by itself after so long; at Ctrl-C if not given.
        defect: be wrong in this way, as any-epoch-ends-a-transaction.
        faults: of connections, leaders, coordinators and nodes: gentle or harsh.
        seed: of --faults.
        directory: keep the nodes' log directories there, and go on with those left.
        min_insync_replicas: of every topic.
        feed: instead: make the run of a recorded wire.ndjson again.
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
