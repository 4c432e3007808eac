import struct

import numpy as np
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from model_tests.traces.audit_partition import audit_batches
from model_tests.traces.kafka_log_batches import COLUMNS
from model_tests.traces.kafka_log_read import Segment, read_checked_bytes
from model_tests.unit.audit.written import data, encoded, marker, placed
from reference.log.batch import RecordBatch
from spec.vocabulary import ControlType

ACTIVE = Segment("a.log", 0)

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


def damaged(content: bytes, segment: Segment = ACTIVE) -> tuple[list[int], list[tuple[int, str]]]:
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

    offsets, damage = damaged(bytes(content))

    assert offsets == [0, 5, 6, 10, 11, 12]
    assert [(position, text[: len(message)]) for position, text in damage] == [(SECOND, message)]


def test_a_batch_cut_short_says_whether_a_crash_explains_it() -> None:
    """A crash cuts the active segment only."""
    offsets, active = damaged(CONTENT[:-5])
    _, inactive = damaged(CONTENT[:-5], Segment("a.log", 0, 1000))

    assert offsets == [0, 3, 5, 6, 10, 11]
    assert "a crash leaves this" in active[0][1]
    assert "not the last segment" in inactive[0][1]


def test_zeros_at_the_end_are_one_damage() -> None:
    """A preallocated file that was not cut off."""
    assert damaged(CONTENT + bytes(1000)) == (
        [0, 3, 5, 6, 10, 11, 12],
        [(len(CONTENT), "1000 bytes of zeros up to the end of the file: preallocated, or lost in a crash")],
    )


def test_messages_before_record_batches_are_one_damage() -> None:
    """A segment of magic 1 is named once, not message by message."""
    message = struct.pack(">qiIbbqii", 0, 22, 0, 1, 0, 0, -1, -1)

    offsets, damage = damaged(message * 50)

    assert offsets == []
    assert len(damage) == 1


def test_a_batch_of_another_segment_is_damage() -> None:
    """Offsets lie between the segment's name and the next one's."""
    assert len(damaged(CONTENT, Segment("a.log", 2))[1]) == 1
    assert len(damaged(CONTENT, Segment("a.log", 0, 12))[1]) == 1


def test_no_bytes_are_no_damage() -> None:
    """A new active segment is empty."""
    assert damaged(b"") == ([], [])


@pytest.mark.parametrize("content", [b"\x00", b"no log at all", b"x" * 5000, bytes(70)])
def test_foreign_bytes_are_damage_once(content: bytes) -> None:
    """A file that is no log is named in one line."""
    offsets, damage = damaged(content)

    assert (offsets, len(damage)) == ([], 1)


MUTATION = st.one_of(
    st.tuples(st.just("flip"), st.integers(0, len(CONTENT) * 8 - 1)),
    st.tuples(st.just("cut"), st.integers(0, len(CONTENT))),
    st.tuples(st.just("drop"), st.integers(0, len(CONTENT) - 1)),
    st.tuples(st.just("insert"), st.integers(0, len(CONTENT))),
    st.tuples(st.just("zero"), st.integers(0, len(CONTENT) - 1)),
)


def mutated(content: bytes, kind: str, at: int) -> bytes:
    """The bytes with one thing wrong."""
    if kind == "flip":
        changed = bytearray(content)
        changed[at // 8 % len(changed)] ^= 1 << at % 8
        return bytes(changed)
    at %= len(content) + 1
    if kind == "insert":
        return content[:at] + b"\xab\xcd" + content[at:]
    return {"cut": content[:at], "drop": content[:at] + content[at + 7 :], "zero": content[:at] + bytes(9)}[kind]


@seed(20261121)
@settings(max_examples=400, deadline=None, database=None)
@given(st.lists(MUTATION, min_size=1, max_size=3), st.booleans())
def test_a_damaged_segment_never_crashes_the_reader_nor_invents_a_batch(
    mutations: list[tuple[str, int]], crc: bool
) -> None:
    """Every batch that is read was written, in order; what was lost is named; the audit judges the rest."""
    content = CONTENT
    for kind, at in mutations:
        content = mutated(content, kind, at) if content else content

    batches, damage = read_checked_bytes(content, ACTIVE, crc=crc)

    assert (np.diff(batches.base_offset) > 0).all()
    assert all(0 <= one.position <= len(content) and one.message for one in damage)
    if crc:
        sequences = {(batch.producer_epoch, batch.base_sequence, batch.record_count) for batch in HISTORY}
        read = zip(batches.producer_epoch, batches.base_sequence, batches.record_count, strict=True)
        assert {(int(e), int(s), int(c)) for e, s, c in read} <= sequences
        assert sum(batches.size.tolist()) + bool(damage) >= min(len(content), 1)
        assert damage or sum(batches.size.tolist()) == len(content)
    assert audit_batches(batches).batches == len(batches)
    assert all(len(getattr(batches, name)) == len(batches) for name in COLUMNS)


def test_a_segment_with_a_wrong_name_is_one_damage() -> None:
    """Every batch of it is misplaced in the same way."""
    offsets, damage = damaged(CONTENT, Segment("a.log", 500))

    assert offsets == []
    assert damage == [
        (0, "the batch at offset 0 is below its segment's base offset 500; and so the 6 batches after it")
    ]
