"""Texts as people post them, whatever is around them, and texts that nobody posted."""

import base64
import gzip
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

import pytest

from model_tests.audit.run import run
from model_tests.common.reports import NOTHING_JUDGED
from model_tests.conform.files import RECORDINGS
from model_tests.histories.reading import read_operations
from model_tests.histories.report import report_on
from model_tests.logs.dump_grammar import DumpLine, Layout, entries
from model_tests.logs.kafka_log_segment import SegmentDamage
from model_tests.logs.texts import restored
from model_tests.monitor.files import trace_writer
from model_tests.traces.schema import complete
from model_tests.unit.audit.pasted import PASTED
from model_tests.unit.audit.text_cases import (
    AS_CONTROL,
    CASES,
    CONTROL,
    HANG,
    PAYMENTS,
    STATES,
    WHOLE,
    found,
    header,
    read,
)
from model_tests.unit.audit.text_wrappings import AROUND, WRAPPINGS, hexadecimal, in_cri, of_collector, of_docker
from reference.log.batch import value_batch
from spec.vocabulary import ABSENT

JSON: Final = "25-json-4.x"
"""The case of two texts of which the states are JSON."""


@pytest.fixture
def control(posted: Path) -> dict[str, str]:
    """A partition with a hanging transaction, and the log of its coordinator."""
    return {name: (posted / CONTROL / name).read_text() for name in ("payments.txt", "states.txt")}


@pytest.mark.parametrize("case", CASES)
def test_a_posted_text_is_read_for_what_it_is(posted: Path, case: str) -> None:
    """Its batches and records, what it lacks, and what that costs."""
    expected = CASES[case]

    report = run(sorted((posted / case).iterdir()))

    assert read(report) == expected.partitions
    assert found(report) == expected.findings
    assert [words in bad.message for words, bad in zip(expected.damage, report.damage, strict=True)].count(False) == 0
    for (words, costs), part in zip(expected.missing, report.missing, strict=True):
        assert words in part.message
        assert costs in part.message
    assert (len(report.ignored), report.exit_code) == (expected.ignored, expected.exit_code)


@dataclass(frozen=True, slots=True)
class ReadAs:
    """What an audit is given of texts: the bytes of each log, and what is damaged or missing."""

    logs: Mapping[tuple[str, str], bytes]
    unknown: tuple[int, ...]
    damage: Sequence[SegmentDamage]
    missing: Sequence[SegmentDamage]


def read_as(folder: Path) -> ReadAs:
    """What the texts in a folder are read as."""
    with restored(map(str, sorted(folder.iterdir()))) as given:
        logs = {(path.parent.name, path.name): path.read_bytes() for path in given.made}
        return ReadAs(logs, tuple(given.unknown.values()), given.damage, given.missing)


@pytest.fixture(scope="module")
def plain(posted: Path) -> dict[str, ReadAs]:
    """What the texts of two cases are read as without anything around them: what is audited as `CASES` say."""
    assert CASES[CONTROL] == CASES[JSON] == AS_CONTROL
    return {case: read_as(posted / case) for case in (CONTROL, JSON)}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_what_is_around_a_text_changes_nothing(
    control: dict[str, str], plain: dict[str, ReadAs], tmp_path: Path, wrapping: str
) -> None:
    """Encodings, archives, prefixes and wraps are undone."""
    suffix = wrapping if wrapping.startswith(".") else ""
    for name, text in control.items():
        (tmp_path / f"{name}{suffix}").write_bytes(WRAPPINGS[wrapping](text))

    assert read_as(tmp_path) == plain[CONTROL]


@pytest.mark.parametrize("wrapping", AROUND)
def test_values_with_quotation_marks_are_read_in_any_wrapping(
    posted: Path, plain: dict[str, ReadAs], tmp_path: Path, wrapping: str
) -> None:
    """The states that decoders print since 3.9 are JSON."""
    for path in (posted / JSON).iterdir():
        (tmp_path / path.name).write_bytes(AROUND[wrapping](path.read_text()))

    assert read_as(tmp_path) == plain[JSON]


