"""Damaged bytes before the reference's readers: nothing but named damage, and nothing that was not written."""

import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

import crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_tests.unit.damages import PlantedDamage, damaged, damages, first_changed, fuzzed
from reference.errors import UnsupportedCodec
from reference.log import checkpoint_file, snapshot_file, sparse_index, txn_index
from reference.log.batch import (
    CHECKED_FROM,
    RecordBatch,
    data_batch,
    emptied,
    marker_batch,
    value_batch,
)
from reference.log.checkpoint_file import EpochStart, PartitionOffset
from reference.log.codecs import Codec
from reference.log.damage import DamagedFile
from reference.log.producer_entry import CachedBatch, ProducerEntry
from reference.log.reader import Placed, read_batches, scan
from reference.log.record import MalformedRecords, Record
from reference.log.sparse_index import OffsetIndexFile, OffsetPosition, TimeIndexFile, TimestampOffset
from reference.log.txn_index import AbortedTxn
from spec.vocabulary import ControlType, CoordinatorEpoch, Epoch, LeaderEpoch, Offset, ProducerId, Sequence, Timestamp

T = TypeVar("T")

RECORDS: Final = [
    Record(delta, delta, b"key" if delta else None, b"value" * delta, ((b"h", b"x"), (b"i", None))[:delta])
    for delta in range(3)
]


def history() -> Iterator[RecordBatch]:
    """Batches of every form: plain, in each codec, a marker, emptied by the cleaner, with another batch as a value."""
    yield value_batch([b"a", b"b"], producer_id=1, epoch=0, base_sequence=0)
    for number, codec in enumerate(Codec):
        listed = data_batch(RECORDS, producer_id=2, epoch=1, base_sequence=3 * number, transactional=True)
        yield listed.compressed(codec)
    yield marker_batch(2, 1, ControlType.ABORT, 4)
    yield emptied(value_batch([b"gone"], producer_id=3, epoch=0, base_sequence=7))
    yield value_batch([value_batch([b"inner"]).encode()])
    yield value_batch([b"x" * 200] * 3, producer_id=1, epoch=0, base_sequence=2)


