"""KIP-939, with markers that leave the guard of every later transaction alone.

As the KIP has it, the marker of a transaction that was kept has another epoch than the next transaction. The leader
takes a verification for one of the next transaction only where its epoch is the marker's (KAFKA-18654), drops the one
of the true next transaction, and refuses its first batch.
"""

from dataclasses import replace

from kip_939 import NEXT_COORDINATOR, with_later_guards
from kip_939 import VARIANT as AS_PROPOSED

from spec.systems.transactions.broken import quiet
from spec.systems.transactions.variant import VariantInstance
from spec.systems.transactions.world import Bounds
from spec.versions import NEWEST

VARIANT = replace(
    AS_PROPOSED,
    name="KIP-939, mended",
    sentence="as KIP-939, and a marker leaves the guard of every later epoch alone",
    system=with_later_guards,
    spared_by=AS_PROPOSED.spared_by | {"a guard that a repeated marker takes counts as taken wrongly"},
    instances=(
        VariantInstance(
            "a successor", quiet(NEWEST, times_out=True, bounds=Bounds(instances=2)), mends="marker_leaves_next_guard"
        ),
        VariantInstance("a successor of a successor", quiet(NEWEST, bounds=Bounds(transactions=1, instances=3))),
        VariantInstance("a successor, and the next coordinator", NEXT_COORDINATOR),
    ),
    before=AS_PROPOSED,
)