@pytest.mark.parametrize("row", [in_cri, of_docker, of_collector])
def test_a_row_that_continues_a_value_may_look_like_a_line(row: Callable[[int, str, bool], str]) -> None:
    """The row before says that it goes on: so this one begins nothing."""
    record, rest = "| offset: 0 CreateTime: 1 keySize: -1 valueSize: 9 payload: x ", "Dumping /d/t-1/1.log"
    rows = [row(0, header(0), True), row(0, record, False), row(1, rest, True)]

    read = [(entry.kind, entry.text) for entry in entries(rows, Layout(rows))]

    assert read == [(DumpLine.BATCH, header(0)), (DumpLine.RECORD, record + rest)]


@pytest.mark.parametrize("cut", [-20, -1, None])
def test_what_comes_before_the_end_of_a_cut_archive_is_read(control: dict[str, str], tmp_path: Path, cut: int) -> None:
    """What follows may end each transaction, so that none is said to hang."""
    (tmp_path / "payments-0.txt.gz").write_bytes(gzip.compress(control["payments.txt"].encode())[:cut] + b"?")

    report = run([tmp_path])

    assert ["cannot be read: " in bad.message for bad in report.damage] == [True]
    assert ["the text ends inside a batch" in part.message for part in report.missing] == [True]
    assert report.batches >= 4
    assert [one.verdict.offsets.last_stable for one in report.audited] == [ABSENT]


@pytest.mark.parametrize("rest", ["", "...", "\u2026"])
def test_a_marker_that_is_cut_has_no_outcome(control: dict[str, str], tmp_path: Path, rest: str) -> None:
    """Its coordinator epoch is not in the text: it is not -1."""
    cut = control["payments.txt"].rindex(" coordinatorEpoch: ") + (len(" coordinatorEpoch: 0") if rest else 0)
    (tmp_path / "payments-0.txt").write_text(control["payments.txt"][:cut] + rest)

    report = run([tmp_path])

    assert found(report) == ()
    assert report.damage == ()
    assert report.missing


def test_a_batch_without_its_leader_epoch_is_not_of_an_older_leader(control: dict[str, str], tmp_path: Path) -> None:
    """A warning was printed in the midst of its line."""
    first, epoch, rest = control["payments.txt"].rpartition("partitionLeaderEpoch: ")
    (tmp_path / "payments-0.txt").write_text(f"{first}WARN: x\n{epoch[9:]}{rest}")

    report = run([tmp_path])

    assert found(report) == ()
    assert ["partitionLeaderEpoch first" in part.message for part in report.missing] == [True]


def test_parts_of_a_log_in_several_texts_are_of_one_log(control: dict[str, str], tmp_path: Path) -> None:
    """Each begins where the one before ends: that is no damage."""
    lines = control["states.txt"].splitlines(keepends=True)
    for number, at in enumerate(range(0, len(lines), 4)):
        (tmp_path / f"states-{number}.txt").write_text("".join(lines[at : at + 4]))

    report = run([tmp_path])

    assert report.damage == ()
    assert read(report) == {STATES: (7, 7, ABSENT)}


def test_records_whose_batches_are_missing_show_how_far_the_log_goes(control: dict[str, str], tmp_path: Path) -> None:
    """What was decided there is not known."""
    kept = control["states.txt"].splitlines()
    del kept[-2]
    (tmp_path / "states.txt").write_text("\n".join(kept))

    report = run([tmp_path])

    assert read(report) == {STATES: (6, 6, ABSENT)}
    assert ["batches are not in the text (up to offset 6)" in part.message for part in report.missing] == [True]


@pytest.mark.parametrize("end", [", txnLastUpdateTimestamp=170", ", txnLastUpdateTimestamp="])
def test_a_state_of_a_consumer_that_is_cut_has_no_time(posted: Path, tmp_path: Path, end: str) -> None:
    """The rest of a number may be missing."""
    text = (posted / "23-console-formatter" / "states.txt").read_text()
    (tmp_path / "states.txt").write_text(text[: text.rindex(", txnLastUpdateTimestamp=")] + end)

    report = run([tmp_path])

    assert found(report) == ()
    assert ["cannot be read" in part.message for part in report.missing] == [False, True]