def placed(batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
    """The batches one after the other, with a hole between any two."""
    offset = 10
    for batch in batches:
        yield batch.at(Offset(offset), LeaderEpoch(3))
        offset += batch.last_offset_delta + 3


WRITTEN: Final = [batch.encode() for batch in placed(history())]
SEGMENT: Final = b"".join(WRITTEN)
STARTS: Final = [sum(map(len, WRITTEN[:number])) for number in range(len(WRITTEN))]
LENGTHS: Final = [start + 8 for start in STARTS]
CHECKED_PARTS: Final = {data[CHECKED_FROM:] for data in (*WRITTEN, value_batch([b"inner"]).encode())}
"""What a checksum vouches for; base offset and leader epoch are outside, a leader writes them anew.

A batch inside a record's value is found where a damaged length leads there; it too was written.
"""


@pytest.fixture(scope="module")
def scratch() -> Iterator[int]:
    """An open file."""
    with tempfile.TemporaryFile() as file:
        yield file.fileno()


@fuzzed()
@given(damages(len(SEGMENT), LENGTHS))
def test_a_damaged_segment_gives_only_what_was_written(wrong: list[PlantedDamage]) -> None:
    """Everything before the damage is read, all bytes are accounted for, and no batch is one that was never written."""
    data = damaged(SEGMENT, wrong)
    whole = first_changed(SEGMENT, data)

    found = list(read_batches(data))

    position = 0
    for one in found:
        size = one.batch.size if isinstance(one, Placed) else one.size
        assert (one.position, size > 0) == (position, True)
        if isinstance(one, Placed):
            assert data[position : position + size] == one.batch.encode()
            assert data[position + CHECKED_FROM : position + size] in CHECKED_PARTS
        else:
            assert one.detail
        position += size
    assert position == len(data)
    intact = [start for start, batch in zip(STARTS, WRITTEN, strict=True) if start + len(batch) <= whole]
    assert intact == [one.position for one in found if isinstance(one, Placed)][: len(intact)]


@fuzzed()
@given(damages(len(SEGMENT), LENGTHS), st.integers(1, 2 * len(SEGMENT)))
def test_chunks_of_any_size_report_the_same(scratch: int, wrong: list[PlantedDamage], chunk_size: int) -> None:
    """A segment that is read in chunks from its file has the batches and the damage of one that is read at once."""
    data = damaged(SEGMENT, wrong)
    os.ftruncate(scratch, 0)
    os.pwrite(scratch, data, 0)

    found = list(scan(scratch, 0, len(data), chunk_size))

    assert found == list(read_batches(data))


BODIES: Final = st.one_of([st.tuples(st.just(batch), damages(len(batch.body))) for batch in history() if batch.body])
COUNTS: Final = st.sampled_from((1, 3, 0, -1, 2**31 - 1))


@fuzzed()
@given(BODIES, COUNTS, st.integers(0, 7), st.booleans())
def test_a_malformed_body_is_named(
    wrong: tuple[RecordBatch, list[PlantedDamage]], count: int, codec: int, keeps_codec: bool
) -> None:
    """A body whose checksum was made to fit: its records are read, or it is said why not."""
    batch, wrongs = wrong
    attributes = batch.attributes if keeps_codec else batch.attributes & ~7 | codec
    changed = batch._replace(body=damaged(batch.body, wrongs), record_count=count, attributes=attributes)

    records, why = records_of(changed)

    assert why or len(records) == count
    assert why or sum(map(content_size, records)) <= len(changed.plain_body())


def records_of(batch: RecordBatch) -> tuple[tuple[Record, ...], str]:
    """The records, or why there are none."""
    try:
        return batch.records(), ""
    except (MalformedRecords, UnsupportedCodec) as named:
        return (), str(named)


def content_size(record: Record) -> int:
    return len(record.key or b"") + len(record.value or b"")


ENTRIES: Final = [
    (
        ProducerId(number * 1000),
        ProducerEntry(
            Epoch(number),
            CoordinatorEpoch(number - 1),
            Timestamp(1_700_000_000_000 + number),
            Offset(number if number % 2 else -1),
            (CachedBatch(Sequence(number), Offset(50 + number), 2, Timestamp(1_700_000_000_000 + number)),),
        ),
    )
    for number in range(12)
]

FORMS: Final[dict[str, tuple[bytes, Callable[[bytes], bytes], list[int]]]] = {
    "index": (
        OffsetIndexFile(tuple(OffsetPosition(7 * n, 4200 * n) for n in range(1, 30)), 20).encode(),
        lambda data: sparse_index.decode_offsets(data).encode(),
        [],
    ),
    "timeindex": (
        TimeIndexFile(tuple(TimestampOffset(Timestamp(9**12 + n), 3 * n) for n in range(1, 30)), 20).encode(),
        lambda data: sparse_index.decode_times(data).encode(),
        [],
    ),
    "txnindex": (
        txn_index.encode(AbortedTxn(ProducerId(n), Offset(5 * n), Offset(5 * n + 4), Offset(n)) for n in range(9)),
        lambda data: txn_index.encode(txn_index.decode(data)),
        [],
    ),
    "snapshot": (
        snapshot_file.encode(dict(ENTRIES)),
        lambda data: snapshot_file.encode(snapshot_file.decode(data)),
        [6],
    ),
    "leader epochs": (
        checkpoint_file.encode_epochs(EpochStart(LeaderEpoch(2 * n), Offset(n * n)) for n in range(12)),
        lambda data: checkpoint_file.encode_epochs(checkpoint_file.decode_epochs(data)),
        [2],
    ),
    "offsets": (
        checkpoint_file.encode_offsets(PartitionOffset("orders", n, Offset(n * n)) for n in range(12)),
        lambda data: checkpoint_file.encode_offsets(checkpoint_file.decode_offsets(data)),
        [2],
    ),
}


DAMAGED_FILES: Final = st.one_of(
    [st.tuples(st.just(form), damages(len(content), fields)) for form, (content, _, fields) in FORMS.items()]
)


@fuzzed()
@given(DAMAGED_FILES)
def test_a_damaged_file_is_refused_or_taken_as_it_is(wrong: tuple[str, list[PlantedDamage]]) -> None:
    """A file that is read has exactly the content of its bytes; any other is refused with the place of the damage."""
    content, rewritten, _ = FORMS[wrong[0]]
    data = damaged(content, wrong[1])

    again, refused = outcome(rewritten, data)

    assert again == data or (refused is not None and data != content)
    assert refused is None or (0 <= refused.position <= len(data) and refused.detail)


@fuzzed()
@given(damages(len(FORMS["snapshot"][0]), [6, 10, 18]))
def test_a_snapshot_with_a_checksum_that_fits_gives_only_its_producers(wrong: list[PlantedDamage]) -> None:
    """Where the checksum was made to fit, the count must still be that of the entries, and each is in the file."""
    data = damaged(FORMS["snapshot"][0], wrong)
    data = data[:2] + crc32c.crc32c(data[6:]).to_bytes(4, "big") + data[6:]

    producers, refused = outcome(snapshot_file.decode, data)

    starts = range(snapshot_file.HEADER.size, len(data), snapshot_file.ENTRY_SIZE)
    listed = {int.from_bytes(data[start : start + 8], "big", signed=True) for start in starts}
    assert refused is not None or (set(producers or ()), len(starts)) == (listed, signed(data[6:10]))
    assert refused is None or 0 <= refused.position <= len(data)


def outcome(read: Callable[[bytes], T], data: bytes) -> tuple[T | None, DamagedFile | None]:
    """What is read, or why not."""
    try:
        return read(data), None
    except DamagedFile as damage:
        return None, damage


def signed(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)
