"""Every known bug, in the order in which the protocol meets them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from spec import rules
from spec.bugs.bug import Bug
from spec.bugs.of_client import OF_CLIENT
from spec.bugs.of_coordinator import OF_COORDINATOR
from spec.bugs.of_groups import OF_GROUPS
from spec.bugs.of_idempotence import OF_IDEMPOTENCE
from spec.bugs.of_leader import OF_LEADER
from spec.bugs.of_transactions import OF_TRANSACTIONS

UNSEEN: Final = (
    Bug(
        name="KAFKA-14055",
        title="the cleaner removes the markers of a compacted topic",
        mechanism="A user's key has the bytes of a marker's key. The cleaner finds the key again further on, takes the "
        "marker for an older version of it and drops it, while the transaction's records stay.",
        source=("KAFKA-14055",),
        rule=rules.LSO_DECIDED_BELOW,
        unseen="needs the cleaner, of which there is no system yet",
    ),
)

_ALL: Final = (*OF_TRANSACTIONS, *OF_COORDINATOR, *OF_GROUPS, *OF_LEADER, *OF_IDEMPOTENCE, *OF_CLIENT, *UNSEEN)

BUGS: Final[Mapping[str, Bug]] = MappingProxyType({bug.name: bug for bug in _ALL})
"""By name."""