def test_a_state_of_a_consumer_that_cannot_be_read_is_missing(posted: Path, tmp_path: Path) -> None:
    """It is not passed over: what comes after would be no transition that is allowed."""
    text = (posted / "23-console-formatter" / "states.txt").read_text()
    (tmp_path / "states.txt").write_text(text.replace("state=Prepare", "WARN x\nPrepare", 1))

    report = run([tmp_path])

    assert found(report) == ()
    assert ["cannot be read" in part.message for part in report.missing] == [False, True]


STATE_FIELDS: Final = re.compile(r"(\w+)=(HashSet\([^)]*\)|[^,()]*)")


def states(posted: Path) -> list[dict[str, str]]:
    """The states that a formatter of Kafka 2.8 printed, field by field."""
    text = (posted / "23-console-formatter" / "states.txt").read_text()
    return [dict(STATE_FIELDS.findall(line)) for line in text.splitlines()]


def in_kcl(output: dict[str, str], offset: int) -> str:
    """A state as `kcl` prints it."""
    topics = "payments=>[0] " if output["topicPartitions"] == "HashSet(payments-0)" else ""
    fields = {
        "ProducerID": output["producerId"],
        "ProducerEpoch": output["producerEpoch"],
        "TimeoutMillis": output["txnTimeoutMs"],
        "State": output["state"],
        "Topics": topics,
        "LastUpdateTimestamp": output["txnLastUpdateTimestamp"],
        "StartTimestamp": output["txnStartTimestamp"],
    }
    place = f"__transaction_state partition 19 offset {offset} at [2024-03-01 22:00:00.123]"
    named = f"TxnMetadataKey(0) {output['transactionalId']}\nTxnMetadataValue(0)"
    return f"{place}\n{named}\n" + "".join(f"\t{name:20} {value}\n" for name, value in fields.items()) + "\n\n"


def in_json(output: dict[str, str], key: str) -> str:
    """A state as the formatters of Kafka 3.8 and 4.x print it: without a line end."""
    names = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")
    partitions = [{"topic": "payments", "partitionIds": [0]}] if output["topicPartitions"] != "HashSet()" else []
    data = {
        "producerId": int(output["producerId"]),
        "producerEpoch": int(output["producerEpoch"]),
        "transactionTimeoutMs": int(output["txnTimeoutMs"]),
        "transactionStatus": names.index(output["state"]),
        "transactionPartitions": partitions if output["state"] != "Empty" else None,
        "transactionLastUpdateTimestampMs": int(output["txnLastUpdateTimestamp"]),
        "transactionStartTimestampMs": int(output["txnStartTimestamp"]),
    }
    whose = {key: 0, "data": {"transactionalId": output["transactionalId"]}}
    return json.dumps({"key": whose, "value": {"version": 0, "data": data}}, separators=(",", ":"))


def spaced(printed: Sequence[str]) -> list[str]:
    """Objects in lines that a program wrote again, with spaces."""
    return [json.dumps(json.loads(each)) + "\n" for each in printed]


def indented(printed: Sequence[str]) -> list[str]:
    """Objects of several lines each, in one array."""
    return [json.dumps([json.loads(each) for each in printed], indent=2)]


@pytest.mark.parametrize("form", ["kcl", "version", "type"])
@pytest.mark.parametrize("written", [list, spaced, indented])
def test_states_of_consumers_are_joined(
    posted: Path, control: dict[str, str], tmp_path: Path, form: str, written: Callable[[Sequence[str]], list[str]]
) -> None:
    """As `kcl` prints them, and the formatters that print JSON, also where that is written again with spaces."""
    if form == "kcl":
        written = list
    output = states(posted)
    printed = [in_kcl(one, 100 + n) if form == "kcl" else in_json(one, form) for n, one in enumerate(output)]
    (tmp_path / "payments.txt").write_text(control["payments.txt"])
    (tmp_path / "states.txt").write_text("".join(written(printed)))

    report = run([tmp_path])

    ended = {"kcl": 107}.get(form, 8)
    assert read(report) == WHOLE | {STATES: (7, 7, ABSENT)}
    assert [one.verdict.offsets.log_end for one in report.audited if one.topic == "__transaction_state"] == [ended]
    assert found(report) == HANG
    assert ["a consumer printed __transaction_state-19" in part.message for part in report.missing] == [True]


