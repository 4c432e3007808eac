"""The join's decisions on single records: what is at stake, what holds, and by which rule."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from model_tests.audit.transactions_rows import broken_rows, columns_of
from spec.judging.judge import RuleCheck
from spec.judging.judge_join import (
    FARTHEST_CLOCKS_MS,
    LONGEST_APPEND_MS,
    CoordinatorOutcome,
    EndedData,
    Excuse,
    MarkerCounts,
    PartitionMarker,
    UnmarkedPartition,
    agrees,
    excuse,
    is_during,
    is_undecided_gap,
    is_undecided_repeat,
    judge_copy,
    judge_ended_data,
    judge_marker,
    judge_outcomes,
    judge_repeated,
    judge_unmarked,
    may_be_by_hand,
)
from spec.vocabulary import ABSENT, ControlType

ABORT, COMMIT = ControlType.ABORT.value, ControlType.COMMIT.value
COMMITTED = CoordinatorOutcome(4, 5, COMMIT, 3, completed=True, prepared_ms=1_000, completed_ms=2_000)
PREPARED = replace(COMMITTED, completed=False, completed_ms=ABSENT)
MARKER = PartitionMarker(5, COMMIT, 3, 1_500)
AGAIN = replace(MARKER, again=True)
OUTPUTS = UnmarkedPartition(marked=1, has_data=True, copied_later=True)
OFFSETS = replace(OUTPUTS, offsets=True)
EMPTY = replace(OUTPUTS, has_data=False)


def broken(*checks: RuleCheck) -> list[str]:
    """The rules that are at stake and do not hold."""
    return [check.rule.id for check in checks if check.at_stake and not check.holds]


@pytest.mark.parametrize(
    ("timestamp", "clocks_ms", "during"),
    [
        (999, 0, False),
        (1_000, 0, True),
        (2_000, 0, True),
        (2_001, 0, False),
        (1_000 - FARTHEST_CLOCKS_MS, FARTHEST_CLOCKS_MS, True),
        (999 - FARTHEST_CLOCKS_MS, FARTHEST_CLOCKS_MS, False),
        (2_000 + FARTHEST_CLOCKS_MS, FARTHEST_CLOCKS_MS, True),
        (2_001 + FARTHEST_CLOCKS_MS, FARTHEST_CLOCKS_MS, False),
    ],
)
def test_a_marker_is_written_between_prepare_and_complete(timestamp: int, clocks_ms: int, during: bool) -> None:
    """Both bounds included; by clocks that differ, so much earlier and later."""
    assert is_during(COMMITTED, replace(MARKER, timestamp=timestamp), clocks_ms) is during


def test_without_a_complete_record_a_marker_may_be_as_late_as_it_likes() -> None:
    """An open transaction has no marker at all."""
    late = replace(MARKER, timestamp=10**12)

    assert (is_during(PREPARED, late), is_during(COMMITTED, late)) == (True, False)
    assert not is_during(replace(PREPARED, outcome=ABSENT), late)


@pytest.mark.parametrize(
    ("changes", "same"),
    [({}, True), ({"producer_epoch": 4}, False), ({"outcome": ABORT}, False), ({"timestamp": 999}, False)],
)
def test_a_marker_agrees_in_epoch_outcome_and_time(changes: dict[str, int], same: bool) -> None:
    """Each of them alone makes it another's."""
    assert agrees(COMMITTED, replace(MARKER, **changes)) is same


@pytest.mark.parametrize(
    ("agreeing", "agreeing_offsets", "other", "other_offsets", "rules"),
    [
        (0, 0, 0, 0, []),
        (3, 1, 0, 0, []),
        (0, 0, 1, 0, ["txn.one_outcome"]),
        (0, 0, 3, 1, ["txn.one_outcome"]),
        (2, 0, 1, 1, ["offsets.atomic"]),
        (1, 1, 2, 0, ["offsets.atomic"]),
        (2, 1, 1, 0, ["txn.atomic"]),
        (2, 1, 1, 1, ["txn.atomic"]),
        (1, 0, 1, 0, ["txn.atomic"]),
        (1, 1, 1, 1, ["txn.atomic"]),
        (1, 1, 2, 1, ["txn.atomic"]),
        (2, 0, 2, 1, ["txn.atomic"]),
    ],
)
def test_outcomes_of_partitions(
    agreeing: int, agreeing_offsets: int, other: int, other_offsets: int, rules: list[str]
) -> None:
    """None agrees; outputs and offsets are apart; or some partitions differ from others."""
    assert broken(*judge_outcomes(MarkerCounts(agreeing, agreeing_offsets, other, other_offsets))) == rules


