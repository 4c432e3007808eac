from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from model_tests.audit.recorded import KAFKA_4_0
from reference.log import snapshot_file, txn_index
from reference.log.batch import DELETE_HORIZON, RecordBatch, data_batch, marker_batch
from reference.log.cleaner import BatchCleaner, CleanedTransactions, KeyMap, clean_log, last_records
from reference.log.codecs import Codec
from reference.log.config import LogConfig
from reference.log.disk_log import DiskLog
from reference.log.producer_entry import CachedBatch, ProducerEntry
from reference.log.reader import intact_batches
from reference.log.record import Record, control_key
from reference.log.txn_index import AbortedTxn
from spec.versions import KAFKA_4_3, KAFKA_4_4, Profile
from spec.vocabulary import ControlType, Epoch, LeaderEpoch, Offset, ProducerId

RETENTION = 100


def keyed(*pairs: tuple[bytes | None, bytes | None], pid: int = -1, transactional: bool = False) -> RecordBatch:
    records = [Record(delta, delta, key, value) for delta, (key, value) in enumerate(pairs)]
    sequence = -1 if pid == -1 else 0
    return data_batch(
        records, producer_id=pid, epoch=min(pid, 0), base_sequence=sequence, timestamp=10, transactional=transactional
    )


def marker(pid: int, control_type: ControlType = ControlType.COMMIT) -> RecordBatch:
    return marker_batch(pid, 0, control_type, 0, 20)


def in_order(batches: Iterable[RecordBatch]) -> list[RecordBatch]:
    offset, placed = 0, []
    for batch in batches:
        placed.append(batch.at(Offset(offset), LeaderEpoch(0)))
        offset += batch.last_offset_delta + 1
    return placed


def cleaned(
    batches: Sequence[RecordBatch],
    now: int = 1000,
    aborted: Iterable[AbortedTxn] = (),
    known: Iterable[int] = (),
    end: int | None = None,
) -> list[RecordBatch]:
    """What a pass over all but an unwritten last batch leaves."""
    listed = list(aborted)
    reading, writing = CleanedTransactions(), CleanedTransactions()
    reading.expect(listed)
    writing.expect(listed)
    keys = KeyMap(end=batches[-1].last_offset + 2 if end is None else end)
    keys.add(batches, 0, reading)
    producers = {ProducerId(pid): ProducerEntry(Epoch(0)) for pid in known}
    cleaner = BatchCleaner(keys, writing, last_records(producers), now, RETENTION)
    return [left for left in map(cleaner.clean, batches) if left is not None]


def values(batches: Iterable[RecordBatch]) -> list[tuple[int, bytes | None]]:
    return [(batch.base_offset + r.offset_delta, r.value) for batch in batches for r in batch.records()]


def test_the_newest_record_of_a_key_stays() -> None:
    """Offsets, sequences and the last offset delta of a batch stay as they were."""
    log = in_order([keyed((b"a", b"1"), (b"b", b"2"), (b"a", b"3")), keyed((b"b", b"4"))])

    left = cleaned(log)

    assert [(2, b"3"), (3, b"4")] == values(left)
    assert (0, 2, 1) == (left[0].base_offset, left[0].last_offset_delta, left[0].record_count)
    assert (12, 12) == (left[0].base_timestamp, left[0].max_timestamp)


def test_a_record_without_key_goes() -> None:
    """A compacted topic has no place for it."""
    assert [(1, b"2")] == values(cleaned(in_order([keyed((None, b"1")), keyed((b"a", b"2"))])))


def test_a_batch_that_keeps_everything_is_not_written_anew() -> None:
    """The bytes are the client's own, compressed as it was."""
    log = in_order([keyed((b"a", b"1"), (b"b", b"2")).compressed(Codec.GZIP)])

    assert log == cleaned(log)


def test_what_is_left_stays_compressed() -> None:
    """A batch that lost records has the codec of the client."""
    log = in_order([keyed((b"a", b"1"), (b"a", b"2")).compressed(Codec.LZ4)])

    left = cleaned(log)

    assert "lz4" == left[0].codec
    assert [(1, b"2")] == values(left)


