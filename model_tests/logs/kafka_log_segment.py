"""One segment file: its batches, found by their lengths and checked by CRC-32C, and the bytes that are none.

The reader never trusts what it has not checked: where a batch cannot be read it names the bytes, looks for the
next batch that can, and continues.
"""

import struct
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from crc32c import crc32c

from model_tests.logs import kafka_log_checksums as checksums
from model_tests.logs.kafka_log_batches import (
    BEFORE_LENGTH_COUNTS,
    CONTROL,
    HEADER,
    HEADER_SIZE,
    KNOWN_ATTRIBUTES,
    Batches,
    Integers,
    from_headers,
)
from model_tests.logs.kafka_log_chain import LENGTH_AT, chain
from model_tests.logs.kafka_log_checksums import COVERED_FROM
from model_tests.logs.kafka_log_control import Unreadable, read_control
from model_tests.logs.locations import located, read_range, reason
from spec.vocabulary import ABSENT

_LENGTH: Final = struct.Struct(">i")
_CRC: Final = struct.Struct(">I")
_OFFSET_AND_LENGTH: Final = struct.Struct(">qi")
_MAGIC_AT, _CRC_AT, _ATTRIBUTES_AT = 16, 17, 21
_MAGIC: Final = 2
_OLD_MAGIC: Final = (0, 1)
_SHORTEST_OLD: Final = 26
_RAW_HEADER: Final = np.dtype((np.void, HEADER_SIZE))
_SEARCHED_AT_ONCE: Final = 1 << 20
_FEWEST_AT_ONCE, _MOST_AT_ONCE = 1 << 13, 1 << 24
"""Bytes that are read together: few after damage, so that much of it does not cost much time."""


@dataclass(frozen=True, slots=True)
class SegmentDamage:
    """Bytes that cannot be read as batches, or input that cannot be read at all."""

    path: str
    position: int
    message: str


@dataclass(frozen=True, slots=True)
class Cut:
    """A place in a segment's file where a batch begins: its position, and the batch's offset."""

    position: int
    offset: int


@dataclass(frozen=True, slots=True)
class SegmentRange:
    """A segment file, or a range of it.

    Attributes:
        base: its base offset, by its name.
        end: base offset of the next segment, -1 where it is the active one.
        since: where a range begins that is not the file's first.
        until: where a range ends that is not the file's last.
    """

    path: str
    base: int
    end: int = ABSENT
    since: Cut | None = None
    until: Cut | None = None

    @property
    def active(self) -> bool:
        """Whether it is the last segment of its log, the one that the broker appends to."""
        return self.end == ABSENT

    @property
    def is_range(self) -> bool:
        """Whether it is less than the whole file."""
        return self.since is not None or self.until is not None

    @property
    def position(self) -> int:
        """Where in the file it begins."""
        return self.since.position if self.since is not None else 0

    @property
    def bounds(self) -> tuple[int, int]:
        """The first offset that can be in it, and the first that cannot; -1 for the latter where any may follow."""
        first = self.since.offset if self.since is not None else self.base
        return first, self.until.offset if self.until is not None else self.end


@dataclass(slots=True)
class _Found:
    headers: list[npt.NDArray[Any]] = field(default_factory=list)
    positions: list[Integers] = field(default_factory=list)
    count: int = 0
    last_position: int = ABSENT
    control: list[tuple[int, int, int]] = field(default_factory=list)  # number of the batch, type, coordinator epoch
    after_damage: list[int] = field(default_factory=list)  # numbers of batches
    damage: list[tuple[int, str]] = field(default_factory=list)

    def add(self, headers: npt.NDArray[Any], positions: Integers) -> None:
        """Add batches that follow each other."""
        if self.damage and self.damage[-1][0] > self.last_position:
            self.after_damage.append(self.count)
        self.headers.append(headers)
        self.positions.append(positions)
        self.count += len(positions)
        self.last_position = int(positions[-1])


def read_segment(segment: SegmentRange, *, crc: bool = True) -> tuple[Batches, list[SegmentDamage]]:
    """Every batch of the file that can be read, and everything in it that cannot."""
    try:
        return read_bytes(content_of(segment), segment, crc=crc)
    except OSError as error:
        return _batches(_Found(), segment), [SegmentDamage(segment.path, 0, f"cannot be read: {reason(error)}")]


