"""Which version of a request a script sends: one that broker, codec, release and session format have."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from model_tests.conform.api_versions import TAKEN
from model_tests.probe.target import Target
from reference.wire.codec import known_versions
from spec.versions import Profile

WRITTEN: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(
    {
        "Produce": (3, 13),
        "Fetch": (5, 17),
        "InitProducerId": (0, 5),
        "AddPartitionsToTxn": (0, 3),
        "AddOffsetsToTxn": (0, 4),
        "EndTxn": (0, 5),
        "WriteTxnMarkers": (0, 2),
        "TxnOffsetCommit": (0, 5),
        "OffsetCommit": (2, 9),
        "OffsetFetch": (2, 7),
        "ListTransactions": (0, 0),
    }
)
"""The versions that a session can record: with batches of version 2, by clients, of one group."""

EXPLICIT: Final[Mapping[str, int]] = MappingProxyType({"Produce": 11, "EndTxn": 4, "TxnOffsetCommit": 4})
"""The newest versions that a client sends that knows no transactions of version 2."""


def version_of(target: Target, profile: Profile, api: str, share: float, *, explicit: bool) -> int | None:
    """The version that stands at a share of those that can be sent, oldest first; None where there is none.

    Args:
        target: the broker.
        profile: the release that it is held against.
        api: name of the request.
        share: from 0 up to but not 1.
        explicit: the client knows no transactions of version 2, or the cluster has none.
    """
    known, announced, taken = known_versions(api), target.announced.get(api), TAKEN[profile.name].get(api)
    if known is None or announced is None or taken is None:
        return None
    ranges = (known, announced, taken, WRITTEN[api])
    oldest, newest = max(low for low, _ in ranges), min(high for _, high in ranges)
    if explicit or profile.transaction_version < 2:
        newest = min(newest, EXPLICIT.get(api, newest))
    return oldest + int(share * (newest - oldest + 1)) if oldest <= newest else None
