"""Where the source of each release is: the names under which a clone of Kafka may have it, tried in turn."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from spec.versions import RELEASES

_OTHERS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "0.11": ("0.11.0",),
        "3.9.0": ("3.9.0", "3.9.0-rc3", "3.9"),
        "3.9.0-nover": ("3.9.0", "3.9.0-rc3", "3.9"),
        "4.0-SNAPSHOT": ("1eb7644349cb07139d6a3c1ad1986979647cac99",),
    }
)
"""Names that are not the release's own; the recorded snapshot of 4.0 is a commit of its trunk of October 2024."""

REFS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {release.name: _OTHERS.get(release.name, (release.name,)) for release in RELEASES}
)
"""Branches of apache/kafka by release."""
