import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.errors import UnsupportedCodec
from reference.log.batch import RecordBatch, data_batch, marker_batch, value_batch
from reference.log.reader import intact_batches
from reference.log.record import EndTransactionMarker, MalformedRecords, Record, encode_records
from spec.vocabulary import ControlType, CoordinatorEpoch, LeaderEpoch, Offset

# Copied from the log of a broker, release 3.9.
PLAIN = bytes.fromhex(
    "0000000000001d2f0000008f0000000002986f45ab000000000001000001a1fcc03d0c000001a1fcc03d0f000000000000001f000000"
    "0006af000000025a0000000434384a7b2270223a2263722d33222c2274223a6e756c6c2c2269223a353139332c2278223a22227d005e"
    "000602063836384c7b2270223a2263722d33222c2274223a6e756c6c2c2269223a353139382c2278223a2278227d00"
)
ABORT = bytes.fromhex(
    "0000000000000622000000420000000002b4d4031f003000000000000001a1fcc28b13000001a1fcc28b1300000000000003ec0001ff"
    "ffffff000000012000000008000000000c00000000000000"
)
CLEANED = bytes.fromhex(
    "00000000000002d00000003100000000023a595b1f001000000001ffffffffffffffff000001a1fcbe95c60000000000000002000000"
    "00009800000000"
)
ZSTD = bytes.fromhex(
    "0000000000000eba00000072000000000267d373a7001400000000000001a1fcbe9199000001a1fcbe919900000000000000040000000"
    "003a20000000128b52ffd0058c501001403e2010000000863333031cc017b2270223a2274782d33222c2274223a33332c2269223a3539"
    "36392c2278223a2278227d000100be04ca"
)

texts = st.one_of(st.none(), st.binary(max_size=20))
records = st.lists(
    st.builds(
        Record,
        offset_delta=st.integers(0, 2**31 - 1),
        timestamp_delta=st.integers(-(2**40), 2**40),
        key=texts,
        value=texts,
        headers=st.lists(st.tuples(st.binary(max_size=5), texts), max_size=2).map(tuple),
        attributes=st.integers(0, 255),
    ),
    max_size=4,
)


def only(data: bytes) -> RecordBatch:
    (batch,) = intact_batches(data)
    return batch


@pytest.mark.parametrize("data", [PLAIN, ABORT, CLEANED, ZSTD], ids=["plain", "abort", "cleaned", "zstd"])
def test_real_bytes_come_back(data: bytes) -> None:
    """Parsing a broker's bytes and encoding them again changes nothing."""
    assert data == only(data).encode()


def test_real_records_come_back() -> None:
    """The records of a broker's batch are read, and encode to the same body."""
    batch = only(PLAIN)

    found = batch.records()

    assert [b"48", b"868"] == [record.key for record in found]
    assert batch.body == encode_records(found)
    assert (0x1F, 0, 0x6AF, 0x6B0) == (*batch[6:9], batch.last_sequence)


def test_a_real_abort_marker_is_read() -> None:
    """A broker's ABORT marker is a transactional control batch of 78 bytes without sequence."""
    batch = only(ABORT)

    assert batch.is_control
    assert batch.is_transactional
    assert EndTransactionMarker(ControlType.ABORT, CoordinatorEpoch(0)) == batch.marker()
    assert 78 == batch.size
    assert -1 == batch.last_sequence


def test_our_marker_has_the_brokers_bytes() -> None:
    """The same marker, made here and placed at the same offset, is the same bytes."""
    real = only(ABORT)

    ours = marker_batch(0x3EC, 1, ControlType.ABORT, 0, real.max_timestamp)

    assert ABORT == ours.at(real.base_offset, real.leader_epoch).encode()


def test_a_cleaned_batch_keeps_its_last_sequence() -> None:
    """A batch whose records cleaning removed still has the sequences and offsets that it had."""
    batch = only(CLEANED)

    assert () == batch.records()
    assert (721, 0x99) == (batch.last_offset, batch.last_sequence)


def test_a_cleaned_control_batch_has_no_marker() -> None:
    """A control batch without records ends no transaction."""
    assert only(ABORT)._replace(record_count=0, body=b"").marker() is None


def test_compressed_records_are_read() -> None:
    """The records of a batch that a client compressed are those that it sent."""
    batch = only(ZSTD)

    assert "zstd" == batch.codec
    assert batch.record_count == len(batch.records())


def test_an_unknown_codec_is_refused_by_name() -> None:
    """No codec has the numbers 5 to 7: the header is read, the records are not."""
    batch = only(ZSTD)._replace(attributes=7)

    assert "unknown" == batch.codec
    with pytest.raises(UnsupportedCodec, match="7"):
        batch.records()


@given(records, st.integers(-1, 2**63 - 1), st.integers(-1, 2**15 - 1), st.integers(-1, 2**31 - 1), st.booleans())
def test_any_batch_comes_back(listed: list[Record], pid: int, epoch: int, base: int, transactional: bool) -> None:
    """Encoding and parsing gives the same batch and the same records."""
    batch = data_batch(listed, producer_id=pid, epoch=epoch, base_sequence=base, transactional=transactional)

    found = only(batch.encode())

    assert batch == found
    assert tuple(listed) == found.records()


def test_placing_a_batch_leaves_the_checksum_alone() -> None:
    """Offset and leader epoch lie before what the checksum covers."""
    batch = value_batch([b"a"], producer_id=7, epoch=0, base_sequence=0)

    placed = batch.at(Offset(99), LeaderEpoch(3))

    assert batch.encode()[16:] == placed.encode()[16:]
    assert (99, 3) == placed[:2]


@pytest.mark.parametrize("body", [b"", b"\x0e", b"\x0e\x00\x00\x00\x01\x01\x00\x00"], ids=["none", "cut", "long"])
def test_a_body_that_is_not_its_records_is_named(body: bytes) -> None:
    """A body shorter or longer than the declared record is refused."""
    with pytest.raises(MalformedRecords):
        value_batch([b""])._replace(body=body).records()
