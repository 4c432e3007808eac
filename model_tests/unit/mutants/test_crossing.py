"""The crossing of decisions and layers: it is complete, what is not seen is explained, and a sample is shown again."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from model_tests.logs.coordinator_log_edges import step_between
from model_tests.logs.coordinator_log_values import StateValue
from model_tests.mutants.decisions.audited import DELETED, OF_NO_CLIENT
from model_tests.mutants.decisions.call_sites import JudgedCall, watched
from model_tests.mutants.decisions.crossing import CrossingCell, Sight, cell_of
from model_tests.mutants.decisions.crossing_page import (
    ENOUGH,
    UNNAMED,
    page,
    read_cells,
    seen_by_few,
    unnamed,
    why_unnamed,
    write_cells,
)
from model_tests.mutants.decisions.hunting import HuntResult, MutantFate, judged
from model_tests.mutants.decisions.layers import AUDIT, KNOWN_BUGS, NAMING, PROOFS, SEARCHES, SESSIONS
from model_tests.mutants.decisions.made import by_name
from model_tests.mutants.decisions.mutations import MutationKind
from model_tests.mutants.decisions.replayed import shown_cells
from model_tests.mutants.decisions.table import read
from spec.judging import judge_coordinator
from spec.protocol import coordinator_steps, lso
from spec.vocabulary import TransactionState

LARGER = "lso.smaller: left < right becomes left < right - 1"
BOUNDS = "lso.bounds"


FATES = {
    LARGER: HuntResult(LARGER, MutationKind.OFF_BY_ONE, MutantFate.KILLED, "tests", "a test", ("test_lso.py::test",))
}
"""A test alone has killed the mutant."""


def cell_in(place: JudgedCall) -> CrossingCell:
    """What a layer with one place makes of the smaller of two offsets."""
    return cell_of("lso.smaller", "offsets", watched([place]), [by_name()[LARGER]], FATES)


def test_every_decision_is_crossed_with_every_layer() -> None:
    """Once; a decision of which there are no mutants any more is in no cell."""
    decisions = dict.fromkeys(each.decision for each in read())

    assert [(cell.decision, cell.layer) for cell in read_cells()] == [(d, layer) for layer in NAMING for d in decisions]


def test_nothing_is_untried() -> None:
    """Else a run that should have written the tables was interrupted."""
    assert [each.mutant for each in read() if each.fate is MutantFate.UNTRIED] == []
    assert [(each.decision, each.layer) for each in read_cells() if each.sight is Sight.UNTRIED] == []


def test_every_cell_names_a_mutant_that_is_still_made() -> None:
    """Else the crossing is stale."""
    assert {cell.mutant for cell in read_cells() if cell.mutant} - by_name().keys() == set()


def test_few_layers_see_a_decision_only_where_it_is_said_why() -> None:
    """By its name, by that of its family, or that a layer has not run yet."""
    assert [name for name, why in seen_by_few(read_cells()).items() if not why] == []


def test_a_decision_that_few_layers_see_needs_a_reason() -> None:
    """A new decision has none yet."""
    cells = [CrossingCell("new.decision", "a", Sight.UNREAD), CrossingCell("new.decision", "b", Sight.UNTRIED)]

    assert seen_by_few(cells[:1]) == {"new.decision": ""}
    assert seen_by_few(cells) == {"new.decision": "not yet asked are b"}


def test_no_layer_is_blind_without_a_reason() -> None:
    """Nor is there a reason where a layer sees the decision broken."""
    left = unnamed(read_cells())

    assert [(cell.decision, cell.layer) for cell in left if not why_unnamed(cell)] == []
    reported = {(name, cell.layer) for cell in left for name in (cell.decision, cell.decision.partition(".")[0])}
    assert set(UNNAMED) - reported == set()


def test_a_sample_of_the_cells_is_seen_again() -> None:
    """Each layer names a rule where the crossing has it."""
    again = shown_cells(read_cells(), {SESSIONS: 12, KNOWN_BUGS: 1, PROOFS: 2})

    assert [mutant.name for mutant in again if not mutant.killed] == []
    assert len(again) == 15


def test_a_cell_whose_place_is_gone_is_not_seen() -> None:
    """A layer that has lost what it saw it by no longer sees it."""
    cell = next(cell for cell in read_cells() if cell.layer == KNOWN_BUGS and cell.rules and "." in cell.rules[0])

    (again,) = shown_cells([replace(cell, place="nowhere")], {KNOWN_BUGS: 1})

    assert not again.killed


def test_a_layer_that_names_a_rule_sees_the_decision() -> None:
    """With the mutant, the place and the rule."""
    cell = cell_in(
        JudgedCall("3 and 4", lambda: () if lso.smaller(3, 4) == 3 and lso.smaller(4, 3) == 3 else (BOUNDS,))
    )

    assert (cell.sight, cell.mutant, cell.place, cell.rules) == (Sight.SEEN, LARGER, "3 and 4", (BOUNDS,))


@pytest.mark.parametrize(
    ("asks", "sight"),
    [
        pytest.param(lambda: lso.smaller(4, 5), Sight.UNSEEN, id="where the mutant decides otherwise"),
        pytest.param(lambda: lso.smaller(4, 9), Sight.ALIKE, id="where it decides alike"),
        pytest.param(lambda: None, Sight.UNREAD, id="not asked at all"),
    ],
)
def test_a_layer_that_names_none_is_reported_by_what_it_asks(asks: Callable[[], object], sight: Sight) -> None:
    """Whether mutants decide otherwise there, or the decision is not read."""
    cell = cell_in(JudgedCall("quiet", lambda: (asks(), ())[1]))

    assert cell.sight is sight


def test_the_table_of_a_mutant_is_met_where_it_is_imported() -> None:
    """Under another module's name for it too."""
    name = "coordinator_steps.ELSEWHERE: without NOT_COORDINATOR"

    imported = vars(judge_coordinator)
    with by_name()[name].in_place():
        alike = imported["ELSEWHERE"] is coordinator_steps.ELSEWHERE
        left = len(imported["ELSEWHERE"])

    assert (alike, left) == (True, 1)
    assert len(imported["ELSEWHERE"]) == 2