def content_of(segment: SegmentRange) -> bytes:
    """The bytes of a segment file, or of a range of it."""
    location = located(segment.path)
    if not segment.is_range:
        return location.read_bytes()
    return read_range(location, segment.position, segment.until.position if segment.until is not None else ABSENT)


def read_bytes(content: bytes, segment: SegmentRange, *, crc: bool = True) -> tuple[Batches, list[SegmentDamage]]:
    """The same for the bytes of a segment file, or of a range of it."""
    found = _Found()
    position = 0
    while position < len(content):
        position = _read_run(content, position, found, crc=crc)
        if position < len(content):
            position = _skip_damage(content, position, found, segment)
    batches = _batches(found, segment)
    begin = segment.position
    return batches, [SegmentDamage(segment.path, begin + position, message) for position, message in found.damage]


def _read_run(content: bytes, position: int, found: _Found, *, crc: bool) -> int:
    """Read batches up to the first that cannot be read; where it begins."""
    at_once = _FEWEST_AT_ONCE
    while True:
        until = position + at_once
        starts = chain(content, position, until)
        sound = len(starts) - 1
        if sound:
            headers = _headers_at(content, starts[:-1])
            sound = _readable(headers)
            sound = checksums.sound(content, starts[: sound + 1], headers[:sound]) if crc else sound
            sound = _add_control(content, starts, headers, sound, found)
        if sound:
            found.add(headers[:sound], starts[:sound])
        position = int(starts[sound])
        if position < until:
            return position
        at_once = min(8 * at_once, _MOST_AT_ONCE)


def _headers_at(content: bytes, positions: Integers) -> npt.NDArray[Any]:
    """The headers that begin at these positions: rows of a table that has one at every byte."""
    everywhere = np.ndarray((len(content) - HEADER_SIZE + 1,), _RAW_HEADER, content, 0, (1,))
    headers: npt.NDArray[Any] = everywhere[positions].view(HEADER)
    return headers


def _readable(headers: npt.NDArray[Any]) -> int:
    """The number of first batches that are record batches."""
    other = headers["magic"] != _MAGIC
    return int(np.argmax(other)) if other.any() else len(headers)


def _add_control(content: bytes, starts: Integers, headers: npt.NDArray[Any], sound: int, found: _Found) -> int:
    """Read the control records of the first `sound` batches; returns the number of batches up to one unreadable."""
    control = ((headers["attributes"][:sound] & CONTROL) != 0) & (headers["record_count"][:sound] != 0)
    for number in np.flatnonzero(control).tolist():
        try:
            read = read_control(content[starts[number] : starts[number + 1]])
        except Unreadable:
            return int(number)
        found.control.append((found.count + number, *read))
    return sound


def _skip_damage(content: bytes, position: int, found: _Found, segment: SegmentRange) -> int:
    """Name what is wrong at `position`; where reading can go on."""
    after = _end_by_length(content, position)
    message = _what_is_wrong(content, position, after, segment)
    if after is None or not _may_begin_batch(content, after, _offset_at(content, position)):
        after = _next_readable(content, position + 1)
        if after < len(content):
            message += f"; {after - position} bytes up to the next readable batch are not judged"
    _remember(found, position, message)
    return after


def _remember(found: _Found, position: int, message: str) -> None:
    """Add damage; a run of old-format messages is one entry."""
    is_old = message.startswith("magic ")
    last, before = found.damage[-1] if found.damage else (ABSENT, "")
    if is_old and before.startswith(message[:7]) and last > found.last_position:
        return
    found.damage.append((position, message))


def _what_is_wrong(content: bytes, position: int, after: int | None, segment: SegmentRange) -> str:
    left = len(content) - position
    if left > LENGTH_AT and not any(memoryview(content)[position:]):  # fewer may be the head of a small base offset
        return f"{left} bytes of zeros up to the end of the file: preallocated, or lost in a crash"
    if left < HEADER_SIZE and after is None:
        return _cut_short(f"{left} bytes are left, too few for a batch's header", segment)
    offset, length = _OFFSET_AND_LENGTH.unpack_from(content, position)
    magic = content[position + _MAGIC_AT]
    if magic in _OLD_MAGIC and after is not None:
        return f"magic {magic} from offset {offset}: messages before record batches (magic 2) are not judged"
    if magic != _MAGIC:
        return f"unknown magic {magic}, not a record batch (magic 2)"
    if length + BEFORE_LENGTH_COUNTS < HEADER_SIZE:
        return f"length {length} of the batch at offset {offset} is too small for its header"
    if after is None:
        size = length + BEFORE_LENGTH_COUNTS
        return _cut_short(f"the batch at offset {offset} has {left} of its {size} bytes", segment)
    return _unsound(content[position:after], offset)


