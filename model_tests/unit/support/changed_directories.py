"""Directories of a cluster that lack something, or have it changed."""

from collections.abc import Callable, Iterator

from crc32c import crc32c

from reference.log.batch import CONTROL

Change = Callable[[bytearray, int], None]
PRODUCER_ID, EPOCH = slice(43, 51), slice(51, 53)


def spans_of(content: bytearray) -> Iterator[tuple[int, int]]:
    """Where each batch begins and ends."""
    start = 0
    while start < len(content):
        end = start + 12 + int.from_bytes(content[start + 8 : start + 12], "big")
        yield start, end
        start = end


def not_marked(content: bytearray, start: int) -> None:
    """The marker seems to be data."""
    content[start + 22] &= ~CONTROL


def without_id(content: bytearray, start: int) -> None:
    """The batch has no producer."""
    content[start + PRODUCER_ID.start : start + PRODUCER_ID.stop] = b"\xff" * 8


def without_epoch(content: bytearray, start: int) -> None:
    """The marker's epoch is -1."""
    content[start + EPOCH.start : start + EPOCH.stop] = b"\xff" * 2


def changed(content: bytes, number: int, change: Change, *, control: bool) -> bytes:
    """The segment where one marker, or one batch of data, is changed and has the right checksum."""
    broken = bytearray(content)
    own = [(start, end) for start, end in spans_of(broken) if bool(broken[start + 22] & CONTROL) is control]
    start, end = own[number]
    change(broken, start)
    broken[start + 17 : start + 21] = crc32c(bytes(broken[start + 21 : end])).to_bytes(4, "big")
    return bytes(broken)
