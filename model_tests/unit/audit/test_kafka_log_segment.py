import struct

import numpy as np
import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from model_tests.audit.partition import audit_batches
from model_tests.logs.kafka_log_batches import COLUMNS
from model_tests.logs.kafka_log_read import SegmentRange, read_checked_bytes
from model_tests.unit.audit.written import data, encoded, marker, placed
from model_tests.unit.damages import PlantedDamage, damaged, damages, fuzzed
from reference.log.batch import CHECKED_FROM, RecordBatch
from spec.vocabulary import ControlType

ACTIVE = SegmentRange("a.log", 0)

HISTORY: list[RecordBatch] = placed(
    [
        data(0, 3),
        data(3, 2, transactional=True),
        marker(),
        data(5, 4),
        data(9, transactional=True),
        marker(epoch=1, kind=ControlType.ABORT, coordinator=3),
        data(0, 2, epoch=1),
    ]
)
CONTENT = encoded(HISTORY)
SECOND = HISTORY[0].size
CHECKED_PARTS = {batch.encode()[CHECKED_FROM:] for batch in HISTORY}


def read(content: bytes, segment: SegmentRange = ACTIVE) -> tuple[list[int], list[tuple[int, str]]]:
    """Base offsets of what is read, and the positions and first words of what is not."""
    batches, damage = read_checked_bytes(content, segment)
    return batches.base_offset.tolist(), [(one.position, one.message) for one in damage]


def test_every_field_is_read() -> None:
    """Columns are the reference's fields."""
    batches, damage = read_checked_bytes(CONTENT, ACTIVE)

    assert damage == []
    for name in ("base_offset", "last_offset_delta", "record_count", "producer_id", "base_sequence", "attributes"):
        assert getattr(batches, name).tolist() == [getattr(batch, name) for batch in HISTORY]
    assert batches.control_type.tolist() == [-1, -1, 1, -1, -1, 0, -1]
    assert batches.coordinator_epoch.tolist() == [-1, -1, 0, -1, -1, 3, -1]


@pytest.mark.parametrize("kind", [2, 7])
def test_a_producers_control_record_that_is_no_marker_is_damage(kind: int) -> None:
    """It is of a type that the controller's log alone has, or of none."""
    content = bytearray(encoded(placed([marker()])))
    content[-10:-8] = kind.to_bytes(2, "big")
    content[17:21] = crc32c(bytes(content[21:])).to_bytes(4, "big")

    assert read(bytes(content)) == ([], [(0, "the control record of the batch at offset 0 cannot be read as a marker")])


@pytest.mark.parametrize(
    ("at", "new", "message"),
    [
        (60, b"\xff", "CRC"),
        (16, b"\x03", "unknown magic 3"),
        (16, b"\x01", "magic 1 from offset 3"),
        (8, b"\x7f\x00\x00\x00", "cut short"),
        (8, b"\x00\x00\x00\x05", "length 5"),
        (0, b"\x00\x00\x00\x00\x00\x00\x10\x00", "offset 4096 does not fit"),
    ],
    ids=["flipped bit", "unknown magic", "old magic", "length too long", "length too short", "offset"],
)
def test_one_damaged_batch_is_named_and_the_rest_read(at: int, new: bytes, message: str) -> None:
    """Whatever is wrong with one batch, the others are judged."""
    content = bytearray(CONTENT)
    content[SECOND + at : SECOND + at + len(new)] = new

    offsets, damage = read(bytes(content))

    assert offsets == [0, 5, 6, 10, 11, 12]
    assert [(position, text[: len(message)]) for position, text in damage] == [(SECOND, message)]


def test_a_batch_cut_short_says_whether_a_crash_explains_it() -> None:
    """A crash cuts the active segment only."""
    offsets, active = read(CONTENT[:-5])
    _, inactive = read(CONTENT[:-5], SegmentRange("a.log", 0, 1000))

    assert offsets == [0, 3, 5, 6, 10, 11]
    assert "a crash leaves this" in active[0][1]
    assert "not the last segment" in inactive[0][1]


def test_zeros_at_the_end_are_one_damage() -> None:
    """A preallocated file that was not cut off."""
    assert read(CONTENT + bytes(1000)) == (
        [0, 3, 5, 6, 10, 11, 12],
        [(len(CONTENT), "1000 bytes of zeros up to the end of the file: preallocated, or lost in a crash")],
    )


def test_messages_before_record_batches_are_one_damage() -> None:
    """A segment of magic 1 is named once, not message by message."""
    message = struct.pack(">qiIbbqii", 0, 22, 0, 1, 0, 0, -1, -1)

    offsets, damage = read(message * 50)

    assert offsets == []
    assert len(damage) == 1


def test_a_batch_of_another_segment_is_damage() -> None:
    """Offsets lie between the segment's name and the next one's."""
    assert len(read(CONTENT, SegmentRange("a.log", 2))[1]) == 1
    assert len(read(CONTENT, SegmentRange("a.log", 0, 12))[1]) == 1


def test_no_bytes_are_no_damage() -> None:
    """A new active segment is empty."""
    assert read(b"") == ([], [])


@pytest.mark.parametrize("content", [b"\x00", b"no log at all", b"x" * 5000, bytes(70)])
def test_foreign_bytes_are_damage_once(content: bytes) -> None:
    """A file that is no log is named in one line."""
    offsets, damage = read(content)

    assert (offsets, len(damage)) == ([], 1)


LENGTHS = [sum(batch.size for batch in HISTORY[:number]) + 8 for number in range(len(HISTORY))]


@fuzzed(share=0.3)
@given(damages(len(CONTENT), LENGTHS), st.booleans())
def test_a_damaged_segment_never_crashes_the_reader_nor_invents_a_batch(wrong: list[PlantedDamage], crc: bool) -> None:
    """Every batch that is read was written, in order; what was lost is named; the audit judges the rest."""
    content = damaged(CONTENT, wrong)

    batches, damage = read_checked_bytes(content, ACTIVE, crc=crc)

    assert (np.diff(batches.base_offset) > 0).all()
    assert all(0 <= one.position <= len(content) and one.message for one in damage)
    if crc:
        places = zip(batches.position.tolist(), batches.size.tolist(), strict=True)
        assert {content[position + CHECKED_FROM : position + size] for position, size in places} <= CHECKED_PARTS
        assert sum(batches.size.tolist()) + bool(damage) >= min(len(content), 1)
        assert damage or sum(batches.size.tolist()) == len(content)
    assert audit_batches(batches).batches == len(batches)
    assert all(len(getattr(batches, name)) == len(batches) for name in COLUMNS)


def test_a_segment_with_a_wrong_name_is_one_damage() -> None:
    """Every batch of it is misplaced in the same way."""
    offsets, damage = read(CONTENT, SegmentRange("a.log", 500))

    assert offsets == []
    assert damage == [
        (0, "the batch at offset 0 is below its segment's base offset 500; and so the 6 batches after it")
    ]
