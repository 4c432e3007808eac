"""Answers that name brokers by address: a client would go past the proxy if they stayed as they are."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from reference.wire.codec import key_of, known_versions
from spec.vocabulary import Api

SINCE: Final[Mapping[str, int]] = MappingProxyType(
    {Api.METADATA: 0, Api.FIND_COORDINATOR: 0, Api.DESCRIBE_CLUSTER: 0, Api.PRODUCE: 10, Api.FETCH: 16}
)
"""The apis whose answers have addresses, and from which version on: Produce and Fetch name the new leader (KIP-951)."""

SHARE_FETCH: Final = 78
SHARE_ACKNOWLEDGE: Final = 79
HIDDEN: Final = (SHARE_FETCH, SHARE_ACKNOWLEDGE)
"""The same in share groups; the codec does not have them, so clients are not shown that the broker has."""

COORDINATORS_SINCE: Final = 4
"""First version of FindCoordinator that answers for several keys."""


def has_addresses(api: str, version: int) -> bool:
    """Whether an answer of a version has addresses."""
    return api in SINCE and version >= SINCE[api]


def is_readable(api: str, version: int) -> bool:
    """Whether the codec has a version of an api."""
    known = known_versions(api)
    return known is not None and known[0] <= version <= known[1]


def nodes_in(api: str, message: Any) -> Sequence[Any]:
    """The parts of an answer that have a host and a port; those of no node are left out."""
    if api == Api.FIND_COORDINATOR:
        found = message.coordinators if message.version >= COORDINATORS_SINCE else [message]
    elif api in (Api.PRODUCE, Api.FETCH):
        found = message.node_endpoints
    else:
        found = message.brokers
    return [each for each in found or () if each.host and each.port >= 0]


def limit_versions(message: Any) -> bool:
    """Leave out of an answer to ApiVersions what leads past the proxy; whether anything was."""
    before = [(each.api_key, each.min_version, each.max_version) for each in message.api_keys]
    newest = dict(_newest())
    kept = []
    for each in message.api_keys:
        each.max_version = min(each.max_version, newest.get(each.api_key, each.max_version))
        if each.api_key not in HIDDEN and each.min_version <= each.max_version:
            kept.append(each)
    message.api_keys = kept
    return before != [(each.api_key, each.min_version, each.max_version) for each in kept]


def _newest() -> Iterator[tuple[int, int]]:
    """For the apis whose answers the proxy must read, the newest version that it can."""
    for api in (*SINCE, Api.API_VERSIONS):
        known = known_versions(api)
        if known is not None:
            yield key_of(api), known[1]