def test_a_tombstone_gets_a_horizon_and_goes_when_it_has_come() -> None:
    """The first pass writes the time of its removal into the batch; timestamps of records stay the same."""
    log = in_order([keyed((b"a", b"1"), (b"a", None))])

    first = cleaned(log, now=1000)
    early = cleaned(first, now=1099)
    late = cleaned(first, now=1100)

    assert [(1, None)] == values(first)
    assert (DELETE_HORIZON, 1000 + RETENTION) == (first[0].attributes, first[0].base_timestamp)
    assert 11 == first[0].base_timestamp + first[0].records()[0].timestamp_delta == first[0].max_timestamp
    assert first == early
    assert [] == late


def test_a_marker_stays_as_long_as_its_data() -> None:
    """With data left before it a marker is needed; without, it gets a horizon and goes then."""
    log = in_order([keyed((b"a", b"1"), pid=5, transactional=True), marker(5), keyed((b"a", b"2"))])

    with_data = cleaned(log[:2])
    first = cleaned(log)
    second = cleaned(first, now=1000)
    third = cleaned(second, now=1000 + RETENTION)

    assert log[:2] == with_data
    assert [1, 2] == [batch.base_offset for batch in first]
    assert 0 == first[0].attributes & DELETE_HORIZON
    assert (1000 + RETENTION, 1) == (second[0].base_timestamp, second[0].record_count)
    assert [2] == [batch.base_offset for batch in third]


def test_aborted_data_goes_and_its_marker_stays_for_a_pass() -> None:
    """Aborted records are not the newest of their keys, and go at once; the index keeps the entry with the marker."""
    aborted = AbortedTxn(ProducerId(5), Offset(1), Offset(2), Offset(3))
    abort = marker(5, ControlType.ABORT)
    log = in_order([keyed((b"a", b"1")), keyed((b"a", b"2"), pid=5, transactional=True), abort])

    left = cleaned(log, aborted=[aborted])

    assert [(0, b"1")] == values(left[:1])
    assert [0, 2] == [batch.base_offset for batch in left]


def test_a_key_like_a_markers_removes_no_marker() -> None:
    """KAFKA-14055: the key of a marker is four bytes that a client may use too."""
    key = control_key(ControlType.COMMIT)
    log = in_order([keyed((b"a", b"1"), pid=5, transactional=True), marker(5), keyed((key, b"2"))])

    assert log == cleaned(log)


def test_the_last_batch_of_a_known_producer_stays_empty() -> None:
    """Its header has the last sequence: duplicates are still known after cleaning."""
    log = in_order([keyed((b"a", b"1"), pid=5), keyed((b"a", b"2"))])
    entry = ProducerEntry(Epoch(0)).shrunk(1)._replace(batches=last_of(log[0]))
    keys = KeyMap(end=9)
    keys.add(log, 0, CleanedTransactions())

    left = BatchCleaner(keys, CleanedTransactions(), last_records({ProducerId(5): entry}), 0, 0).clean(log[0])

    assert left is not None
    assert (0, 0, -1) == (left.record_count, left.base_sequence, left.base_timestamp)
    assert left.last_sequence == log[0].last_sequence


def test_the_last_marker_of_a_known_producer_stays() -> None:
    """A producer of which only a marker is known keeps it: its epoch still fences."""
    log = in_order([marker(5), keyed((b"a", b"1"))])
    spent = cleaned(cleaned(log, now=0), now=RETENTION, known=[5])

    assert [0, 1] == [batch.base_offset for batch in spent]
    assert (0, True) == (spent[0].record_count, spent[0].is_control)


def test_the_last_batch_of_a_pass_stays_empty() -> None:
    """Otherwise the end of the cleaned part would not be known."""
    log = in_order([keyed((b"a", b"1")), keyed((None, b"2"))])

    left = cleaned(log, end=2)

    assert [(0, b"1")] == values(left)
    assert [0, 1] == [batch.base_offset for batch in left]


