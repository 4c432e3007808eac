from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_tests.audit.group_log import Pending
from model_tests.audit.recorded import KAFKA_3_9
from model_tests.audit.report import AuditReport
from model_tests.audit.run import run
from model_tests.common.reports import VIOLATED
from model_tests.histories.severity import Severity
from model_tests.logs.group_log_values import GroupOffsetKey, read_offset, read_offset_key
from model_tests.logs.kafka_log_fields import MalformedBytes, UnknownSchema
from model_tests.unit.audit.written import write_segment
from model_tests.unit.support.printed_reports import printed
from reference.broker import group_record as writer
from reference.broker.transaction_metadata import TopicPartition
from reference.log.batch import RecordBatch, data_batch, marker_batch
from reference.log.record import Record
from spec.versions import PROFILES
from spec.vocabulary import ABSENT, ControlType, Offset, Timestamp

READS = TopicPartition("orders", 0)
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


def of(offset: int | None, partition: TopicPartition = READS, group: str = "g") -> Record:
    """A group's offset, or its end."""
    value = writer.OffsetValue(Offset(offset)).encode() if offset is not None else None
    return Record(0, 0, writer.encode_key(writer.OffsetKey(group, partition)), value)


def plain(*offsets: Record) -> RecordBatch:
    return data_batch([one._replace(offset_delta=number) for number, one in enumerate(offsets)])


def inside(producer_id: int, *offsets: Record) -> RecordBatch:
    """Offsets of a transaction."""
    listed = [one._replace(offset_delta=number) for number, one in enumerate(offsets)]
    return data_batch(listed, producer_id=producer_id, epoch=3, base_sequence=0, transactional=True)


def ended(producer_id: int, kind: ControlType) -> RecordBatch:
    return marker_batch(producer_id, 3, kind, 0)


def audited(tmp_path: Path, *batches: RecordBatch) -> AuditReport:
    write_segment(tmp_path / "__consumer_offsets-0", batches)
    return run([tmp_path])


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


def test_a_marker_decides_what_becomes_of_offsets(tmp_path: Path) -> None:
    """A commit makes them true, an abort forgets them, an open transaction leaves them pending."""
    report = audited(
        tmp_path,
        plain(of(5), of(7, TopicPartition("orders", 1))),
        inside(9, of(6)),
        ended(9, ControlType.COMMIT),
        inside(9, of(8), of(8, TopicPartition("orders", 1))),
        ended(9, ControlType.ABORT),
        inside(9, of(10)),
    )

    first, second = report.groups.offsets
    assert (first.group, first.topic, first.partition) == ("g", "orders", 0)
    assert (first.offset, first.recorded_at, first.committed, first.aborted) == (6, 2, 1, 1)
    assert first.pending == (Pending(9, 3, 10, 7),)
    assert (second.offset, second.committed, second.aborted, second.pending) == (7, 0, 1, ())
    assert report.findings == ()


def test_of_two_commits_the_later_record_holds(tmp_path: Path) -> None:
    """An offset that was committed while the transaction was open is not taken back by its commit."""
    report = audited(tmp_path, inside(9, of(6)), plain(of(8)), ended(9, ControlType.COMMIT))

    assert [one.offset for one in report.groups.offsets] == [8]


def test_a_deleted_offset_is_gone(tmp_path: Path) -> None:
    """A tombstone ends a group's offset, and what is pending for it."""
    report = audited(tmp_path, plain(of(5)), inside(9, of(6)), plain(of(None)), ended(9, ControlType.COMMIT))

    assert [(one.offset, one.recorded_at) for one in report.groups.offsets] == [(ABSENT, ABSENT)]


def test_offsets_of_a_producer_outside_its_transaction_are_found(tmp_path: Path) -> None:
    """They are visible before its outcome is decided: at the batch, with the group and its offset."""
    outside = data_batch([of(6)], producer_id=9, epoch=3, base_sequence=0)

    report = audited(tmp_path, plain(of(5)), outside, ended(9, ControlType.ABORT))

    ((_, finding),) = report.findings
    assert (finding.rule.id, finding.severity, finding.offset) == ("offsets.atomic", Severity.VIOLATION, 1)
    assert "group g: orders-0 = 6" in finding.message
    assert report.exit_code == VIOLATED