@pytest.mark.parametrize(
    ("changes", "rules"),
    [
        ({}, []),
        ({"coordinator_epoch": 2}, ["fence.coordinator_epoch"]),
        ({"coordinator_epoch": 4}, []),
        ({"producer_epoch": 4}, ["txn.marker_once"]),
        ({"producer_epoch": 9, "coordinator_epoch": 2}, ["txn.marker_once"]),
        ({"producer_epoch": 9, "ends_own_epoch": True}, []),
        ({"producer_epoch": 4, "ends_own_epoch": True}, ["txn.marker_once"]),
    ],
)
def test_a_marker_has_the_epochs_of_its_transaction(changes: dict[str, int], rules: list[str]) -> None:
    """Data that has its wrong epoch, too, is judged instead; but the open epoch is no wrong one of data."""
    assert broken(*judge_marker(COMMITTED, replace(MARKER, **changes))) == rules


def test_where_the_open_epoch_is_not_known_the_marker_is_judged() -> None:
    """Nothing says of data that its epoch is wrong."""
    unknown = replace(COMMITTED, producer_epoch=ABSENT)

    assert broken(*judge_marker(unknown, replace(MARKER, producer_epoch=9, ends_own_epoch=True))) == ["txn.marker_once"]


@pytest.mark.parametrize(
    ("decided", "outcome", "epoch", "by_hand"),
    [(ABORT, ABORT, 4, True), (ABORT, ABORT, 6, False), (COMMIT, ABORT, 4, False), (COMMIT, COMMIT, 4, False)],
)
def test_an_operator_aborts_under_the_open_epoch(decided: int, outcome: int, epoch: int, by_hand: bool) -> None:
    """And only what the coordinator aborted, too."""
    known = replace(COMMITTED, outcome=decided)

    assert may_be_by_hand(known, replace(MARKER, outcome=outcome, producer_epoch=epoch)) is by_hand


@pytest.mark.parametrize(
    ("changes", "rules"),
    [
        ({}, []),
        ({"outcome": ABORT}, ["txn.one_outcome"]),
        ({"has_data": True, "data_epoch": 5}, ["txn.registered_before_data"]),
        ({"has_data": True, "data_epoch": 5, "outcome": ABORT}, ["txn.registered_before_data"]),
        ({"has_data": True, "data_epoch": 6}, ["txn.marker_once"]),
        ({"again": False, "outcome": ABORT}, []),
        ({"again": False, "has_data": True, "data_epoch": 6}, []),
    ],
)
def test_a_further_marker_changes_nothing(changes: dict[str, int], rules: list[str]) -> None:
    """While its transaction may still be open, it is a doubt."""
    marker = replace(AGAIN, **changes)

    assert broken(*judge_repeated(COMMITTED, marker)) == rules
    assert broken(*judge_repeated(PREPARED, marker)) == []
    assert is_undecided_repeat(PREPARED, marker) is bool(rules)
    assert not is_undecided_repeat(COMMITTED, marker)


@pytest.mark.parametrize(
    ("changes", "rules"),
    [
        ({"latest_ms": 1_501 + LONGEST_APPEND_MS}, ["txn.marker_once"]),
        ({"latest_ms": 1_500 + LONGEST_APPEND_MS}, []),
        ({"latest_ms": ABSENT}, []),
        ({"latest_ms": 10**6, "again": False}, []),
        ({"latest_ms": 10**6, "has_data": True}, []),
        ({"latest_ms": 10**6, "outcome": ABORT}, []),
        ({"latest_ms": 0, "timestamp": -LONGEST_APPEND_MS - 1}, ["txn.marker_once"]),
        ({"latest_ms": ABSENT, "timestamp": -LONGEST_APPEND_MS - 2}, []),
    ],
)
def test_a_copied_marker_is_older_than_what_its_leader_wrote(changes: dict[str, int], rules: list[str]) -> None:
    """By more than an append takes."""
    assert broken(judge_copy(COMMITTED, replace(AGAIN, **changes))) == rules


@pytest.mark.parametrize(
    ("data", "rules"),
    [
        (EndedData(4), []),
        (EndedData(5), ["txn.registered_before_data"]),
        (EndedData(3), ["fence.stale_epoch"]),
        (EndedData(5, hidden=True), []),
        (EndedData(5, owned=True), []),
    ],
)
def test_data_has_the_epoch_of_the_transaction(data: EndedData, rules: list[str]) -> None:
    """Unless a marker may be lost in between, or it is another transaction's."""
    assert broken(*judge_ended_data(COMMITTED, data)) == rules
    assert broken(*judge_ended_data(replace(COMMITTED, producer_epoch=ABSENT), data)) == []
    first = replace(data, producer_epoch=data.producer_epoch - COMMITTED.producer_epoch)
    assert broken(*judge_ended_data(replace(COMMITTED, producer_epoch=0), first)) == rules


