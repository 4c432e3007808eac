"""Where the source of each release is: the names under which a clone of Kafka may have it, tried in turn."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

REFS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "0.11": ("0.11.0",),
        "1.0": ("1.0",),
        "2.0": ("2.0",),
        "2.4": ("2.4",),
        "2.5": ("2.5",),
        "2.7": ("2.7",),
        "3.6": ("3.6",),
        "3.9.0": ("3.9.0", "3.9.0-rc3", "3.9"),
        "3.9.0-nover": ("3.9.0", "3.9.0-rc3", "3.9"),
        "4.0-SNAPSHOT": ("1eb7644349cb07139d6a3c1ad1986979647cac99",),
        "4.0": ("4.0",),
        "4.1": ("4.1",),
        "4.2": ("4.2",),
        "4.3": ("4.3",),
        "4.4": ("4.4",),
    }
)
"""Branches of apache/kafka by release; the recorded snapshot of 4.0 is a commit of its trunk of October 2024."""
