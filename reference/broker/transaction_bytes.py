"""Kafka's generated message format, as far as the coordinators' logs use it: fixed and flexible versions."""

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias, TypeVar

Tagged: TypeAlias = tuple[tuple[int, bytes], ...]
"""Tagged fields of a flexible version: number and bytes, by number."""

Item = TypeVar("Item")

LONGEST_VARINT: Final = 5  # bytes of a varint of 32 bits, at most


class MalformedState(ValueError):
    """A record of a coordinator's log cannot be read."""


class BytesOut:
    """Bytes of one message as it is written; `flexible` versions have compact lengths and tagged fields."""

    __slots__ = ("_flexible", "_out")

    def __init__(self, flexible: bool) -> None:
        """Nothing is written yet."""
        self._flexible = flexible
        self._out = bytearray()

    def taken(self) -> bytes:
        """Everything written."""
        return bytes(self._out)

    def raw(self, data: bytes) -> None:
        """Bytes as they are."""
        self._out += data

    def pack(self, form: str, value: int) -> None:
        """One number."""
        self._out += struct.pack(form, value)

    def string(self, value: str) -> None:
        """A string with its length before it."""
        data = value.encode()
        self._length(len(data), ">h")
        self._out += data

    def string_or_none(self, value: str | None) -> None:
        """A nullable string."""
        if value is None:
            self._length(-1, ">h")
        else:
            self.string(value)

    def sized(self, data: bytes) -> None:
        """Bytes with their length before them."""
        self._length(len(data), ">i")
        self._out += data

    def array(self, items: Sequence[Item] | None, write: Callable[["BytesOut", Item], None]) -> None:
        """Items with their number before them; None is a null array."""
        self._length(-1 if items is None else len(items), ">i")
        for item in items or ():
            write(self, item)

    def tagged(self, fields: Iterable[tuple[int, bytes]]) -> None:
        """The tagged fields, where the version has them."""
        if not self._flexible:
            return
        listed = sorted(fields)
        self._varint(len(listed))
        for tag, data in listed:
            self._varint(tag)
            self._varint(len(data))
            self._out += data

    def _length(self, length: int, form: str) -> None:
        if self._flexible:
            self._varint(length + 1)
        else:
            self.pack(form, length)

    def _varint(self, value: int) -> None:
        while value > 0x7F:
            self._out.append((value & 0x7F) | 0x80)
            value >>= 7
        self._out.append(value)


class Reader:
    """The same, read from the start on."""

    __slots__ = ("_data", "_flexible", "_position")

    def __init__(self, data: bytes, flexible: bool) -> None:
        """At the first byte."""
        self._data = data
        self._flexible = flexible
        self._position = 0

    def unpack(self, form: str) -> tuple[Any, ...]:
        """Numbers.

        Raises:
            MalformedState: the data ends before them.
        """
        return struct.unpack(form, self._taken(struct.calcsize(form)))

    def string(self) -> str:
        """A string with its length before it.

        Raises:
            MalformedState: it is null, is no UTF-8, or the data ends inside it.
        """
        found = self.string_or_none()
        if found is None:
            raise MalformedState("a string that is not there")
        return found

    def string_or_none(self) -> str | None:
        """A nullable string.

        Raises:
            MalformedState: its length is below -1, it is no UTF-8, or the data ends inside it.
        """
        length = self._length(">h")
        if length == -1:
            return None
        if length < 0:
            raise MalformedState(f"a string of length {length}")
        try:
            return self._taken(length).decode()
        except UnicodeDecodeError as damage:
            raise MalformedState(f"a string that is not UTF-8: {damage}") from damage

    def sized(self) -> bytes:
        """Bytes with their length before them.

        Raises:
            MalformedState: the length is negative, or the data ends inside them.
        """
        length = self._length(">i")
        if length < 0:
            raise MalformedState(f"bytes of length {length}")
        return self._taken(length)

    def array(self, read: Callable[["Reader"], Item]) -> tuple[Item, ...] | None:
        """Items with their number before them.

        Raises:
            MalformedState: more items are announced than there are bytes, or the data ends inside one.
        """
        count = self._length(">i")
        if count > len(self._data):
            raise MalformedState(f"an array of {count} items in {len(self._data)} bytes")
        return None if count < 0 else tuple(read(self) for _ in range(count))

    def tagged(self) -> Tagged:
        """The tagged fields, where the version has them.

        Raises:
            MalformedState: more fields are announced than there are bytes, or the data ends inside one.
        """
        if not self._flexible:
            return ()
        count = self._varint()
        if count > len(self._data):
            raise MalformedState(f"{count} tagged fields in {len(self._data)} bytes")
        return tuple((self._varint(), self._taken(self._varint())) for _ in range(count))

    def end(self) -> None:
        """Nothing may follow.

        Raises:
            MalformedState: something does.
        """
        if self._position != len(self._data):
            raise MalformedState(f"{len(self._data) - self._position} bytes follow")

    def _length(self, form: str) -> int:
        return self._varint() - 1 if self._flexible else int(self.unpack(form)[0])

    def _varint(self) -> int:
        value = 0
        for place in range(LONGEST_VARINT):
            byte = self._taken(1)[0]
            value |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                return value
        raise MalformedState("a varint without end")

    def _taken(self, size: int) -> bytes:
        taken = self._data[self._position : self._position + size]
        if len(taken) < size:
            raise MalformedState(f"a field of {size} bytes at {self._position}, and there are {len(self._data)}")
        self._position += size
        return taken
