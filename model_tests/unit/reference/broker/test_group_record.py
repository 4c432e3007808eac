"""Keys and values of `__consumer_offsets`, against bytes of real brokers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from model_tests.audit.recorded import KAFKA_3_9, unpacked
from reference.broker.group_record import (
    GroupKey,
    GroupValue,
    MemberValue,
    OffsetKey,
    OffsetValue,
    decode_group,
    decode_key,
    decode_offset,
    encode_key,
)
from reference.broker.transaction_bytes import MalformedState
from reference.broker.transaction_metadata import TopicPartition
from reference.log.reader import Placed, read_batches
from reference.log.record import Record
from spec.vocabulary import Offset, Timestamp

OFFSET_KEY: Final = bytes.fromhex("0001000472642d670005617564697400000002")
OFFSET_3: Final = bytes.fromhex("00030000000000000032000000000000000001a1fcc1d4bb")
EMPTY_GROUP: Final = bytes.fromhex("00030008636f6e73756d657200000002ffffffff000001a1fcc1d4f900000000")

MEMBER: Final = MemberValue("m-1", "m", "/127.0.0.1", 45_000, b"topics", b"parts", 300_000, "static")


@pytest.fixture(scope="module")
def recorded() -> Iterator[list[Record]]:
    """Every record of the recorded offsets partitions."""
    with unpacked() as directory:
        yield [
            record
            for log in sorted((directory / KAFKA_3_9).glob("__consumer_offsets-*/*.log"))
            for record in records_of(log)
        ]


def records_of(log: Path) -> Iterator[Record]:
    """The records of a segment, without markers."""
    for found in read_batches(log.read_bytes()):
        if isinstance(found, Placed) and not found.batch.is_control:
            yield from found.batch.records()


def test_every_recorded_record_is_written_as_it_was_read(recorded: list[Record]) -> None:
    """Every byte of the keys and values of real brokers comes back."""
    for record in recorded:
        key = decode_key(record.key or b"")
        assert record.key == encode_key(key)
        if record.value is not None:
            decode = decode_group if isinstance(key, GroupKey) else decode_offset
            assert record.value == decode(record.value).encode()

    assert len(recorded) > 100
    assert {GroupKey, OffsetKey} == {type(decode_key(record.key or b"")) for record in recorded}


def test_a_real_offset() -> None:
    """Group, topic and partition in the key; offset, leader epoch and time in the value."""
    assert OffsetKey("rd-g", TopicPartition("audit", 2)) == decode_key(OFFSET_KEY)
    assert OffsetValue(Offset(50), "", Timestamp(1795241923771), 0) == decode_offset(OFFSET_3)


def test_a_real_group_without_members() -> None:
    """A group that all members have left keeps its generation."""
    found = decode_group(EMPTY_GROUP)

    assert ("consumer", 2, None, None, ()) == (
        found.protocol_type,
        found.generation,
        found.protocol,
        found.leader,
        found.members,
    )
    assert EMPTY_GROUP == found.encode()


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_an_offset_in_every_version(version: int) -> None:
    """A version keeps what it has a field for: the leader epoch since 3, the expiry in 1 alone."""
    value = OffsetValue(Offset(9), "note", Timestamp(20), 4, Timestamp(30), version)

    found = decode_offset(value.encode())

    assert (9, "note", 20) == (found.offset, found.metadata, found.committed_ms)
    assert (4 if version == 3 else -1, 30 if version == 1 else -1) == (found.leader_epoch, found.expires_ms)
    assert value.encode() == found.encode()


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_a_group_in_every_version(version: int) -> None:
    """A version keeps what it has a field for: rebalance timeout since 1, time since 2, instance since 3."""
    value = GroupValue("consumer", 3, "range", "m-1", (MEMBER,), Timestamp(20), version)

    found = decode_group(value.encode())

    assert (3, "range", "m-1") == (found.generation, found.protocol, found.leader)
    (member,) = found.members
    assert (b"topics", b"parts", 45_000) == (member.subscription, member.assignment, member.session_timeout_ms)
    assert member.rebalance_timeout_ms == (300_000 if version >= 1 else -1)
    assert found.changed_ms == (20 if version >= 2 else -1)
    assert member.group_instance_id == ("static" if version >= 3 else None)
    assert value.encode() == found.encode()


def test_the_version_of_a_key_is_kept_and_does_not_count() -> None:
    """Both versions of an offset's key name the same offset, and each is written as it was read."""
    old = bytes([0, 0, *OFFSET_KEY[2:]])

    assert decode_key(OFFSET_KEY) == decode_key(old)
    assert old == encode_key(decode_key(old))


@pytest.mark.parametrize("cut", range(1, len(EMPTY_GROUP)))
def test_a_cut_group_is_named(cut: int) -> None:
    """Whatever is missing, it is damage and no other error."""
    with pytest.raises(MalformedState):
        decode_group(EMPTY_GROUP[:cut])


@pytest.mark.parametrize(
    ("damaged", "message"),
    [
        (b"\x00\x03" + OFFSET_KEY[2:], "key version 3"),
        (OFFSET_KEY + b"\x00", "1 bytes follow"),
        (b"\x00\x01\xff\xff", "not there"),
        (b"\x00\x01\xff\xfe", "length -2"),
    ],
    ids=["version", "longer", "no group", "negative"],
)
def test_a_key_that_cannot_be_read(damaged: bytes, message: str) -> None:
    """Keys of the groups of KIP-848 and damaged ones say what they are."""
    with pytest.raises(MalformedState, match=message):
        decode_key(damaged)


@pytest.mark.parametrize("version", [-1, 4])
def test_a_value_of_another_version(version: int) -> None:
    """A value of an unknown version is not guessed at."""
    named = version.to_bytes(2, "big", signed=True)

    with pytest.raises(MalformedState, match=f"value version {version}"):
        decode_offset(named + OFFSET_3[2:])
    with pytest.raises(MalformedState, match=f"value version {version}"):
        decode_group(named + EMPTY_GROUP[2:])


def test_a_group_needs_a_list_of_members() -> None:
    """A list that is not there is no list without members."""
    with pytest.raises(MalformedState, match="without a list of members"):
        decode_group(EMPTY_GROUP[:-4] + b"\xff\xff\xff\xff")
