import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from model_tests.audit.recorded import DEFECTS, KAFKA_4_0
from model_tests.audit.report import AuditReport
from model_tests.audit.run import run
from model_tests.common.reports import HOLDS, VIOLATED
from model_tests.histories.severity import Severity
from model_tests.logs.dump_grammar import Layout, entries
from model_tests.logs.dump_text import DumpedBatch, DumpedRecord, read_dump
from model_tests.logs.dump_values import Decoded, decoded
from model_tests.logs.texts import restored
from model_tests.unit.audit.dumping import dumped
from reference.broker.transaction_record import TransactionValue
from reference.log.batch import marker_batch, value_batch
from spec.vocabulary import ABSENT, ControlType, LeaderEpoch, Offset


def dumps_of(folders: Iterable[Path], into: Path, **spelling: bool) -> Path:
    """A dump of every partition among the folders."""
    into.mkdir()
    for folder in sorted(folders):
        segments = sorted(folder.glob("*.log")) if not folder.name.startswith("__cluster") else []
        if segments:
            (into / f"{folder.name}.txt").write_text("\n".join(dumped(segments, **spelling)) + "\n")
    return into


def found(report: AuditReport) -> Sequence[tuple[object, ...]]:
    """Findings that need no files beside the log."""
    return sorted(
        (finding.rule.id, finding.severity, one.topic, one.partition, finding.offset, finding.message)
        for one, finding in report.findings
        if finding.severity is not Severity.UNDECIDED
    )


@pytest.fixture
def torn(tmp_path: Path) -> list[str]:
    """The lines about a segment with a committed transaction and one that is open."""
    folder = tmp_path / "source" / "orders-3"
    folder.mkdir(parents=True)
    first = value_batch((b"a", b"b"), producer_id=7, epoch=1, base_sequence=0, timestamp=5, transactional=True)
    marker = marker_batch(7, 1, ControlType.COMMIT, 3, timestamp=6)
    last = value_batch((b"c",), producer_id=7, epoch=1, base_sequence=2, timestamp=7, transactional=True)
    batches = (
        first.at(Offset(4), LeaderEpoch(2)),
        marker.at(Offset(6), LeaderEpoch(2)),
        last.at(Offset(7), LeaderEpoch(2)),
    )
    segment = folder / f"{4:020d}.log"
    segment.write_bytes(b"".join(batch.encode() for batch in batches))
    return list(dumped([segment]))


def written(tmp_path: Path, lines: Sequence[str], name: str = "dump.txt") -> Path:
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("case", "spelling"),
    [
        ("v-stale-coordinator", {"new": True}),
        ("v-torn", {"new": False}),
        ("v-gap", {"new": False, "alone": True}),
        ("v-epoch-not-reset", {"new": False, "alone": True}),
    ],
)
def test_a_dump_shows_what_its_log_shows(
    recordings: Path, tmp_path: Path, case: str, spelling: dict[str, bool]
) -> None:
    """The same violations at the same offsets, in every spelling, with the coordinator's log among the dumps."""
    source = recordings / DEFECTS / case

    of_log, of_dumps = run([source]), run([dumps_of(source.iterdir(), tmp_path / "dumps", **spelling)])

    assert found(of_log) == found(of_dumps) != []
    assert [one.verdict.offsets for one in of_log.audited] == [one.verdict.offsets for one in of_dumps.audited]
    assert of_log.transactions.counted == of_dumps.transactions.counted
    assert {Path(one.path).suffix for one in of_dumps.audited} == {".txt"}
    assert of_dumps.damage == ()


@pytest.mark.parametrize("topics", ["tv2-*", pytest.param("[!_]*-*", marks=pytest.mark.slow)])
def test_states_of_version_2_are_reported_from_what_the_decoder_prints(
    recordings: Path, tmp_path: Path, topics: str
) -> None:
    """The decoder prints neither the version of a client nor when a transaction began: no false finding."""
    source = recordings / KAFKA_4_0
    folders = [folder for pattern in ("__transaction_state-*", topics) for folder in source.glob(pattern)]

    of_log, of_dumps = run(folders), run([dumps_of(folders, tmp_path / "dumps")])

    assert found(of_log) == found(of_dumps)
    assert of_log.transactions.counted == of_dumps.transactions.counted != {}


