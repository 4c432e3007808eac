"""Explicit and bounded search of transactions: the true systems within bounds, and everything that must break them."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from model_tests.verify.model_checking import Instanced, Searched, SearchInstance, SystemMutation, depths
from model_tests.verify.results import RunEffort
from spec import rules
from spec.engines.finite import instance_of
from spec.evidence import Layer, evidences
from spec.systems.transactions.controls import CONTROLS
from spec.systems.transactions.decisions import decisions, remembered
from spec.systems.transactions.instances import INSTANCES as TRUE
from spec.systems.transactions.system import transactions
from spec.systems.transactions.world import TransactionKnobs


def built(name: str, knobs: TransactionKnobs) -> Instanced:
    """The system with these knobs, in their instance."""
    plain = transactions(knobs)
    return Instanced(name, transactions(knobs, remembered(decisions(knobs))), plain, instance_of(plain, knobs.sizes()))


BOUNDED: Final[Mapping[str, Mapping[RunEffort, int]]] = MappingProxyType(
    {
        "two transactions": depths(7, 10, 20),
        "a successor": depths(default=0, deep=10),
        "another coordinator": depths(default=0, deep=10),
        "bumps by the client, and a successor": depths(deep=0),
        "bumps by the client, epochs that run out": depths(deep=0),
        "version 0, bumps by the client": depths(deep=0),
        "readers": depths(deep=0),
        "readers of two batches": depths(default=0, deep=0),
        "readers of two partitions": depths(deep=0),
        "offsets and outputs": depths(deep=0),
        "offsets of two transactions": depths(deep=0),
        "version 0, offsets of two transactions, requests in order": depths(deep=0),
        "two batches": depths(deep=0),
        "two transactions on two partitions": depths(deep=0),
        "version 0, a successor, requests in order": depths(default=0, deep=10),
    }
)
"""How deep the bounded search goes in these instances; all others are searched explicitly, as a whole."""

WHOLE: Final = (
    "a successor",
    "coordinators that fail",
    "timeouts, and leaders that fail",
    "readers of two batches",
    "offsets of a group",
)
"""Instances of version 2: in one of them each action happens, and each state of interest is reached.

What happens after which fault, bumps included, `after_faults` says.
"""

INSTANCES: Final = tuple(
    SearchInstance(
        each.name,
        partial(built, each.name, each.knobs),
        BOUNDED.get(each.name, depths(0, 0, 0)),
        whole=each.name in WHOLE,
    )
    for each in TRUE
)


@evidences(rules.SEQ_EXACTLY_ONCE, Layer.BOUNDED)
@evidences(rules.TXN_NO_CROSSTALK, Layer.BOUNDED)
@evidences(rules.TXN_ATOMIC, Layer.BOUNDED)
@evidences(rules.TXN_ONE_OUTCOME, Layer.BOUNDED)
@evidences(rules.TXN_MARKER_ONCE, Layer.BOUNDED)
@evidences(rules.TXN_REGISTERED_BEFORE_DATA, Layer.BOUNDED)
@evidences(rules.TXN_CLIENT_VERDICT, Layer.BOUNDED)
@evidences(rules.TXN_FAILOVER, Layer.BOUNDED)
@evidences(rules.TXN_COMPLETES, Layer.BOUNDED)
@evidences(rules.FENCE_ZOMBIE_CANNOT_COMMIT, Layer.BOUNDED)
@evidences(rules.FENCE_EPOCH_EXHAUSTION, Layer.BOUNDED)
@evidences(rules.IDS_IDENTITY_NEVER_REPEATS, Layer.BOUNDED)
@evidences(rules.LSO_READ_COMMITTED, Layer.BOUNDED)
@evidences(rules.OFFSETS_ATOMIC, Layer.BOUNDED)
@evidences(rules.OFFSETS_GENERATION_FENCE, Layer.BOUNDED)
@evidences(rules.OFFSETS_STABLE_FETCH, Layer.BOUNDED)
def searched() -> Searched:
    """The rules with a theorem about the transactions of one transactional id."""
    return Searched(
        rules=(
            rules.SEQ_EXACTLY_ONCE,
            rules.TXN_NO_CROSSTALK,
            rules.TXN_ATOMIC,
            rules.TXN_ONE_OUTCOME,
            rules.TXN_MARKER_ONCE,
            rules.TXN_REGISTERED_BEFORE_DATA,
            rules.TXN_CLIENT_VERDICT,
            rules.TXN_FAILOVER,
            rules.TXN_COMPLETES,
            rules.FENCE_ZOMBIE_CANNOT_COMMIT,
            rules.FENCE_EPOCH_EXHAUSTION,
            rules.IDS_IDENTITY_NEVER_REPEATS,
            rules.LSO_READ_COMMITTED,
            rules.OFFSETS_ATOMIC,
            rules.OFFSETS_GENERATION_FENCE,
            rules.OFFSETS_STABLE_FETCH,
        ),
        instances=INSTANCES,
        broken=tuple(
            SystemMutation(each.violates, partial(built, each.name, each.knobs))
            for each in CONTROLS
            if not each.left_to_tests
        ),
        deepest=MappingProxyType({RunEffort.QUICK: 6, RunEffort.DEFAULT: 7, RunEffort.DEEP: 99}),
    )
