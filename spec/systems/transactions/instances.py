"""Finite instances of the true system, small enough to be searched whole; and what happens in them after each fault."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from spec.systems.transactions.broken import NEAR_THE_END, NOTHING, quiet
from spec.systems.transactions.world import IN_ORDER, LOST, UNSURE, Bounds, TransactionKnobs
from spec.versions import KAFKA_3_9, NEWEST, SNAPSHOT_4_0


@dataclass(frozen=True, slots=True)
class ReleaseInstance:
    """A finite instance of the true system of one release.

    Attributes:
        large: it has more than a few thousand states.
    """

    name: str
    knobs: TransactionKnobs
    large: bool = False


INSTANCES: Final = (
    ReleaseInstance("two transactions", quiet(NEWEST)),
    ReleaseInstance("timeouts, and leaders that fail", quiet(NEWEST, times_out=True, leaders_fail=True)),
    ReleaseInstance("records that fail", quiet(NEWEST, appends_fail=True)),
    ReleaseInstance(
        "coordinators that fail",
        quiet(NEWEST, appends_fail=True, bounds=Bounds(transactions=1, coordinators=2)),
    ),
    ReleaseInstance(
        "epochs that run out",
        quiet(
            NEWEST,
            NEAR_THE_END,
            first_epoch=NEAR_THE_END - 2,
            times_out=True,
            bounds=Bounds(decisions=3, producer_ids=3),
        ),
    ),
    ReleaseInstance(
        "version 0, requests in order",
        quiet(KAFKA_3_9, outlive=NOTHING, times_out=True),
    ),
    ReleaseInstance(
        "version 1, requests in order",
        quiet(SNAPSHOT_4_0.under(1), outlive=NOTHING, times_out=True),
    ),
    ReleaseInstance("bumps by the client", quiet(NEWEST, clients_bump=True, outlive=IN_ORDER)),
    ReleaseInstance("version 0, bumps by the client", quiet(KAFKA_3_9, clients_bump=True, outlive=NOTHING)),
    ReleaseInstance("readers of two batches", quiet(NEWEST, readers=True, bounds=Bounds(transactions=1, batches=2))),
    ReleaseInstance("offsets of a group", quiet(NEWEST, groups=True, bounds=Bounds(transactions=1, generations=2))),
    ReleaseInstance("one transaction on two partitions", quiet(NEWEST, bounds=Bounds(transactions=1, partitions=2))),
    ReleaseInstance("a successor", quiet(NEWEST, times_out=True, bounds=Bounds(instances=2)), large=True),
    ReleaseInstance(
        "bumps by the client, and a successor",
        quiet(NEWEST, clients_bump=True, outlive=IN_ORDER, bounds=Bounds(instances=2)),
        large=True,
    ),
    ReleaseInstance(
        "bumps by the client, epochs that run out",
        quiet(
            NEWEST,
            NEAR_THE_END,
            first_epoch=NEAR_THE_END - 2,
            clients_bump=True,
            outlive=IN_ORDER,
            bounds=Bounds(transactions=3, decisions=3, producer_ids=3),
        ),
        large=True,
    ),
    ReleaseInstance("another coordinator", quiet(NEWEST, times_out=True, bounds=Bounds(coordinators=2)), large=True),
    ReleaseInstance("readers", quiet(NEWEST, readers=True, times_out=True), large=True),
    ReleaseInstance(
        "readers of two partitions",
        quiet(NEWEST, readers=True, bounds=Bounds(transactions=1, partitions=2)),
        large=True,
    ),
    ReleaseInstance(
        "offsets and outputs", quiet(NEWEST, groups=True, bounds=Bounds(transactions=1, partitions=2)), large=True
    ),
    ReleaseInstance(
        "offsets of two transactions", quiet(NEWEST, groups=True, bounds=Bounds(generations=2)), large=True
    ),
    ReleaseInstance(
        "version 0, offsets of two transactions, requests in order",
        quiet(KAFKA_3_9, groups=True, outlive=NOTHING, times_out=True, bounds=Bounds(generations=2)),
        large=True,
    ),
    ReleaseInstance("two batches", quiet(NEWEST, bounds=Bounds(batches=2)), large=True),
    ReleaseInstance("two transactions on two partitions", quiet(NEWEST, bounds=Bounds(partitions=2)), large=True),
    ReleaseInstance(
        "version 0, a successor, requests in order",
        quiet(KAFKA_3_9, outlive=NOTHING, times_out=True, bounds=Bounds(instances=2)),
        large=True,
    ),
)
"""Instances in which every theorem holds in every state."""


WITH_A_FATE: Final = (
    "coordinator_initializes",
    "coordinator_bumps",
    "coordinator_aborts",
    "coordinator_verifies",
    "coordinator_ends",
)
"""Actions that append a record; its fate is their last argument."""


# --- what happens after each fault ------------------------------------------------------------------------------------


Happens = Callable[[str, tuple[int, ...]], bool]
"""Whether an action with these arguments is a fault."""


def _is(wanted: str) -> Happens:
    return lambda action, _: action == wanted


def _has_fate(fate: int) -> Happens:
    return lambda action, at: action in WITH_A_FATE and at[-1] == fate


FAULTS: Final[Mapping[str, Happens]] = MappingProxyType(
    {
        "a leader fails over": _is("leader_fails_over"),
        "the coordinator fails over": _is("coordinator_fails_over"),
        "a record is lost": _has_fate(LOST),
        "a record is taken for lost": _has_fate(UNSURE),
        "a transaction times out": _is("transaction_times_out"),
        "a successor starts": lambda action, at: action == "coordinator_initializes" and at[0] > 0,
        "the group rebalances": _is("group_rebalances"),
        "a late bump comes": _is("bump_meets_open_transaction"),
    }
)
"""Faults, and other events between the actions, by name."""

AFTER_FAULTS: Final[Mapping[str, TransactionKnobs]] = MappingProxyType(
    {
        "every party, one transaction": quiet(
            NEWEST,
            outlive=IN_ORDER,
            readers=True,
            groups=True,
            clients_bump=True,
            times_out=True,
            leaders_fail=True,
            appends_fail=True,
            bounds=Bounds(transactions=1, instances=2, coordinators=2, generations=2),
        ),
        "coordinators, one after the other": quiet(
            NEWEST, leaders_fail=True, bounds=Bounds(transactions=1, coordinators=3)
        ),
        "generations, one after the other": quiet(NEWEST, groups=True, bounds=Bounds(transactions=1, generations=3)),
        "timeouts, offsets and bumps": quiet(
            NEWEST, outlive=IN_ORDER, groups=True, clients_bump=True, times_out=True, bounds=Bounds(decisions=3)
        ),
        "late bumps": quiet(
            NEWEST,
            clients_bump=True,
            times_out=True,
            leaders_fail=True,
            bounds=Bounds(decisions=3, instances=2),
        ),
        "late bumps, and offsets": quiet(
            NEWEST, groups=True, clients_bump=True, bounds=Bounds(transactions=3, decisions=2)
        ),
        "late bumps, and a rebalance": quiet(
            NEWEST, groups=True, clients_bump=True, bounds=Bounds(transactions=2, generations=2)
        ),
        "late bumps, and readers": quiet(
            NEWEST, readers=True, clients_bump=True, times_out=True, bounds=Bounds(transactions=3, decisions=2)
        ),
        "late bumps, and records that fail": quiet(
            NEWEST, clients_bump=True, appends_fail=True, bounds=Bounds(transactions=2, coordinators=2)
        ),
    }
)
"""Of version 2, by name: every action has to happen after every fault in one of them."""
