"""The coordinator's log: records in, newest record of each id out."""

import pytest

from reference.broker.transaction_log import AppendFault, Skipped, TransactionLog, java_hash, partition_for
from reference.broker.transaction_metadata import new_transactional_id
from reference.broker.transaction_record import value_of
from reference.errors import NotEnoughReplicas
from reference.log.batch import data_batch
from reference.log.record import Record
from spec.versions import KAFKA_3_9, NEWEST, Profile
from spec.vocabulary import LeaderEpoch, Offset, ProducerId, Timestamp

NOW = Timestamp(1000)
ONE = new_transactional_id(ProducerId(1), 1500, NOW)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("a", 97), ("payments", 1382682413), ("polygenelubricants", -(2**31)), ("é", 233), ("😀", 1772899)],
    ids=["empty", "letter", "word", "smallest", "accent", "surrogates"],
)
def test_java_hash(text: str, expected: int) -> None:
    """The hash of a name is that of java.lang.String."""
    assert expected == java_hash(text)


def test_the_smallest_hash_is_partition_0() -> None:
    """The smallest number has no absolute value; Kafka takes 0."""
    assert 0 == partition_for("polygenelubricants", 50)


def test_the_newest_record_counts() -> None:
    """Of each id the last record is what holds."""
    log = TransactionLog(NEWEST, partitions=1)
    log.write("a", ONE, NOW)
    log.write("b", ONE, NOW)
    log.write("a", ONE._replace(timeout_ms=7), NOW)

    assert {"a": 7, "b": 1500} == {name: found.timeout_ms for name, found in log.load(0).ids.items()}


def test_a_tombstone_removes() -> None:
    """An id that was forgotten is not loaded."""
    log = TransactionLog(NEWEST, partitions=1)
    log.write("a", ONE, NOW)
    log.bury("a", NOW)

    assert {} == log.load(0).ids


def test_ids_have_their_partitions() -> None:
    """A record is in the partition of its id's hash."""
    log = TransactionLog(NEWEST)
    log.write("a", ONE, NOW)

    assert [97 % 50] == [number for number, partition in enumerate(log.partitions) if len(partition)]


@pytest.mark.parametrize(
    ("profile", "version"), [(KAFKA_3_9, 0), (NEWEST.under(1), 1), (NEWEST, 1)], ids=["0", "1", "2"]
)
def test_the_value_version(profile: Profile, version: int) -> None:
    """Values are flexible once the transaction version is at least 1."""
    log = TransactionLog(profile, partitions=1)
    log.write("a", ONE, NOW)

    (batch,) = log.partitions[0]
    (record,) = batch.records()

    assert record.value is not None
    assert version == record.value[1]


def test_damaged_records_are_skipped() -> None:
    """What cannot be read is named with its offset, and the rest is loaded."""
    log = TransactionLog(NEWEST, partitions=1)
    log.write("a", ONE, NOW)
    log.append("b", b"\x00\x09", NOW)
    for batch in (
        data_batch((Record(0, 0, b"\x00\x05", b""),)),
        data_batch(())._replace(record_count=3, last_offset_delta=2),
    ):
        log.partitions[0].append(batch.at(Offset(log.partitions[0].log_end + 0), LeaderEpoch(0)))

    loaded = log.load(0)

    assert ["a"] == list(loaded.ids)
    assert Skipped(Offset(1), "b: value version 9") == loaded.skipped[0]
    assert [1, 2, 3] == [skipped.offset for skipped in loaded.skipped]


@pytest.mark.parametrize(
    ("at", "content", "reason"),
    [
        (16, b"\x09", "b: state 9"),
        (16, b"\xff", "b: state -1"),
        (20, b"", "b: a field of 16 bytes at 18, and there are 20"),
        (35, b"x", "b: 1 bytes follow"),
    ],
)
def test_what_was_wrong_is_said_with_the_id(at: int, content: bytes, reason: str) -> None:
    """An unknown state, a value that ends early, one that is too long."""
    log = TransactionLog(NEWEST, partitions=1)
    whole = value_of(ONE, 1, True).encode()
    rest = whole[at + 1 :] if content else b""

    log.append("b", whole[:at] + content + rest, NOW)

    assert [Skipped(Offset(0), reason)] == log.load(0).skipped


@pytest.mark.parametrize("written", [False, True], ids=["lost", "written"])
def test_an_append_that_fails(written: bool) -> None:
    """An append may fail with its record in the log or not; the next one succeeds."""
    log = TransactionLog(NEWEST, partitions=1)
    log.faults.append(AppendFault(NotEnoughReplicas(), written))

    with pytest.raises(NotEnoughReplicas):
        log.write("a", ONE, NOW)
    log.write("b", ONE, NOW)

    assert (["a", "b"] if written else ["b"]) == list(log.load(0).ids)
