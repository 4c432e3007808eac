"""One segment, read, checked and in order."""

from model_tests.traces.logs.kafka_log_batches import Batches
from model_tests.traces.logs.kafka_log_order import in_order
from model_tests.traces.logs.kafka_log_segment import Damage, Segment, read_bytes, read_segment

__all__ = ["Damage", "Segment", "read_checked", "read_checked_bytes"]


def read_checked(segment: Segment, *, crc: bool = True) -> tuple[Batches, list[Damage]]:
    """The batches of a segment's file that can be judged, and everything in it that cannot."""
    return _ordered(segment, *read_segment(segment, crc=crc))


def read_checked_bytes(content: bytes, segment: Segment, *, crc: bool = True) -> tuple[Batches, list[Damage]]:
    """The same for bytes in memory."""
    return _ordered(segment, *read_bytes(content, segment, crc=crc))


def _ordered(segment: Segment, batches: Batches, damage: list[Damage]) -> tuple[Batches, list[Damage]]:
    ordered, misplaced = in_order(batches, segment)
    return ordered, sorted([*damage, *misplaced], key=lambda one: one.position)
