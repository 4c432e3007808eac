"""Subscriptions and assignments, which the members of a group exchange through their coordinator (ConsumerProtocol)."""

from collections.abc import Iterable
from itertools import groupby
from typing import Final, NamedTuple

from reference.broker.transaction_bytes import BytesOut, MalformedState, Reader
from reference.broker.transaction_metadata import TopicPartition

VERSION: Final = 0
"""The version written: topics or partitions, and the assignor's own bytes. Later ones only add fields behind these."""

NO_USER_DATA: Final = -1  # the length of user data that is null


class Subscription(NamedTuple):
    """What a member wants.

    Attributes:
        topics: their names.
        user_data: of the assignor.
    """

    topics: tuple[str, ...]
    user_data: bytes | None = None

    def encode(self) -> bytes:
        """The subscription in bytes."""
        out = BytesOut(flexible=False)
        out.pack(">h", VERSION)
        out.array(self.topics, BytesOut.string)
        _write_user_data(out, self.user_data)
        return out.taken()


class Assignment(NamedTuple):
    """What a member gets.

    Attributes:
        partitions: in order.
        user_data: of the assignor.
    """

    partitions: tuple[TopicPartition, ...]
    user_data: bytes | None = None

    def encode(self) -> bytes:
        """The assignment in bytes, topic by topic."""
        out = BytesOut(flexible=False)
        out.pack(">h", VERSION)
        by_topic = [(topic, [n for _, n in found]) for topic, found in groupby(sorted(self.partitions), lambda p: p[0])]
        out.array(by_topic, _write_topic)
        _write_user_data(out, self.user_data)
        return out.taken()


def decode_subscription(data: bytes) -> Subscription:
    """A member's subscription, of any version.

    Raises:
        MalformedState: the bytes are damaged.
    """
    reader = _versioned(data)
    return Subscription(reader.array(Reader.string) or (), _user_data(reader))


def decode_assignment(data: bytes) -> Assignment:
    """A member's assignment, of any version; no bytes at all assign nothing.

    Raises:
        MalformedState: the bytes are damaged.
    """
    if not data:
        return Assignment(())
    reader = _versioned(data)
    by_topic = reader.array(_read_topic) or ()
    return Assignment(tuple(TopicPartition(topic, n) for topic, ns in by_topic for n in ns), _user_data(reader))


def assignment_of(partitions: Iterable[TopicPartition]) -> bytes:
    """The bytes that assign these partitions."""
    return Assignment(tuple(partitions)).encode()


def _versioned(data: bytes) -> Reader:
    reader = Reader(data, flexible=False)
    (version,) = reader.unpack(">h")
    if version < 0:
        raise MalformedState(f"version {version} of the consumer protocol")
    return reader


def _write_topic(out: BytesOut, topic: tuple[str, list[int]]) -> None:
    name, numbers = topic
    out.string(name)
    out.array(numbers, lambda written, number: written.pack(">i", number))


def _read_topic(reader: Reader) -> tuple[str, tuple[int, ...]]:
    name = reader.string()
    return name, reader.array(lambda each: int(each.unpack(">i")[0])) or ()


def _write_user_data(out: BytesOut, data: bytes | None) -> None:
    if data is None:
        out.pack(">i", NO_USER_DATA)
    else:
        out.sized(data)


def _user_data(reader: Reader) -> bytes | None:
    (length,) = reader.unpack(">i")
    if length == NO_USER_DATA:
        return None
    if length < 0:
        raise MalformedState(f"user data of length {length}")
    (data,) = reader.unpack(f">{length}s")
    return bytes(data)
