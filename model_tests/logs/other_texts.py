"""Texts of which no log is made: whose they are, and what to give in their place.

Source: kafka.admin.ConsumerGroupCommand, TopicCommand and LogDirsCommand, kafka.tools.GetOffsetShell; of later releases
the same names in org.apache.kafka.tools, MetadataQuorumCommand, and consumer.DefaultMessageFormatter.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from model_tests.logs.kafka_log_folders import is_of_kafka
from model_tests.logs.text_files import lines_of
from model_tests.logs.unpacking import HEAD, TextFile

_LEARNT: Final = 200
"""Lines by which a text is recognised."""

_FARTHEST: Final = 512
_ROWS: Final = 3
"""Rows of a table that are repeated."""

_CELLS: Final = re.compile(r"[|,;]")
_DUMP: Final = "dump the partitions with kafka-dump-log --deep-iteration"
_RECEIVED: Final = (
    "print with --property print.partition=true --property print.offset=true, and give it with --received beside the "
    "logs"
)
TABLE: Final = (
    f"a table of kafka-transactions.sh, which no log is compared with; {_DUMP}, and __transaction_state with "
    "--transaction-log-decoder"
)
CONSUMED: Final = "what a console consumer printed: give it with --received, beside the logs"
HISTORY: Final = "a client history: give it with --history"

_PICTURE: Final = "a picture: give the text that is on it"
_TRACE: Final = "a trace, which has steps and no log: eos check judges its steps, and eos replay draws one"
_BINARY: Final = (
    (rb"PAR1", _TRACE),
    (rb"\0{3}.{13}\x02", "the bytes of a segment: give them as a file of that name, topic-0/00000000000000000000.log"),
    (rb"\x28\xb5\x2f\xfd", "packed by Zstandard: unpack it (zstd -d), and give what is in it"),
    (rb"\x04\x22\x4d\x18", "packed by LZ4: unpack it (lz4 -d), and give what is in it"),
    (rb"7z\xbc\xaf\x27\x1c", "an archive of 7-Zip: unpack it, and give what is in it"),
    (rb"Rar!\x1a\x07", "an archive of RAR: unpack it, and give what is in it"),
    (rb"%PDF-", "a document (PDF): give its text"),
    (rb"\x89PNG\r\n", _PICTURE),
    (rb"\xff\xd8\xff", _PICTURE),
)
"""What files that are no text begin with."""

_PACKED: Final = "files of a broker's log, packed: unpack them, and give the directory that they are in"

_USES: Final = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r'^\{(?=.*"trace": ?\d)(?=.*"step": ?\d).*"api": ?"', _TRACE),
        (r'^\{"id": ?"[^"]*", ?"family": ?"', "recorded sessions of a broker: eos conform judges them"),
        (
            r'^\{"profile": ?"[^"]*", ?"transaction_version": ?\d.*"topics": ?\{',
            "what arrived at eos serve: eos replay repeats the run, and judges it",
        ),
        (
            r'^\{"time": ?[\d.]+, ?"recorded": ?"',
            "what passed through eos record, which judged it: beside it are the journal, for --history with the logs, "
            "and the sessions that eos conform judges",
        ),
        (
            r"\bGROUP\s+(?:TOPIC\s+PARTITION|CONSUMER-ID|COORDINATOR)\b",
            "a table of kafka-consumer-groups; dump __consumer_offsets with kafka-dump-log --offsets-decoder",
        ),
        (r"\bTopic: ?\S+\s+(?:TopicId|PartitionCount|Partition): ", f"what kafka-topics prints of topics; {_DUMP}"),
        (r'"logDirs":\[|^Querying brokers for log directories', f"what kafka-log-dirs prints; {_DUMP}"),
        (r"^[\w.-]+:\d+:-?\d+$", f"what kafka-get-offsets prints; {_DUMP}"),
        (r"^Metadata for (?:all topics|\S+) \(from broker", f"what kcat prints of a cluster; {_DUMP}"),
        (r"^LeaderEpoch:\s|^ClusterId:\s", f"what kafka-metadata-quorum prints; {_DUMP}"),
        (r'^\{"topic":"[^"]*","partition":\d+,"offset":\d', CONSUMED),
        (
            r"^(?:CreateTime|LogAppendTime):-?\d+\W|^NO_TIMESTAMP\W|^Offset:\d",
            f"what a console consumer printed; {_RECEIVED}",
        ),
        (r"^\| offset: \d+ .*keySize: ", f"records that kafka-dump-log printed, without their batches; {_DUMP}"),
        (
            r'^Exception in thread "|^Missing required argument|\(Permission denied\)$|\(No such file or directory\)$',
            "what a tool printed that failed; run it again where the log can be read, and give all that it prints",
        ),
        (
            r"\b(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b.*(?:\(kafka\.|kafka|transactionalId|clientId=|coordinator)",
            f"the log of a broker or of a client, which reports what they did, not what is in a partition; {_DUMP}",
        ),
        (r"\borg\.apache\.kafka\.common\.errors\.\w+", f"an error of a client; {_DUMP}"),
    )
)


def use_of(text: TextFile) -> str:
    """What a text is, and what to give in its place; empty where it is nothing that is known."""
    if text.packed and is_of_kafka(text.name.removesuffix(text.path.suffix) if not text.inside else text.name):
        return _PACKED
    with text.open() as raw:
        head = raw.read(HEAD)
    binary = (words for begins, words in _BINARY if re.match(begins, head, re.DOTALL))
    lines = islice(lines_of(text), _LEARNT)
    found = (words for line in lines for pattern, words in _USES if pattern.search(line, 0, _FARTHEST))
    return next(binary, "") or next(found, "")


def rows_of(table: str) -> str:
    """The first rows of a table in words."""
    head, *rows = _cells(table)
    shown = (", ".join(f"{name} {value}" for name, value in zip(head, row, strict=False)) for row in rows[:_ROWS])
    return "".join(f"; it says: {row}" for row in shown)


def _cells(table: str) -> Iterator[list[str]]:
    """The cells of each row, between tabs, in columns, or between bars."""
    for line in table.strip().splitlines():
        plain = _CELLS.sub("\t", line.strip().strip("|"))
        words = plain.split()
        if words and not set(plain) <= set("-+: \t"):
            yield (
                words
                if len(words) == len(_CELLS.sub(" ", table.split("\n", 1)[0]).split())
                else [each.strip() for each in re.split(r"\t|\s{2,}", plain)]
            )
