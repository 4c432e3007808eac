"""The faults of the system, by what happens; and the instances in which every action is to happen after each."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from spec.systems.transactions.broken import quiet
from spec.systems.transactions.world import IN_ORDER, LOST, UNSURE, Bounds, TransactionKnobs
from spec.versions import NEWEST

WITH_A_FATE: Final = (
    "coordinator_initializes",
    "coordinator_bumps",
    "coordinator_aborts",
    "coordinator_verifies",
    "coordinator_ends",
)
"""Actions that append a record; its fate is their last argument."""

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
"""What goes wrong, or in between, by name."""

INSTANCES: Final[Mapping[str, TransactionKnobs]] = MappingProxyType(
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