EXCUSED = [
    (replace(OUTPUTS, unreadable=True, last=True, end_lost=True), Excuse.UNREADABLE),
    (replace(OUTPUTS, last=True, end_lost=True, behind=True), Excuse.END_LOST),
    (replace(OUTPUTS, last=True, behind=True), Excuse.BEHIND),
    (replace(OUTPUTS, end_lost=True, behind=True), Excuse.NONE),
    (replace(EMPTY, first=True, begun_later=True, cleaned=True), Excuse.BEGUN_LATER),
    (replace(EMPTY, first=True), Excuse.NONE),
    (replace(EMPTY, begun_later=True), Excuse.NONE),
    (replace(OUTPUTS, first=True, begun_later=True, cleaned=True), Excuse.NONE),
    (replace(OUTPUTS, by_time=True, cleaned=True, gone=True), Excuse.CLEANED),
    (replace(EMPTY, cleaned=True, gone=True), Excuse.CLEANED),
    (replace(EMPTY, offsets=True, gone=True, leader_changed=True), Excuse.MAY_BE_CLEANED),
    (replace(OFFSETS, by_time=True, gone=True, leader_changed=True), Excuse.NONE),
    (replace(EMPTY, gone=True, leader_changed=True), Excuse.NONE),
    (replace(EMPTY, leader_changed=True), Excuse.LEADER_CHANGED),
    (replace(EMPTY, leader_changed=True, led=True), Excuse.NONE),
    (replace(EMPTY, leader_changed=True, led=True, copied_later=False), Excuse.COPIED_EARLIER),
    (replace(OUTPUTS, leader_changed=True, copied_later=False), Excuse.COPIED_EARLIER),
]


@pytest.mark.parametrize(("partition", "expected"), EXCUSED)
def test_what_may_have_removed_a_marker(partition: UnmarkedPartition, expected: Excuse) -> None:
    """The first that applies; without any, the rule is broken, and with one, it is in doubt."""
    assert excuse(partition) == expected.value
    assert is_undecided_gap(COMMITTED, partition) is (expected is not Excuse.NONE)
    assert bool(broken(*judge_unmarked(COMMITTED, partition))) is (expected is Excuse.NONE)
    assert not is_undecided_gap(PREPARED, partition)
    assert broken(*judge_unmarked(PREPARED, partition)) == []


def test_every_excuse_has_its_case() -> None:
    """Of the table above."""
    assert {expected for _, expected in EXCUSED} == set(Excuse)


@pytest.mark.parametrize(
    ("partition", "outcome", "rule"),
    [
        (OUTPUTS, COMMIT, "txn.marker_once"),
        (OFFSETS, COMMIT, "offsets.atomic"),
        (OFFSETS, ABORT, "txn.marker_once"),
        (replace(OFFSETS, marked=0), COMMIT, "txn.marker_once"),
    ],
)
def test_offsets_without_a_marker_are_apart_from_the_outputs(
    partition: UnmarkedPartition, outcome: int, rule: str
) -> None:
    """Where others were committed."""
    assert broken(*judge_unmarked(replace(COMMITTED, outcome=outcome), partition)) == [rule]


def test_columns_say_of_each_row_what_the_decision_says_of_it() -> None:
    """Over arrays as over single records."""
    known = [
        replace(COMMITTED, outcome=outcome, producer_epoch=epoch) for outcome in (ABORT, COMMIT) for epoch in (4, -1)
    ]
    markers = [
        replace(MARKER, producer_epoch=epoch, coordinator_epoch=by, ends_own_epoch=own)
        for epoch in (4, 5, 9)
        for by in (2, 3)
        for own in (False, True)
    ]
    pairs = [(one, marker) for one in known for marker in markers]
    columns = columns_of([one for one, _ in pairs]), columns_of([marker for _, marker in pairs])

    assert _places(judge_marker(*columns), len(pairs)) == _each(judge_marker(*pair) for pair in pairs)
    assert _places(judge_repeated(*columns), len(pairs)) == _each(judge_repeated(*pair) for pair in pairs)
    partitions = [partition for partition, _ in EXCUSED]
    assert np.asarray(excuse(columns_of(partitions))).tolist() == [expected.value for _, expected in EXCUSED]


def _places(checks: tuple[RuleCheck, ...], count: int) -> list[int]:
    return np.flatnonzero(broken_rows(checks, count)).tolist()


def _each(judged: Iterable[tuple[RuleCheck, ...]]) -> list[int]:
    return [number for number, checks in enumerate(judged) if broken(*checks)]