def test_a_value_of_a_later_version_is_undecided(tmp_path: Path) -> None:
    """It is skipped as a coordinator skips it, and said so; a damaged one is damage."""
    later = Record(0, 0, of(1).key, b"\0\x09whatever")
    damaged = Record(0, 0, of(1).key, b"\0\3damaged")

    report = audited(tmp_path, plain(later), plain(damaged), plain(of(4)))

    ((_, finding),) = report.findings
    (bad,) = report.damage
    assert (finding.rule.id, finding.severity, finding.offset) == ("offsets.atomic", Severity.UNDECIDED, 0)
    assert "the record at offset 1" in bad.message
    assert [one.offset for one in report.groups.offsets] == [4]


def test_every_recorded_offset_is_accounted_for(recordings: Path) -> None:
    """In 3.9.0 three groups committed in transactions; each commit became true or was aborted."""
    report = run([recordings / KAFKA_3_9 / f"__consumer_offsets-{number}" for number in range(4)])

    offsets = report.groups.offsets
    assert {one.group for one in offsets} == {"ctp", "rd-g", "aio-g"}
    assert (sum(one.committed for one in offsets), sum(one.aborted for one in offsets)) == (99, 31)
    assert [one.pending for one in offsets] == [()] * 5


@pytest.mark.parametrize(("profile", "lost"), [("4.4", True), ("3.9.0", False)])
def test_a_tombstone_that_takes_a_pending_offset_is_named_once_it_is_committed(
    tmp_path: Path, profile: str, lost: bool
) -> None:
    """By the releases that let it; an offset that is committed again, or aborted, is none that is lost."""
    write_segment(
        tmp_path / "__consumer_offsets-0",
        [
            plain(of(5)),
            inside(9, of(6)),
            plain(of(None)),
            ended(9, ControlType.COMMIT),
            inside(9, of(7)),
            plain(of(None)),
            ended(9, ControlType.ABORT),
            inside(9, of(8)),
            plain(of(None)),
            inside(9, of(9)),
            ended(9, ControlType.COMMIT),
        ],
    )

    report = run([tmp_path], profile=PROFILES[profile])

    assert [("offsets.atomic", Severity.SUSPICIOUS, 1)] * lost == [
        (one.rule.id, one.severity, one.offset) for _, one in report.findings
    ]
    for _, one in report.findings:
        assert "group g: offset 6 of orders-0" in one.message
        assert "a tombstone at offset 2" in one.message
        assert "--topic orders:0 --reset-offsets --to-offset 6" in one.remedy
    assert report.groups.offsets[0].offset == 9


def at(batch: RecordBatch, milliseconds: int) -> RecordBatch:
    """The batch at a time."""
    time = Timestamp(milliseconds)
    return batch._replace(base_timestamp=time, max_timestamp=time)


@pytest.mark.parametrize(
    ("offset", "committed_ms", "severity"),
    [(3, 0, None), (4, 0, Severity.SUSPICIOUS), (4, 600_000, Severity.UNDECIDED)],
    ids=["the end", "behind it", "behind it, and later than the copy"],
)
def test_an_offset_behind_the_end_of_its_partition_is_named(
    tmp_path: Path, offset: int, committed_ms: int, severity: Severity | None
) -> None:
    """Unless the partition may have been copied before the group committed."""
    write_segment(tmp_path / "orders-0", [at(data_batch([Record(n, 0, None, b"v") for n in range(3)]), 0)])
    write_segment(tmp_path / "__consumer_offsets-0", [at(plain(of(offset)), committed_ms)])

    findings = [one for _, one in run([tmp_path]).findings]

    assert ([severity] if severity else []) == [one.severity for one in findings]
    for one in findings:
        assert one.rule.id == "repl.committed_survives"
        assert f"group g committed offset {offset} of orders-0" in one.message
        assert "ends at offset 3" in one.message


def test_offsets_of_groups_are_shown_with_whose_transaction_they_wait_for(tmp_path: Path) -> None:
    """By its producer id where no coordinator's log says more."""
    output = printed(audited(tmp_path, plain(of(5)), inside(9, of(6))))

    (row,) = (line for line in output.splitlines() if " g " in f" {line} " and "orders-0" in line)
    assert row.split() == ["g", "orders-0", "5", "6,", "producer", "9"]
