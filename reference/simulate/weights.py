"""How likely everything is that may happen in a simulated world: the one place for weights and shares.

Rates of faults are beside their meaning, in `reference.faults`.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from reference.client.transaction_states import ClientState

PRODUCERS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "producers_tick": 1,
        "application_sends": 12,
        "producer_asks_for_id": 30,
        "producer_sends": 30,
        "broker_receives": 30,
        "producer_receives": 30,
        "follower_fetches": 40,
        "reader_fetches": 4,
    }
)
"""The events of a world of idempotent producers, beside the others that can happen."""

RAW: Final[Mapping[str, int]] = MappingProxyType(
    {
        "client_produces": 60,
        "coordinator_writes_marker": 12,
        "coordinator_writes_data": 4,
        "quorum_appends": 2,
        "lone_replica_copies": 10,
        "follower_fetches": 30,
        "reader_fetches": 2,
    }
)
"""The events of the raw world, likewise."""

RAW_COORDINATORS: Final = 400
"""Per thousand raw worlds, those of a coordinator; the others are of a partition."""

RAW_COORDINATOR: Final[Mapping[str, int]] = MappingProxyType(
    {
        "client_initializes": 30,
        "client_adds_partitions": 30,
        "client_ends": 30,
        "broker_asks": 14,
        "markers_are_answered": 24,
        "transactions_time_out": 3,
        "ids_expire": 1,
        "log_fails": 3,
        "coordinator_fails_over": 7,
    }
)
"""What happens at a coordinator that is asked anything."""

REPLICAS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "timers_fire": 10,
        "application_sends": 12,
        "producer_asks_for_id": 20,
        "producer_sends": 20,
        "producers_tick": 3,
        "producer_refreshes_metadata": 6,
        "message_arrives": 90,
        "follower_fetches": 30,
        "reader_fetches": 4,
        "broker_is_back": 2,
    }
)
"""The events of a world of replicas, likewise."""

TRANSACTIONS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "producers_tick": 1,
        "application_starts": 1,
        "application_acts": 10,
        "plain_application_acts": 1,
        "producer_asks": 20,
        "producer_sends": 14,
        "broker_receives": 40,
        "sender_receives": 40,
        "follower_fetches": 30,
        "coordinator_sends_markers": 16,
        "consumer_fetches": 2,
        "administrator_acts": 1,
        "fault_is_mended": 12,
    }
)
"""The events of a world of transactions, likewise."""

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
"""Per thousand worlds, those with a reader of what is not committed beside the one of what is."""

OVERDUE: Final = 40
"""Per thousand arrivals of requests, those whose answer is no longer awaited."""

LOOPS: Final = 400
"""Per thousand applications with a transactional id, those that consume what they transform and produce."""

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
