"""The codecs of record batch bodies, in the framings that Kafka's clients and brokers read (Compression).

Snappy is written in the framing of xerial and read with it or bare, as librdkafka writes it. LZ4 is a frame of
independent blocks: Kafka's reader refuses linked ones.
"""

import struct
from collections.abc import Callable, Iterator
from enum import IntEnum, unique
from typing import Final

import cramjam

from reference.errors import UnsupportedCodec

XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
XERIAL_VERSIONS: Final = struct.pack(">ii", 1, 1)  # of the format, and the oldest that reads it
XERIAL_HEADER_SIZE: Final = len(XERIAL_MAGIC) + len(XERIAL_VERSIONS)
SNAPPY_BLOCK: Final = 32 * 1024
"""Bytes of a block as snappy-java frames it, which Kafka's clients use."""

SNAPPY_EXPANSION: Final = 64
"""A snappy block grows at most 22 times when read; one that claims more is damaged."""

USUAL_EXPANSION: Final = 16
"""So many times longer than its compressed bytes is a body at first taken to be, at most."""

NO_ROOM: Final = "failed to write whole buffer"
"""What the library says of bytes that do not fit."""

LZ4_FLAGS_AT: Final = 4
LZ4_INDEPENDENT: Final = 0x20
"""Where an LZ4 frame has its flags, and the flag for blocks that need no other block, the only ones that Kafka
reads."""


