from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from model_tests.conform.compare import RACY_ERROR, FieldDifference, undecided
from model_tests.conform.files import bundled, sessions_in
from model_tests.conform.sessions import Session, StepMarks, session_of, shows_lag
from model_tests.conform.side_by_side import outcomes
from model_tests.unit.conform.written import restart, session

WAITS = {"committed": 4, "stable": "UNSTABLE_OFFSET_COMMIT"}
REPORTED = {"committed": 4, "stable": 4}
LAGGING_ONES = ("main-C-00327", "main-C-00496", "nover-C-00033")


def after(view: dict[str, Any], first: int | str) -> dict[str, Any]:
    known = {"producer_id": "pid0", "producer_epoch": 0, "last_sequence": -1, "coordinator_epoch": 0}
    producers = {"__consumer_offsets[g0]": [{**known, "current_txn_start_offset": first}], "t-0": []}
    return {"groups": {"g0": {"t-0": view}}, "producers": producers, "offsets": {}}


@pytest.mark.parametrize(
    ("view", "first", "lags"),
    [(WAITS, -1, True), (WAITS, "open", False), (REPORTED, -1, False), (REPORTED, "open", False)],
)
def test_a_group_lags_that_waits_for_no_open_transaction(view: dict[str, Any], first: int | str, lags: bool) -> None:
    """Its partition has the marker already."""
    assert lags == shows_lag(after(view, first))


def test_what_is_not_recorded_does_not_lag() -> None:
    """A state without groups, or with something else in their place."""
    assert not any(shows_lag(after) for after in ({}, {"groups": [], "producers": 4}, {"groups": {"g0": 3}}))


@pytest.mark.parametrize(("build", "lags"), [("3.9.0", True), ("4.0-SNAPSHOT", False)])
@pytest.mark.parametrize("aside", [True, False])
def test_only_a_release_that_may_lag_does(build: str, lags: bool, aside: bool) -> None:
    """The group coordinator of 4.0 does the marker's work with it; an observation that was put aside counts."""
    seen = after(WAITS, -1)
    shown = {"after": {**seen, "groups": {}}, "groups_racy": seen["groups"]} if aside else {"after": seen}
    steps = ({**restart(), **shown}, {**restart(), "after": after(deepcopy(REPORTED), -1)})

    read = session_of(session(*steps, kafka=build))

    assert [step.marks.lagging for step in read.steps] == [lags, False]
    assert (read.steps[0].after or {})["groups"] == seen["groups"]


@cache
def lagging_ones() -> list[Session]:
    recorded = sessions_in(line for line in bundled(("C",)) if any(name in str(line.content) for name in LAGGING_ONES))
    return [each for each in recorded if each.id in LAGGING_ONES]


def test_where_the_group_lags_both_sides_lag_and_every_field_is_as_recorded() -> None:
    """The groups are compared too, before their coordinator came to the marker and after."""
    played = [outcome for recorded in lagging_ones() for outcome in outcomes(recorded)]

    assert len(lagging_ones()) == len(LAGGING_ONES)
    assert sum(outcome.step.marks.lagging for outcome in played) >= len(LAGGING_ONES)
    assert [outcome for outcome in played if outcome.disagreed or outcome.undecided] == []


def test_a_side_that_never_lags_is_seen() -> None:
    """The same sessions without the mark: both sides differ, in the group alone."""
    for recorded in lagging_ones():
        steps = tuple(replace(step, marks=replace(step.marks, lagging=False)) for step in recorded.steps)
        wrong = [each for outcome in outcomes(replace(recorded, steps=steps)) for each in outcome.disagreed]

        assert {each.by for each in wrong} == {"specification", "reference"}
        assert {where[:15] for each in wrong for where in each.expected} == {"after.groups.g0"}


def test_the_error_of_a_partition_may_depend_on_others_too() -> None:
    """It is recorded by its name alone."""
    marks = StepMarks(accept_errors=frozenset({"INVALID_TXN_STATE", "TRANSACTION_ABORTABLE"}))
    found = FieldDifference("response.partitions.t-0", "TRANSACTION_ABORTABLE", "INVALID_TXN_STATE")

    assert undecided((found,), marks) == RACY_ERROR
    assert undecided((FieldDifference("response.partitions.t-0", "NONE", "INVALID_TXN_STATE"),), marks) == ""
