"""Which version of a request a script sends: one that broker, codec, release and session format have."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from model_tests.conform.api_versions import TAKEN
from model_tests.probe.script import ScriptAction
from reference.wire.codec import known_versions
from spec.versions import Profile
from spec.vocabulary import Api

WRITTEN: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(
    {
        Api.PRODUCE: (3, 13),
        Api.FETCH: (5, 18),
        Api.INIT_PRODUCER_ID: (0, 5),
        Api.ADD_PARTITIONS_TO_TXN: (0, 3),
        Api.ADD_OFFSETS_TO_TXN: (0, 4),
        Api.END_TXN: (0, 5),
        Api.WRITE_TXN_MARKERS: (0, 2),
        Api.TXN_OFFSET_COMMIT: (0, 5),
        Api.OFFSET_COMMIT: (2, 10),
        Api.OFFSET_FETCH: (2, 10),
        Api.LIST_TRANSACTIONS: (0, 2),
    }
)
"""The versions that a session can record: with batches of version 2, by clients, of one group."""

EXPLICIT: Final[Mapping[str, int]] = MappingProxyType({Api.PRODUCE: 11, Api.END_TXN: 4, Api.TXN_OFFSET_COMMIT: 4})
"""The newest versions that a client sends that knows no transactions of version 2."""


Announced: TypeAlias = Mapping[str, tuple[int, int]]
"""First and last version of each request, by its name."""


BY_BROKERS: Final[Mapping[str, tuple[int, int]]] = MappingProxyType({Api.ADD_PARTITIONS_TO_TXN: (4, 5)})
"""The versions that brokers send each other, which a client may send, too."""


def taken_by_both(one: Profile, other: Profile) -> Announced:
    """The versions of each request that two releases take.

    A broker of one of them is sent no others while it is compared with the other one.
    """
    first, second = TAKEN[one.name], TAKEN[other.name]
    both = {
        api: (max(low, second[api][0]), min(high, second[api][1]))
        for api, (low, high) in first.items()
        if api in second
    }
    return {api: (low, high) for api, (low, high) in both.items() if low <= high}


def version_of(announced: Announced, profile: Profile, action: ScriptAction, *, explicit: bool) -> int | None:
    """The version that stands at the action's share of those that can be sent, oldest first; None where there is none.

    Args:
        announced: by the broker.
        profile: the release that it is compared with.
        action: what is done.
        explicit: the client knows no transactions of version 2, or the cluster has none.
    """
    api = action.api
    written = BY_BROKERS[api] if action.by_broker else WRITTEN[api]
    known, there, taken = known_versions(api), announced.get(api), TAKEN[profile.name].get(api)
    if known is None or there is None or taken is None:
        return None
    ranges = (known, there, taken, written)
    oldest, newest = max(low for low, _ in ranges), min(high for _, high in ranges)
    if explicit or profile.transaction_version < 2:
        newest = min(newest, EXPLICIT.get(api, newest))
    return oldest + int(action.version * (newest - oldest + 1)) if oldest <= newest else None
