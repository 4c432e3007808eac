"""Which apis and versions each release announces, and which of them are served here.

The table is from the releases themselves: `validVersions` of the message schemas (`clients/src/main/resources/common/
message`) without versions that are not stable yet, before 2.4 the lists of schemas in `Protocol` and in the requests.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from reference.wire.codec import key_of, known_versions
from spec.versions import PROFILES, Profile
from spec.versions import RELEASES as KNOWN_RELEASES
from spec.vocabulary import Api

Ranges = Mapping[str, tuple[int, int]]
"""Oldest and newest version by the release in which they became so; it holds until the next one that is named."""


def _numbers(name: str) -> str:
    """The first two numbers of a release's name."""
    return ".".join(name.split("-")[0].split(".")[:2])


RELEASES: Final = tuple(dict.fromkeys(_numbers(release.name) for release in KNOWN_RELEASES))
"""The releases by their first two numbers, oldest first."""

RANGES: Final[Mapping[str, Ranges]] = MappingProxyType(
    {
        Api.PRODUCE: {
            "0.11": (0, 3),
            "1.0": (0, 5),
            "2.0": (0, 6),
            "2.4": (0, 8),
            "3.6": (0, 9),
            "3.9": (0, 11),
            "4.0": (3, 12),
            "4.1": (3, 13),
        },
        Api.FETCH: {
            "0.11": (0, 5),
            "1.0": (0, 6),
            "2.0": (0, 8),
            "2.4": (0, 11),
            "2.7": (0, 12),
            "3.6": (0, 15),
            "3.9": (0, 17),
            "4.0": (4, 17),
            "4.1": (4, 18),
        },
        Api.LIST_OFFSETS: {
            "0.11": (0, 2),
            "2.0": (0, 3),
            "2.4": (0, 5),
            "3.6": (0, 8),
            "3.9": (0, 9),
            "4.0": (1, 10),
            "4.2": (1, 11),
        },
        Api.METADATA: {"0.11": (0, 4), "1.0": (0, 5), "2.0": (0, 6), "2.4": (0, 9), "3.6": (0, 12), "4.0": (0, 13)},
        Api.OFFSET_COMMIT: {"0.11": (0, 3), "2.0": (0, 4), "2.4": (0, 8), "3.9": (0, 9), "4.0": (2, 9), "4.2": (2, 10)},
        Api.OFFSET_FETCH: {
            "0.11": (0, 3),
            "2.0": (0, 4),
            "2.4": (0, 6),
            "2.5": (0, 7),
            "3.6": (0, 8),
            "3.9": (0, 9),
            "4.0": (1, 9),
            "4.2": (1, 10),
        },
        Api.FIND_COORDINATOR: {"0.11": (0, 1), "2.0": (0, 2), "2.4": (0, 3), "3.6": (0, 4), "3.9": (0, 6)},
        Api.JOIN_GROUP: {"0.11": (0, 2), "2.0": (0, 3), "2.4": (0, 6), "2.5": (0, 7), "3.6": (0, 9)},
        Api.HEARTBEAT: {"0.11": (0, 1), "2.0": (0, 2), "2.4": (0, 4)},
        Api.LEAVE_GROUP: {"0.11": (0, 1), "2.0": (0, 2), "2.4": (0, 4), "3.6": (0, 5)},
        Api.SYNC_GROUP: {"0.11": (0, 1), "2.0": (0, 2), "2.4": (0, 4), "2.5": (0, 5)},
        Api.DESCRIBE_GROUPS: {"0.11": (0, 1), "2.0": (0, 2), "2.4": (0, 5), "4.0": (0, 6)},
        Api.LIST_GROUPS: {"0.11": (0, 1), "2.0": (0, 2), "2.4": (0, 3), "2.7": (0, 4), "3.9": (0, 5)},
        Api.DESCRIBE_CLUSTER: {"3.6": (0, 0), "3.9": (0, 1), "4.0": (0, 2)},
        Api.DESCRIBE_PRODUCERS: {"3.6": (0, 0)},
        Api.DESCRIBE_TRANSACTIONS: {"3.6": (0, 0)},
        Api.LIST_TRANSACTIONS: {"3.6": (0, 0), "3.9": (0, 1), "4.1": (0, 2)},
        Api.API_VERSIONS: {"0.11": (0, 1), "2.0": (0, 2), "2.4": (0, 3), "3.9": (0, 4), "4.4": (0, 5)},
        Api.CREATE_TOPICS: {"0.11": (0, 2), "2.0": (0, 3), "2.4": (0, 5), "2.7": (0, 6), "3.6": (0, 7), "4.0": (2, 7)},
        Api.DELETE_TOPICS: {
            "0.11": (0, 1),
            "2.0": (0, 2),
            "2.4": (0, 4),
            "2.7": (0, 5),
            "3.6": (0, 6),
            "4.0": (1, 6),
        },
        Api.CREATE_PARTITIONS: {"1.0": (0, 0), "2.0": (0, 1), "2.5": (0, 2), "2.7": (0, 3)},
        Api.DELETE_RECORDS: {"0.11": (0, 0), "2.0": (0, 1), "2.7": (0, 2)},
        Api.OFFSET_FOR_LEADER_EPOCH: {"0.11": (0, 0), "2.0": (0, 1), "2.4": (0, 3), "3.6": (0, 4), "4.0": (2, 4)},
        Api.WRITE_TXN_MARKERS: {"0.11": (0, 0), "3.6": (0, 1), "4.0": (1, 1), "4.2": (1, 2)},
        Api.DESCRIBE_CONFIGS: {"0.11": (0, 0), "2.0": (0, 2), "2.7": (0, 3), "3.6": (0, 4), "4.0": (1, 4)},
        Api.DELETE_GROUPS: {"2.0": (0, 1), "2.4": (0, 2), "4.4": (0, 3)},
        Api.OFFSET_DELETE: {"2.4": (0, 0)},
        Api.INIT_PRODUCER_ID: {
            "0.11": (0, 0),
            "2.0": (0, 1),
            "2.4": (0, 2),
            "2.5": (0, 3),
            "2.7": (0, 4),
            "3.9": (0, 5),
        },
        Api.ADD_PARTITIONS_TO_TXN: {"0.11": (0, 0), "2.0": (0, 1), "2.7": (0, 2), "3.6": (0, 4), "3.9": (0, 5)},
        Api.ADD_OFFSETS_TO_TXN: {"0.11": (0, 0), "2.0": (0, 1), "2.7": (0, 2), "3.6": (0, 3), "3.9": (0, 4)},
        Api.END_TXN: {"0.11": (0, 0), "2.0": (0, 1), "2.7": (0, 2), "3.6": (0, 3), "3.9": (0, 4), "4.0": (0, 5)},
        Api.TXN_OFFSET_COMMIT: {
            "0.11": (0, 0),
            "2.0": (0, 1),
            "2.4": (0, 2),
            "2.5": (0, 3),
            "3.9": (0, 4),
            "4.0": (0, 5),
            "4.4": (0, 6),
        },
    }
)
"""Every api that is served."""