@pytest.mark.parametrize(
    ("printed", "partition"),
    [
        ("[g,in,2]::OffsetAndMetadata(offset=41, leaderEpoch=Optional[0], metadata=, commitTimestamp=5)", 3),
        ("[g,in,2]::[OffsetMetadata[41,NO_METADATA],CommitTime 5,ExpirationTime 6]", 3),
        (
            '{"key":{"type":1,"data":{"group":"g","topic":"in","partition":2}},'
            '"value":{"version":3,"data":{"offset":41,"leaderEpoch":-1,"metadata":"","commitTimestamp":5}}}',
            3,
        ),
        (
            "__consumer_offsets partition 4 offset 9 at [2024-03-01 12:00:00.123]\nOffsetCommitKey(1)\n\tGroup      g\n"
            "\tTopic      in\n\tPartition  2\nOffsetCommitValue(3)\n\tOffset           41\n\tCommitTimestamp  5\n",
            4,
        ),
    ],
)
def test_offsets_of_groups_are_read_as_consumers_print_them(tmp_path: Path, printed: str, partition: int) -> None:
    """Text of all releases, JSON, and `kcl`."""
    (tmp_path / "offsets.txt").write_text(f"{printed}\n")

    report = run([tmp_path / "offsets.txt"])

    assert [(one.group, one.topic, one.partition, one.offset) for one in report.groups.offsets] == [("g", "in", 2, 41)]
    assert [one.partition for one in report.audited] == [partition]


@pytest.mark.parametrize(
    ("key", "payload"),
    [
        ("offset::g:in:2", "41:some metadata"),
        ("offset_commit::group=g,partition=in-2", "offset=41"),
        ('{"type":"1","data":{"group":"g","topic":"in","partition":2}}', '{"version":"3","data":{"offset":41}}'),
    ],
)
def test_offsets_of_groups_are_read_as_decoders_print_them(tmp_path: Path, key: str, payload: str) -> None:
    """Up to 2.3, since 2.4, and since 3.8."""
    (tmp_path / "__consumer_offsets-47.txt").write_text(
        f"{header(0)}\n| offset: 0 CreateTime: 1 key: {key} payload: {payload}\n"
    )

    report = run([tmp_path / "__consumer_offsets-47.txt"])

    assert [(one.group, one.topic, one.partition, one.offset) for one in report.groups.offsets] == [("g", "in", 2, 41)]
    assert (report.damage, report.missing) == ((), ())


def test_a_tool_that_stopped_is_damage_at_that_place(control: dict[str, str], tmp_path: Path) -> None:
    """What comes after is not known, so that nothing is output to hang."""
    stopped = (
        'Exception in thread "main" org.apache.kafka.common.errors.CorruptRecordException: Record size 0\n\tat x.y(Z)\n'
    )
    (tmp_path / "payments.txt").write_text(control["payments.txt"] + stopped)

    report = run([tmp_path])

    assert ["kafka-dump-log stopped here" in bad.message for bad in report.damage] == [True]
    assert (read(report), found(report)) == ({PAYMENTS: (6, 9, 7)}, ())


