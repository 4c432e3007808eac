"""Texts as people post them: each with what is read of it, what it lacks, and what that costs."""

import bz2
import csv
import gzip
import html
import io
import json
import lzma
import re
import tarfile
import textwrap
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

import pytest

from model_tests.audit.report import AuditReport
from model_tests.audit.run import run
from model_tests.common.reports import HOLDS, NOTHING_JUDGED, VIOLATED
from model_tests.histories.reading import read_operations
from model_tests.histories.report import report_on
from model_tests.histories.severity import Severity
from model_tests.logs.texts import restored
from spec.vocabulary import ABSENT

POSTED: Final = Path(__file__).parent / "posted" / "texts.tar.xz"
CONTROL: Final = "00-baseline-hang"

Offsets = tuple[int, int, int]
"""Batches, records and last stable offset of a partition; -1 where that is not known."""

STATES, PAYMENTS = "__transaction_state-19", "payments-0"
HANG: Final = (("txn.registered_before_data", 7),)
WHOLE: Final = {STATES: (7, 7, 7), PAYMENTS: (6, 9, 7)}
GIVE_ALL: Final = "give all that kafka-dump-log prints"


@dataclass(frozen=True)
class Expected:
    """What is read of some texts.

    Attributes:
        partitions: by name.
        findings: violations and suspicions, by rule and offset.
        damage: words of what is damaged, in order.
        missing: words of what is not in the texts, each with words of what that costs or what to do.
        ignored: words of what is passed over.
    """

    partitions: dict[str, Offsets]
    findings: tuple[tuple[str, int], ...] = ()
    damage: tuple[str, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
    ignored: int = 0
    exit_code: int = HOLDS


AS_CONTROL: Final = Expected(WHOLE, HANG, exit_code=VIOLATED)
SHALLOW: Final = Expected(
    {PAYMENTS: (2, 5, ABSENT)}, missing=(("without their outcome (at offset 3", "--deep-iteration"),)
)
CUT: Final = Expected(
    WHOLE | {PAYMENTS: (3, 6, ABSENT)}, missing=(("the text ends inside a batch (at offset 6)", GIVE_ALL),)
)

CASES: Final[dict[str, Expected]] = {
    CONTROL: AS_CONTROL,
    "01-decoder-2.3": AS_CONTROL,
    "03-shallow-0.11": SHALLOW,
    "04-shallow-3.x": SHALLOW,
    "05-skip-record-metadata": Expected(
        WHOLE | {PAYMENTS: (4, 7, ABSENT)},
        missing=(("--skip-record-metadata left out the outcome of control batches", "without that option"),),
    ),
    "06-elided-dots": Expected(
        {"topic-test-0": (0, 0, ABSENT)},
        missing=(("fields of a batch are left out", "give whole lines"),),
        exit_code=NOTHING_JUDGED,
    ),
    "07-grep-markers": Expected(
        {"ledger-0": (2, 2, ABSENT)},
        missing=(
            ("no line names the dumped file", "name the text like its partition"),
            ("no line names the dumped file", "name the text like its partition"),
            ("batches are not in the text (86 bytes before offset 3, and 1 more)", GIVE_ALL),
        ),
    ),
    "08-quoted-markdown": AS_CONTROL,
    "09-line-numbers": AS_CONTROL,
    "10-compose-prefix": AS_CONTROL,
    "11-relative-path": AS_CONTROL,
    "12-relative-two-segments": Expected({PAYMENTS: (6, 9, 7)}),
    "13-noise-short": AS_CONTROL,
    "14-noise-long": AS_CONTROL,
    "15-all-files": Expected(WHOLE, HANG, ignored=4, exit_code=VIOLATED),
    "15-all-files-index-only": Expected(
        {}, missing=(("no segment (.log)", "--files"),), ignored=4, exit_code=NOTHING_JUDGED
    ),
    "16-wrapped": AS_CONTROL,
    "18-powershell-utf16": AS_CONTROL,
    "20-invalid-crc-and-trailing": Expected(
        WHOLE | {PAYMENTS: (5, 7, 7)},
        HANG,
        damage=("invalid (at offset 4, position 164, CRC 1004)", "Found 10485760 invalid bytes"),
        exit_code=VIOLATED,
    ),
    "21-head-cut-at-marker": CUT,
    "21b-head-cut-mid-record": CUT,
    "21c-tail-begins-mid": Expected(
        {STATES: (6, 6, ABSENT), PAYMENTS: (5, 6, 7)},
        HANG,
        missing=(
            ("batches are not in the text (120 bytes before offset 1)", GIVE_ALL),
            ("batches are not in the text (86 bytes before offset 3)", GIVE_ALL),
        ),
        exit_code=VIOLATED,
    ),
    "22-multiline-payload": AS_CONTROL,
    "22b-pretty-json": AS_CONTROL,
    "22c-yaml-payload": AS_CONTROL,
    "23-console-formatter": Expected(
        WHOLE | {STATES: (7, 7, ABSENT)},
        HANG,
        missing=(("a consumer printed __transaction_state-19", "--transaction-log-decoder"),),
        exit_code=VIOLATED,
    ),
    "23b-console-formatter-only": Expected(
        {STATES: (7, 7, ABSENT)},
        missing=(("a consumer printed __transaction_state-19", "--transaction-log-decoder"),),
    ),
    "25-json-4.x": AS_CONTROL,
    "26-notes-of-a-person": Expected(
        {"__transaction_state-1": (4, 4, ABSENT), "transaction-topic-0": (10, 10, ABSENT)},
        missing=(
            ("a consumer printed __transaction_state-1", "--transaction-log-decoder"),
            ("batches are not in the text (4627 bytes before offset 60, and 1 more)", GIVE_ALL),
        ),
    ),
    "26b-notes-unnamed": Expected(
        {"__transaction_state-1": (4, 4, ABSENT)},
        missing=(
            ("no line names the dumped file", "name the text like its partition"),
            ("a consumer printed __transaction_state-1", "--transaction-log-decoder"),
        ),
    ),
    "52-history-txt": Expected({}, ignored=1, exit_code=NOTHING_JUDGED),
    "57-console-consumer": Expected({}, ignored=1, exit_code=NOTHING_JUDGED),
    "67-bom": AS_CONTROL,
    "68-named-log": AS_CONTROL,
    "70-gz": AS_CONTROL,
    "71-offsets-tail": Expected({"__consumer_offsets-12": (7, 7, 913095344)}, (("txn.timeout", 913095344),)),
    "72-tool-tables": Expected({PAYMENTS: (6, 9, 7)}, ignored=2),
    "76-joined-numbers": Expected(
        WHOLE | {PAYMENTS: (5, 6, 7)},
        HANG,
        damage=("a number that cannot be (CreateTime: 17093288010001709328801000)",),
        exit_code=VIOLATED,
    ),
    "77-huge-count": Expected(
        {"__consumer_offsets-12": (0, 0, 0)},
        damage=("a count that cannot be (1709328801 records in offsets 0 to 0)",),
        exit_code=NOTHING_JUDGED,
    ),
    "79-compacted-tail": Expected({"table-38": (3, 2, 1171)}),
    "81-no-decoder": Expected(
        {"__consumer_offsets-12": (1, 1, 1), STATES: (4, 4, 4), PAYMENTS: (2, 4, 4)},
        missing=(
            ("printed without --offsets-decoder", "which offsets groups committed is not known"),
            ("printed without --transaction-log-decoder", "what became of transactions"),
        ),
    ),
}


@pytest.fixture(scope="module")
def posted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every posted text, in a folder for each case."""
    into = tmp_path_factory.mktemp("posted")
    with tarfile.open(POSTED) as archive:
        archive.extractall(into, filter="data")
    return into


@pytest.fixture
def control(posted: Path) -> dict[str, str]:
    """A partition with a hanging transaction, and the log of its coordinator."""
    return {name: (posted / CONTROL / name).read_text() for name in ("payments.txt", "states.txt")}


def read(report: AuditReport) -> dict[str, Offsets]:
    """What was read, by partition."""
    return {
        f"{one.topic}-{one.partition}": (one.verdict.batches, one.verdict.records, one.verdict.offsets.last_stable)
        for one in report.audited
    }


def found(report: AuditReport) -> tuple[tuple[str, int], ...]:
    """Violations and suspicions."""
    severities = (Severity.VIOLATION, Severity.SUSPICIOUS)
    return tuple((one.rule.id, one.offset) for _, one in report.findings if one.severity in severities)


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


def lines(change: Callable[[int, str], str]) -> Callable[[str], bytes]:
    """Change each line, by its number and what is in it."""
    return lambda text: "".join(change(n, line) + "\n" for n, line in enumerate(text.splitlines(), 1)).encode()


def cut(width: int, before: str = "") -> Callable[[str], bytes]:
    """Cut lines after so many characters."""
    return lines(lambda _, line: "\n".join(before + line[at : at + width] for at in range(0, len(line), width)))


def folded(text: str) -> bytes:
    """Wrap lines between words."""
    filled = (textwrap.wrap(line, 100, break_on_hyphens=False, break_long_words=False) for line in text.splitlines())
    return "\n".join("\n".join(pieces) for pieces in filled).encode()


def folded_behind_spaces(text: str) -> bytes:
    """As `fold -s` does, which leaves the spaces and cuts long words."""

    def pieces(line: str) -> Iterator[str]:
        while len(line) > 100:
            end = line.rfind(" ", 0, 100) + 1 or 100
            yield line[:end]
            line = line[end:]
        yield line

    return "\n".join("\n".join(pieces(line)) for line in text.splitlines()).encode()


def zipped(text: str) -> bytes:
    """The text in an archive, in a folder."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("dumps/", "")
        archive.writestr("dumps/one.txt", text)
    return out.getvalue()


def tarred(text: str) -> bytes:
    """The text in a compressed archive."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        info = tarfile.TarInfo("dumps/one.txt")
        info.size = len(text)
        archive.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def on_a_page(text: str) -> bytes:
    """Between tags, in a page."""
    return f"<html><body><pre><code>{html.escape(text)}</code></pre></body></html>".encode()


def as_document(text: str) -> bytes:
    """A document of a word processor: markup without line ends, in an archive."""
    paragraphs = "".join(f"<w:p><w:t>{html.escape(line)}</w:t></w:p>" for line in text.splitlines())
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("[Content_Types].xml", "<x/>")
        archive.writestr("word/document.xml", f"<w:document>{paragraphs}</w:document>")
    return out.getvalue()


def as_table(text: str) -> bytes:
    """Lines as rows of a table whose cells are quoted."""
    out = io.StringIO()
    rows = csv.writer(out, quoting=csv.QUOTE_ALL)
    rows.writerows((f"2024-03-01T12:00:{n:02}Z", line) for n, line in enumerate(text.splitlines()))
    return out.getvalue().encode()


def as_message(text: str, indent: int | None = None) -> bytes:
    """A message of a chat, with others, as a tool exports them."""
    said = [{"type": "message", "text": words} for words in ("look:", f"```{html.escape(text, quote=False)}```", "?")]
    return json.dumps(said, indent=indent).encode()


def hung(width: int, indent: str, before: str = "") -> Callable[[str], bytes]:
    """Cut lines after so many characters, and indent what continues them."""

    def pieces(line: str) -> Iterator[str]:
        yield before + line[: width - len(before)]
        step = width - len(indent)
        yield from (indent + line[at : at + step] for at in range(width - len(before), len(line), step))

    return lines(lambda _, line: "\n".join(pieces(line)))


AROUND: Final[dict[str, Callable[[str], bytes]]] = {
    "journald": lines(lambda n, line: f"Mar 01 12:00:{n:02} host-1 kafka-dump-log[{1000 + n}]: {line}"),
    "journald as JSON": lines(lambda n, line: json.dumps({"__REALTIME_TIMESTAMP": str(n), "MESSAGE": line, "_PID": 1})),
    "syslog": lines(lambda n, line: f"<134>1 2024-03-01T12:00:{n:02}Z host app {n} ID47 - {line}"),
    "kubectl with times": lines(lambda n, line: f"[pod/kafka-0/kafka] 2024-03-01T12:00:{n:02}.{n * 7919:09}Z {line}"),
    "docker compose in colours": lines(lambda _, line: f"\x1b[36mkafka-1  |\x1b[0m {line}"),
    "a field of JSON behind others": lines(lambda _, line: json.dumps({"pod": "kafka-0", "message": line})),
    "a field of JSON before others": lines(lambda n, line: json.dumps({"message": line, "stream": "stdout", "n": n})),
    "a chat": as_message,
    "a chat, indented": lambda text: as_message(text, 1),
    "an issue": lambda text: json.dumps({"body": f"I saw\r\n```\r\n{text}```", "user": {"login": "a"}}).encode(),
    "JSON in JSON": lambda text: json.dumps({"log": json.dumps({"message": text})}).encode(),
    "a table of CSV": as_table,
    "a table of Markdown": lines(lambda n, line: f"| {n} | {line} |"),
    "Jira": lambda text: f"h2. Dump\n{{noformat:title=x}}\n{text}{{noformat}}\nwhy?\n".encode(),
    "a page with its tags": on_a_page,
    "a page of one line": lambda text: f"<p>{'<br/>'.join(map(html.escape, text.splitlines()))}</p>".encode(),
    "numbered on a page": lines(lambda n, line: f'<td id="L{n}">{n}</td><td>{html.escape(line)}</td></tr>'),
    "a document": as_document,
    "cat -A": lines(lambda _, line: f"{line}$"),
    "cat -A of Windows": lines(lambda _, line: f"{line}^M$"),
    "a list of Python": lambda text: repr(text.splitlines()).encode(),
    "a string of Python": lambda text: repr(text).encode(),
    "a list of YAML": lines(lambda _, line: f"  - {json.dumps(line)}"),
    "Ansible": lambda text: (
        'ok: [kafka-1] => {\n  "out": [\n' + ",\n".join(map(json.dumps, text.splitlines())) + "\n]\n}"
    ).encode(),
    "joined by spaces": lambda text: text.replace("\n", " ").encode(),
    "line ends in letters": lambda text: text.replace("\n", "\\n").encode(),
    "a comment of Java": lambda text: ("/*\n" + "".join(f" * {line}\n" for line in text.splitlines()) + " */").encode(),
    "a prompt": lambda text: f"[kafka@host ~]$ {text}".encode(),
    "script": lambda text: (
        "Script started\r\n\x1b[?2004h$ x\r\n" + text.replace("\n", "\r\n") + "$ exit\r\n"
    ).encode(),
    "head of a file": lambda text: f"==> broker-1/dump.txt <==\n{text}\n".encode(),
    "a patch with context": lines(lambda n, line: (" " if n % 2 else "+") + line),
    "soft hyphens": lambda text: text.replace("Offset", "Off\u00adset").encode(),
    "minus signs": lambda text: text.replace("-1", "\u22121").encode(),
    "dashes": lambda text: text.replace("-1", "\u20131").encode(),
    "cut at 80 with a prefix": lambda text: cut(80)("".join(f"kafka-0 | {line}\n" for line in text.splitlines())),
    "cut at 120 with numbers": lambda text: cut(120)(
        "".join(f"{n:5}  {line}\n" for n, line in enumerate(text.splitlines()))
    ),
    "cut and indented": cut(80, "    "),
    "cut in a frame": lines(lambda _, line: "\n".join(f"| {line[at : at + 76]} |" for at in range(0, len(line), 76))),
    "cut with backslashes": lines(lambda _, line: "\\\n".join(line[at : at + 79] for at in range(0, len(line), 79))),
    "continued with arrows": hung(80, "\u21aa "),
    "continued with an indent": hung(100, " " * 8),
    "continued below numbers": hung(100, " " * 7, "  12   "),
    "continued below a prefix": hung(120, " " * 8 + "| ", "kafka-0 | "),
    "wrapped at 60 between words": lambda text: "\n".join(
        textwrap.fill(line, 60, break_long_words=False, break_on_hyphens=False) for line in text.splitlines()
    ).encode(),
}
"""What stands around lines, and how they are put together or apart."""

WRAPPINGS: Final[dict[str, Callable[[str], bytes]]] = {
    **AROUND,
    "utf-8 with a mark": lambda text: text.encode("utf-8-sig"),
    "utf-16": lambda text: text.replace("\n", "\r\n").encode("utf-16"),
    "utf-16 without a mark": lambda text: text.encode("utf-16-le"),
    "utf-16 the other way": lambda text: text.encode("utf-16-be"),
    "utf-32": lambda text: text.encode("utf-32"),
    "latin-1 before it": lambda text: "Größe\n".encode("latin-1") + text.encode(),
    "lines of Windows": lambda text: text.replace("\n", "\r\n").encode(),
    "lines of old Macs": lambda text: text.replace("\n", "\r").encode(),
    "without its last line end": lambda text: text.strip().encode(),
    ".gz": lambda text: gzip.compress(text.encode()),
    ".xz": lambda text: lzma.compress(text.encode()),
    ".bz2": lambda text: bz2.compress(text.encode()),
    ".zip": zipped,
    ".tar.gz": tarred,
    "quoted": lines(lambda _, line: f"> {line}"),
    "quoted twice": lines(lambda _, line: f">> {line}"),
    "quoted without space": lines(lambda _, line: f">{line}"),
    "quoted as markup": lines(lambda _, line: f"&gt; {line}"),
    "partly quoted": lambda text: ("> " + text.replace("\n", "\n> ", 8)).encode(),
    "indented": lines(lambda _, line: f"    {line}"),
    "numbered": lines(lambda n, line: f"{n:4} {line}"),
    "numbered with colons": lines(lambda n, line: f"{n}: {line}"),
    "cat -n": lines(lambda n, line: f"{n:6}\t{line}"),
    "grep -n": lines(lambda n, line: f"out/payments.txt:{n}:{line}"),
    "grep -C": lines(lambda n, line: "out.txt{0}{1}{0}{2}".format(":" if "base" in line else "-", n, line)),
    "docker compose": lines(lambda _, line: f"kafka-1  | {line}"),
    "kubectl": lines(lambda _, line: f"[pod/kafka-0/kafka] {line}"),
    "timestamps": lines(lambda n, line: f"2024-03-01T12:00:{n:02}.{n * 7919}Z {line}"),
    "log4j": lines(lambda n, line: f"[2024-03-01 12:00:{n:02},123] INFO {line} (kafka)"),
    "docker's files": lines(lambda n, line: json.dumps({"log": f"{line}\n", "time": f"2024-03-01T12:00:{n:02}Z"})),
    "an array of JSON": lines(lambda _, line: f"  {json.dumps(line)},"),
    "one string of JSON": lambda text: json.dumps({"dump": text}).encode(),
    "quotation marks": lines(lambda _, line: f"'{line}'"),
    "a patch": lines(lambda _, line: f"+{line}"),
    "a page": lines(lambda _, line: f'<div class="line">{line}</div>'),
    "coloured": lines(lambda _, line: f"\x1b[32m{line}\x1b[0m"),
    "grep --color": lambda text: text.replace("isControl: true", "\x1b[01;31m\x1b[KisControl: true\x1b[m").encode(),
    "backticks": lambda text: text.replace("isControl: true", "`isControl: true`").encode(),
    "fenced": lambda text: f"# what I saw\n```log\n{text}```\nwhy?\n".encode(),
    "a shell": lambda text: f"$ kafka-dump-log --files x\n{text}$ \n".encode(),
    "space at the end": lines(lambda _, line: f"{line}   "),
    "blank lines": lines(lambda _, line: f"{line}\n"),
    "hard spaces": lambda text: text.replace(" ", "\xa0").encode(),
    "tabs": lambda text: text.replace(" ", "\t").encode(),
    **{f"cut at {width}": cut(width) for width in (40, 60, 72, 80, 100, 132, 200)},
    "cut and quoted": cut(76, "> "),
    "wrapped between words": folded,
    "fold -s": folded_behind_spaces,
    "pasted twice": lambda text: (text + text).encode(),
    "pasted with an overlap": lambda text: (text[: text.rfind("baseOffset")] + text.partition("\n")[2]).encode(),
}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_what_is_around_a_text_changes_nothing(control: dict[str, str], tmp_path: Path, wrapping: str) -> None:
    """Encodings, archives, prefixes and wraps are undone."""
    suffix = wrapping if wrapping.startswith(".") else ""
    for name, text in control.items():
        (tmp_path / f"{name}{suffix}").write_bytes(WRAPPINGS[wrapping](text))

    report = run(sorted(tmp_path.iterdir()))

    assert (read(report), found(report)) == (WHOLE, HANG)
    assert (report.damage, report.missing) == ((), ())


@pytest.mark.parametrize("wrapping", AROUND)
def test_values_with_quotation_marks_are_read_in_any_wrapping(posted: Path, tmp_path: Path, wrapping: str) -> None:
    """The states that decoders print since 3.9 are JSON."""
    for path in (posted / "25-json-4.x").iterdir():
        (tmp_path / path.name).write_bytes(AROUND[wrapping](path.read_text()))

    report = run(sorted(tmp_path.iterdir()))

    assert (read(report), found(report)) == (WHOLE, HANG)
    assert (report.damage, report.missing) == ((), ())


STATE_FIELDS: Final = re.compile(r"(\w+)=(HashSet\([^)]*\)|[^,()]*)")


def states(posted: Path) -> list[dict[str, str]]:
    """The states that a formatter of Kafka 2.8 printed, field by field."""
    text = (posted / "23-console-formatter" / "states.txt").read_text()
    return [dict(STATE_FIELDS.findall(line)) for line in text.splitlines()]


def in_kcl(said: dict[str, str], offset: int) -> str:
    """A state as `kcl` prints it."""
    topics = "payments=>[0] " if said["topicPartitions"] == "HashSet(payments-0)" else ""
    fields = {
        "ProducerID": said["producerId"],
        "ProducerEpoch": said["producerEpoch"],
        "TimeoutMillis": said["txnTimeoutMs"],
        "State": said["state"],
        "Topics": topics,
        "LastUpdateTimestamp": said["txnLastUpdateTimestamp"],
        "StartTimestamp": said["txnStartTimestamp"],
    }
    place = f"__transaction_state partition 19 offset {offset} at [2024-03-01 22:00:00.123]"
    named = f"TxnMetadataKey(0) {said['transactionalId']}\nTxnMetadataValue(0)"
    return f"{place}\n{named}\n" + "".join(f"\t{name:20} {value}\n" for name, value in fields.items()) + "\n\n"


def in_json(said: dict[str, str], key: str) -> str:
    """A state as the formatters of Kafka 3.8 and 4.x print it: without a line end."""
    names = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")
    partitions = [{"topic": "payments", "partitionIds": [0]}] if said["topicPartitions"] != "HashSet()" else []
    data = {
        "producerId": int(said["producerId"]),
        "producerEpoch": int(said["producerEpoch"]),
        "transactionTimeoutMs": int(said["txnTimeoutMs"]),
        "transactionStatus": names.index(said["state"]),
        "transactionPartitions": partitions if said["state"] != "Empty" else None,
        "transactionLastUpdateTimestampMs": int(said["txnLastUpdateTimestamp"]),
        "transactionStartTimestampMs": int(said["txnStartTimestamp"]),
    }
    whose = {key: 0, "data": {"transactionalId": said["transactionalId"]}}
    return json.dumps({"key": whose, "value": {"version": 0, "data": data}}, separators=(",", ":"))


@pytest.mark.parametrize("form", ["kcl", "version", "type"])
def test_states_of_consumers_are_joined(posted: Path, control: dict[str, str], tmp_path: Path, form: str) -> None:
    """As `kcl` prints them, and the formatters that print JSON."""
    said = states(posted)
    printed = [in_kcl(one, 100 + n) if form == "kcl" else in_json(one, form) for n, one in enumerate(said)]
    (tmp_path / "payments.txt").write_text(control["payments.txt"])
    (tmp_path / "states.txt").write_text("".join(printed))

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


def header(offset: int, position: int = 0, count: int = 1, last: int | None = None) -> str:
    """The line of a batch."""
    last = offset if last is None else last
    return (
        f"baseOffset: {offset} lastOffset: {last} count: {count} baseSequence: -1 lastSequence: -1 "
        "producerId: -1 producerEpoch: -1 partitionLeaderEpoch: 0 isTransactional: false isControl: false "
        f"position: {position} CreateTime: 1 size: 86 magic: 2 compresscodec: none crc: 1 isvalid: true"
    )


def test_a_tool_that_stopped_is_damage_at_that_place(control: dict[str, str], tmp_path: Path) -> None:
    """What comes after is not known, so that nothing is said to hang."""
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


@pytest.mark.parametrize("between", ["\t", "   \t", "  ", " ", " | "])
@pytest.mark.parametrize("before", ["", "> ", "2024-03-01T12:00:01Z "])
def test_a_table_is_read_however_its_cells_are_apart(tmp_path: Path, between: str, before: str) -> None:
    """Its first row is repeated with the names of its columns."""
    rows = [before + line.replace(" ", between) for line in HANGING]
    (tmp_path / "x.txt").write_text("\n".join(rows) + "\n")

    (said,) = run([tmp_path / "x.txt"]).ignored

    assert "it says: Topic t, Partition 3, ProducerId 7, ProducerEpoch 0, CoordinatorEpoch 0, StartOffset 9, " in said


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
        ("ClusterId:  abc\nLeaderId:  1\n", "metadata-quorum", "--deep-iteration"),
    ],
)
def test_a_text_of_no_use_is_named_with_what_to_give_instead(
    tmp_path: Path, text: str, what: str, instead: str
) -> None:
    """What other tools print, logs of brokers and clients, a tool that failed, an empty log."""
    (tmp_path / "x.txt").write_text(text)

    report = run([tmp_path / "x.txt"])

    (said,) = (*report.ignored, *(part.message for part in report.missing))
    assert what in said
    assert instead in said
    assert (report.damage, report.exit_code) == ((), NOTHING_JUDGED)


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

    (said,) = report.ignored
    assert "ProducerId 2000, ProducerEpoch 0, CoordinatorEpoch 0, StartOffset 7" in said
    assert "kafka-dump-log --deep-iteration" in said


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
    content = WRAPPINGS[random.choice(list(WRAPPINGS))](" ".join(pieces))
    return content if random.random() < 0.8 else content[: random.randrange(len(content) + 1)]


def fuzz(posted: Path, tmp_path: Path, seeds: range, *, audited: bool) -> int:
    """Read mangled texts; how many of them had anything to be said of."""
    texts = [
        path.read_text() for path in sorted(posted.rglob("*.txt")) if not path.read_bytes().startswith(b"\xff\xfe")
    ]
    said = 0
    for seed in seeds:
        random = Random(seed)
        path = tmp_path / random.choice(("payments-0.txt", "x.txt", "x.gz", "x.zip", "x.log"))
        path.write_bytes(mangled(random, texts))
        if audited:
            report = run([path])
            said += bool(report.batches or report.damage or report.missing or report.ignored)
        else:
            with restored([str(path)]) as given:
                said += bool(given.dumps or given.damage or given.missing or given.ignored or given.paths)
        path.unlink()
    return said


def test_no_text_stops_an_audit_and_none_is_passed_over_silently(posted: Path, tmp_path: Path) -> None:
    """No error, no hang; something is said of each."""
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
