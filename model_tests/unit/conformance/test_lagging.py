from copy import deepcopy
from typing import Any

import pytest

from model_tests.conformance.compare import LAGGING, RACY_ERROR, Difference, undecided
from model_tests.conformance.lagging import lagging
from model_tests.conformance.sessions import Marks, session_of
from model_tests.unit.conformance.written import restart, session

WAITS = {"committed": 4, "stable": "UNSTABLE_OFFSET_COMMIT"}
TOLD = {"committed": 4, "stable": 4}


def after(view: dict[str, Any], first: int | str) -> dict[str, Any]:
    producer = {"producer_id": "pid0", "current_txn_start_offset": first}
    return {"groups": {"g0": {"t-0": view}}, "producers": {"__consumer_offsets[g0]": [producer], "t-0": []}}


@pytest.mark.parametrize(
    ("view", "first", "groups"),
    [(WAITS, -1, {"g0"}), (WAITS, "open", set()), (TOLD, -1, set()), (TOLD, "open", set())],
)
def test_a_group_lags_that_waits_for_no_open_transaction(
    view: dict[str, Any], first: int | str, groups: set[str]
) -> None:
    """Its partition has the marker already."""
    assert groups == lagging(after(view, first))


def test_what_is_not_recorded_does_not_lag() -> None:
    """A state without groups, or with something else in their place."""
    assert lagging({}) == lagging({"groups": [], "producers": 4}) == lagging({"groups": {"g0": 3}}) == frozenset()


@pytest.mark.parametrize(("build", "groups"), [("3.9.0", {"g0"}), ("4.0-SNAPSHOT", set())])
def test_only_a_release_that_lags_is_excused(build: str, groups: set[str]) -> None:
    """The group coordinator of 4.0 does the marker's work with it."""
    steps = ({**restart(), "after": after(WAITS, -1)}, {**restart(), "after": after(deepcopy(TOLD), -1)})

    read = session_of(session(*steps, kafka=build))

    assert [set(step.marks.lagging) for step in read.steps] == [groups, set()]


def test_a_lagging_group_excuses_its_own_offsets_alone() -> None:
    """Any other difference is one."""
    marks = Marks(lagging=frozenset({"g0"}))
    own = Difference("after.groups.g0.t-0.stable", "UNSTABLE_OFFSET_COMMIT", 4)
    others = (
        Difference("after.groups.g1.t-0.stable", -1, 4),
        Difference("response.error", "NONE", "UNKNOWN_MEMBER_ID"),
    )

    assert undecided((own,), marks) == LAGGING
    assert [undecided((own, other), marks) for other in others] == ["", ""]
    assert undecided((own,), Marks()) == ""


def test_the_error_of_a_partition_may_depend_on_others_too() -> None:
    """It is recorded by its name alone."""
    marks = Marks(accept_errors=frozenset({"INVALID_TXN_STATE", "TRANSACTION_ABORTABLE"}))
    found = Difference("response.partitions.t-0", "TRANSACTION_ABORTABLE", "INVALID_TXN_STATE")

    assert undecided((found,), marks) == RACY_ERROR
    assert undecided((Difference("response.partitions.t-0", "NONE", "INVALID_TXN_STATE"),), marks) == ""