def test_a_place_is_watched_afresh_where_it_is_asked_for() -> None:
    """What an earlier place has worked out would hide that a later one asks it too."""
    at_rest = StateValue(1, 7, 0, 60_000, TransactionState.EMPTY.value, frozenset(), 0, 0)
    places = [JudgedCall(name, lambda: () if step_between(at_rest, None) else ("",)) for name in ("first", "second")]

    requested = {afresh: list(watched(places, afresh=afresh).calls.values()) for afresh in (True, False)}

    assert requested[True]
    assert all(len(at) == 2 for calls in requested[True] for at in calls.values())
    assert not requested[False]


@pytest.mark.parametrize(
    ("mutant", "layer", "place", "rule"),
    [
        pytest.param(
            "finding.hash_of: whole - SMALLEST becomes whole - SMALLEST - 1",
            AUDIT,
            f"audit of {OF_NO_CLIENT}",
            "txn.registered_before_data",
            id="where an id belongs",
        ),
        pytest.param(
            "offsets.pending_after_tombstone: NO_OFFSET is never chosen",
            AUDIT,
            f"audit of {DELETED}",
            "offsets.atomic",
            id="a deleted offset",
        ),
        pytest.param(
            "groups._generation_guard: guard generation_other dropped",
            SEARCHES,
            "membership, the last member leaves",
            "offsets.generation_fence",
            id="an assignment of a past generation",
        ),
        pytest.param(
            "electing.may_leave: profile.eligible_leader_replicas dropped of any_of",
            SEARCHES,
            "replication, a broker loses records before the only election",
            "repl.committed_survives",
            id="the last in sync loses records",
        ),
    ],
)
def test_what_one_layer_alone_sees_it_names(mutant: str, layer: str, place: str, rule: str) -> None:
    """Each broken decision by its rule, where nothing is named while nothing is broken."""
    (own,) = (each for each in NAMING[layer]() if each.name == place)

    true = own.violated()

    assert (true, judged(by_name()[mutant], own)) == ((), ((rule,), ""))


def test_the_page_reports_who_sees_what() -> None:
    """A rule, a goal, nothing."""
    cells = [
        CrossingCell("lso.smaller", "a", Sight.SEEN, LARGER, "here", (BOUNDS,)),
        CrossingCell("lso.smaller", "b", Sight.UNREAD),
        CrossingCell("lso.smaller", "c", Sight.SEEN, LARGER, "there", ("goal never happens",)),
    ]

    reported = page(cells)

    assert "| `lso.smaller` | lso.bounds |  | goal |" in reported
    assert f"{ENOUGH} layers or more, 0 by one," in reported


def test_cells_are_read_as_they_were_written(tmp_path: Path) -> None:
    """Whatever their sight."""
    cells = (
        CrossingCell("lso.smaller", "a", Sight.SEEN, LARGER, "here", (BOUNDS,), 1, 1, 1, 0.5),
        CrossingCell("lso.smaller", "b", Sight.UNREAD),
    )

    write_cells(cells, tmp_path / "crossing.json")

    assert read_cells(tmp_path / "crossing.json") == cells


def test_the_rule_of_a_session_that_forgets_is_named() -> None:
    """A step that waits until producers are forgotten is about what is unknown afterwards."""
    name = "completing.may_be_forgotten: negate(entry.in_transaction) becomes entry.in_transaction"
    cell = next(c for c in read_cells() if c.decision == "completing.may_be_forgotten" and c.layer == SESSIONS)

    (again,) = shown_cells([cell], {SESSIONS: 1})

    assert cell.mutant == name
    assert again.killed
