"""Logs with the journal of their clients, or with what a reader of them received."""

import json
from dataclasses import replace
from typing import Any, Final

from model_tests.unit.audit.audit_case import AuditCase, Change
from model_tests.unit.audit.directory_edits import Edit, void
from model_tests.unit.audit.stories import BEGUN
from model_tests.unit.audit.written_cluster import Name, WrittenCluster
from model_tests.unit.support.audited_histories import PRODUCER, ack, begin, both, ended, reported

A, B = ("a", 0), ("b", 0)
JOURNAL, RECEIVED = "journal.gz", "received.ndjson"


def beside(case: AuditCase, edit: Edit, option: str, file: str) -> AuditCase:
    """The case with a file beside the directory of its logs, which an option names."""
    return replace(case, edit=edit, brokers=("logs",), given=("logs",), options={option: file})


def with_journal(events: list[dict[str, Any]], case: AuditCase) -> AuditCase:
    """The case with what its client was answered."""
    return beside(case, lambda directory: void(reported(events, directory / JOURNAL)), "history", JOURNAL)


def with_end(number: int, how: str) -> list[dict[str, Any]]:
    """The client was answered another outcome at this event."""
    events = both()
    events[number] = {**events[number], "ev": how}
    return events


def committed(number: int) -> list[dict[str, Any]]:
    """What the client of a transaction of one record in A and in B saw."""
    acks = [ack(number, partition, 2 * number - 2) for partition in (A, B)]
    return [begin(number), *acks, ended(number, "commit")]


def without_coordinator(cluster: WrittenCluster) -> None:
    """The coordinator's log was not copied."""
    cluster.coordinator.clear()


def shortened(place: Name, kept: int) -> Change:
    """The log ends after so many batches."""

    def change(cluster: WrittenCluster) -> None:
        del cluster.logs[place][kept:]

    return change


TWO: Final = "init tx 7; txn a b; add a b; send a b; prepare commit; {}; complete"

JOURNALS: Final = (
    with_journal(
        both(),
        AuditCase(
            "what was committed is visible, and what was aborted is not",
            BEGUN,
            reported={"judged.txn.client_verdict": 6},
            printed=("History: 6 acknowledged records (3 abort: aborted, 3 commit: visible).",),
        ),
    ),
    with_journal(
        with_end(5, "abort"),
        AuditCase(
            "the client was answered an abort, and the log has a commit",
            BEGUN,
            ("violation txn.client_verdict a-0@0, tx, EndTxn",),
            says=("is aborted; records acknowledged in it are visible at a-0 offset 0 (1 records)",),
        ),
    ),
    with_journal(
        with_end(10, "commit"),
        AuditCase(
            "the client was answered a commit, and the log has an abort",
            BEGUN,
            ("violation txn.client_verdict a-0@2, tx, EndTxn",),
        ),
    ),
    with_journal(
        [PRODUCER, *committed(1), *committed(2)],
        AuditCase(
            "a marker has the other outcome, which causes what the client was not answered",
            TWO.format("mark a; mark b abort"),
            ("violation txn.atomic b-0@3, tx, WriteTxnMarkers",),
            explains={"the marker says ABORT": ("txn.client_verdict",)},
            version=2,
        ),
    ),
    with_journal(
        [PRODUCER, *committed(1), *committed(2)],
        AuditCase(
            "data and marker are lost, which causes what the client was not answered",
            TWO.format("mark a b"),
            ("violation txn.marker_once b-0@1, tx, WriteTxnMarkers",),
            explains={"no COMMIT marker": ("txn.client_verdict",)},
            version=2,
            change=shortened(B, 2),
        ),
    ),
    with_journal(
        [*both()[:5], ack(1, B, 40), *both()[5:]],
        AuditCase(
            "an acknowledged record of a commit is beyond the end of the log",
            BEGUN,
            ("violation txn.client_verdict b-0@40, tx, EndTxn",),
        ),
    ),
    with_journal(
        [*both(), begin(3), ack(3, A, 2), ended(3, "abort")],
        AuditCase("an offset was acknowledged twice", BEGUN, ("violation seq.exactly_once a-0@2, Produce",)),
    ),
    with_journal(
        [*both(), begin(3), ack(3, A, 4), ack(3, B, 4), ended(3, "commit", ok=False)],
        AuditCase(
            "the client does not know the outcome, and it is not one",
            f"{BEGUN} add a b; send a b; prepare commit; mark a; mark b abort",
            ("violation txn.atomic a-0@4, tx, EndTxn",),
            change=without_coordinator,
        ),
    ),
)


def receiving(offsets: tuple[int, ...]) -> Edit:
    """A read_committed reader received these offsets of A, and all of the others."""
    lines = [["b", 0, 0], ["c", 0, 0], *(["a", 0, offset] for offset in offsets)]
    return lambda directory: void((directory / RECEIVED).write_text("".join(f"{json.dumps(one)}\n" for one in lines)))


READERS: Final = tuple(
    beside(
        AuditCase(f"a reader received {what}", BEGUN, tuple(f"violation lso.read_committed a-0@{at}" for at in places)),
        receiving(offsets),
        "received",
        RECEIVED,
    )
    for what, offsets, places in (
        ("exactly the visible records", (0,), ()),
        ("an aborted record, too", (0, 2), ("2, producer 7, Fetch",)),
        ("another one instead of one", (9_999,), ("0, producer 7, Fetch", "9999, Fetch")),
        ("one twice", (0, 0), ("0, producer 7, Fetch",)),
    )
)

CASES: Final = (*JOURNALS, *READERS)