def test_the_report_names_the_dump(tmp_path: Path, torn: Sequence[str]) -> None:
    """Its batches, records and what is open, under the name of the file that was given."""
    dump = written(tmp_path, torn)

    report = run([dump])

    (one,) = report.audited
    assert (one.path, one.topic, one.partition) == (str(dump), "orders", 3)
    assert (one.verdict.batches, one.verdict.records, one.verdict.offsets.last_stable) == (3, 4, 7)
    assert [txn.first_offset for txn in one.verdict.open_transactions] == [7]
    assert any("dumped logs" in fact for fact in report.assumed)
    assert report.exit_code == HOLDS


def test_a_crc_that_the_dump_calls_wrong_is_damage(tmp_path: Path, torn: list[str]) -> None:
    """The batch is left out, as of a damaged log."""
    torn[2] = torn[2].replace("isvalid: true", "isvalid: false")

    report = run([written(tmp_path, torn)])

    assert ["at offset 4, position 0, CRC " in bad.message for bad in report.damage] == [True]
    assert report.exit_code == VIOLATED


def test_markers_that_were_not_printed_are_asked_for(tmp_path: Path, torn: Sequence[str]) -> None:
    """What they decide would be a guess: transactions are not judged, and what is held back is not known."""
    report = run([written(tmp_path, [line for line in torn if not line.startswith("|")])])

    (missing,) = report.missing
    assert missing.message.startswith("line 4: control batches without their outcome (at offset 6)")
    assert missing.message.endswith("dump with --deep-iteration or --print-data-log")
    assert [(one.verdict.batches, one.verdict.offsets.last_stable) for one in report.audited] == [(2, ABSENT)]
    assert (report.damage, report.exit_code) == ((), HOLDS)


@pytest.mark.parametrize(("name", "judged"), [("orders-3.dump", 3), ("dump.txt", 0)])
def test_a_dump_that_names_no_file_is_named_by_its_own(
    tmp_path: Path, torn: Sequence[str], name: str, judged: int
) -> None:
    """Its first line was lost: the partition has to be given."""
    report = run([written(tmp_path, torn[1:], name)])

    assert report.batches == judged
    expected = [True] * (not judged)
    assert expected == [part.message.startswith("line 2: no line names the dumped file") for part in report.missing]


def test_what_cannot_be_read_of_a_dump_is_named(tmp_path: Path, torn: Sequence[str]) -> None:
    """Invalid bytes at the end, older messages, numbers that are none; noise is not, nor is what was dumped twice."""
    lines = [
        *torn,
        torn[2].replace("producerId: 7", "producerId: seven"),
        "offset: 12 position: 0 CreateTime: 4 isvalid: true keysize: -1 valuesize: 3 magic: 1 compresscodec: NONE",
        "Found 17 invalid bytes at the end of 00000000000000000004.log",
        "what is this",
        torn[0],
        *torn[1:],
    ]

    report = run([written(tmp_path, lines)])

    assert [bad.message[:32] for bad in report.damage] == [
        "line 10: a number that cannot be",
        "line 12: bytes at its end are no",
    ]
    assert [part.message[:32] for part in report.missing] == ["line 11: messages before record "]
    assert report.batches == 3


