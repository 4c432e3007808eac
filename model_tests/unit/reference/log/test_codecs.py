from contextlib import suppress

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.errors import UnsupportedCodec
from reference.log import codecs
from reference.log.batch import value_batch
from reference.log.codecs import Codec, DamagedCompression, TooLarge
from reference.log.record import MalformedRecords

COMPRESSING = [codec for codec in Codec if codec != Codec.NONE]


@given(st.sampled_from(Codec), st.binary(max_size=200), st.integers(1, 400))
def test_what_is_compressed_comes_back(codec: Codec, data: bytes, times: int) -> None:
    """Every codec reads what it wrote, over one block and several."""
    assert data * times == codecs.decompress(codec, codecs.compress(codec, data * times))


@given(st.sampled_from(COMPRESSING), st.binary(max_size=300))
def test_damaged_bytes_are_one_error(codec: Codec, data: bytes) -> None:
    """Bytes that no codec wrote are refused, or read as whatever they happen to say."""
    with suppress(DamagedCompression):
        assert isinstance(codecs.decompress(codec, data), bytes)


@pytest.mark.parametrize("codec", COMPRESSING)
def test_a_compressed_batch_has_the_same_records(codec: Codec) -> None:
    """A batch keeps its records and its header under another codec."""
    batch = value_batch([b"one", b"two" * 500, b""])

    compressed = batch.compressed(codec)

    assert codec.name.lower() == compressed.codec
    assert batch.records() == compressed.records()
    assert batch == compressed.compressed(Codec.NONE)


@pytest.mark.parametrize("codec", COMPRESSING)
def test_a_body_that_is_not_compressed_is_malformed(codec: Codec) -> None:
    """A batch whose attributes name a codec that did not write its body has no records."""
    batch = value_batch([b"plain"])._replace(attributes=codec)

    with pytest.raises(MalformedRecords, match=codec.name.lower()):
        batch.records()


def test_frames_are_those_that_kafka_reads() -> None:
    """LZ4 is a frame of version 1 with independent blocks; snappy begins with the header of xerial."""
    lz4 = codecs.compress(Codec.LZ4, b"x" * 100)

    assert bytes.fromhex("04224d18") == lz4[:4]
    assert 0b011 == lz4[4] >> 5
    assert b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01" == codecs.compress(Codec.SNAPPY, b"x")[:16]


def test_snappy_without_framing_is_read() -> None:
    """Clients of librdkafka write one bare block."""
    framed = codecs.compress(Codec.SNAPPY, b"bare" * 30)

    assert b"bare" * 30 == codecs.decompress(Codec.SNAPPY, framed[20:])


def test_a_claim_of_gigabytes_is_not_believed() -> None:
    """A snappy block of a few bytes that claims four gigabytes is damaged, and costs no memory."""
    with pytest.raises(DamagedCompression, match="claim"):
        codecs.decompress(Codec.SNAPPY, b"\xff\xff\xff\xff\x0f\x00")


@pytest.mark.parametrize("codec", Codec)
def test_no_more_is_read_than_there_is_room_for(codec: Codec) -> None:
    """A body of a megabyte fits into a megabyte, and not into a byte less, however small its bytes are."""
    plain = b"bomb" * (1 << 18)
    data = codecs.compress(codec, plain)

    assert plain == codecs.decompress(codec, data, len(plain))
    with pytest.raises(TooLarge, match="more than 1048575 bytes in"):
        codecs.decompress(codec, data, len(plain) - 1)


@given(st.sampled_from(Codec), st.binary(max_size=300))
def test_damaged_bytes_are_the_same_error_within_bounds(codec: Codec, data: bytes) -> None:
    """With room for everything, bytes are read as they are without a bound, or refused likewise."""
    try:
        expected = codecs.decompress(codec, data)
    except DamagedCompression:
        with pytest.raises(DamagedCompression):
            codecs.decompress(codec, data, 1 << 20)
    else:
        assert expected == codecs.decompress(codec, data, 1 << 20)


def test_linked_blocks_are_refused() -> None:
    """Kafka's reader of LZ4 takes no block that needs the one before it."""
    writer = cramjam.lz4.Compressor(content_checksum=False, block_linked=True)
    writer.compress(b"x" * 100)
    linked = bytes(writer.finish())

    for most in (None, 1 << 20):
        with pytest.raises(DamagedCompression, match="depend on each other"):
            codecs.decompress(Codec.LZ4, linked, most)


def test_other_numbers_are_no_codecs() -> None:
    """The attributes have room for three more numbers."""
    for number in (5, 6, 7):
        with pytest.raises(UnsupportedCodec):
            codecs.compress(number, b"")
        with pytest.raises(UnsupportedCodec):
            codecs.decompress(number, b"")
