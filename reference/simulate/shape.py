"""How large a simulated world is, how it is configured, and how often its applications and administrators act.

The weights of events are in the list of each world. The rates of faults stand beside their meaning, in
`reference.event`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from reference.client.partition_queue import MAX_IN_FLIGHT
from reference.client.producer import DELIVERY_TIMEOUT_MS
from reference.client.transaction_states import ClientState
from reference.log.producer_state import PRODUCER_EXPIRATION_MS

# --- size and configuration -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shape:
    """How large the world is, and how it is configured.

    Attributes:
        producers: idempotent producers.
        partitions: partitions of the one topic.
        nodes: nodes, each with a replica of every partition.
        acks: -1 all, 1 leader only, 0 none: a batch that is sent is a success, and there is no answer.
        min_insync: min.insync.replicas.
        expiration_ms: producer.id.expiration.ms.
        delivery_timeout_ms: delivery.timeout.ms of the producers.
        max_in_flight: unacknowledged batches of a producer per partition, at most the broker's window.
        eager_metadata: a producer turns to a new leader while batches are under way to the old one; a later batch
            may then be the first that the new leader sees, and is accepted as such (KAFKA-14359).
        idempotent: whether producers number their batches (enable.idempotence); Kafka's clients do with acks -1 only.
    """

    producers: int = 2
    partitions: int = 1
    nodes: int = 3
    acks: int = -1
    min_insync: int = 1
    expiration_ms: int = PRODUCER_EXPIRATION_MS
    delivery_timeout_ms: int = DELIVERY_TIMEOUT_MS
    max_in_flight: int = MAX_IN_FLIGHT
    eager_metadata: bool = False
    idempotent: bool = True


# --- shares of what may be in a world, and of what is done ------------------------------------------------------------


RAW_COORDINATORS: Final = 400
"""Per thousand raw worlds, those of a coordinator; the others are of a partition."""

ACTIONS: Final[Mapping[ClientState, Sequence[tuple[str, int]]]] = MappingProxyType(
    {
        ClientState.UNINITIALIZED: (("initializes", 1),),
        ClientState.READY: (("begins", 1),),
        ClientState.IN_TRANSACTION: (("sends", 6), ("sends_offsets", 1), ("commits", 4), ("aborts", 1)),
        ClientState.ABORTABLE_ERROR: (("aborts", 3), ("crashes", 1)),
        ClientState.FATAL_ERROR: (("crashes", 1),),
    }
)
"""What an application does in which state of its producer; in all others it waits."""

APPLICATIONS: Final = (("transactional", 24), ("idempotent", 3), ("acks=all", 1), ("acks=1", 1), ("acks=0", 1))
"""What kind of application starts: with a transactional id, idempotent, or neither with these acks."""

DIRTY_READERS: Final = 300
"""Per thousand worlds, those with a `read_uncommitted` reader beside the `read_committed` one."""

OVERDUE: Final = 40
"""Per thousand arrivals of requests, those whose answer is no longer awaited."""

LOOPS: Final = 400
"""Per thousand applications with a transactional id, those that consume, transform and produce."""

REJOINS: Final = 200
"""Per thousand transactions of such an application, those before which it joins its group again."""

ADMINISTRATION: Final = (
    ("describes producers", 3),
    ("lists transactions", 2),
    ("fences", 1),
    ("aborts what hangs", 6),
    ("deletes records", 2),
)
"""What administrators do; a transaction that hangs is rare, and is looked for often."""

BEYOND: Final = 100
"""Per thousand requests to delete records, those that ask for more than there is."""

UNCLEAN: Final = 80
"""Per thousand worlds, those in which a follower out of sync may be elected."""

SKEWED: Final = 300
"""Per thousand worlds, those in which the clocks of nodes differ."""

MOST_AHEAD_MS: Final = 500
"""How far ahead of true time a clock may begin."""

MOST_DRIFT_PPM: Final = 500
"""How much too fast or too slow a clock may go, in parts per million."""