def test_a_listing_of_several_brokers_is_kept_apart(control: dict[str, str], tmp_path: Path) -> None:
    """The same path with other batches is another replica; the same name without a folder may be anything."""
    text = control["payments.txt"]
    other = text.replace("CreateTime: 1709329200000", "CreateTime: 1709329200007")
    (tmp_path / "both.txt").write_text(text + other)

    replicas = run([tmp_path / "both.txt"])
    short = (text + other).replace("/var/lib/kafka/data/payments-0/", "")
    (tmp_path / "both.txt").unlink()
    (tmp_path / "payments-0.txt").write_text(short)
    unknown = run([tmp_path / "payments-0.txt"])

    assert [one.verdict.batches for one in replicas.audited] == [6, 6]
    assert [one.verdict.batches for one in unknown.audited] == [6]
    assert ["dumped twice, with other batches" in part.message for part in unknown.missing] == [True]


@pytest.mark.parametrize("field", ["crc", "size"])
@pytest.mark.parametrize("together", [True, False])
def test_replicas_are_compared_by_what_was_printed_of_their_bytes(
    control: dict[str, str], tmp_path: Path, field: str, together: bool
) -> None:
    """Their headers are alike: CRC and size show that the records of one batch are others."""
    text = control["payments.txt"]
    first, batch, rest = text.partition("baseOffset: 4 ")
    here = re.sub(rf"{field}: (\d+)", rf"{field}: 9\1", rest, count=1)
    for number, each in enumerate((text, first + batch + here)):
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number * (not together)}" / f"{number}.txt").write_text(each)

    report = run([tmp_path])

    assert [one.verdict.batches for one in report.audited] == [6, 6]
    assert found(report) == (("repl.prefix_agreement", 4),)


@pytest.mark.parametrize("field", ["crc", "size"])
def test_replicas_of_which_not_the_same_was_printed_are_compared_by_the_rest(
    control: dict[str, str], tmp_path: Path, field: str
) -> None:
    """One dump is of a release that does not print it."""
    text = control["payments.txt"]
    for number, each in enumerate((text, re.sub(rf"{field}: \d+ ", "", text))):
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}" / "payments.txt").write_text(each)

    report = run([tmp_path])

    assert [one.verdict.batches for one in report.audited] == [6, 6]
    assert [one.rule.id for _, one in report.findings] == []


def test_what_is_missing_in_the_middle_is_named_with_its_place(control: dict[str, str], tmp_path: Path) -> None:
    """By the positions of the batches around it; what the cleaner removed leaves none."""
    kept = control["payments.txt"].splitlines()
    del kept[6:8]  # the marker at offset 3
    (tmp_path / "payments.txt").write_text("\n".join(kept))
    cleaned = [header(0), header(7, 86)]
    (tmp_path / "cleaned-0.txt").write_text("\n".join(cleaned))

    report = run([tmp_path])

    (missing,) = report.missing
    assert "78 bytes before offset 4" in missing.message
    assert missing.path.endswith("payments.txt")