NEWEST_SERVED: Final[Mapping[str, int]] = MappingProxyType(
    {
        Api.TXN_OFFSET_COMMIT: 5,
        Api.OFFSET_COMMIT: 9,
        Api.OFFSET_FETCH: 9,
        Api.DESCRIBE_CLUSTER: 0,
        Api.LIST_TRANSACTIONS: 0,
    }
)
"""Where it is not the newest that the library has: later versions are not implemented."""

ANNOUNCED_FROM: Final[Mapping[str, int]] = MappingProxyType({Api.PRODUCE: 0})
"""Older versions that are announced and not served: librdkafka wants to see them (KAFKA-18659)."""


class ServedApi(NamedTuple):
    """One api as ApiVersions names it, and from which version on it is served."""

    api: str
    key: int
    announced_from: int
    oldest: int
    newest: int


def release_of(profile: Profile) -> str:
    """The release whose versions a profile announces; builds and proposals have those of their branch."""
    release = _numbers(profile.name)
    return release if release in RELEASES else RELEASES[-1]


def is_since(profile: Profile, release: str) -> bool:
    """Whether a profile announces the versions of a release or of a later one."""
    return RELEASES.index(release_of(profile)) >= RELEASES.index(release)


def range_in(ranges: Ranges, release: str) -> tuple[int, int] | None:
    """The versions in a release, None before the api was there."""
    until = RELEASES[: RELEASES.index(release) + 1]
    return next((ranges[each] for each in reversed(until) if each in ranges), None)


def served(profile: Profile) -> Iterator[ServedApi]:
    """What a node of the profile announces, by the number of the api."""
    release = release_of(profile)
    for api in sorted(RANGES, key=key_of):
        found, known = range_in(RANGES[api], release), known_versions(api)
        if found is None or known is None:
            continue
        oldest = max(found[0], known[0])
        newest = min(found[1], known[1], NEWEST_SERVED.get(api, known[1]))
        if oldest <= newest:
            yield ServedApi(api, key_of(api), ANNOUNCED_FROM.get(api, oldest), oldest, newest)


def profile_called(name: str) -> Profile | None:
    """The profile of a name; a release may be named without its third number."""
    return PROFILES.get(name) or PROFILES.get(f"{name}.0")
