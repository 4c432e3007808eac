"""Directories of a cluster that lack something, or have it changed."""

from collections.abc import Callable

from crc32c import crc32c

from model_tests.unit.support.misplaced_findings import spans_of
from reference.log.batch import CONTROL

Change = Callable[[bytearray, int], None]


def not_marked(content: bytearray, start: int) -> None:
    """The marker seems to be data."""
    content[start + 22] &= ~CONTROL


def changed(content: bytes, number: int, change: Change, *, control: bool) -> bytes:
    """The segment where one marker, or one batch of data, is changed and has the right checksum."""
    broken = bytearray(content)
    own = [(start, end) for start, end in spans_of(broken) if bool(broken[start + 22] & CONTROL) is control]
    start, end = own[number]
    change(broken, start)
    broken[start + 17 : start + 21] = crc32c(bytes(broken[start + 21 : end])).to_bytes(4, "big")
    return bytes(broken)
