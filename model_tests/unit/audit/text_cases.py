"""Texts as people post them: each with what is read of it, what it lacks, and what that costs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from model_tests.audit.report import AuditReport
from model_tests.common.reports import HOLDS, NOTHING_JUDGED, VIOLATED
from model_tests.histories.severity import Severity
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


def header(offset: int, position: int = 0, count: int = 1, last: int | None = None) -> str:
    """The line of a batch."""
    last = offset if last is None else last
    return (
        f"baseOffset: {offset} lastOffset: {last} count: {count} baseSequence: -1 lastSequence: -1 "
        "producerId: -1 producerEpoch: -1 partitionLeaderEpoch: 0 isTransactional: false isControl: false "
        f"position: {position} CreateTime: 1 size: 86 magic: 2 compresscodec: none crc: 1 isvalid: true"
    )