def _cut_short(what: str, segment: SegmentRange) -> str:
    why = "a crash leaves this, the broker cuts it off when it recovers" if segment.active else "not the last segment"
    return f"cut short: {what} ({why})"


def _unsound(batch: bytes, offset: int) -> str:
    stored, computed = _CRC.unpack_from(batch, _CRC_AT)[0], crc32c(memoryview(batch)[COVERED_FROM:])
    if stored != computed:
        return f"CRC of the batch at offset {offset} is {stored:#010x}, its bytes give {computed:#010x}"
    return f"the control record of the batch at offset {offset} cannot be read as a marker"


def _end_by_length(content: bytes, position: int) -> int | None:
    """Where the batch at `position` ends by its own length; None where that cannot be."""
    if position + _MAGIC_AT >= len(content):
        return None
    shortest = HEADER_SIZE if content[position + _MAGIC_AT] not in _OLD_MAGIC else _SHORTEST_OLD
    size = _LENGTH.unpack_from(content, position + LENGTH_AT)[0] + BEFORE_LENGTH_COUNTS
    return position + size if size >= shortest and position + size <= len(content) else None


def _offset_at(content: bytes, position: int) -> int:
    return int(_OFFSET_AND_LENGTH.unpack_from(content, position)[0]) if position + 12 <= len(content) else ABSENT


def _may_begin_batch(content: bytes, position: int, previous: int) -> bool:
    """A batch or message may begin here: the file ends, or its offset, length and magic are possible."""
    if position >= len(content):
        return True
    after = _end_by_length(content, position)
    possible = content[position + _MAGIC_AT] in (*_OLD_MAGIC, _MAGIC) if after is not None else False
    return possible and _offset_at(content, position) >= 0 and _offset_at(content, position) != previous


def _next_readable(content: bytes, position: int) -> int:
    """Where the next sound batch begins, looked for byte by byte; the end of the file where there is none."""
    for first in range(position, len(content), _SEARCHED_AT_ONCE):
        for start in _possible_starts(content, first):
            after = _end_by_length(content, start)
            if after is not None and _is_sound(content, start, after):
                return start
    return len(content)


def _possible_starts(content: bytes, first: int) -> list[int]:
    """The positions from `first` on, as many as are searched at once, where a header of magic 2 may begin."""
    data = np.frombuffer(content, np.uint8)
    starts = np.flatnonzero(data[first + _MAGIC_AT : first + _MAGIC_AT + _SEARCHED_AT_ONCE] == _MAGIC) + first
    starts = starts[starts + HEADER_SIZE <= len(content)]
    starts = starts[(data[starts] < 0x80) & (data[starts + LENGTH_AT] < 0x80)]
    starts = starts[(data[starts + _ATTRIBUTES_AT] == 0) & (data[starts + _ATTRIBUTES_AT + 1] <= KNOWN_ATTRIBUTES)]
    return [int(start) for start in starts]


def _is_sound(content: bytes, start: int, after: int) -> bool:
    computed = crc32c(memoryview(content)[start + COVERED_FROM : after])
    return bool(computed == _CRC.unpack_from(content, start + _CRC_AT)[0])


def _batches(found: _Found, segment: SegmentRange) -> Batches:
    headers = np.concatenate(found.headers) if found.headers else np.empty(0, HEADER)
    kind = np.full(len(headers), ABSENT, np.int64)
    epoch = np.full(len(headers), ABSENT, np.int64)
    if found.control:
        number, kinds, epochs = np.array(found.control, np.int64).T
        kind[number], epoch[number] = kinds, epochs
    damaged = np.zeros(len(headers), np.bool_)
    damaged[found.after_damage] = True
    positions = np.concatenate(found.positions) if found.positions else np.empty(0, np.int64)
    return from_headers(headers, segment.base, positions + segment.position, (kind, epoch), damaged)
