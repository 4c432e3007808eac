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
SNAPPY_EXPANSION: Final = 64
"""A snappy block grows at most 22 times when read; one that claims more is damaged."""


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


def compress(codec: int, data: bytes) -> bytes:
    """The bytes as a broker keeps them under `codec`.

    Raises:
        UnsupportedCodec: no codec has this number.
    """
    return _of(_COMPRESS, codec)(data)


def decompress(codec: int, data: bytes) -> bytes:
    """What was compressed.

    Raises:
        UnsupportedCodec: no codec has this number.
        DamagedCompression: the bytes are not what the codec writes.
    """
    read = _of(_DECOMPRESS, codec)
    try:
        return read(data)
    except (cramjam.DecompressionError, MemoryError, OverflowError) as damage:
        raise DamagedCompression(f"{Codec(codec).name.lower()}: {damage}") from damage


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


def _decompress_lz4(data: bytes) -> bytes:
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