def test_a_value_may_look_like_fields_and_have_several_lines() -> None:
    """Only the head of a record's line is read."""
    batch = (
        "baseOffset: 0 lastOffset: 0 count: 1 baseSequence: 0 lastSequence: 0 producerId: 1 producerEpoch: 0 "
        "partitionLeaderEpoch: 0 isTransactional: false isControl: false position: 0 CreateTime: 4 size: 80 magic: 2 "
        "compresscodec: none crc: 1 isvalid: true"
    )
    record = (
        "| offset: 0 CreateTime: 4 keySize: 1 valueSize: 3 sequence: 0 headerKeys: [] key: k payload: isControl: true"
    )

    lines = [batch, record, "of two lines", ""]
    (read,) = read_dump(entries(lines, Layout(lines)))

    assert isinstance(read, DumpedBatch)
    assert (read.header.is_control, read.marker) == (False, "")
    assert [(each.offset, each.key) for each in read.records] == [(0, "k")]


def test_states_may_be_printed_as_json() -> None:
    """Then every field is there; a null deletes."""
    key = json.dumps({"type": "0", "data": {"transactionalId": "a"}})
    data = {
        "producerId": 5,
        "previousProducerId": 4,
        "nextProducerId": -1,
        "producerEpoch": 3,
        "transactionTimeoutMs": 60000,
        "transactionStatus": 1,
        "transactionPartitions": [{"topic": "t", "partitionIds": [0, 2]}],
        "transactionLastUpdateTimestampMs": 9,
        "transactionStartTimestampMs": 8,
        "clientTransactionVersion": 2,
    }
    printed = (DumpedRecord(0, key, json.dumps({"version": "1", "data": data})), DumpedRecord(1, key, "null"))

    first, second = decoded(printed).values()

    assert second == Decoded("a", None)
    value = first.value
    assert first.key == "a"
    assert isinstance(value, TransactionValue)
    assert (value.producer_id, value.epoch, value.client_version, value.started_ms) == (5, 3, 2, 8)
    assert value.partitions is not None
    assert [(each.topic, each.partitions) for each in value.partitions] == [("t", (0, 2))]


def test_a_beginning_that_is_printed_is_kept() -> None:
    """The formatter says when a transaction began, also where the record that opened it is missing."""
    printed = (
        "TransactionMetadata(transactionalId=a, producerId=5, producerEpoch=3, txnTimeoutMs=60000, state=PrepareCommit,"
        " pendingState=None, topicPartitions=HashSet(t-0, t-2), txnStartTimestamp=5, txnLastUpdateTimestamp=9)"
    )

    (state,) = decoded([DumpedRecord(0, "transactionalId=a", printed)]).values()

    assert isinstance(state.value, TransactionValue)
    assert (state.value.started_ms, state.value.updated_ms) == (5, 9)


def test_a_transaction_whose_first_record_is_missing_is_not_the_one_before() -> None:
    """Its beginning is not printed: no more is known than that it was before its first record."""
    words = "producerId:1,producerEpoch:0,state={},partitions=[t-0],txnLastUpdateTimestamp={},txnTimeoutMs=9"
    states = ("Ongoing", "PrepareCommit", "CompleteCommit", "PrepareAbort", "CompleteAbort")
    printed = [
        DumpedRecord(n, "transaction_metadata::transactionalId=a", words.format(state, 10 * n))
        for n, state in enumerate(states)
    ]

    values = [one.value for one in decoded(printed).values()]

    assert [one.started_ms for one in values if isinstance(one, TransactionValue)] == [0, 0, 0, 30, 30]


@pytest.mark.parametrize("printed", ["nonsense", '{"version": "1"}', "producerId:1,state=Ongoing"])
def test_a_state_that_cannot_be_read_is_passed_over(printed: str) -> None:
    """As a record of an unknown version is."""
    assert decoded([DumpedRecord(0, "transaction_metadata::transactionalId=a", printed)]) == {}


def test_only_what_has_lines_of_a_tool_is_a_text(tmp_path: Path, torn: Sequence[str]) -> None:
    """A segment never is, whatever it contains."""
    for lines, name, dumps in ((torn, "x.txt", 1), (torn, f"{0:020d}.log", 0), (["{}"], "journal.ndjson", 0)):
        with restored([str(written(tmp_path, lines, name))]) as given:
            assert len(given.dumps) == dumps
