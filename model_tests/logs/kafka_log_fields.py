"""The fields of Kafka's messages as they lie in records of internal topics, one read after the other."""

import struct
from typing import Final
from uuid import UUID

_BYTE: Final = struct.Struct(">b")
_SHORT: Final = struct.Struct(">h")
_INT: Final = struct.Struct(">i")
_LONG: Final = struct.Struct(">q")
_UUID_BYTES: Final = 16  # of a UUID


class UnknownSchema(Exception):
    """A key or value of a kind or version that is not known: skipped, as a coordinator does when it loads."""


class MalformedBytes(Exception):
    """Bytes that do not have the form of what they should be."""


class FieldReader:
    """Reads one field after the other; a field that does not fit raises `MalformedBytes` or `struct.error`."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    @property
    def left(self) -> int:
        """Bytes that are not read yet."""
        return len(self._content) - self._at

    def fields(self, layout: struct.Struct) -> tuple[int, ...]:
        """Numbers in this layout."""
        values = layout.unpack_from(self._content, self._at)
        self._at += layout.size
        return values

    def int8(self) -> int:
        """An INT8."""
        return self.fields(_BYTE)[0]

    def int16(self) -> int:
        """An INT16."""
        return self.fields(_SHORT)[0]

    def int32(self) -> int:
        """An INT32."""
        return self.fields(_INT)[0]

    def int64(self) -> int:
        """An INT64."""
        return self.fields(_LONG)[0]

    def uuid(self) -> UUID:
        """A UUID."""
        return UUID(bytes=self.raw(_UUID_BYTES))

    def raw(self, length: int) -> bytes:
        """So many bytes.

        Raises:
            Malformed: fewer are left, or the number is negative.
        """
        if length < 0 or length > self.left:
            raise MalformedBytes(f"a field of {length} bytes, {self.left} are left")
        self._at += length
        return self._content[self._at - length : self._at]

    def unsigned(self) -> int:
        """An unsigned varint.

        Raises:
            Malformed: it has more than five bytes, or the content ends inside it.
        """
        value = 0
        for place in range(5):
            byte = self.raw(1)[0]
            value |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                return value
        raise MalformedBytes("a varint of more than five bytes")

    def length(self, *, flexible: bool, wide: bool) -> int:
        """Length of a string or, where it is wide, of an array or of bytes; -1 for null."""
        if flexible:
            return self.unsigned() - 1
        return self.int32() if wide else self.int16()

    def text(self, *, flexible: bool) -> str:
        """A string."""
        return self.raw(self.length(flexible=flexible, wide=False)).decode()

    def nullable_text(self, *, flexible: bool) -> str | None:
        """A string that may be null."""
        length = self.length(flexible=flexible, wide=False)
        return self.raw(length).decode() if length >= 0 else None

    def ints(self) -> tuple[int, ...]:
        """A compact array of INT32; a null one is empty.

        Raises:
            Malformed: the content ends inside it.
        """
        count = max(self.unsigned() - 1, 0)
        if count * _INT.size > self.left:
            raise MalformedBytes(f"{count} numbers in {self.left} bytes")
        return tuple(self.int32() for _ in range(count))

    def tags(self) -> "dict[int, FieldReader]":
        """The tagged fields at the end of a flexible message, by number."""
        return {self.unsigned(): FieldReader(self.raw(self.unsigned())) for _ in range(self.unsigned())}
