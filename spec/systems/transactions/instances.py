"""Finite instances of the true system, each with some of the faults, small enough to be searched as a whole."""

from dataclasses import dataclass
from typing import Final

from spec.systems.transactions.broken import NEAR_THE_END, NOTHING, quiet
from spec.systems.transactions.world import IN_ORDER, Bounds, TransactionKnobs
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
"""Where every theorem holds in every state."""
