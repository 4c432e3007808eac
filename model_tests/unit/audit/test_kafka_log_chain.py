"""Where batches begin, and whether they are what their checksums say, found for many of them at once."""

import struct

import numpy as np
import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from model_tests.logs import kafka_log_chain, kafka_log_checksums
from model_tests.logs.kafka_log_batches import HEADER, HEADER_SIZE
from model_tests.logs.kafka_log_chain import chain
from model_tests.logs.kafka_log_segment import SegmentRange, read_bytes

SEGMENT = SegmentRange("test.log", 0)
SIZES = st.lists(st.integers(0, 900), min_size=1, max_size=400)
MANY = 1500
"""Batches, so that there are several groups of checksums and several lanes."""


def written(sizes: list[int], value: bytes = b"v", base: int = 0) -> bytearray:
    """Batches with bodies of so many bytes, as bytes of a segment."""
    log = bytearray()
    for number, size in enumerate(sizes):
        body = struct.pack(">hiqqqhii", 0, 0, 1, 1, -1, -1, -1, 1) + (value * size)[:size]
        log += struct.pack(">qiibI", base + number, 9 + len(body), 0, 2, crc32c(body)) + body
    return log


def beginnings(sizes: list[int]) -> list[int]:
    """Where such batches begin, and where the last ends."""
    return [0, *np.cumsum([HEADER_SIZE + size for size in sizes]).tolist()]


@pytest.fixture
def narrow_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes so narrow that a small log has many."""
    monkeypatch.setattr(kafka_log_chain, "_BYTES_OF_A_LANE", 2048)


@pytest.mark.usefixtures("narrow_lanes")
@settings(max_examples=40)
@given(sizes=SIZES, base=st.sampled_from([0, 2**31 - 100, 2**32 - 100, 2**40]))
def test_lanes_lead_to_every_batch(sizes: list[int], base: int) -> None:
    """Followed as lanes, batches begin where they begin one after the other."""
    log = bytes(written(sizes, base=base))

    assert chain(log, 0, len(log)).tolist() == beginnings(sizes)


@pytest.mark.usefixtures("narrow_lanes")
@settings(max_examples=40)
@given(sizes=SIZES, changes=st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=8)), max_size=6))
def test_lanes_stop_where_one_would_stop(sizes: list[int], changes: list[tuple[float, bytes]]) -> None:
    """In bytes that were overwritten the lanes lead exactly as far as one step after the other."""
    log = written(sizes)
    for place, content in changes:
        at = int(place * (len(log) - 1))
        log[at : at + len(content)] = content
    alone = kafka_log_chain._one_by_one(bytes(log), 0, len(log))

    assert chain(bytes(log), 0, len(log)).tolist() == alone


@pytest.mark.usefixtures("narrow_lanes")
def test_a_log_within_records_is_not_read_as_batches() -> None:
    """Where the values of records are batches themselves, a lane that begins in one does not count."""
    inner = bytes(written([20] * 30))
    sizes = [len(inner)] * 200
    log = bytes(written(sizes, value=inner))

    assert chain(log, 0, len(log)).tolist() == beginnings(sizes)
    assert len(read_bytes(log, SEGMENT)[0]) == len(sizes)


def test_the_chain_ends_at_the_first_batch_from_a_place_on() -> None:
    """Only batches that begin before the place are followed."""
    log = bytes(written([100] * 50))
    size = HEADER_SIZE + 100

    assert chain(log, size, 3 * size + 1).tolist() == [size, 2 * size, 3 * size, 4 * size]


@pytest.mark.parametrize("size", [0, 1, 500, 40_000, 70_000])
def test_batches_are_sound_together(size: int) -> None:
    """Of batches that are what they say, all are sound, however large they are."""
    sizes = [size, 3] * (MANY // 2 if size < 1000 else 200)
    log = bytes(written(sizes))

    batches, damage = read_bytes(log, SEGMENT)

    assert damage == []
    assert len(batches) == len(sizes)


@settings(max_examples=60, deadline=None)
@given(
    batch=st.integers(0, MANY - 1),
    place=st.integers(17, 17 + 60),
    bit=st.integers(0, 7),
    more=st.sets(st.integers(0, MANY - 1), max_size=3),
)
def test_the_first_batch_with_a_wrong_checksum_is_found(batch: int, place: int, bit: int, more: set[int]) -> None:
    """A changed bit of the checksum or of what it covers is found where it is, also where others are changed alike."""
    sizes = [17 + number % 90 for number in range(MANY)]
    log, starts = written(sizes), beginnings(sizes)
    changed = {batch, *more}
    for number in changed:
        log[starts[number] + place] ^= 1 << bit
    content, positions = bytes(log), np.array(starts, np.int64)
    headers = np.concatenate([np.frombuffer(content, HEADER, 1, start) for start in starts[:-1]])

    assert kafka_log_checksums.sound(content, positions, headers) == min(changed)


def test_what_no_checksum_covers_may_be_anything() -> None:
    """Offset and leader epoch may change under a checksum."""
    sizes = [30] * MANY
    log = written(sizes)
    for start in beginnings(sizes)[:-1]:
        log[start : start + 8] = (start * 7919).to_bytes(8, "big")
        log[start + 12 : start + 16] = (start % 5).to_bytes(4, "big")
    content = bytes(log)
    headers = np.concatenate([np.frombuffer(content, HEADER, 1, start) for start in beginnings(sizes)[:-1]])

    assert kafka_log_checksums.sound(content, np.array(beginnings(sizes)), headers) == MANY