def test_a_log_is_cleaned_in_place(tmp_path: Path) -> None:
    """The newest values below the active segment stay; a second pass joins the segments that the first made small."""
    log = DiskLog.create(tmp_path, LogConfig(segment_bytes=300))
    for number in range(40):
        log.append(keyed((b"%d" % (number % 3), b"%d" % number)).at(log.log_end, LeaderEpoch(0)))
    before, active = len(log.segments), log.active.base_offset

    done = clean_log(log, {})
    log.roll()
    again = clean_log(log, {}, first_dirty=done.end)

    assert (active, 40) == (done.end, again.end)
    assert done.after < done.before
    assert len(log.segments) < before
    assert [37, 38, 39] == [offset for offset, _ in values(log)]
    assert (40, 0, 0) == clean_log(log, {}, first_dirty=again.end)
    assert [] == [path.name for path in tmp_path.iterdir() if path.suffix in (".cleaned", ".swap")]


@pytest.mark.parametrize(
    ("profile", "high_watermark", "left"),
    [(KAFKA_4_3, 6, [3]), (KAFKA_4_4, 6, []), (KAFKA_4_4, 3, [2])],
    ids=["4.3", "4.4", "4.4-in-the-pass"],
)
def test_the_batch_that_stays_for_its_offset(
    tmp_path: Path, profile: Profile, high_watermark: int, left: list[int]
) -> None:
    """Before 4.4 it is the last of the pass; since, the last below the high watermark, which is seldom in the pass."""
    log = DiskLog.create(tmp_path, LogConfig(segment_bytes=150))
    for _ in range(6):
        log.append(keyed((None, b"gone")).at(log.log_end, LeaderEpoch(0)))
    active = log.active.base_offset

    clean_log(log, {}, profile=profile, high_watermark=high_watermark)

    kept = [batch.base_offset for segment in log.segments for batch in read(segment.path(".log"))]
    assert 4 == active
    assert [*left, 4, 5] == kept


def test_what_is_not_stable_is_not_cleaned(tmp_path: Path) -> None:
    """The cleaner stops at the segment that holds the last stable offset."""
    log = DiskLog.create(tmp_path, LogConfig(segment_bytes=150))
    for number in range(8):
        log.append(keyed((b"k", b"%d" % number)).at(log.log_end, LeaderEpoch(0)))

    done = clean_log(log, {}, last_stable=5)

    assert 4 == done.end
    assert [3, 4, 5, 6, 7] == [offset for offset, _ in values(log)]


@pytest.mark.parametrize(
    ("partition", "replaced", "cleaned_bases", "end", "known_at"),
    [("ledger-0", [0], [0], 716, 716), ("__transaction_state-0", [0, 9003, 18200], [0, 18200], 27397, 27397)],
)
def test_a_brokers_own_cleaning_is_repeated(
    recordings: Path, partition: str, replaced: list[int], cleaned_bases: list[int], end: int, known_at: int
) -> None:
    """Two segments of which the broker left both forms: cleaning the first gives the second, record for record."""
    directory = recordings / KAFKA_4_0 / partition
    before = [batch for base in replaced for batch in read(directory / f"{base:020d}.log.deleted")]
    after = [batch for base in cleaned_bases for batch in read(directory / f"{base:020d}.log")]
    index = directory / f"{0:020d}.txnindex.deleted"
    aborted = txn_index.decode(index.read_bytes()) if index.exists() else ()
    known = snapshot_file.decode((directory / f"{known_at:020d}.snapshot").read_bytes())
    reading, writing = CleanedTransactions(), CleanedTransactions()
    reading.expect(aborted)
    writing.expect(aborted)
    keys = KeyMap(end=end)
    keys.add(before, 0, reading)

    left = [BatchCleaner(keys, writing, last_records(known), 0, 0).clean(batch) for batch in before]

    assert [plain(batch) for batch in after] == [plain(batch) for batch in left if batch is not None]
    if aborted:
        assert index.with_suffix("").read_bytes() == txn_index.encode(writing.kept)


def read(path: Path) -> list[RecordBatch]:
    return list(intact_batches(path.read_bytes()))


def plain(batch: RecordBatch) -> tuple[object, ...]:
    return (*batch[:10], batch.plain_body())


def last_of(batch: RecordBatch) -> tuple[CachedBatch, ...]:
    return (CachedBatch(batch.last_sequence, batch.last_offset, batch.last_offset_delta, batch.max_timestamp),)
