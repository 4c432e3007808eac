"""Every known bug, in the order in which the protocol meets them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from spec.bugs.bug import Bug
from spec.bugs.of_client import OF_CLIENT
from spec.bugs.of_coordinator import OF_COORDINATOR
from spec.bugs.of_idempotence import OF_IDEMPOTENCE
from spec.bugs.of_leader import OF_LEADER, OF_MARKERS
from spec.bugs.of_transactions import OF_GROUPS, OF_TRANSACTIONS

_ALL: Final = (*OF_TRANSACTIONS, *OF_MARKERS, *OF_COORDINATOR, *OF_GROUPS, *OF_LEADER, *OF_IDEMPOTENCE, *OF_CLIENT)

BUGS: Final[Mapping[str, Bug]] = MappingProxyType({bug.name: bug for bug in _ALL})
"""By name."""
