from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_tests.logs.group_log_values import GroupOffsetKey, read_offset, read_offset_key
from model_tests.logs.kafka_log_fields import MalformedBytes, UnknownSchema
from reference.broker import group_record as writer
from reference.broker.transaction_metadata import TopicPartition
from spec.vocabulary import Offset, Timestamp

NAMES = st.text(max_size=8)
VALUES = st.builds(
    writer.OffsetValue,
    offset=st.integers(0, 2**63 - 1).map(Offset),
    metadata=NAMES,
    committed_ms=st.integers(0, 2**63 - 1).map(Timestamp),
    leader_epoch=st.integers(-1, 2**31 - 1),
    version=st.integers(0, 3),
)
FLEXIBLE = bytes([0, 4, *(9).to_bytes(8, "big"), 255, 255, 255, 255, 2, ord("m"), *(5).to_bytes(8, "big"), 1, 7, 1, 0])
"""A value of version 4: offset 9, metadata m, and an unknown tagged field."""


@given(NAMES, NAMES, st.integers(0, 2**31 - 1), st.sampled_from([0, 1]), VALUES)
def test_keys_and_values_are_read_in_every_version(
    group: str, topic: str, number: int, version: int, value: writer.OffsetValue
) -> None:
    """What the reference writes in Kafka's bytes comes back."""
    key = writer.encode_key(writer.OffsetKey(group, TopicPartition(topic, number), version))

    assert read_offset_key(key) == GroupOffsetKey(group, topic, number)
    assert read_offset(value.encode()) == value.offset


def test_other_records_are_reported_by_name() -> None:
    """A group's generation, records of KIP-848, and kinds that are not known yet."""
    assert read_offset(FLEXIBLE) == 9
    assert read_offset_key(writer.encode_key(writer.GroupKey("g"))) == "GroupMetadata"
    assert read_offset_key(b"\0\5whatever") == "ConsumerGroupMemberMetadata"
    assert read_offset_key(b"\0\x63") == "key of version 99"


@given(VALUES.map(lambda value: value.encode()) | st.just(FLEXIBLE), st.data())
def test_damaged_values_are_never_more_than_malformed_or_unknown(content: bytes, data: st.DataObject) -> None:
    """Wherever a value is cut off: one of the two errors."""
    cut = data.draw(st.integers(0, len(content) - 1))

    with pytest.raises((MalformedBytes, UnknownSchema)):
        read_offset(content[:cut])
    with suppress(MalformedBytes):
        read_offset_key(content[:cut])
