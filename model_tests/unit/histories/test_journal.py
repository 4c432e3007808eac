"""Journals: many records in one line, and topics that are deleted."""

import json
from pathlib import Path

import pytest

from model_tests.common.reports import BadInput
from model_tests.histories.as_journal import ClientJournal
from model_tests.histories.form import Form
from model_tests.histories.reading import read_history


def journal_of(tmp_path: Path, *events: dict[str, object]) -> ClientJournal:
    file = tmp_path / "journal"
    file.write_text("".join(json.dumps({"p": "a", "txn": None, **event}) + "\n" for event in events))
    return read_history(str(file), Form.JOURNAL)


def ack(topic: str, offset: int, **more: int) -> dict[str, object]:
    return {"ev": "ack", "topic": topic, "part": 0, "off": offset, **more}


def test_a_line_may_acknowledge_many_records(tmp_path: Path) -> None:
    """Those from an offset on; the same as a line for each."""
    together = journal_of(tmp_path, ack("in", 5, count=3), ack("in", 9))
    apart = journal_of(tmp_path, *(ack("in", offset) for offset in (5, 6, 7, 9)))

    for journal in (together, apart):
        assert [5, 6, 7, 9] == journal.acknowledged["in", 0].offsets.tolist()
        assert 1 == len(journal.attempts)


def test_a_deleted_topic_has_nothing_that_was_acknowledged_before(tmp_path: Path) -> None:
    """What comes later is of the topic that was made anew; other topics stay."""
    journal = journal_of(
        tmp_path, ack("in", 5, count=3), ack("out", 1), {"ev": "delete_topic", "topic": "in"}, ack("in", 0)
    )

    assert {("in", 0): [0], ("out", 0): [1]} == {
        partition: acknowledged.offsets.tolist() for partition, acknowledged in journal.acknowledged.items()
    }
    assert 1 == len(journal.attempts)


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (ack("in", -1), "no offset -1"),
        (ack("in", 2**63), "no offset 9223372036854775808"),
        (ack("in", 2**63 - 2, count=3), "no offset 9223372036854775806 with 2 behind it"),
        (ack("in", 0, count=1_000_001), "count is 1000001"),
        (ack("in", 0, count=-1), "count is -1"),
    ],
)
def test_offsets_that_cannot_be_are_refused_with_their_line(tmp_path: Path, event: dict[str, object], why: str) -> None:
    """Nothing takes memory by a number that is only written down."""
    with pytest.raises(BadInput, match=f"line 2: .*{why}"):
        journal_of(tmp_path, ack("in", 2**63 - 1), event)


@pytest.mark.parametrize("number", ["first", 2**70, -4, 1.5])
def test_a_transaction_may_have_any_name(tmp_path: Path, number: object) -> None:
    """One that is no number of a column is shown by its line."""
    journal = journal_of(tmp_path, {"ev": "begin", "txn": number}, {**ack("in", 5), "txn": number})

    assert ["a transaction 1"] == [attempt.name for attempt in journal.attempts]
    assert [5] == journal.acknowledged["in", 0].offsets.tolist()
