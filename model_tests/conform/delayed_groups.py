"""Groups that a recording shows as they were before a marker that their partition has already (KAFKA-17507).

A release whose group coordinator takes over a transaction's offsets some time after the marker may be looked at in
between. The recorder put some of these observations aside; the others show by themselves.
"""

from collections.abc import Mapping
from typing import Any, Final

from model_tests.conform.fields import Json
from spec.vocabulary import ErrorCode

OPEN: Final = "open"
"""First offset of a transaction on an offsets partition, where only that there is one is recorded."""


def shows_lag(after: Json) -> bool:
    """Whether a stable fetch of some group waits for a transaction although none is open on the group's partition."""
    seen = _object(after, "producers")
    return any(
        _waits(view) and place in seen and not _has_open(seen[place])
        for group, view in _object(after, "groups").items()
        for place in (f"__consumer_offsets[{group}]",)
    )


def _object(after: Json, name: str) -> Mapping[str, Any]:
    found = after.get(name)
    return found if isinstance(found, dict) else {}


def _waits(view: object) -> bool:
    offsets = view.values() if isinstance(view, dict) else ()
    return any(_field(offset, "stable") == ErrorCode.UNSTABLE_OFFSET_COMMIT.name for offset in offsets)


def _has_open(producers: object) -> bool:
    listed = producers if isinstance(producers, list) else ()
    return any(_field(producer, "current_txn_start_offset") == OPEN for producer in listed)


def _field(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else None
