"""What the programs of Kafka's system tests print."""

import json
from typing import Any, Final

import pytest

from model_tests.histories.anomalies import AnomalyKind
from model_tests.histories.from_tools import COPIER, from_tools
from model_tests.histories.report import report_on
from model_tests.histories.severity import Severity
from model_tests.unit.support.audited_histories import PLACE, PRODUCED, consumed, found, history, moved, sent


def record(value: str, offset: int) -> dict[str, Any]:
    """A line of VerifiableConsumer with --verbose."""
    return {"timestamp": 3, "name": "record_data", "key": None, "value": value, **PLACE, "offset": offset}


def test_a_whole_history_has_no_anomaly() -> None:
    """With records, or with a summary of each poll that has no gap."""
    verbose = [moved("assigned"), record("0", 0), record("1", 1), consumed(2, 0, 1), consumed(2, 2, 3)]

    reported = history(producer=PRODUCED, consumer=verbose)

    assert (len(reported.sent), len(reported.given), reported.partial) == (4, 4, ())
    assert found(report_on(reported, "x")) == {}
    assert reported.passed_over == {"startup_complete": 1, "tool_data": 1}


BROKEN: Final = {Severity.VIOLATION: 1}
OTHER: Final = [record("0", 0), record("other", 1), consumed(2, 0, 1), consumed(2, 2, 3)]
AGAIN: Final = [*(record(str(number), number) for number in range(4)), record("1", 4), consumed(5, 0, 4)]


@pytest.mark.parametrize(
    ("polls", "expected"),
    [
        pytest.param(
            [consumed(2, 0, 1), consumed(1, 3, 3)],
            {AnomalyKind.LOST_WRITE: BROKEN, AnomalyKind.POLL_SKIP: BROKEN},
            id="skipped",
        ),
        pytest.param(
            [consumed(2, 0, 1), moved("revoked"), consumed(1, 3, 3)],
            {AnomalyKind.LOST_WRITE: BROKEN},
            id="skipped after a rebalance",
        ),
        pytest.param([consumed(3, 0, 2), consumed(2, 2, 3)], {AnomalyKind.NONMONOTONIC_POLL: BROKEN}, id="read again"),
        pytest.param([consumed(3, 0, 2), moved("assigned"), consumed(2, 2, 3)], {}, id="again after a rebalance"),
        pytest.param([consumed(1, 0, 0)], {AnomalyKind.UNSEEN: {Severity.UNDECIDED: 3}}, id="not read on"),
        pytest.param(
            OTHER, {AnomalyKind.INCONSISTENT_OFFSETS: BROKEN, AnomalyKind.LOST_WRITE: BROKEN}, id="another value"
        ),
        pytest.param(AGAIN, {AnomalyKind.DUPLICATE: BROKEN}, id="twice"),
    ],
)
def test_what_a_consumer_prints_is_held_against_what_was_sent(
    polls: list[dict[str, Any]], expected: dict[AnomalyKind, dict[Severity, int]]
) -> None:
    """Between two rebalances it reads on without a gap; they are all in its output."""
    assert found(report_on(history(producer=PRODUCED, consumer=[moved("assigned"), *polls]), "x")) == expected


def test_a_poll_with_gaps_of_which_only_the_ends_are_reported_decides_nothing() -> None:
    """Whether the records between were given is in no line."""
    reported = history(producer=PRODUCED, consumer=[moved("assigned"), consumed(3, 0, 3)])

    assert reported.partial == ("polls have no more than their first and last offset, and gaps between them",)
    assert Severity.VIOLATION not in {
        severity for counts in found(report_on(reported, "x")).values() for severity in counts
    }


def test_a_send_of_unknown_outcome_is_no_loss() -> None:
    """An error shows neither that the record is written nor that it is not."""
    failed = {
        "name": "producer_send_error",
        "topic": "orders",
        "key": None,
        "value": "9",
        "exception": "x",
        "message": "y",
    }

    reported = report_on(history(producer=[*PRODUCED, failed], consumer=[moved("assigned"), consumed(4, 0, 3)]), "x")

    assert found(reported) == {}
    assert reported.operations == {"ok": 5, "info": 1, "fail": 0}


@pytest.mark.parametrize(
    "line",
    [
        '{"name": "producer_send_success", "value": "1"',
        '{"name": "producer_send_success", "value": "1", "topic": "orders", "partition": 0}',
        '{"name": "producer_send_success", "value": "1", "topic": "o", "partition": 0, "offset": 9223372036854775808}',
        '{"name": "record_data", "value": "1", "topic": 7, "partition": 0, "offset": 1}',
        '{"name": "records_consumed", "count": 1, "partitions": 3}',
        json.dumps(consumed(5, 3, 4)),
        '{"name": "partitions_assigned"}',
    ],
)
def test_a_line_that_cannot_be_read_is_counted(line: str) -> None:
    """What it had is missing; the lines around it count."""
    lines = [json.dumps(sent("0", 0)), line, json.dumps(sent("1", 1))]

    reported = from_tools([("producer", lines)])

    assert sum(reported.aside.values()) == 1
    assert len(reported.sent) == 2
    assert reported.partial == ("lines that cannot be read are left out",)


def test_what_is_no_json_and_what_names_no_record_is_passed_over() -> None:
    """A warning of the client, and the counts of TransactionalMessageCopier."""
    lines = [
        "[2025-11-30] WARN something",
        '{"progress": "copier-0", "totalProcessed": 7, "consumed": 7, "remaining": 3, "stage": "ProcessLoop"}',
        '{"shutdown_complete": "copier-0", "totalProcessed": 9, "consumed": 9, "remaining": 1}',
        '{"weather": "fine"}',
    ]

    reported = from_tools([("copier", lines)])

    assert reported.passed_over == {"line that is no JSON": 1, COPIER: 2, "event of another kind": 1}
    assert (reported.aside, reported.partial) == ({}, ())
