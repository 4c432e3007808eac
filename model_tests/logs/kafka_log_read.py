"""One segment, read, checked and in order."""

from model_tests.logs.kafka_log_batches import Batches
from model_tests.logs.kafka_log_order import in_order
from model_tests.logs.kafka_log_segment import SegmentDamage, SegmentRange, read_bytes, read_segment

__all__ = ["SegmentDamage", "SegmentRange", "read_checked", "read_checked_bytes"]


def read_checked(segment: SegmentRange, *, crc: bool = True) -> tuple[Batches, list[SegmentDamage]]:
    """The batches of a segment's file that can be judged, and everything in it that cannot."""
    return _ordered(segment, *read_segment(segment, crc=crc))


def read_checked_bytes(
    content: bytes, segment: SegmentRange, *, crc: bool = True
) -> tuple[Batches, list[SegmentDamage]]:
    """The same for bytes in memory."""
    return _ordered(segment, *read_bytes(content, segment, crc=crc))


def _ordered(
    segment: SegmentRange, batches: Batches, damage: list[SegmentDamage]
) -> tuple[Batches, list[SegmentDamage]]:
    ordered, misplaced = in_order(batches, segment)
    return ordered, sorted([*damage, *misplaced], key=lambda one: one.position)
