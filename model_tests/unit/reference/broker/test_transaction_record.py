"""Keys and values of the coordinator's log, against bytes of real brokers."""

from dataclasses import replace

import pytest

from reference.broker.transaction_bytes import MalformedState
from reference.broker.transaction_metadata import TopicPartition, TransactionMetadata
from reference.broker.transaction_record import decode_key, decode_value, encode_key, value_of
from spec.vocabulary import Epoch, ProducerId, Timestamp, TransactionState

EMPTY_0 = "0000000000000000000200000000ea6000ffffffff000001a1fcbe840bffffffffffffffff"
ONGOING_0 = (
    "0000000000000000000200000000ea60010000000100087061796d656e74730000000100000001000001a1fcbe8416000001a1fcbe8416"
)
COMPLETE_0 = "0000000000000000000200000000ea600400000000000001a1fcbe8528000001a1fcbe8416"
EMPTY_1 = "0001000000000000000600070000ea600000000001a1fcd02816ffffffffffffffff00"
PREPARE_1 = "0001000000000000000000010000ea60020204747632020000000000000001a1fccef819000001a1fccef7bf0102020002"
COMPLETE_1 = "000100000000000000070005000005dc0501000001a1fcd03031000001a1fcd028180102020002"
RECORDED = {
    "empty-0": EMPTY_0,
    "ongoing-0": ONGOING_0,
    "complete-0": COMPLETE_0,
    "empty-1": EMPTY_1,
    "prepare-1": PREPARE_1,
    "complete-1": COMPLETE_1,
}

METADATA = TransactionMetadata(
    ProducerId(9),
    Epoch(3),
    1500,
    TransactionState.ONGOING,
    frozenset({TopicPartition("t", 0), TopicPartition("t", 2), TopicPartition("s", 1)}),
    Timestamp(20),
    Timestamp(10),
    previous_producer_id=ProducerId(4),
    next_producer_id=ProducerId(11),
    client_version=2,
)


@pytest.mark.parametrize("recorded", RECORDED.values(), ids=RECORDED.keys())
def test_real_values_are_written_as_they_were_read(recorded: str) -> None:
    """Every byte of a real broker's value comes back."""
    data = bytes.fromhex(recorded)

    assert data == decode_value(data).encode()


@pytest.mark.parametrize("recorded", RECORDED.values(), ids=RECORDED.keys())
def test_real_values_are_what_this_coordinator_writes(recorded: str) -> None:
    """What is read from a real value is written as the same bytes again."""
    data = bytes.fromhex(recorded)

    assert data == value_of(decode_value(data).metadata(), data[1], rotation_persisted=False).encode()


def test_a_real_key() -> None:
    """A key is its version and the transactional id."""
    data = bytes.fromhex("0000000474782d31")

    assert "tx-1" == decode_key(data)
    assert data == encode_key("tx-1")


def test_a_real_value_of_version_1() -> None:
    """The fields of a decided transaction under version 2."""
    found = decode_value(bytes.fromhex(PREPARE_1)).metadata()

    assert (0, 1, TransactionState.PREPARE_COMMIT, 2) == (
        found.producer_id,
        found.epoch,
        found.state,
        found.client_version,
    )
    assert frozenset({TopicPartition("tv2", 0)}) == found.partitions


@pytest.mark.parametrize(
    ("version", "persisted", "kept"),
    [(0, True, (-1, -1, 0)), (1, False, (-1, -1, 2)), (1, True, (4, 11, 2))],
    ids=["0", "1-before-4.3", "1"],
)
def test_what_a_version_keeps(version: int, persisted: bool, kept: tuple[int, int, int]) -> None:
    """Version 0 has no tagged fields; before 4.3 version 1 leaves the rotation out (KAFKA-20310)."""
    found = decode_value(value_of(METADATA, version, persisted).encode()).metadata()

    assert kept == (found.previous_producer_id, found.next_producer_id, found.client_version)
    assert METADATA.partitions == found.partitions


def test_the_last_epoch_is_never_written() -> None:
    """After a failover the epoch before the last bump is forgotten."""
    metadata = METADATA._replace(last_epoch=Epoch(2))

    assert -1 == decode_value(value_of(metadata, 1, True).encode()).metadata().last_epoch


def test_unknown_tagged_fields_stay() -> None:
    """A field of a later release is kept as it is."""
    value = replace(value_of(METADATA, 1, True), unknown=((9, b"later"),))

    assert value.encode() == decode_value(value.encode()).encode()


def test_a_name_that_is_not_ascii() -> None:
    """Names are UTF-8, their length counted in bytes."""
    assert "größe" == decode_key(encode_key("größe"))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "2 bytes at 0, and there are 0"),
        (b"\x00\x07", "value version 7"),
        (bytes.fromhex(EMPTY_0)[:-1], "16 bytes at 21, and there are 36"),
        (bytes.fromhex(EMPTY_0) + b"\x00", "1 bytes follow"),
        (bytes.fromhex(PREPARE_1)[:-1], "2 bytes at"),
        (bytes.fromhex(EMPTY_1)[:-1] + b"\xff\xff\xff\xff\xff\xff", "varint"),
        (bytes.fromhex(ONGOING_0).replace(b"\x00\x00\x00\x01\x00\x08", b"\x7f\xff\xff\xff\x00\x08"), "array of"),
        (bytes.fromhex(ONGOING_0).replace(b"pay", b"\xff\xfe\xfd"), "UTF-8"),
        (bytes.fromhex(COMPLETE_1)[:-4] + b"\x02\x01\x02", "tag 2 has 1 bytes"),
    ],
    ids=["empty", "version", "short", "long", "short-tag", "varint", "array", "utf-8", "tag"],
)
def test_damaged_values(data: bytes, says: str) -> None:
    """What cannot be read is refused with the place and the values found."""
    with pytest.raises(MalformedState, match=says):
        decode_value(data)


@pytest.mark.parametrize("status", [6, 7, 99, -1])
def test_states_that_are_never_written(status: int) -> None:
    """Neither a dead id nor a fence is ever written, and no other number is a state."""
    value = replace(decode_value(bytes.fromhex(EMPTY_0)), status=status)

    with pytest.raises(MalformedState, match=f"state {status}"):
        decode_value(value.encode()).metadata()


def test_damaged_keys() -> None:
    """A key of another version is none of ours."""
    with pytest.raises(MalformedState, match="key version 3"):
        decode_key(b"\x00\x03\x00\x00")