@unique
class Codec(IntEnum):
    """Compression codec, by its number in the attributes of a batch."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class DamagedCompression(ValueError):
    """The bytes are not what the codec writes."""


class TooLarge(DamagedCompression):
    """There is more in the bytes than the reader has room for."""


def compress(codec: int, data: bytes) -> bytes:
    """The bytes as a broker keeps them under `codec`.

    Raises:
        UnsupportedCodec: no codec has this number.
    """
    return _of(_COMPRESS, codec)(data)


def decompress(codec: int, data: bytes, most: int | None = None) -> bytes:
    """What was compressed.

    Args:
        codec: number of the codec.
        data: the compressed bytes.
        most: so many bytes there may be in them, and no more memory is taken; none where the bytes are trusted.

    Raises:
        UnsupportedCodec: no codec has this number.
        DamagedCompression: the bytes are not what the codec writes.
        TooLarge: there are more than so many bytes in them.
    """
    read = _of(_DECOMPRESS, codec)
    try:
        return read(data) if most is None else _within(codec, data, most)
    except (cramjam.DecompressionError, MemoryError, OverflowError) as damage:
        raise DamagedCompression(f"{Codec(codec).name.lower()}: {damage}") from damage


def _within(codec: int, data: bytes, most: int) -> bytes:
    """What was compressed, if it is not more than `most` bytes: first as if it were some times as long."""
    if codec not in _INTO:
        plain = _DECOMPRESS[Codec(codec)](data) if _claimed(codec, data) <= most else None
    else:
        plain = _into(codec, data, min(most, USUAL_EXPANSION * len(data) + SNAPPY_BLOCK))
        plain = plain if plain is not None else _into(codec, data, most)
    if plain is None:
        raise TooLarge(f"{Codec(codec).name.lower()}: more than {most} bytes in {len(data)}")
    return plain


def _into(codec: int, data: bytes, room: int) -> bytes | None:
    """What was compressed; none where it does not fit."""
    if codec == Codec.LZ4:
        _refuse_linked(data)
    buffer = bytearray(room)
    try:
        return bytes(memoryview(buffer)[: _INTO[Codec(codec)](data, buffer)])
    except cramjam.DecompressionError as damage:
        if NO_ROOM in str(damage):
            return None
        raise


def _claimed(codec: int, data: bytes) -> int:
    """Bytes that are in data which says so beforehand."""
    if codec == Codec.NONE:
        return len(data)
    blocks = _xerial_blocks(data) if data.startswith(XERIAL_MAGIC) else (data,)
    return sum(cramjam.snappy.decompress_raw_len(block) for block in blocks)


def _of(table: dict[Codec, Callable[[bytes], bytes]], codec: int) -> Callable[[bytes], bytes]:
    for known, function in table.items():
        if known == codec:
            return function
    raise UnsupportedCodec(f"no codec has the number {codec}")


def _compress_gzip(data: bytes) -> bytes:
    return bytes(cramjam.gzip.compress(data))


def _decompress_gzip(data: bytes) -> bytes:
    return bytes(cramjam.gzip.decompress(data))


def _compress_snappy(data: bytes) -> bytes:
    framed = bytearray(XERIAL_MAGIC + XERIAL_VERSIONS)
    for start in range(0, len(data), SNAPPY_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + SNAPPY_BLOCK]))
        framed += len(block).to_bytes(4, "big") + block
    return bytes(framed)


def _decompress_snappy(data: bytes) -> bytes:
    if not data.startswith(XERIAL_MAGIC):
        return _snappy_block(data)
    return b"".join(_snappy_block(block) for block in _xerial_blocks(data))


def _xerial_blocks(data: bytes) -> Iterator[bytes]:
    position = XERIAL_HEADER_SIZE
    while position < len(data):
        if data.startswith(XERIAL_MAGIC, position):  # streams may follow each other
            position += XERIAL_HEADER_SIZE
            continue
        size = int.from_bytes(data[position : position + 4], "big")
        position += 4
        if position + size > len(data):
            raise DamagedCompression(f"snappy: a block of {size} bytes reaches past the end")
        yield data[position : position + size]
        position += size


def _snappy_block(block: bytes) -> bytes:
    if cramjam.snappy.decompress_raw_len(block) > SNAPPY_EXPANSION * len(block):
        raise DamagedCompression(f"snappy: {len(block)} bytes cannot hold what they claim")
    return bytes(cramjam.snappy.decompress_raw(block))


def _compress_lz4(data: bytes) -> bytes:
    writer = cramjam.lz4.Compressor(content_checksum=False, block_linked=False)
    writer.compress(data)
    return bytes(writer.finish())


def _refuse_linked(data: bytes) -> None:
    """A frame whose blocks need the ones before them is not for Kafka's reader."""
    if len(data) > LZ4_FLAGS_AT and not data[LZ4_FLAGS_AT] & LZ4_INDEPENDENT:
        raise DamagedCompression("lz4: blocks that depend on each other, which Kafka does not read")


def _decompress_lz4(data: bytes) -> bytes:
    _refuse_linked(data)
    return bytes(cramjam.lz4.decompress(data))


def _compress_zstd(data: bytes) -> bytes:
    return bytes(cramjam.zstd.compress(data))


def _decompress_zstd(data: bytes) -> bytes:
    return bytes(cramjam.zstd.decompress(data))


_COMPRESS: Final[dict[Codec, Callable[[bytes], bytes]]] = {
    Codec.NONE: bytes,
    Codec.GZIP: _compress_gzip,
    Codec.SNAPPY: _compress_snappy,
    Codec.LZ4: _compress_lz4,
    Codec.ZSTD: _compress_zstd,
}
_DECOMPRESS: Final[dict[Codec, Callable[[bytes], bytes]]] = {
    Codec.NONE: bytes,
    Codec.GZIP: _decompress_gzip,
    Codec.SNAPPY: _decompress_snappy,
    Codec.LZ4: _decompress_lz4,
    Codec.ZSTD: _decompress_zstd,
}
_INTO: Final[dict[Codec, Callable[[bytes, bytearray], int]]] = {
    Codec.GZIP: cramjam.gzip.decompress_into,
    Codec.LZ4: cramjam.lz4.decompress_into,
    Codec.ZSTD: cramjam.zstd.decompress_into,
}
"""Those that do not say beforehand how much they hold."""