@pytest.mark.parametrize("order", ["sorted", "shuffled", "shuffled otherwise"])
def test_lines_in_another_order_break_no_rule(control: dict[str, str], tmp_path: Path, order: str) -> None:
    """Records are apart from their batches, and batches from those before: what is not known is output."""
    for name, text in control.items():
        lines = sorted(text.splitlines())
        if order != "sorted":
            Random(len(order)).shuffle(lines)
        (tmp_path / {"payments.txt": "payments-0.txt"}.get(name, name)).write_text("\n".join(lines))

    report = run([tmp_path])

    assert report.batches
    assert report.missing
    assert found(report) == ()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.zst", b"\x28\xb5\x2f\xfd\0", "unpack it (zstd -d)"),
        ("x.7z", b"7z\xbc\xaf\x27\x1c\0", "7-Zip: unpack it"),
        ("x.bin", value_batch((b"a",)).encode(), "the bytes of a segment"),
        ("x.b64", base64.encodebytes(value_batch((b"a" * 99,)).encode()), "the bytes of a segment"),
        ("x.hex", hexadecimal(value_batch((b"a",)).encode()), "the bytes of a segment"),
        ("x.pdf", b"%PDF-1.7\n%\xe2\0", "PDF"),
        ("x.png", b"\x89PNG\r\n\x1a\n\0", "picture"),
        (f"{0:020}.log.gz", gzip.compress(bytes(80), mtime=0), "packed: unpack them"),
        ("x.txt", b"| offset: 0 CreateTime: 1 keySize: -1 valueSize: 1 sequence: 0 headerKeys: []\n", "without their"),
    ],
)
def test_what_is_no_listing_is_named(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    """Archives that are not opened, pictures, packed segments, records without their batches."""
    (tmp_path / name).write_bytes(content)

    report = run([tmp_path / name])

    (output,) = report.ignored
    assert words in output
    assert (report.damage, report.exit_code) == ((), NOTHING_JUDGED)


def test_received_may_be_what_the_console_consumer_printed(
    control: dict[str, str], posted: Path, tmp_path: Path
) -> None:
    """The topic is that of the logs."""
    (tmp_path / "payments.txt").write_text(control["payments.txt"])

    report = run([tmp_path / "payments.txt"], received=str(posted / "57-console-consumer" / "received.txt"))

    assert found(report) == (("lso.read_committed", 2), ("lso.read_committed", 3))


def test_the_other_file_of_a_store_is_the_same_history(posted: Path, tmp_path: Path) -> None:
    """`history.txt` has the operations of `history.edn` between tabs."""
    text = posted / "52-history-txt" / "history.txt"
    names = ("process", "type", "f", "value")
    maps = (
        "{" + ", ".join(f":{name} {value}" for name, value in zip(names, line.split("\t"), strict=False)) + "}"
        for line in text.read_text().splitlines()
    )
    (tmp_path / "history.edn").write_text("\n".join(maps))

    of_text, of_maps = read_operations(str(text)), read_operations(str(tmp_path / "history.edn"))

    reports = [report_on(one, "x").to_json() for one in (of_text, of_maps)]
    assert reports[0] == reports[1]
    assert report_on(of_text, "x").records == 6


HANGING: Final = (
    "Topic Partition ProducerId ProducerEpoch CoordinatorEpoch StartOffset LastTimestamp Duration(min)",
    "t 3 7 0 0 9 5 120",
)


@pytest.mark.parametrize("between", ["\t", "   \t", "  ", " ", " | ", ",", ";"])
@pytest.mark.parametrize("before", ["", "> ", "2024-03-01T12:00:01Z "])
def test_a_table_is_read_however_its_cells_are_apart(tmp_path: Path, between: str, before: str) -> None:
    """Its first row is repeated with the names of its columns."""
    rows = [before + line.replace(" ", between) for line in HANGING]
    (tmp_path / "x.txt").write_text("\n".join(rows) + "\n")

    (output,) = run([tmp_path / "x.txt"]).ignored

    assert "it says: Topic t, Partition 3, ProducerId 7, ProducerEpoch 0, CoordinatorEpoch 0, StartOffset 9, " in output


@pytest.mark.parametrize(
    ("text", "what", "instead"),
    [
        (
            "\nGROUP  TOPIC  PARTITION  CURRENT-OFFSET\ng      t      0          5\n",
            "consumer-groups",
            "--offsets-decoder",
        ),
        ("payments:0:9\n", "get-offsets", "--deep-iteration"),
        ("Topic: payments\tTopicId: abc\tPartitionCount: 1\n", "kafka-topics", "--deep-iteration"),
        ('{"version":1,"brokers":[{"broker":1,"logDirs":[]}]}\n', "kafka-log-dirs", "--deep-iteration"),
        ('{"topic":"payments","partition":0,"offset":5,"tstype":"create","payload":"x"}\n', "console", "--received"),
        ("CreateTime:1709328861000\tpayload-5\n", "console", "print.offset=true"),
        ("Offset:5\tpayload-5\n", "console", "print.partition=true"),
        ("CreateTime:1709328861000,Partition:0,Offset:5,payload-5\n", "console", "--received"),
        (
            "[2024-03-01 21:33:20,1] INFO [TransactionCoordinator id=1] Initialized (kafka.x)\n",
            "broker",
            "kafka-dump-log",
        ),
        ("org.apache.kafka.common.errors.ProducerFencedException: x\n", "client", "kafka-dump-log"),
        ('Exception in thread "main" java.nio.file.NoSuchFileException: x\n', "failed", "run it again"),
        ("Dumping /d/t-0/00000000000000000000.log\nLog starting offset: 0\n", "no batch", "(of t-0)"),
        (
            '{"profile": "4.3", "transaction_version": 2, "nodes": 3, "time": 0, "topics": {"t": 2}, "faults": ""}\n',
            "eos serve",
            "eos replay",
        ),
        ('{"time": 1, "recorded": "localhost:9092", "faults": "", "seed": 0}\n', "eos record", "--history"),
        ("ClusterId:  abc\nLeaderId:  1\n", "metadata-quorum", "--deep-iteration"),
    ],
)
def test_a_text_of_no_use_is_named_with_what_to_give_instead(
    tmp_path: Path, text: str, what: str, instead: str
) -> None:
    """What other tools print, logs of brokers and clients, a tool that failed, an empty log."""
    (tmp_path / "x.txt").write_text(text)

    report = run([tmp_path / "x.txt"])

    (output,) = (*report.ignored, *(part.message for part in report.missing))
    assert what in output
    assert instead in output
    assert (report.damage, report.exit_code) == ((), NOTHING_JUDGED)


@pytest.mark.parametrize("name", ["t.ndjson", "t.ndjson.gz", "t.parquet"])
def test_a_trace_is_named_with_the_commands_that_judge_it(tmp_path: Path, name: str) -> None:
    """As eos simulate writes it, alone and in its directory."""
    with trace_writer(tmp_path / name) as write:
        write([complete({"trace": 1, "step": 0, "api": "Produce"})])

    for path in (tmp_path / name, tmp_path):
        report = run([path])

        (output,) = report.ignored
        assert output.startswith(f"{tmp_path / name}: a trace, ")
        assert "eos check judges its steps" in output
        assert (report.damage, report.exit_code) == ((), NOTHING_JUDGED)


def test_recorded_sessions_are_named_with_the_command_that_judges_them() -> None:
    """As eos conform and eos record write them."""
    recorded = RECORDINGS / "3.9-tv0-P.ndjson.xz"

    (output,) = run([recorded]).ignored

    assert output == f"{recorded}: recorded sessions of a broker: eos conform judges them"


def test_a_tombstone_of_an_offset_is_none_of_a_transactional_id(tmp_path: Path) -> None:
    """The formatters print both behind two colons."""
    commit = "[g,in,2]::OffsetAndMetadata(offset=41, leaderEpoch=Optional[0], metadata=, commitTimestamp=5)"
    (tmp_path / "offsets.txt").write_text(f"{commit}\n[g,in,2]::NULL\n")

    report = run([tmp_path / "offsets.txt"])

    assert [(one.topic, one.verdict.batches) for one in report.audited] == [("__consumer_offsets", 2)]
    assert [(one.group, one.offset) for one in report.groups.offsets] == [("g", ABSENT)]


def test_what_kcat_received_is_read(control: dict[str, str], tmp_path: Path) -> None:
    """Objects with topic, partition and offset."""
    (tmp_path / "payments.txt").write_text(control["payments.txt"])
    records = [{"topic": "payments", "partition": 0, "offset": n, "key": None} for n in (0, 1, 2, 4)]
    (tmp_path / "kcat.json").write_text("\n".join(map(json.dumps, records)))

    report = run([tmp_path / "payments.txt"], received=str(tmp_path / "kcat.json"))

    assert found(report) == (("lso.read_committed", 4),)


def test_a_table_of_another_tool_is_repeated_with_what_to_give_instead(posted: Path) -> None:
    """It is not judged."""
    report = run([posted / "72-tool-tables" / "find-hanging.txt"])

    (output,) = report.ignored
    assert "ProducerId 2000, ProducerEpoch 0, CoordinatorEpoch 0, StartOffset 7" in output
    assert "kafka-dump-log --deep-iteration" in output


def parts_of(text: str) -> Iterator[str]:
    """Pieces of a text as a reader may meet them."""
    for line in text.splitlines(keepends=True):
        yield from line.split(" ") if line.startswith("base") else [line]


def mangled(random: Random, texts: Sequence[str]) -> bytes:
    """A text that nobody printed: pieces of others left out, repeated, exchanged, with other numbers and bytes."""
    pieces = list(parts_of(random.choice(texts)))
    for _ in range(random.randint(1, 12)):
        at = random.randrange(len(pieces))
        change = random.randrange(8)
        if change == 0:
            del pieces[at : at + random.randint(1, 9)]
            pieces = pieces or ["\n"]
        elif change == 1:
            pieces[at:at] = pieces[at : at + random.randint(1, 30)]
        elif change == 2:
            pieces[at] = str(random.choice((-1, 0, 2**31, 2**63, 2**64, 10**30, -(2**63)))) + random.choice(" \n")
        elif change == 3:
            pieces[at:at] = list(parts_of(random.choice(texts)))[: random.randint(1, 40)]
        elif change == 4:
            pieces[at] = pieces[at][: random.randrange(len(pieces[at]) + 1)]
        elif change == 5:
            random.shuffle(pieces[at : at + 20])
        elif change == 6:
            pieces[at] += random.choice(("\0", "\x1b[", "\ufeff", '"', "{", "::", "null", "Dumping ", "| ", "é", "..."))
        else:
            pieces = [*pieces[at:], *pieces[:at]]
    content = random.choice([*WRAPPINGS.values(), *PASTED.values()])(" ".join(pieces))
    return content if random.random() < 0.8 else content[: random.randrange(len(content) + 1)]


def fuzz(posted: Path, tmp_path: Path, seeds: range, *, audited: bool) -> int:
    """Read mangled texts; how many of them had anything to be output of."""
    texts = [
        path.read_text() for path in sorted(posted.rglob("*.txt")) if not path.read_bytes().startswith(b"\xff\xfe")
    ]
    output = 0
    for seed in seeds:
        random = Random(seed)
        path = tmp_path / random.choice(("payments-0.txt", "x.txt", "x.gz", "x.zip", "x.log"))
        path.write_bytes(mangled(random, texts))
        if audited:
            report = run([path])
            output += bool(report.batches or report.damage or report.missing or report.ignored)
        else:
            with restored([str(path)]) as given:
                output += bool(given.dumps or given.damage or given.missing or given.ignored or given.paths)
        path.unlink()
    return output


def test_no_text_stops_an_audit_and_none_is_passed_over_silently(posted: Path, tmp_path: Path) -> None:
    """No error, no hang; something is output of each."""
    assert fuzz(posted, tmp_path, range(150), audited=True) == 150


@pytest.mark.slow
def test_no_text_of_a_hundred_thousand_stops_its_reader(posted: Path, tmp_path: Path) -> None:
    """The same for the reader alone."""
    assert fuzz(posted, tmp_path, range(100_000), audited=False) == 100_000


def test_memory_is_bounded_by_the_text_and_not_by_what_it_says(tmp_path: Path) -> None:
    """Counts, offsets and lines of any length."""
    header = (
        "baseOffset: 0 lastOffset: {last} count: {count} baseSequence: 0 lastSequence: 0 producerId: 1 producerEpoch: "
        "0 partitionLeaderEpoch: 0 isTransactional: true isControl: false position: 0 CreateTime: 1 size: 86 magic: 2 "
        "compresscodec: none crc: 1 isvalid: true"
    )
    names = ["Dumping /d/__consumer_offsets-12/00000000000000000000.log", "Starting offset: 0"]
    for last, count in ((2**31 - 1, 2**31 - 1), (2**62, 5), (0, 2**31 - 1)):
        (tmp_path / "x.txt").write_text("\n".join([*names, header.format(last=last, count=count), "x" * 3_000_000]))
        with restored([str(tmp_path / "x.txt")]) as given:
            written = sum(Path(path).stat().st_size for path in given.dumps)

            assert written < 1000
