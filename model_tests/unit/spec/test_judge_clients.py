"""Decisions over what clients wrote down: what each says of the records that matter, and of columns as of one."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from itertools import product
from typing import Any, Final

import numpy as np
import pytest

import spec.readings.reading_numpy  # noqa: F401  # arrays are operands of the decisions
from spec.judging import judge_clients as clients
from spec.judging.judge_clients import (
    AcknowledgedNext,
    AcknowledgedOffset,
    AnsweredRecords,
    ClientAnswer,
    ClientVerdict,
    ConsumedNext,
    GivenRecord,
    GroupPlace,
    KnownSpan,
    NextRecord,
    ReaderAssignment,
    RecordFate,
    ReportedTransaction,
    WrittenRecord,
)

HOLDS, VIOLATED, LEGAL, UNDECIDED = ClientVerdict

NUMBERS: Final[Mapping[str, tuple[int, ...]]] = {
    "answer": tuple(ClientAnswer),
    "assignment": (-1, *ReaderAssignment),
    "distance": (-1, 0, 1, 2),
    "fate": tuple(RecordFate),
    **dict.fromkeys(("place", "begun", "furthest", "alone", "first", "last"), (0, 1)),
}
"""Values of the fields that are numbers; the others are facts."""

DECISIONS: Final[Mapping[str, type[Any]]] = {
    **dict.fromkeys(("judge_value", "judge_place"), KnownSpan),
    "judge_acknowledged": AcknowledgedOffset,
    **dict.fromkeys(("is_passed_by", "is_lost", "judge_passed", "judge_unseen"), WrittenRecord),
    **dict.fromkeys(("judge_given", "judge_own"), GivenRecord),
    **dict.fromkeys(("judge_sent_back", "judge_sent_apart", "judge_read_back", "judge_read_past"), NextRecord),
    **dict.fromkeys(("judge_torn", "judge_outputs"), ReportedTransaction),
    "is_passed_over": GroupPlace,
    "judge_consumed": ConsumedNext,
    "judge_acknowledged_next": AcknowledgedNext,
    **dict.fromkeys(("judge_answer", "judge_owner"), AnsweredRecords),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_columns_are_judged_as_each_record_of_them(name: str) -> None:
    """Whatever the fields are."""
    kind, decision = DECISIONS[name], getattr(clients, name)
    names = [field.name for field in fields(kind)]
    rows = list(product(*(NUMBERS.get(each, (False, True)) for each in names)))

    columns = kind(*(np.array(column) for column in zip(*rows, strict=True)))

    assert np.broadcast_to(decision(columns), len(rows)).tolist() == [decision(kind(*row)) for row in rows]
    assert len({int(decision(kind(*row))) for row in rows}) > 1


WRITTEN: Final = {
    "answer": ClientAnswer.COMMITTED,
    "placed": True,
    "seen": False,
    "handed": False,
    "place": 1,
    "begun": 0,
    "furthest": 2,
    "alone": 0,
    "left_out": False,
    "whole": True,
}
"""A record that readers read past and were not given."""


@pytest.mark.parametrize(
    ("change", "passed", "unseen"),
    [
        ({}, VIOLATED, HOLDS),
        ({"seen": True}, HOLDS, HOLDS),
        ({"handed": True}, UNDECIDED, HOLDS),
        ({"whole": False}, UNDECIDED, HOLDS),
        ({"begun": 2}, UNDECIDED, HOLDS),
        ({"begun": 1}, VIOLATED, HOLDS),
        ({"furthest": 1}, VIOLATED, HOLDS),
        ({"furthest": 0}, HOLDS, UNDECIDED),
        ({"furthest": 0, "answer": ClientAnswer.UNKNOWN}, HOLDS, HOLDS),
        ({"left_out": True}, HOLDS, HOLDS),
        ({"left_out": True, "alone": 1}, VIOLATED, HOLDS),
        ({"placed": False}, HOLDS, UNDECIDED),
    ],
)
def test_a_record_that_is_not_read(change: Mapping[str, Any], passed: ClientVerdict, unseen: ClientVerdict) -> None:
    """It is lost only where readers were before it and behind it."""
    record = WrittenRecord(**{**WRITTEN, **change})

    assert (clients.judge_passed(record), clients.judge_unseen(record)) == (passed, unseen)


@pytest.mark.parametrize(
    ("assignment", "whole", "resumed", "past", "back"),
    [
        (-1, True, False, VIOLATED, VIOLATED),
        (ReaderAssignment.ASSIGN, True, False, VIOLATED, VIOLATED),
        (ReaderAssignment.ASSIGN, True, True, LEGAL, VIOLATED),
        (ReaderAssignment.ASSIGN, False, True, UNDECIDED, UNDECIDED),
        (ReaderAssignment.TRACKED, True, False, VIOLATED, VIOLATED),
        (ReaderAssignment.SUBSCRIBE, True, False, LEGAL, LEGAL),
        (ReaderAssignment.UNKNOWN, True, False, UNDECIDED, UNDECIDED),
    ],
)
def test_a_reader_that_does_not_go_on(
    assignment: int, whole: bool, resumed: bool, past: ClientVerdict, back: ClientVerdict
) -> None:
    """What it means depends on how it came to the partition."""
    found = {
        distance: tuple(
            decision(NextRecord(distance, assignment, resumed, whole))
            for decision in (clients.judge_read_past, clients.judge_read_back)
        )
        for distance in (0, 1, 2)
    }

    assert found == {0: (HOLDS, back), 1: (HOLDS, HOLDS), 2: (past, HOLDS)}


@pytest.mark.parametrize(
    ("answer", "wrong", "how"),
    [
        (ClientAnswer.COMMITTED, {RecordFate.ABORTED, RecordFate.LOST, RecordFate.OPEN}, VIOLATED),
        (ClientAnswer.ABORTED, {RecordFate.VISIBLE, RecordFate.COMMITTED}, VIOLATED),
        (ClientAnswer.NO_TRANSACTION, {RecordFate.ABORTED, RecordFate.LOST}, LEGAL),
        (ClientAnswer.UNKNOWN, set(), HOLDS),
    ],
)
def test_an_answer_and_what_became_of_the_records(
    answer: ClientAnswer, wrong: set[RecordFate], how: ClientVerdict
) -> None:
    """Of each fate; what hangs and was reported is not reported again."""
    judged = {fate: clients.judge_answer(AnsweredRecords(answer, fate)) for fate in RecordFate}

    assert judged == {fate: how if fate in wrong else HOLDS for fate in RecordFate}
    assert clients.judge_answer(AnsweredRecords(answer, RecordFate.OPEN, hangs=True)) == HOLDS


TORN: Final = dict.fromkeys((field.name for field in fields(ReportedTransaction)), False) | {
    "atomic": True,
    "seen": True,
}


@pytest.mark.parametrize(
    ("change", "torn"),
    [
        ({}, HOLDS),
        ({"lost": True, "took_effect": True, "whole": True}, VIOLATED),
        ({"lost": True, "took_effect": True}, UNDECIDED),
        ({"lost": True, "took_effect": True, "whole": True, "atomic": False}, HOLDS),
        ({"aborted_seen": True, "unseen": True, "read_committed": True}, VIOLATED),
        ({"aborted_seen": True, "unseen": True, "whole": True}, LEGAL),
        ({"aborted_seen": True, "read_committed": True}, HOLDS),
    ],
)
def test_a_transaction_of_which_a_part_is_read(change: Mapping[str, bool], torn: ClientVerdict) -> None:
    """Committed or aborted."""
    assert clients.judge_torn(ReportedTransaction(**{**TORN, **change})) == torn


@pytest.mark.parametrize(
    ("decision", "broken", "sound"),
    [
        (clients.judge_value, KnownSpan(0, 1), KnownSpan(1, 1)),
        (clients.judge_place, KnownSpan(0, 1), KnownSpan(1, 0)),
        (clients.judge_acknowledged, AcknowledgedOffset(True, True, False), AcknowledgedOffset(True, False, False)),
        (clients.judge_given, GivenRecord(True, True, True), GivenRecord(True, True, True, spared=True)),
        (clients.judge_own, GivenRecord(True, own=True), GivenRecord(True, True, True)),
        (clients.judge_sent_back, NextRecord(0), NextRecord(1)),
        (clients.judge_outputs, ReportedTransaction(**{**TORN, "lost": True, "consumes": True, "whole": True}), None),
        (clients.judge_owner, AnsweredRecords(0, 0, foreign=True), AnsweredRecords(0, 0)),
    ],
)
def test_the_others(decision: Callable[[Any], Any], broken: Any, sound: Any) -> None:
    """What is violated, and what holds."""
    assert decision(broken) == VIOLATED
    assert sound is None or decision(sound) == HOLDS


def test_what_is_legal_or_stays_open() -> None:
    """Records of others between those of one transaction; a value that was sent twice; readers of everything."""
    assert [clients.judge_sent_apart(NextRecord(distance)) for distance in (0, 1, 2)] == [HOLDS, HOLDS, LEGAL]
    assert clients.judge_value(KnownSpan(0, 1, sent_once=False)) == UNDECIDED
    assert clients.judge_given(GivenRecord(False, True, True)) == LEGAL
    assert (clients.judge_fates(True, True), clients.judge_fates(True, False)) == (VIOLATED, HOLDS)


def test_a_place_that_a_group_passes_over() -> None:
    """It came to it or from before it, read on behind it, and was not given it."""
    judged = {each: clients.is_passed_over(GroupPlace(*each)) for each in product((True, False), repeat=3)}

    assert judged == {each: each == (True, False, True) for each in judged}


def test_what_a_group_passes_over_is_found_after_an_abort() -> None:
    """Kafka leaves it to the client to go back; with a line missing, the group may have been given it again."""
    judged = {each: clients.judge_passed_over(*each) for each in product((True, False), repeat=2)}

    assert judged == {(True, True): LEGAL, (True, False): UNDECIDED, (False, True): HOLDS, (False, False): HOLDS}


def test_an_offset_is_acknowledged_once() -> None:
    """Two transactions wait for all replicas; a producer outside of one may not."""
    judged = {each: clients.judge_acknowledged_next(AcknowledgedNext(*each)) for each in product((0, 1), (True, False))}

    assert judged == {(0, True): VIOLATED, (0, False): LEGAL, (1, True): HOLDS, (1, False): HOLDS}


def test_a_record_is_consumed_by_one_transaction() -> None:
    """An operation that polls twice may be given it again."""
    judged = {each: clients.judge_consumed(ConsumedNext(*each)) for each in product((0, 1), (True, False))}

    assert judged == {(0, True): HOLDS, (0, False): LEGAL, (1, True): HOLDS, (1, False): HOLDS}
