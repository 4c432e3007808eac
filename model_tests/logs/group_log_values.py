"""Keys and values of `__consumer_offsets`, as bytes: the offsets of groups; what else is there is counted by name.

Source: the records of the group coordinator, GroupMetadataManager up to 3.9, GroupCoordinatorRecordHelpers since.
"""

import struct
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from model_tests.logs.coordinator_log_values import UNPRINTED
from model_tests.logs.kafka_log_fields import FieldReader, MalformedBytes, UnknownSchema

OFFSET_KEYS: Final = (0, 1)
FLEXIBLE_SINCE: Final = 4
"""Version of the value of an offset with which it is flexible, the newest that is known."""

OTHERS: Final = MappingProxyType(
    {
        2: "GroupMetadata",
        3: "ConsumerGroupMetadata",
        4: "ConsumerGroupPartitionMetadata",
        5: "ConsumerGroupMemberMetadata",
        6: "ConsumerGroupTargetAssignmentMetadata",
        7: "ConsumerGroupTargetAssignmentMember",
        8: "ConsumerGroupCurrentMemberAssignment",
        UNPRINTED: "record of a dump without --offsets-decoder",
    }
)
"""Kinds of record that are no offsets, by the version of their key."""


@dataclass(frozen=True, slots=True)
class GroupOffsetKey:
    """A group, and a partition that it reads."""

    group: str
    topic: str
    partition: int

    @property
    def name(self) -> str:
        """Topic and partition."""
        return f"{self.topic}-{self.partition}"


def read_offset_key(content: bytes | None) -> GroupOffsetKey | str:
    """Whose offset a record has; the name of what it is instead, where it has none.

    Raises:
        Malformed: the bytes are no key.
    """
    if content is None:
        raise MalformedBytes("no key")
    source = FieldReader(content)
    try:
        version = source.int16()
        if version not in OFFSET_KEYS:
            return OTHERS.get(version, f"key of version {version}")
        key = GroupOffsetKey(source.text(flexible=False), source.text(flexible=False), source.int32())
    except (struct.error, UnicodeDecodeError) as error:
        raise MalformedBytes(f"not a key: {error}") from error
    if source.left:
        raise MalformedBytes(f"{source.left} bytes after the key")
    return key


def read_offset(content: bytes) -> int:
    """The offset in a value.

    Raises:
        Unknown: the value has a version above 4.
        Malformed: the bytes are no value.
    """
    source = FieldReader(content)
    try:
        version = source.int16()
        if not 0 <= version <= FLEXIBLE_SINCE:
            raise UnknownSchema(f"value of version {version}, expected 0 to {FLEXIBLE_SINCE}")
        flexible = version >= FLEXIBLE_SINCE
        offset = source.int64()
        if version >= 3:
            source.int32()  # leader epoch
        source.text(flexible=flexible)  # metadata
        source.int64()  # when it was committed
        if version == 1:
            source.int64()  # when it expires
        if flexible:
            source.tags()
    except (struct.error, UnicodeDecodeError) as error:
        raise MalformedBytes(f"not a value: {error}") from error
    if source.left:
        raise MalformedBytes(f"{source.left} bytes after the last field")
    return offset
