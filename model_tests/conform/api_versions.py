"""The versions of each request that a release's broker accepts, so that a session cannot use others.

Sources: the release branches, `validVersions` of the schemas in clients/src/main/resources/common/message without those
that are unstable; Protocol.java of 0.11 and `schemaVersions` of the requests of 1.0 and 2.0.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from model_tests.conform.requests import SEVERAL
from spec.versions import (
    KAFKA_0_11,
    KAFKA_1_0,
    KAFKA_2_0,
    KAFKA_2_4,
    KAFKA_2_5,
    KAFKA_2_7,
    KAFKA_3_6,
    KAFKA_3_9,
    KAFKA_4_0,
    KAFKA_4_1,
    KAFKA_4_2,
    KAFKA_4_4,
    PROFILES,
    SNAPSHOT_4_0,
    Profile,
)
from spec.vocabulary import Api

APIS: Final = (
    Api.PRODUCE,
    Api.FETCH,
    Api.INIT_PRODUCER_ID,
    Api.ADD_PARTITIONS_TO_TXN,
    Api.ADD_OFFSETS_TO_TXN,
    Api.END_TXN,
    Api.WRITE_TXN_MARKERS,
    Api.TXN_OFFSET_COMMIT,
    Api.OFFSET_COMMIT,
    Api.OFFSET_FETCH,
    Api.LIST_TRANSACTIONS,
)
"""The requests of sessions that have a version."""

_4_2: Final = ((3, 13), (4, 18), (0, 5), (0, 5), (0, 4), (0, 5), (1, 2), (0, 5), (2, 10), (1, 10), (0, 2))
_4_4: Final = ((3, 13), (4, 18), (0, 5), (0, 5), (0, 4), (0, 5), (1, 2), (0, 6), (2, 10), (1, 10), (0, 2))
_4_1: Final = ((3, 13), (4, 18), (0, 5), (0, 5), (0, 4), (0, 5), (1, 1), (0, 5), (2, 9), (1, 9), (0, 2))
_4_0: Final = ((3, 12), (4, 17), (0, 5), (0, 5), (0, 4), (0, 5), (1, 1), (0, 5), (2, 9), (1, 9), (0, 1))
_SNAPSHOT: Final = ((0, 11), (0, 17), (0, 5), (0, 5), (0, 4), (0, 5), (0, 1), (0, 4), (0, 9), (0, 9), (0, 1))
_3_9: Final = ((0, 11), (0, 17), (0, 5), (0, 5), (0, 4), (0, 4), (0, 1), (0, 4), (0, 9), (0, 9), (0, 1))
_3_6: Final = ((0, 9), (0, 15), (0, 4), (0, 4), (0, 3), (0, 3), (0, 1), (0, 3), (0, 8), (0, 8), (0, 0))
_2_7: Final = ((0, 8), (0, 12), (0, 4), (0, 2), (0, 2), (0, 2), (0, 0), (0, 3), (0, 8), (0, 7))
_2_5: Final = ((0, 8), (0, 11), (0, 3), (0, 1), (0, 1), (0, 1), (0, 0), (0, 3), (0, 8), (0, 7))
_2_4: Final = ((0, 8), (0, 11), (0, 2), (0, 1), (0, 1), (0, 1), (0, 0), (0, 2), (0, 8), (0, 6))
_2_0: Final = ((0, 6), (0, 8), (0, 1), (0, 1), (0, 1), (0, 1), (0, 0), (0, 1), (0, 4), (0, 4))
_1_0: Final = ((0, 5), (0, 6), (0, 0), (0, 0), (0, 0), (0, 0), (0, 0), (0, 0), (0, 3), (0, 3))
_0_11: Final = ((0, 3), (0, 5), (0, 0), (0, 0), (0, 0), (0, 0), (0, 0), (0, 0), (0, 3), (0, 3))

_SINCE: Final[Mapping[str, tuple[tuple[int, int], ...]]] = MappingProxyType(
    {
        KAFKA_0_11.name: _0_11,
        KAFKA_1_0.name: _1_0,
        KAFKA_2_0.name: _2_0,
        KAFKA_2_4.name: _2_4,
        KAFKA_2_5.name: _2_5,
        KAFKA_2_7.name: _2_7,
        KAFKA_3_6.name: _3_6,
        KAFKA_3_9.name: _3_9,
        SNAPSHOT_4_0.name: _SNAPSHOT,
        KAFKA_4_0.name: _4_0,
        KAFKA_4_1.name: _4_1,
        KAFKA_4_2.name: _4_2,
        KAFKA_4_4.name: _4_4,
    }
)
"""The versions since a release, in the order of `APIS`; they hold until the next one that is named."""


def _by_profile() -> Iterator[tuple[str, Mapping[str, tuple[int, int]]]]:
    taken: tuple[tuple[int, int], ...] = _0_11
    for name in PROFILES:
        taken = _SINCE.get(name, taken)
        yield name, MappingProxyType(dict(zip(APIS, taken, strict=False)))


TAKEN: Final[Mapping[str, Mapping[str, tuple[int, int]]]] = MappingProxyType(dict(_by_profile()))
"""By profile and request, the first and the last version; a request that is not there is younger than the release."""


def lacking(profile: Profile, api: str, version: int) -> str:
    """What a release lacks that would take a request of this version, in a few words; empty if it takes it."""
    named = Api.PRODUCE if api == SEVERAL else api
    if named not in APIS:
        return ""
    if named not in TAKEN[profile.name]:
        return f"Kafka {profile.name} has no {named}"
    first, last = TAKEN[profile.name][named]
    if first <= version <= last:
        return ""
    return f"Kafka {profile.name} takes {named} versions {first} to {last}, not {version}"
