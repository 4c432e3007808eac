"""The crossing of decisions and layers: what a layer makes of a decision, and where one names a rule that few name."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from model_tests.conform.files import bundled, sessions_in
from model_tests.logs.coordinator_log_edges import step_between
from model_tests.logs.coordinator_log_values import StateValue
from model_tests.mutants.decisions import states, table
from model_tests.mutants.decisions.audited import DELETED, OF_NO_CLIENT
from model_tests.mutants.decisions.call_sites import JudgedCall, watched
from model_tests.mutants.decisions.crossing import CrossingCell, Sight, cell_of
from model_tests.mutants.decisions.crossing_page import page, read_cells, write_cells
from model_tests.mutants.decisions.expected import ENOUGH, seen_by_few
from model_tests.mutants.decisions.hunting import HuntResult, MutantFate, judged
from model_tests.mutants.decisions.layers import AUDIT, KNOWN_BUGS, NAMING, PROOFS, SEARCHES
from model_tests.mutants.decisions.made import by_name
from model_tests.mutants.decisions.mutations import MutationKind
from model_tests.mutants.decisions.places import of_sessions
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


def test_a_decision_that_few_layers_see_needs_a_reason() -> None:
    """A new decision has none yet."""
    cells = [CrossingCell("new.decision", "a", Sight.UNREAD), CrossingCell("new.decision", "b", Sight.UNTRIED)]

    assert seen_by_few(cells[:1]) == {"new.decision": ""}
    assert seen_by_few(cells) == {"new.decision": "not yet asked are b"}


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

    met_in = {afresh: {len(at) for calls in of for at in calls.values()} for afresh, of in requested.items()}
    assert met_in == {True: {2}, False: {1}}


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
        pytest.param(
            "groups._member_unknown: negate(claim.member_known) becomes claim.member_known",
            KNOWN_BUGS,
            "KAFKA-15784 case 0 (before-3.7)",
            "offsets.generation_fence",
            id="a member that is unknown",
        ),
        pytest.param(
            "lso.bounds: offsets.log_start <= stable becomes offsets.log_start < stable",
            PROOFS,
            "fact stable_is_between",
            "lso.bounds",
            id="where the last stable offset may lie",
        ),
    ],
)
def test_a_layer_names_the_rule_of_a_broken_decision(mutant: str, layer: str, place: str, rule: str) -> None:
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


@pytest.mark.parametrize("page", [page, table.page, states.page], ids=["crossing", "mutants", "states"])
def test_a_page_without_results_reports_how_to_make_them(page: Callable[[Sequence[Any]], str]) -> None:
    """Nothing else is on it."""
    title, nothing, only = page([]).rstrip().split("\n")

    assert (title[:2], nothing) == ("# ", "")
    assert only.startswith("No results are here: `make mutants` tries the ")


def test_cells_are_read_as_they_were_written(tmp_path: Path) -> None:
    """Whatever their sight."""
    cells = (
        CrossingCell("lso.smaller", "a", Sight.SEEN, LARGER, "here", (BOUNDS,), 1, 1, 1, 0.5),
        CrossingCell("lso.smaller", "b", Sight.UNREAD),
    )

    write_cells(cells, tmp_path / "crossing.json")

    assert read_cells(tmp_path / "crossing.json") == cells


def test_a_table_that_was_not_written_has_no_cells(tmp_path: Path) -> None:
    """Nothing was run."""
    assert read_cells(tmp_path / "crossing.json") == ()


def test_the_rule_of_a_session_that_forgets_is_named() -> None:
    """A step that waits until producers are forgotten is about what is unknown afterwards."""
    mutant = by_name()["completing.may_be_forgotten: negate(entry.in_transaction) becomes entry.in_transaction"]
    (session,) = (each for each in of_sessions(sessions_in(bundled(("P",)))) if each.name == "expire-P-00000")

    assert session.violated() == ()
    assert "seq.first" in judged(mutant, session)[0]
