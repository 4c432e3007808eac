"""What goes wrong, drawn from a seed: with requests and their answers on the wire, and with nodes as time passes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

from reference.server.node_events import NODES, LongestTimes, NodeEvents, Suffer
from reference.server.nodes import Nodes
from reference.tape import Tape
from spec.vocabulary import Api

DOUBLED: Final = frozenset(
    {
        Api.ADD_OFFSETS_TO_TXN,
        Api.ADD_PARTITIONS_TO_TXN,
        Api.END_TXN,
        Api.HEARTBEAT,
        Api.OFFSET_COMMIT,
        Api.PRODUCE,
        Api.TXN_OFFSET_COMMIT,
    }
)
"""What may come twice: what clients send again as it was when they do not hear of it.

Not JoinGroup and SyncGroup: a copy takes the place of the request that waits, which then is never answered, in Kafka as
here. Not InitProducerId: the copy fences the producer, whose run is over then.
"""

MAX_VERSION: Final = 2**15
"""Above every version."""

LATE_SINCE: Final[Mapping[str, int]] = MappingProxyType(
    {Api.END_TXN: 5, Api.HEARTBEAT: 0, Api.PRODUCE: 0, Api.TXN_OFFSET_COMMIT: 5}
)
"""Requests that may arrive late, and the first version in which a broker can refuse them as late.

In older versions a late EndTxn ends the next transaction, and a late TxnOffsetCommit puts old offsets into it
(KIP-890): there Kafka itself is not exactly once.
"""


@dataclass(frozen=True, slots=True)
class RequestRates:
    """How often, per thousand requests.

    Attributes:
        lost: the connection breaks before the node has the request.
        stray: it breaks too, but the request arrives up to `late_ms` later, be it that the client has sent it again.
        doubled: the request is there twice, one right behind the other; the second answer is dropped.
        late: the request takes up to `late_ms` longer, and so does what comes after it over the same connection.
        lost_answers: the connection breaks when the request is dealt with, and the client does not hear.
        late_answers: the answer takes up to `late_ms` longer.
        late_ms: the longest delay, milliseconds.
    """

    lost: int
    stray: int
    doubled: int
    late: int
    lost_answers: int
    late_answers: int
    late_ms: int


@dataclass(frozen=True, slots=True)
class NodeRates:
    """How often, per thousand looks at the clock, twenty in a second.

    Attributes:
        closed: a connection is closed.
        leaders: a replica in sync becomes leader of a partition.
        transactions: another node coordinates a transactional id, and loads its log first.
        groups: another node coordinates a group, and loads its log first.
        restarts: a node shuts down in an orderly way, and is back later.
        crashes: a node is killed, and is back later.
        pauses: a node stands still.
        longest: how long all that lasts.
    """

    closed: int
    leaders: int
    transactions: int
    groups: int
    restarts: int
    crashes: int
    pauses: int
    longest: LongestTimes


class ServerFaultRates(NamedTuple):
    """All that goes wrong."""

    requests: RequestRates
    nodes: NodeRates


PROFILES: Final = {
    "gentle": ServerFaultRates(
        RequestRates(lost=5, stray=2, doubled=5, late=10, lost_answers=5, late_answers=20, late_ms=50),
        NodeRates(
            closed=5,
            leaders=5,
            transactions=5,
            groups=2,
            restarts=1,
            crashes=1,
            pauses=2,
            longest=LongestTimes(away_ms=500, loading_ms=100, zombie_ms=100),
        ),
    ),
    "harsh": ServerFaultRates(
        RequestRates(lost=20, stray=20, doubled=40, late=50, lost_answers=40, late_answers=100, late_ms=200),
        NodeRates(
            closed=40,
            leaders=40,
            transactions=40,
            groups=20,
            restarts=8,
            crashes=8,
            pauses=10,
            longest=LongestTimes(away_ms=1_000, loading_ms=300, zombie_ms=500),
        ),
    ),
}
"""By the name that `eos serve --faults` takes."""


class RequestFaults(NamedTuple):
    """What goes wrong with one request.

    Attributes:
        lost: its connection breaks before it arrives.
        stray_ms: it arrives so much later all the same; not if it is 0.
        late_ms: how much longer it takes.
        doubled: it is there twice.
        answer_lost: its connection breaks before its answer arrives.
        answer_late_ms: how much longer the answer takes.
    """

    lost: bool = False
    stray_ms: int = 0
    late_ms: int = 0
    doubled: bool = False
    answer_lost: bool = False
    answer_late_ms: int = 0

    def names(self) -> Iterator[str]:
        """What it is called in a report; of a request that is lost nothing else is to be seen."""
        if self.lost:
            yield "request stray" if self.stray_ms else "request lost"
            return
        for name, happens in (
            ("request late", self.late_ms),
            ("request doubled", self.doubled),
            ("answer lost", self.answer_lost),
            ("answer late", self.answer_late_ms),
        ):
            if happens:
                yield name


NOTHING: Final = RequestFaults()


class Faults:
    """The faults of one server, drawn from one tape in the order of the requests and of the looks at the clock."""

    __slots__ = ("_rates", "_tape")

    def __init__(self, rates: ServerFaultRates, seed: int) -> None:
        """Faults at these rates; which request they meet depends on the seed and on the clients' timing."""
        self._rates = rates
        self._tape = Tape.seeded(seed)

    def of_request(self, api: str, version: int) -> RequestFaults:
        """What goes wrong with the next request, which is of a version of an api."""
        rates, tape = self._rates.requests, self._tape
        tape.drawn.clear()
        may_stray = version >= LATE_SINCE.get(api, MAX_VERSION)
        lost, stray, doubled = (tape.happens(rate) for rate in (rates.lost, rates.stray, rates.doubled))
        return RequestFaults(
            lost=lost or (stray and may_stray),
            stray_ms=tape.between(1, rates.late_ms) if stray and may_stray else 0,
            late_ms=self._delay(rates.late),
            doubled=doubled and api in DOUBLED,
            answer_lost=tape.happens(rates.lost_answers),
            answer_late_ms=self._delay(rates.late_answers),
        )

    def _delay(self, rate: int) -> int:
        return self._tape.between(1, self._rates.requests.late_ms) if self._tape.happens(rate) else 0

    def closed(self, connections: Sequence[int]) -> int | None:
        """The number of a connection that is closed now, None if none is."""
        self._tape.drawn.clear()
        happens = self._tape.happens(self._rates.nodes.closed)
        return self._tape.pick(connections) if happens and connections else None

    def of_nodes(self, nodes: Nodes, suffer: Suffer) -> None:
        """Let go wrong with nodes what does now; each event is drawn once the one before has happened."""
        rates = self._rates.nodes
        events = NodeEvents(nodes, rates.longest, suffer)
        for event in NODES:
            if self._tape.happens(getattr(rates, event.fault)) and event.ready(events):
                event.act(events, self._tape)
        self._tape.drawn.clear()
